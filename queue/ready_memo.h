// The next jobs of nodes, kept from pass to pass. Private to queue.
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

// Later than every instant: the result does not end with time.
inline constexpr TimeMs kForever = std::numeric_limits<TimeMs>::max();

// The next job of a node, or of its own jobs.
struct NextJob {
  // None: nothing below can start.
  std::uint32_t slot = kNoSlot;
  // It is so at every level below the node.
  bool within_quota = false;
  // What the job costs, in milli-GPU.
  MilliGpu cost = 0;
  // It is the next job up to this instant, if nothing changes at or below the node.
  TimeMs until = kForever;
  // It is within quota at no account above this depth, as Blocks::line_borrows() says.
  std::uint32_t within_from_depth = 0;
};

// What passes found with nothing blocked. The keys of a node's children change slowly with time. So
// a result stands until a neighbour's key could pass the first one, unless something changes at or
// below the node. A pass computes again only nodes with changes.
class Memos {
 public:
  // Begins a pass, and forgets all results of another index, tree, rule or cost. All are borrowed.
  // `accounts` is above every account id.
  void begin(const Index& index, const Figures& figures, const Blocks& blocks,
             std::size_t accounts);
  // True if this pass may read and leave results. It must have blocked nothing and simulated no
  // start, so that what it finds follows from the tree and the queue alone. The proof that results
  // stand is for target-share; the other policies leave none.
  bool usable() const {
    return policy_ == OrderPolicy::kTargetShare && !figures_->simulated() && blocks_->none();
  }
  // Returns the node's next job as a pass found it, if it still stands; nullptr if unknown. O(1).
  const NextJob* find(AccountId id) const;
  // Keeps what this usable() pass found now.
  void keep(AccountId id, const NextJob& next);
  // Rises when begin() forgets.
  std::uint64_t epoch() const { return epoch_; }
  // Prefetches what find() reads.
  void prefetch(AccountId id) const { __builtin_prefetch(&memos_[id.value]); }

 private:
  struct Memo {
    // The value of epoch_ when it was made; else the memo is void.
    std::uint64_t epoch = 0;
    // The counts of the node at that time.
    Changes seen;
    NextJob next;
    // The instant of the pass that found it.
    TimeMs from = 0;
  };

  const Index* index_ = nullptr;
  const Figures* figures_ = nullptr;
  const Blocks* blocks_ = nullptr;
  // By account id.
  std::vector<Memo> memos_;
  std::uint64_t epoch_ = 0;
  // The index's epoch when epoch_ began.
  std::uint64_t index_epoch_ = 0;
  OrderPolicy policy_ = OrderPolicy::kTargetShare;
  TargetShareRule rule_;
};

}  // namespace subak::ready
