// Questions of the engine about the present fleet that class Fleet does not answer: about slots of
// running pods, claims, and the NVLink domain and rack of a node. A slot is a node and the GPUs on
// it that one pod gets.
// Units: milli-GPU. Errors: none are returned. Threads: several may read a fleet while no thread
// changes it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/node.h"
#include "placement/fleet/fleet.h"

namespace subak {

// --- slots ---------------------------------------------------------------------------------------
// Returns the cost of slot `rank` of the request on `node`; 0 if the node was never seen. The
// request must have the rank.
MilliGpu slot_milligpu(const Fleet& fleet, ShapeId shape, std::uint32_t rank, NodeId node);
// Returns the slot of a pod that already runs on `node`. It never fails. The slot has free GPUs as
// far as there are any, even GPUs in an exclusive domain of another gang. Fleet::take() of the slot
// may overcommit the node.
PodSlot adopt_slot(const Fleet& fleet, ShapeId shape, std::uint32_t rank, NodeId node);
// True if the holds exceed the resources of the node. False if the node was never seen.
bool over_allocated(const Fleet& fleet, NodeId node);

// --- claims --------------------------------------------------------------------------------------
// Whether a claimant, which is a waiting job with a claim, can take the slots that are claimed for
// it (Fleet::set_claims).
enum class ClaimState {
  // All these slots are free now.
  kFree,
  // The slots become free once the claim's victims (jobs that must end for it) have ended.
  kWaits,
  // The slots do not become free: a node is gone or takes no new pods, or another job holds the
  // claimed GPUs.
  kLost,
};
// True if a gang of this shape needs spare nodes in its clique (GangTerms::spare). Claims do not
// set spare nodes aside.
bool needs_replacements(const Fleet& fleet, ShapeId shape);
// Returns the state of this claimant's claim. `nodes`: all nodes with a part of the claim.
ClaimState claim_state(const Fleet& fleet, JobId claimant, std::span<const NodeId> nodes);

// --- NVLink domains ------------------------------------------------------------------------------
// Returns the number of the NVLink domain to which the node is wired. A node without a clique is a
// domain by itself. 0: the node is not present.
std::uint32_t wired_domain(const Fleet& fleet, NodeId node);
// Returns the number of the node's rack; without a rack name its clique, or the node, is the rack.
// 0: the node is not present.
std::uint32_t rack_of(const Fleet& fleet, NodeId node);
// Returns the gangs that use a ComputeDomain and have GPUs in the node's domain. Ascending.
std::vector<JobId> computing_beside(const Fleet& fleet, NodeId node);
// Returns the gangs that keep the node from other jobs, or would do so once no pod holds GPUs on
// it. These are gangs with exclusive use of the node's domain, and gangs that want spare nodes in
// the domain. Ascending. O(holds in the domain) if there are any.
std::vector<JobId> keepers(const Fleet& fleet, NodeId node);
// Returns the idle milli-GPU in domains that DomainRules leave to gangs. O(nodes of these domains).
MilliGpu reserved_domains_milligpu(const Fleet& fleet, ClusterId cluster);

}  // namespace subak
