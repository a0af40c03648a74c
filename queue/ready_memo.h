// Caches the next job of each account. So a pass (ReadyQueue::Pass, one round of scheduling
// decisions) does not search again below accounts where nothing has changed since an earlier pass.
// Threads: one at a time; each Walk owns one object. Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "accounting/order.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "queue/ready_blocks.h"
#include "queue/ready_figures.h"

namespace subak::ready {

// An instant later than every real instant. Time alone does not make a result invalid that is valid
// until kForever.
inline constexpr TimeMs kForever = std::numeric_limits<TimeMs>::max();

// The next job at or below an account, or among the account's own jobs.
struct NextJob {
  // The job's slot. kNoSlot: no job below can start.
  std::uint32_t slot = kNoSlot;
  // True: the job is within quota at every level below the account.
  bool within_quota = false;
  // The cost of the job, in milli-GPU.
  MilliGpu cost = 0;
  // Up to this instant the job stays the next job, if nothing changes at or below the account.
  TimeMs until = kForever;
  // The job is within quota at no account above this depth (Blocks::line_borrows()).
  std::uint32_t within_from_depth = 0;
};

// A cache of next jobs. A pass stores only results that it found before its first block
// (queue/ready_blocks.h). A result is valid until something changes at or below the account, or
// until another child could become the first with time. A pass computes only the accounts without a
// valid result.
class Memos {
 public:
  // Begins a pass. Drops all results if the index, the tree, the rule or a cost has changed. All
  // objects must outlive the pass. `accounts` is above every account id.
  void begin(const Index& index, const Figures& figures, const Blocks& blocks,
             std::size_t accounts);
  // True if this pass may read and store results. The pass must have blocked nothing and simulated
  // no start, so that its results follow from the tree and the queue alone. How long results stay
  // valid is proven only for target-share, so other policies store no results.
  bool usable() const {
    return policy_ == OrderPolicy::kTargetShare && !figures_->simulated() && blocks_->none();
  }
  // Returns the account's next job from the cache. nullptr: there is no valid result, or the pass
  // is not usable(). O(1).
  const NextJob* find(AccountId id) const;
  // Stores the next job that this pass found. The pass must be usable().
  void keep(AccountId id, const NextJob& next);
  // A number that rises when begin() drops the results.
  std::uint64_t epoch() const { return epoch_; }
  // Prefetches what find() reads.
  void prefetch(AccountId id) const { __builtin_prefetch(&memos_[id.value]); }

 private:
  struct Memo {
    // The value of epoch_ when the memo was made. If epoch_ has another value now, the memo is
    // void.
    std::uint64_t epoch = 0;
    // The account's counts of changes when the memo was made.
    Changes seen;
    NextJob next;
    // The instant of the pass that found the next job.
    TimeMs from = 0;
  };

  const Index* index_ = nullptr;
  const Figures* figures_ = nullptr;
  const Blocks* blocks_ = nullptr;
  // The memos of all accounts; the index is the account id.
  std::vector<Memo> memos_;
  std::uint64_t epoch_ = 0;
  // The index's epoch when epoch_ began.
  std::uint64_t index_epoch_ = 0;
  OrderPolicy policy_ = OrderPolicy::kTargetShare;
  TargetShareRule rule_;
};

}  // namespace subak::ready
