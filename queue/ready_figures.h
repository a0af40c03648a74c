// The figures of accounts that one pass (ReadyQueue::Pass) reads: usage, surplus (the usage that no
// quota covers), allocation, depth and quota. All figures are as of the instant of the pass.
// Threads: one at a time; each Walk owns one object. Private to queue.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/order.h"
#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "queue/ready_index.h"

namespace subak::ready {

// The arguments of a pass (ReadyQueue::Pass). All objects must outlive the pass.
struct PassSetup {
  // The account tree; not null.
  const AccountTree* tree = nullptr;
  // The rule that orders siblings.
  OrderPolicy policy = OrderPolicy::kTargetShare;
  // The constants of target-share; not null.
  const TargetShareRule* rule = nullptr;
  // Usage for kUsageTick. The pointer may be null for other policies.
  const UsageTick* tick = nullptr;
  // The instant of the pass; the pass computes all figures for this instant.
  TimeMs now = 0;
};

// Counts how often the waiting jobs at or below an account changed, and how often its allocation
// changed.
struct Changes {
  std::uint32_t jobs = 0, alloc = 0;
  friend bool operator==(const Changes&, const Changes&) = default;
};

// The figures of accounts that the order rules read. A pass that only simulates starts calls take()
// for each job that it would start. Allocations then include these jobs, although the tree has no
// holds for them.
class Figures {
 public:
  // Begins a pass. `index` must be up to date with the tree (Index::sync()). `index` and all
  // objects of `setup` must outlive the pass.
  void begin(const Index& index, const PassSetup& setup);
  // The arguments of this pass.
  const PassSetup& setup() const { return setup_; }
  // Returns the pass's instant, in the form that meters take.
  const DecayInstant& instant() const { return instant_; }

  // Returns the account's surplus or usage, as the policy needs, in milli-GPU x ms. Returns 0 for
  // policies that ignore past usage.
  double value(AccountId id) const;
  // Returns value() for the account's own jobs, without the jobs of its children. No quota covers
  // these jobs, so their surplus is their usage. O(children).
  double own_value(AccountId id) const;
  // Returns the milli-GPU that the account holds, including the jobs of take().
  MilliGpu alloc(AccountId id) const {
    const MilliGpu alloc = setup_.tree->node(id).alloc();
    return taken_.empty() ? alloc : alloc + taken_[id.value];
  }
  // Returns alloc() for the account's own jobs, without the jobs of its children. O(children).
  MilliGpu own_alloc(AccountId id) const;
  // Returns the counts of changes at or below the account. If two results are equal, nothing
  // changed between the two calls.
  Changes changes(AccountId id) const {
    return {index_->summary(id).changes, setup_.tree->node(id).changes};
  }
  // Returns the number of accounts above the account.
  std::uint32_t depth(AccountId id) const { return setup_.tree->node(id).depth; }
  // True if the account's quota would also cover this job (accounting/quota/entitlement.h).
  bool covers(AccountId id, std::uint32_t slot) const;

  // Counts the job as allocated to its leaf and all accounts above it. O(depth); the first call is
  // O(accounts).
  void take(std::uint32_t slot);
  // True if take() was called in this pass. The figures then differ from the figures of the tree.
  bool simulated() const { return !taken_.empty(); }

 private:
  const Index* index_ = nullptr;
  PassSetup setup_;
  DecayInstant instant_;
  // The milli-GPU that take() added to each account in this pass, by account id. Empty before the
  // first take().
  std::vector<MilliGpu> taken_;
};

}  // namespace subak::ready
