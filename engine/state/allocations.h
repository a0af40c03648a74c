// The one place where a slot is taken, bound, moved and given back. Fleet, account tree, meters and
// the index of nodes change together here, or not at all.
//
//   take: the pod holds a slot          bind: the hold becomes a meter of its account
//   give: the slot is free again        move: give and take, the time of its hold stands
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
#include "engine/state/job.h"
#include "placement/fleet.h"

namespace subak::state {

class Jobs;

class Allocations {
 public:
  using BySince = BlockSet<std::pair<TimeMs, PodPlace>>;

  // Both outlive it.
  Allocations(Fleet& fleet, AccountTree& tree) : fleet_(fleet), tree_(tree) {}

  // --- reads -------------------------------------------------------------------------------------
  // Who holds something there, in order. Holds until the next change.
  std::span<const PodPlace> on(NodeId node) const;
  // Their jobs, in the same order.
  std::span<const Job* const> jobs_on(NodeId node) const;
  // Calls fn(node, on(node)) for each node where somebody holds something, in order.
  template <class F>
  void each_node(F&& fn) const {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].pods.empty()) fn(NodeId(i), std::span<const PodPlace>(nodes_[i].pods));
    }
  }
  // What is bound to GPUs in this cluster, by the start of its next ledger row. Without books: nothing.
  const BySince& open(ClusterId cluster) const;
  // When the last of what is held on the node is taken to be free (Job::end_ms); 0: nothing is held.
  TimeMs free_at(NodeId node) const {
    return node.value < nodes_.size() ? nodes_[node.value].free_at : 0;
  }
  bool keeps_books() const { return keeps_books_; }
  // Only under OrderPolicy::kUsageTick, the simulator's baseline; else nullptr.
  const UsageTick* tick() const { return tick_.get(); }

  // --- changes -----------------------------------------------------------------------------------
  // Before anything is taken: it is not remembered of what is held from when on it is not charged.
  void leave_out_books() { keeps_books_ = false; }
  // The pod holds nothing yet. Its shape is set. It becomes kHeld from `now` on.
  void take(Job& job, std::uint32_t rank, const PodSlot& slot, TimeMs now);
  // It holds a slot; its account's meter begins. The caller sets the pod's state.
  void bind(const Job& job, std::uint32_t rank, TimeMs now);
  // It has a ledger row up to `to`, which is after its last one.
  void charged(Job& job, std::uint32_t rank, TimeMs to);
  // Ended at `at` <= now; an end that is reported late is taken back to its time. The caller sets
  // the pod's state; the slot is empty then.
  void give(Job& job, std::uint32_t rank, TimeMs at, TimeMs now);
  // It turned out to be elsewhere: what it holds changes, not since when. It is kHeld then.
  void move(Job& job, std::uint32_t rank, const PodSlot& to, TimeMs now);
  // The job is somebody's from now on: what it holds counts for its leaf. Until now nobody's.
  void assign(const Job& job, TimeMs now);
  // The job, which may hold something, has another end (Job::end_ms).
  void end_changed(const Job& job);
  // What a node's pods take is counted under the node's product: under its new name, if it got one.
  void relabel(NodeId node, ProductId before, const Jobs& jobs, TimeMs now);

  // nullptr: another order is in force. A new one knows nothing of what runs already.
  void set_tick(std::unique_ptr<UsageTick> tick) { tick_ = std::move(tick); }
  // Runs the ticks that are due at `now`.
  void advance_tick(TimeMs now);

  // Asserts that each slot is on its node, that what is bound is found by the start of its next
  // row, and that the tree holds what the pods hold. O(pods).
  void check(const Jobs& jobs) const;

 private:
  void find_free_at(NodeId node);
  void add_to_node(const Job& job, std::uint32_t rank, NodeId node);
  void remove_from_node(const PodPlace& place, NodeId node);

  Fleet& fleet_;
  AccountTree& tree_;
  struct Node {
    std::vector<PodPlace> pods;    // ascending
    std::vector<const Job*> jobs;  // of each; who holds something is not forgotten
    TimeMs free_at = 0;
  };
  std::vector<Node> nodes_;  // by NodeId::value
  bool keeps_books_ = true;
  std::map<ClusterId, BySince> open_;
  std::unique_ptr<UsageTick> tick_;
};

}  // namespace subak::state
