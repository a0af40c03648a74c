// The queue of waiting jobs, and the walk down the account tree that picks the next job to start.
//
// A job waits at its leaf: its user, or its account if it has no user. Its shape is the resources
// and conditions that its pods request. Jobs with the same leaf and shape wait in one line (a job
// class), by priority, then submit time, then id. A pass is one round of scheduling decisions. The
// queue knows for each account which shapes wait below it. So a pass visits only accounts with a
// job that could fit. Its cost depends on the changes since the last pass, not on the number of
// waiting jobs. A pass removes no jobs: the caller, which is the engine, removes a job with
// remove().
//
// A child's next job is within quota if the child's quota covers the job in addition to the GPUs
// that the child holds. Every other quota on the job's path below the child must cover the job too.
// On the way down, the first account without a quota (for example a user) may use the quota of the
// account directly above it, if that quota is configured. A quota that is only the sum of the
// children's quotas covers only the children that have a quota. Example: the account ml has a quota
// of 8 GPUs and holds 6, and its user ml/ana has no quota. Then a job of ana with 2 GPUs is within
// quota, and a job with 4 GPUs is not.
// During a pass the caller may learn that a job class borrows, which means that no quota covers its
// jobs. For example, the quota does not cover the GPU product that they would get. The caller then
// calls line_borrows(). An account may have children and also jobs of its own. These jobs wait next
// to the children, and count as one more user with shares 1 and no quota.
//
// Units: costs in milli-GPU, times in ms.
// Errors: none; calls that break a precondition are asserted.
// Threads: one at a time, also for const functions, because they update caches. The engine's state
// owns one queue, and a copy() may go to another thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "accounting/order.h"
#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

namespace ready {
class Index;
class Walk;
}  // namespace ready

// The cost of one job of a shape before its placement is known.
struct ShapeCost {
  // The least cost of the gang, in milli-GPU. The test whether a job is within quota, the order and
  // the limits use this cost.
  MilliGpu milligpu = 0;
  // The only GPU product that the job can use. None: the job can use several products.
  ProductId product;
  friend bool operator==(const ShapeCost&, const ShapeCost&) = default;
};
// Returns the cost of a shape. The cost changes only when the fleet changes.
using CostOf = std::function<ShapeCost(ShapeId)>;

// The fields of a waiting job that the queue needs.
struct ReadyJob {
  // The id of the job, unique in the queue.
  JobId id;
  // The user's account, or the job's account if the job has no user.
  AccountId leaf;
  // The shape of the job's request. The fleet assigned this number to the shape.
  ShapeId shape;
  // The job's priority. Among the jobs of one account and its users, the job with the higher
  // priority comes first.
  std::int32_t priority = 0;
  // The time since which the job waits. The job with the earlier time comes first.
  TimeMs submit_ms = 0;
};

// The waiting jobs of all clusters, and the passes over them.
class ReadyQueue {
 public:
  // `cost_of` returns the cost of a shape in the fleet. The queue calls it when jobs of the shape
  // begin to wait, and again after costs_changed().
  explicit ReadyQueue(CostOf cost_of);
  ~ReadyQueue();
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;
  // Adds a job. Its id must be new to the queue (asserted), and the leaf must exist in the tree.
  // The queue reads only the leaf's ancestors. All calls must pass the same tree.
  void add(const ReadyJob& job, const AccountTree& tree);
  // Removes a job that starts or leaves. The id must be in the queue (asserted).
  void remove(JobId id);
  // Moves the waiting jobs at or below the account, which the tree has just moved from the parent
  // `from`. O(depth x kinds + jobs of the account itself).
  void moved(const AccountTree& tree, AccountId account, AccountId from);
  // Call costs_changed() when the fleet has changed, because the costs of shapes may then change
  // too. O(1). The next pass or sum calls `cost_of` again.
  void costs_changed();
  // True if the job waits. O(1).
  bool contains(JobId id) const;
  // Returns the number of waiting jobs. O(1).
  std::size_t size() const;
  // Returns the shapes of all waiting jobs, by id.
  std::vector<ShapeId> waiting_shapes() const;
  // Returns the job of this shape that has waited longest (submit time, then id); none if no such
  // job waits. The call costs O(1), and work for the jobs that left since the last call.
  std::optional<JobId> oldest(ShapeId shape) const;
  // Figures of the waiting jobs, for metrics that a collector reads from time to time. Both lists
  // are sorted by id. O(jobs).
  struct Census {
    // How many jobs of each shape wait.
    std::vector<std::pair<ShapeId, std::size_t>> by_shape;  // second: the number of jobs
    // The earliest submit time at each leaf.
    std::vector<std::pair<AccountId, TimeMs>> oldest;
  };
  Census census() const;
  // Returns the waiting jobs of this account itself, in their order, for lists and explanations.
  // O(n log n) for n such jobs.
  std::vector<JobId> line(AccountId leaf) const;
  // Return the queued milli-GPU, and the number of queued jobs, at or below an account; 0 if the
  // account is unknown.
  MilliGpu queued_milligpu(AccountId node) const;
  std::size_t queued_jobs(AccountId node) const;

