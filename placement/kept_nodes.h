// Nodes that are kept for somebody: while a search looks at a picture with kept nodes, only their
// owner finds a place there. Which nodes, and for whom, is the caller's to decide and to remember;
// the fleet knows nothing of it.
//
// A plain value. Threads: none. A picture borrows it: see placement/picture.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"

namespace subak {

class KeptNodes {
 public:
  // Keeps these nodes for `owner`, which is a job. A node that is kept already stays with whom it
  // is kept for. Nodes need not exist.
  // `computes`: it will use a ComputeDomain, and no other gang is to take that from it (DomainRules).
  void keep(std::span<const NodeId> nodes, JobId owner, bool computes = false);
  // Nothing is kept any more.
  void clear();

  bool empty() const { return nodes_.empty(); }
  // For whom the node is kept; none: for nobody.
  JobId owner_of(NodeId node) const {
    return node.value < owners_.size() ? owners_[node.value] : JobId();
  }
  // It is kept for a gang that will use a ComputeDomain there.
  bool computes(NodeId node) const {
    return node.value < computes_.size() && computes_[node.value];
  }
  // Differs after every change of this value.
  std::uint64_t version() const { return version_; }

 private:
  std::vector<JobId> owners_;   // by NodeId::value
  std::vector<bool> computes_;  // likewise, where any does
  std::vector<NodeId> nodes_;   // those that have an owner
  std::uint64_t version_ = 0;
};

}  // namespace subak
