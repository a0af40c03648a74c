// The figures of accounts that one pass reads, all at the instant of the pass. Private to queue.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/order.h"
#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "queue/ready_index.h"

namespace subak::ready {

// The arguments of a pass, as of ReadyQueue::Pass. All of them are borrowed.
struct PassSetup {
  // Not null.
  const AccountTree* tree = nullptr;
  // The rule by which siblings are ordered.
  OrderPolicy policy = OrderPolicy::kTargetShare;
  // The constants of target-share; not null.
  const TargetShareRule* rule = nullptr;
  // May be null, except under kUsageTick.
  const UsageTick* tick = nullptr;
  // The one instant of the pass.
  TimeMs now = 0;
};

// How often something changed at or below a node: its waiting jobs, its allocation.
struct Changes {
  std::uint32_t jobs = 0, alloc = 0;
  friend bool operator==(const Changes&, const Changes&) = default;
};

// What the order rules read of the accounts. A pass that only simulates starts calls take() for
// each. Allocations then include these jobs, although the tree has no holds for them.
class Figures {
 public:
  // Begins a pass. `index` must be up to date with the tree (Index::sync()); both are borrowed.
  void begin(const Index& index, const PassSetup& setup);
  // The arguments of this pass.
  const PassSetup& setup() const { return setup_; }
  // The pass's instant, in the form that meters take.
  const DecayInstant& instant() const { return instant_; }

  // Returns the figure that the policy decays or sums, in milli-GPU x ms: the surplus, or the
  // usage; 0 for policies without memory.
  double value(AccountId id) const;
  // The same of the node's own jobs, without its children's.
  double own_value(AccountId id) const;
  // Returns what the account holds, with the jobs that this pass took.
  MilliGpu alloc(AccountId id) const {
    const MilliGpu alloc = setup_.tree->node(id).alloc();
    return taken_.empty() ? alloc : alloc + taken_[id.value];
  }
  // The same of the node's own jobs, without its children's. O(children).
  MilliGpu own_alloc(AccountId id) const;
  // Returns how often something changed there. Equal counts: nothing changed in between.
  Changes changes(AccountId id) const {
    return {index_->summary(id).changes, setup_.tree->node(id).changes};
  }
  // Returns the number of accounts above it.
  std::uint32_t depth(AccountId id) const { return setup_.tree->node(id).depth; }
  // True if the account's quota would cover the job too (accounting/quota/entitlement.h).
  bool covers(AccountId id, std::uint32_t slot) const;

  // Counts the job as allocated to its leaf and all accounts above it. O(depth); the first call
  // O(accounts).
  void take(std::uint32_t slot);
  // True after take(): the figures are not the tree's any more.
  bool simulated() const { return !taken_.empty(); }

 private:
  const Index* index_ = nullptr;
  PassSetup setup_;
  DecayInstant instant_;
  // What this pass took, by account id. Empty before the first take().
  std::vector<MilliGpu> taken_;
};

}  // namespace subak::ready
