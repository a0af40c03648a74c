// The slots of all pods. A slot is a node and the GPUs on it that one pod holds. Only this class
// changes slots. Each change updates the fleet, the account tree with its usage meters, the budgets
// and the index of nodes together:
//   take   the pod gets a hold on a slot
//   bind   the slot's GPUs count as running, not held
//   give   the slot is free again
//   move   give and take at once; the time since which the pod holds GPUs stays
// Threads: one at a time. State owns the object, and lends it the fleet and the tree. Only code in
// state/ changes the object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "accounting/order.h"
#include "accounting/quota/account_budgets.h"
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

  // The fleet and the tree must outlive the object.
  Allocations(Fleet& fleet, AccountTree& tree) : fleet_(fleet), tree_(tree) {}

  // --- reads -------------------------------------------------------------------------------------
  // Returns the pods that hold a slot on the node, by job id and rank. The result is valid until
  // the next change.
  std::span<const PodPlace> on(NodeId node) const;
  // Returns the jobs of the pods on(node), in the same order.
  std::span<const Job* const> jobs_on(NodeId node) const;
  // Calls fn(node, on(node)) for each node with a held slot, ascending by id.
  template <class F>
  void each_node(F&& fn) const {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].pods.empty()) fn(NodeId(i), std::span<const PodPlace>(nodes_[i].pods));
    }
  }
  // Returns the bound pods that hold GPUs in this cluster, by the start of their next ledger row.
  // The result is empty after leave_out_books().
  const BySince& open(ClusterId cluster) const;
  // Returns when the last job on the node is expected to end (Run::end_ms). 0: the node has no
  // holds.
  TimeMs free_at(NodeId node) const {
    return node.value < nodes_.size() ? nodes_[node.value].free_at : 0;
  }
  // True unless leave_out_books() was called.
  bool keeps_books() const { return keeps_books_; }
  // Returns when the next turn of a budget is due: a budget's period ends, or is about to end
  // (accounting/quota/account_budgets.h). kEndless: no turn is due.
  // O(1) unless books changed since the last call.
  TimeMs budget_turn_ms() const;
  // Returns when 80 or 100 percent of some budget will be spent at the present rates, rounded up to
  // a whole minute (next_budget_reach()). kEndless: no budget will reach that. O(budgets) after a
  // change, else O(1).
  TimeMs budget_reach_ms() const;
  // The calendar of all budgets. nullptr: periods are in UTC.
  const BudgetCalendarPtr& calendar() const { return budgets_.calendar; }
  // Returns the usage as of the last tick, for Slurm's order rule (OrderPolicy::kUsageTick). Only
  // the simulator uses this rule, to compare other rules with it. nullptr: another rule is in
  // force.
  const UsageTick* tick() const { return tick_.get(); }

  // --- changes -----------------------------------------------------------------------------------
  // After this call, the object does not index bound pods by the start of their next ledger row.
  // For the state of a forecast, which writes no ledger rows. Call it before the first take().
  void leave_out_books() { keeps_books_ = false; }
  // Gives the pod a slot. The pod is kHeld from `now` on. Before the call, the pod must have a
  // shape and no slot.
  void take(Job& job, std::uint32_t rank, const PodSlot& slot, TimeMs now);
  // Counts the GPUs of a pod that holds a slot as running, no longer as held. Usage does not
  // change, because a hold counts like a running pod. The caller sets the pod's state.
  void bind(const Job& job, std::uint32_t rank, TimeMs now);
  // Records that the pod has a ledger row up to `to`. `to` must be after the end of its last row.
  void charged(Job& job, std::uint32_t rank, TimeMs to);
  // Frees the pod's slot. `at` is the time from which the GPUs count as free. It is before `now` if
  // the end of the pod was reported late. Afterwards the pod has no slot. The caller sets the pod's
  // state.
  void give(Job& job, std::uint32_t rank, TimeMs at, TimeMs now);
  // Moves the slot of a pod that turned out to be on another node. The time since which the pod
  // holds GPUs does not change. Afterwards the pod is kHeld.
  void move(Job& job, std::uint32_t rank, const PodSlot& to, TimeMs now);
  // Counts the job's holds for its leaf from now on, because the job had no account until now.
  void assign(const Job& job, TimeMs now);
  // Call it after the job's expected end (Run::end_ms) has changed from `before`. The call updates
  // free_at() of the nodes with holds of the job. It also updates the sums of the job's accounts.
  void end_changed(const Job& job, TimeMs before);
  // Call it after the node's product has changed. The call counts the node's holds under the new
  // product.
  void relabel(NodeId node, ProductId before, const Jobs& jobs, TimeMs now);

  // Makes the budget books of an account agree with its settings, after an edit at `now`. A budget
  // book counts what the account's jobs spend of one budget. O(pods) for a new budget of an account
  // with holds.
  void set_books(AccountId account, const Jobs& jobs, TimeMs now);
  // Call it after the tree has moved an account from the parent `from`. Moves the account's holds
  // to the budget books of the accounts that are above it now. What the account has spent before
  // stays in the books of the accounts that were above it then. O(pods) if some account has
  // budgets.
  void account_moved(AccountId account, AccountId from, const Jobs& jobs, TimeMs now);
  // Call it after books or their periods have changed.
  void note_budget_turn() { budgets_.turn_ms.reset(), budgets_.reach_ms.reset(); }
  // Call it after the spending of an account has changed.
  void note_budget_spending() { budgets_.reach_ms.reset(); }
  // Sets the calendar of all budgets. nullptr: periods are in UTC.
  void set_calendar(BudgetCalendarPtr calendar);

  // Sets the state of the rule kUsageTick; nullptr: another rule is in force. A new UsageTick does
  // not know the running jobs.
  void set_tick(std::unique_ptr<UsageTick> tick) { tick_ = std::move(tick); }
  // Runs the ticks that are due at `now`.
  void advance_tick(TimeMs now);

  // Asserts that each slot is in the list of its node, and that the tree has the pods' holds.
  // check() also asserts that bound pods are indexed by the start of their next ledger row.
  // O(pods).
  void check(const Jobs& jobs) const;

 private:
  // Sets the free_at of a node from the jobs on the node. O(pods on the node).
  void find_free_at(NodeId node);
  // Adds a pod that got a slot on the node to the node's list, or removes a pod that lost its slot.
  void add_to_node(const Job& job, std::uint32_t rank, NodeId node);
  void remove_from_node(const PodPlace& place, NodeId node);

  Fleet& fleet_;
  AccountTree& tree_;
  struct Node {
    // The pods with a slot on the node, ascending.
    std::vector<PodPlace> pods;
    // The job of each pod, by the same index. The pointers stay valid, because a job with holds is
    // never forgotten.
    std::vector<const Job*> jobs;
    // The result of free_at().
    TimeMs free_at = 0;
  };
  // The slots and the expected end of each node; the index is NodeId::value.
  std::vector<Node> nodes_;
  bool keeps_books_ = true;
  // The result of open() for each cluster.
  std::map<ClusterId, BySince> open_;
  std::unique_ptr<UsageTick> tick_;
  struct Budgets {
    // The results of budget_turn_ms() and budget_reach_ms(). nullopt: books changed since.
    mutable std::optional<TimeMs> turn_ms, reach_ms;
    BudgetCalendarPtr calendar;
  };
  Budgets budgets_;
};

}  // namespace subak::state
