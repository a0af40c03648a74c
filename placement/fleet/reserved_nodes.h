// Nodes that are reserved for jobs. In a snapshot with reserved nodes, a search places on such a
// node only pods of the node's job. The caller decides which nodes are reserved, and stores the
// reservations. The fleet itself has no reservations.
//
// Threads: one at a time may change the value. A snapshot borrows it: see
// placement/fleet/fleet_view.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"

namespace subak {

// A plain value: which nodes are reserved, and for which job.
class ReservedNodes {
 public:
  // Reserves the nodes for the job `owner`. A node that is already reserved stays reserved for its
  // job. The nodes need not exist. `uses_compute_domain`: the job will use a ComputeDomain on the
  // nodes. Then this job counts among the gangs that DomainRules::clique_gangs allows in the
  // domain.
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
  // Returns a number that changes with every change of this value.
  std::uint64_t version() const { return version_; }

 private:
  // The job for which each node is reserved, by NodeId::value.
  std::vector<JobId> owners_;
  // Whether that job will use a ComputeDomain on the node, by NodeId::value. The vector ends at the
  // highest node with true.
  std::vector<bool> uses_compute_domain_;
  // The nodes that are reserved.
  std::vector<NodeId> nodes_;
  std::uint64_t version_ = 0;
};

}  // namespace subak
