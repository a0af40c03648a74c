// The walk of one pass (ReadyQueue::Pass) down the account tree, which finds the next job to start.
// Threads: one at a time; each Pass owns one walk. Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "queue/ready.h"
#include "queue/ready_blocks.h"
#include "queue/ready_candidates.h"
#include "queue/ready_fifo.h"
#include "queue/ready_figures.h"
#include "queue/ready_index.h"
#include "queue/ready_memo.h"
#include "queue/ready_standing.h"

namespace subak::ready {

// The walk of one pass. From the root, it goes down to the first child of each account until it
// finds a job. Its parts:
//   Figures     the figures of accounts at the instant of the pass
//   Blocks      the jobs that the pass must not take
//   Memos       results of earlier passes that are still valid
//   Standings   a quick way to compute an account again after one child changed
//   Candidates  the children with a job that could start, and their order (SiblingOrder)
//   Fifo        the oldest job, under the policy fifo
// The walk looks for a result in the memos, then in the standings. If neither has a result, the
// walk compares the children. A start or a block marks the accounts on its path, and the next visit
// of a marked account updates the account.
//
// The walk reuses all memory in the next pass. begin() does no work per account, and a pass touches
// only the accounts that it visits. ReadyQueue::Pass describes the public functions.
class Walk {
 public:
  // Begins a pass. The index, and the objects in the setup, must live until the last call of the
  // pass.
  void begin(Index& index, const PassSetup& setup);
  // Returns the slot of the next job; kNoSlot if no job can start.
  std::uint32_t next();
  // Returns, for each account from the root down to `leaf`, its children that have a job which may
  // start, in their order. The result is empty for the policy fifo.
  std::vector<ReadyQueue::Level> rank(AccountId leaf);
  // Says that the allocation of the leaf has changed in the tree. The walk then compares the
  // accounts above the leaf again.
  void started(AccountId leaf);
  void block_shape(ShapeId shape) { blocks_.block_shape(shape); }
  // block_job() and block_line() do nothing for a job that does not wait.
  void block_job(JobId id);
  void block_line(JobId id);
  void line_borrows(JobId id, AccountId reach);
  // Blocks jobs at or below the account that cost at least `milligpu`.
  void block_account(AccountId id, MilliGpu milligpu);
  // Treats the job as started: the walk skips the job from now on, and adds its cost at every
  // account on its path.
  void take(std::uint32_t slot);

 private:
  // Returns the next job at or below an account. `scope` is always the scope of the account `id`.
  NextJob next_of(AccountId id, Scope scope);
  // Returns the next job of a child. `child` == `id` stands for the account's own jobs.
  NextJob next_of_child(AccountId id, AccountId child, Scope scope);
  NextJob own_next(AccountId id, Scope scope);
  // Finds the account's next job with the standings. Returns no job if the walk must compute the
  // account in full.
  NextJob from_standing(AccountId id, Scope scope);
  // Computes the account in full, and stores the result in memos and standings.
  NextJob compare_children(AccountId id, Scope scope);
  // Stores a result for later passes, if the result will stay valid for a while.
  void remember(AccountId id, Contenders& node, NextJob& next, std::size_t first);
  // True if the child's next job is within quota at every level below the account.
  bool within_quota(AccountId id, AccountId child, const NextJob& next) const;
  ReadyQueue::Level level_at(AccountId id, Scope scope);
  void block_slot(std::uint32_t slot);

  Index* index_ = nullptr;
  Figures figures_;
  Blocks blocks_;
  Memos memos_;
  Standings standings_;
  Candidates candidates_;
  Fifo fifo_;
};

}  // namespace subak::ready