  // One child that the walk compared at an account, with the figures that decided. If `sibling` has
  // the id of the account itself, the entry stands for the account's own jobs.
  struct Compared {
    // The figures that the rule read.
    Sibling sibling;
    // The child's target share among the children compared here, as a part of 1 (targets()).
    double target = 0;
  };
  // The children that the walk compared at one account. Each child has at least one job that may
  // start.
  struct Level {
    // The account whose children were compared.
    AccountId node;
    // The children, sorted by order_keys(). The walk takes the first child.
    std::vector<Compared> compared;
  };

  // One pass at one instant. At each account of the tree, the walk looks at the children that have
  // a job which may start. The walk takes the child that is first by order_keys(). Among an
  // account's users, the walk considers only the users whose next job has the highest priority.
  // Within a pass, a start changes only the allocations on the path of the job. So the pass
  // computes order keys again only on this path.
  //
  // The caller calls next(), tries to place the job, and reports the result: with started(), or
  // with one of the functions that block jobs. Without a report, next() returns the same job again.
  class Pass {
   public:
    // During the pass, no job may join the queue, jobs may leave only because they start, and the
    // tree may change only by their holds. All objects passed by reference must outlive the pass.
    // The pass reads `tick` only for OrderPolicy::kUsageTick; for other policies it may be null.
    // Block the shapes that cannot fit before the first call of next(): such a block costs no work
    // per account.
    Pass(const ReadyQueue& queue, const AccountTree& tree, OrderPolicy policy,
         const TargetShareRule& rule, const UsageTick* tick, TimeMs now);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    // Returns the first job in the order that is not blocked; none if no job is left that may
    // start.
    std::optional<JobId> next();
    // Returns the children compared at each account, from the root down to the job's account, with
    // the figures that decide next(). An account at which only the order within a line decides has
    // no level. The job must be in the queue (asserted). The function computes the next job of
    // every child that it compares.
    std::vector<Level> rank(JobId id);
    // Says that the job has started. Call started() after hold() in the tree and after remove() of
    // the job (asserted). `leaf` is the job's account.
    void started(JobId id, AccountId leaf);
    // Blocks the shape: the pass returns no further job of this shape. Use it when such a job does
    // not fit.
    void block_shape(ShapeId shape);
    // Skips this one job for the rest of this pass.
    void block_job(JobId id);
    // Skips all jobs of this job's leaf and shape. Use block_line() if the same cause stops all
    // these jobs. O(depth).
    void block_line(JobId id);
    // Says that jobs with this job's leaf and shape are within quota only below the account
    // `reach`, or nowhere if `reach` is none. Call line_borrows() when the quota of these jobs does
    // not cover the product that they can get (accounting/quota/entitlement.h). At `reach` and at
    // the accounts above it, these jobs count among jobs that borrow. O(depth).
    void line_borrows(JobId id, AccountId reach);
    // Skips jobs at or below this account that cost at least `milligpu`. Use it when a limit is
    // reached.
    void block_account(AccountId node, MilliGpu milligpu);

   private:
    friend class ReadyQueue;
    const ReadyQueue& queue_;
    std::unique_ptr<ready::Walk> walk_;
  };

  // Returns the order in which the next pass would take the jobs if every job fitted, at most
  // `most` of them. The command `subak queue` shows this order. As in a real pass, each job that is
  // taken raises its account's allocation. The arguments are those of the constructor of Pass.
  std::vector<JobId> order(const AccountTree& tree, OrderPolicy policy, const TargetShareRule& rule,
                           const UsageTick* tick, TimeMs now, std::size_t most) const;
  // Returns a copy of the waiting jobs for another thread. The copy shares nothing with this queue,
  // and a pass over the copy gives the same result. No job may join the copy. O(jobs); most of the
  // cost is one copy of memory.
  std::unique_ptr<ReadyQueue> copy() const;
  // Copies the waiting jobs into `to`, an earlier copy, and reuses the memory of `to`.
  void copy_to(ReadyQueue& to) const;
  // Asserts the invariants of every account and job. O(accounts + jobs); for tests.
  void check_invariants() const;

 private:
  explicit ReadyQueue(std::unique_ptr<ready::Index> index);
  std::unique_ptr<ready::Index> index_;
  mutable std::vector<std::unique_ptr<ready::Walk>> idle_;  // memory of passes, for reuse
};

}  // namespace subak
