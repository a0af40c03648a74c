// The next jobs of nodes, cached for later passes. Private to queue.
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

// Later than every instant. A result until then does not become invalid by time alone.
inline constexpr TimeMs kForever = std::numeric_limits<TimeMs>::max();

// The next job of a node, or of its own jobs.
struct NextJob {
  // The job's slot. kNoSlot: no job below can start.
  std::uint32_t slot = kNoSlot;
  // True: the job is within quota at every level below the node.
  bool within_quota = false;
  // What the job costs, in milli-GPU.
  MilliGpu cost = 0;
  // Up to this instant it is the next job, if nothing changes at or below the node.
  TimeMs until = kForever;
  // The job is within quota at no account above this depth (Blocks::line_borrows()).
  std::uint32_t within_from_depth = 0;
};

// The results of passes that had blocked nothing. The order keys of a node's children change slowly
// with time. So a result is valid until the key of another child could pass the first one, unless
// something changes at or below the node. A pass computes only nodes with changes again.
class Memos {
 public:
  // Begins a pass, and drops all results of another index, tree, rule or cost. All objects are
  // borrowed. `accounts` is above every account id.
  void begin(const Index& index, const Figures& figures, const Blocks& blocks,
             std::size_t accounts);
  // True if this pass may read and store results. It must have blocked nothing and simulated no
  // start, so that its results follow from the tree and the queue alone. Results are proven to stay
  // valid only under target-share, so other policies store none.
  bool usable() const {
    return policy_ == OrderPolicy::kTargetShare && !figures_->simulated() && blocks_->none();
  }
  // Returns the node's next job as a pass found it, if that is still valid; nullptr if it is
  // unknown. O(1).
  const NextJob* find(AccountId id) const;
  // Stores the next job that this pass found. The pass must be usable().
  void keep(AccountId id, const NextJob& next);
  // Rises when begin() drops the results.
  std::uint64_t epoch() const { return epoch_; }
  // Prefetches what find() reads.
  void prefetch(AccountId id) const { __builtin_prefetch(&memos_[id.value]); }

 private:
  struct Memo {
    // The value of epoch_ when the memo was made. With another value the memo is void.
    std::uint64_t epoch = 0;
    // The counts of the node at that time.
    Changes seen;
    NextJob next;
    // The instant of the pass that found the next job.
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
