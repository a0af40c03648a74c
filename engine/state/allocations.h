// The only code that takes, binds, moves and frees slots. It changes fleet, account tree, meters
// and the index of nodes together, or none of them.
//
//   take: the pod gets a hold on a slot  bind: the hold becomes a meter of its account
//   give: the slot is free again         move: give and take, the hold's time stays
//
// Threads: none; State owns it and lends it fleet and tree. Only state/ changes it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "accounting/order.h"
#include "accounting/tree.h"
#include "core/block_set.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/jobs/job.h"
#include "placement/fleet/fleet.h"

namespace subak::state {

class Jobs;

// The slots of all pods.
class Allocations {
 public:
  using BySince = BlockSet<std::pair<TimeMs, PodPlace>>;

  // Fleet and tree must outlive it.
  Allocations(Fleet& fleet, AccountTree& tree) : fleet_(fleet), tree_(tree) {}

  // --- reads -------------------------------------------------------------------------------------
  // The pods that hold a slot on the node, in order. Valid until the next change.
  std::span<const PodPlace> on(NodeId node) const;
  // Their jobs, in the same order.
  std::span<const Job* const> jobs_on(NodeId node) const;
  // Calls fn(node, on(node)) for each node with a held slot, in order.
  template <class F>
  void each_node(F&& fn) const {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].pods.empty()) fn(NodeId(i), std::span<const PodPlace>(nodes_[i].pods));
    }
  }
  // The pods bound to GPUs in this cluster, by the start of their next ledger row. Empty after
  // leave_out_books().
  const BySince& open(ClusterId cluster) const;
  // When the last job on the node is expected to end (Run::end_ms). 0: the node has no holds.
  TimeMs free_at(NodeId node) const {
    return node.value < nodes_.size() ? nodes_[node.value].free_at : 0;
  }
  // False after leave_out_books().
  bool keeps_books() const { return keeps_books_; }
  // Set only under OrderPolicy::kUsageTick, the simulator's baseline; else nullptr.
  const UsageTick* tick() const { return tick_.get(); }

  // --- changes -----------------------------------------------------------------------------------
  // Stops recording since when GPUs are held and not charged. Call it before the first take().
  void leave_out_books() { keeps_books_ = false; }
  // Gives the pod a slot: it becomes kHeld from `now` on. The pod must have no slot yet, and its
  // shape must be set.
  void take(Job& job, std::uint32_t rank, const PodSlot& slot, TimeMs now);
  // Begins the account's meter for a pod that holds a slot. The caller sets the pod's state.
  void bind(const Job& job, std::uint32_t rank, TimeMs now);
  // Records that the pod has a ledger row up to `to`, which is after the end of its last row.
  void charged(Job& job, std::uint32_t rank, TimeMs to);
  // Frees the pod's slot, as of `at` <= now. An end that is reported late counts from its own time.
  // Afterwards the pod has no slot. The caller sets the pod's state.
  void give(Job& job, std::uint32_t rank, TimeMs at, TimeMs now);
  // Moves a pod that turned out to be elsewhere. Its slot changes, but not the time since when it
  // holds. The pod is kHeld afterwards.
  void move(Job& job, std::uint32_t rank, const PodSlot& to, TimeMs now);
  // Counts the job's holds for its leaf from now on. The job had no account until now.
  void assign(const Job& job, TimeMs now);
  // Updates the nodes on which the job has holds after its end (Run::end_ms) changed.
  void end_changed(const Job& job);
  // Counts the node's holds under its new product, after the node's product changed.
  void relabel(NodeId node, ProductId before, const Jobs& jobs, TimeMs now);

  // Sets the tick order; nullptr: another order is in force. A new tick order does not know the
  // running jobs.
  void set_tick(std::unique_ptr<UsageTick> tick) { tick_ = std::move(tick); }
  // Runs the ticks that are due at `now`.
  void advance_tick(TimeMs now);

  // Asserts that each slot is on its node, that bound pods are indexed by the start of their next
  // row, and that the tree has the pods' holds. O(pods).
  void check(const Jobs& jobs) const;

 private:
  // Sets the free_at of a node from the jobs on it. O(pods on it).
  void find_free_at(NodeId node);
  // Adds to the node's list a pod that got a slot there, or removes one that lost it.
  void add_to_node(const Job& job, std::uint32_t rank, NodeId node);
  void remove_from_node(const PodPlace& place, NodeId node);

  Fleet& fleet_;
  AccountTree& tree_;
  struct Node {
    // The pods, ascending.
    std::vector<PodPlace> pods;
    // The job of each pod; a job with holds is never forgotten.
    std::vector<const Job*> jobs;
    // The result of free_at().
    TimeMs free_at = 0;
  };
  // By NodeId::value.
  std::vector<Node> nodes_;
  bool keeps_books_ = true;
  // The result of open() for each cluster.
  std::map<ClusterId, BySince> open_;
  std::unique_ptr<UsageTick> tick_;
};

}  // namespace subak::state
