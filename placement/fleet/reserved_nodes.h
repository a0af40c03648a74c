// Nodes that are reserved for jobs. A search in a snapshot with reserved nodes
// places only their owner on them. The caller decides which nodes are reserved for which job, and
// stores this. The fleet does not know of reservations.
//
// A plain value. Threads: none. A snapshot borrows it: see placement/fleet/fleet_view.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"

namespace subak {

class ReservedNodes {
 public:
  // Reserves the nodes for the job `owner`. If a node is reserved already, its owner stays. The
  // nodes need not exist. `uses_compute_domain`: the job will use a ComputeDomain there. Other
  // gangs must leave it room for that (DomainRules::clique_gangs).
  void reserve(std::span<const NodeId> nodes, JobId owner, bool uses_compute_domain = false);
  // Ends all reservations.
  void clear();

  // True if no node is reserved.
  bool empty() const { return nodes_.empty(); }
  // The job for which the node is reserved; none if it is not reserved.
  JobId owner_of(NodeId node) const {
    return node.value < owners_.size() ? owners_[node.value] : JobId();
  }
  // True if the node is reserved for a gang that will use a ComputeDomain there.
  bool uses_compute_domain(NodeId node) const {
    return node.value < uses_compute_domain_.size() && uses_compute_domain_[node.value];
  }
  // Differs after every change of this value.
  std::uint64_t version() const { return version_; }

 private:
  // The owner of each node, by NodeId::value.
  std::vector<JobId> owners_;
  // Whether the owner of each node will use a ComputeDomain there. It ends at the highest such
  // node.
  std::vector<bool> uses_compute_domain_;
  // The nodes that have an owner.
  std::vector<NodeId> nodes_;
  std::uint64_t version_ = 0;
};

}  // namespace subak
