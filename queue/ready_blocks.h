// What one pass (ReadyQueue::Pass, one round of scheduling decisions) must not take any more: its
// *blocks*. Example: no node has room for a shape, so the pass blocks the shape and skips its jobs.
// A kind is a shape with waiting jobs. A line is the waiting jobs of one account and one kind.
// Threads: one at a time. Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "queue/ready_index.h"
#include "queue/visited.h"

namespace subak::ready {

// A limit above every cost. It blocks no job.
inline constexpr MilliGpu kNoLimit = std::numeric_limits<MilliGpu>::max();
// A depth greater than that of every account.
inline constexpr std::uint32_t kNoDepth = std::numeric_limits<std::uint32_t>::max();

// The blocks of shapes and accounts that apply to the jobs of one account. Blocks at the accounts
// above also apply.
struct Scope {
  // Jobs with this cost or a higher one are blocked.
  MilliGpu limit = kNoLimit;
  // Rises with each block of a shape or an account in this scope.
  std::uint64_t version = 0;
};

// A job that no block stops.
struct OpenJob {
  // The job's slot. kNoSlot: all jobs are blocked.
  std::uint32_t slot = kNoSlot;
  // The cost of a job of the job's kind, in milli-GPU.
  MilliGpu cost = 0;
};

// The blocks of one pass. A block stays until the next begin(). The class names jobs by slot
// (queue/job_table.h) and shapes by kind (queue/ready_index.h). For allows(), an account on hold
// counts as blocked too.
// Threads: one at a time; each Walk owns one object.
class Blocks {
 public:
  // Begins a pass, which blocks nothing yet. The index must outlive the pass. All account ids of
  // the pass are below `accounts`.
  void begin(const Index& index, std::size_t accounts);
  // Blocks all jobs of the shape. O(log of the kinds). If no job has the shape, the call blocks no
  // job, but none() is false from then on.
  void block_shape(ShapeId shape);
  // Blocks one job. Returns false if the job was already blocked. O(depth).
  bool block_job(std::uint32_t slot);
  // Blocks the line of the job: all jobs of its leaf and kind. O(depth).
  void block_line(std::uint32_t slot);
  // Says that the line borrows (no quota covers its jobs) at each account above this depth, so
  // nearer to the root. It blocks no job, but counts of waiting jobs by kind then no longer show
  // whether a job could start (below_or_at()). Call it once for a line. O(depth).
  void line_borrows(std::uint32_t slot, std::uint32_t depth);
  // Blocks the jobs at or below the account that cost at least `milligpu`. Returns false if
  // block_account() was already called for this account with `milligpu` or less. O(depth).
  bool block_account(AccountId id, MilliGpu milligpu);

  // True if the pass has no block so far, and no line borrows.
  bool none() const { return version_ == 0 && blocked_list_.empty() && !any_line_; }
  // at_root() returns the scope of the root. below() returns the scope of an account, given the
  // scope of its parent.
  Scope at_root() const { return below({kNoLimit, shape_version_}, kRootAccount); }
  Scope below(Scope parent, AccountId id) const;
  // True if a job or line of the account itself is blocked, or one of its lines borrows.
  bool at_jobs_of(AccountId id) const;
  // True if a job, a line or an account is blocked below the account, or if some of its own jobs
  // are blocked. Also true if a line at or below the account borrows. In these cases, the kinds
  // that wait below the account do not show whether a job could start.
  bool below_or_at(AccountId id) const;
  // Returns the depth with which line_borrows() was called for the line of the job; 0 if it was not
  // called.
  std::uint32_t borrows_above(std::uint32_t slot) const;
  // True if neither the job, its line nor its shape is blocked, and none of its accounts is blocked
  // or held. O(depth).
  bool allows(std::uint32_t slot) const;
  // True if the pass does not block the kind's shape, and the kind's cost is below the limit.
  bool kind_open(std::uint32_t kind, MilliGpu limit) const {
    return blocked_kinds_[kind] != pass_ &&
           (limit == kNoLimit || index_->cost(kind).milligpu < limit);
  }
  // Finds a kind that is not blocked, which proves that the account has a job that may start. Moves
  // `witness` to the first such kind at or after it. `witness` is an index into the account's
  // lines, followed by the kinds below the account. Begin with 0, and pass the same variable again
  // later in the pass: a block stays, so a kind before `witness` is never open again. Returns false
  // if no kind is open.
  bool find_witness(const TreeNode& node, std::uint32_t& witness, MilliGpu limit) const;
  // Returns the first of the account's own jobs that is open in `scope`, the scope of the account.
  OpenJob first_open(AccountId id, Scope scope);

 private:
  // Says how far a line is blocked: all its jobs up to and including `slot`. `next`: the slot
  // that followed `slot` when line_open() last looked; kNoSlot: not known.
  struct Cursor {
    std::uint32_t kind = 0;
    std::uint32_t slot = kNoSlot;
    std::uint32_t next = kNoSlot;
  };
  // The blocks at one account.
  struct AtNode {
    // The lowest cost with which block_account() was called for this account.
    MilliGpu limit = kNoLimit;
    // The version of the last change of `limit`.
    std::uint64_t limit_version = 0;
    // True: at or below this account, a job or a line is blocked or a line borrows. Or an account
    // below is blocked.
    bool at_or_below = false;
    // True: some of the account's own jobs are blocked, or one of its lines borrows.
    bool jobs = false;
    // The blocked lines of the account, by the numbers of their kinds, ascending.
    std::vector<std::uint32_t> lines;
    // Pairs of a kind of the account's own jobs and the depth that line_borrows() set for its line,
    // by kind ascending.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> borrowing;
    // The cursors of the account's lines, by kind.
    std::vector<Cursor> cursors;
    void clear();
  };

  bool job_open(std::uint32_t slot) const {
    return slot >= blocked_jobs_.size() || !blocked_jobs_[slot];
  }
  static bool line_blocked(const AtNode& node, std::uint32_t kind);
  void block_above(AccountId id);
  AtNode& block_jobs_at(AccountId leaf);
  std::uint32_t line_open(AtNode& node, const Line& line);

  // The index of this pass. The index must live until the next begin().
  const Index* index_ = nullptr;
  // Counts the calls of begin(), so that marks of earlier passes are void.
  std::uint64_t pass_ = 0;
  // Counts the blocks of shapes and accounts in this pass.
  std::uint64_t version_ = 0;
  // The version of the last block of a shape.
  std::uint64_t shape_version_ = 0;
  // For each kind, the number of the pass that blocked it last.
  std::vector<std::uint64_t> blocked_kinds_;
  // For each slot: true if the job of the slot is blocked.
  std::vector<bool> blocked_jobs_;
  // The slots that are true in blocked_jobs_, so that begin() can clear them.
  std::vector<std::uint32_t> blocked_list_;
  // True: the pass has blocked some line, or some line borrows.
  bool any_line_ = false;
  Visited<AtNode> nodes_;
};

}  // namespace subak::ready
