// The jobs that could start, and the walk down the account tree that picks the next one.
//
// Jobs of one leaf with one shape wait in one line (a job class), by priority, then submit time,
// then id. Each tree node knows which shapes wait below it, so a pass looks only where something
// could fit. Its cost depends on the changes, not on the number of waiting jobs. A pass does not
// pop jobs: the caller removes a job with remove().
//
// A child's next job is within quota if a quota covers it at the child, and at every node below the
// child on the job's path that has a quota. The first node without a quota (a user, say) relies on
// the quota above it, if that quota is configured there. A quota that is only the sum of the
// children's quotas covers just the children that have one. During a pass the caller may learn more
// of a job class, such as the product that it would get. The caller then says so with
// line_borrows(). Jobs of an account that also has children wait beside the children, like a user's
// jobs: shares 1, no quota.
//
// Units: costs in milli-GPU, times in ms.
// Errors: none; calls that break a precondition are asserted.
// Threads: none; state/jobs owns one, and a copy() may go to another thread.
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
  // The least cost of the gang, for the quota band, the order and limits.
  MilliGpu milligpu = 0;
  // The one product that the job can use. None: it can use several.
  ProductId product;
  friend bool operator==(const ShapeCost&, const ShapeCost&) = default;
};
// Returns the cost of a shape. Its result changes only with the fleet.
using CostOf = std::function<ShapeCost(ShapeId)>;

// The fields of a waiting job that the queue needs.
struct ReadyJob {
  // Unique in the queue.
  JobId id;
  // The user's node, or an account for jobs without a user.
  AccountId leaf;
  // The shape of its request, by the number that the fleet gave it.
  ShapeId shape;
  // Its priority class: among the jobs of one team, the higher class comes first.
  std::int32_t priority = 0;
  // The time since which the job waits. The earlier comes first.
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
  // Says that the fleet, and so perhaps the cost of a shape, has changed. O(1). The next pass or
  // sum calls `cost_of` again.
  void costs_changed();
  // True if the job waits. O(1).
  bool contains(JobId id) const;
  // Returns the number of waiting jobs. O(1).
  std::size_t size() const;
  // Returns the shapes of all waiting jobs, by id.
  std::vector<ShapeId> waiting_shapes() const;
  // Returns the job of this shape that has waited longest (submit time, then id); none if none
  // waits. O(1) plus the jobs that left since the last call.
  std::optional<JobId> oldest(ShapeId shape) const;
  // Figures of the waiting jobs, for metrics that are read now and then. Both lists are by id.
  // O(jobs).
  struct Census {
    // How many jobs of each shape wait.
    std::vector<std::pair<ShapeId, std::size_t>> by_shape;  // jobs
    // The earliest submit time at each leaf.
    std::vector<std::pair<AccountId, TimeMs>> oldest;
  };
  Census census() const;
  // Returns the jobs at this node, in order, for lists and explanations. O(n log n) for n such
  // jobs.
  std::vector<JobId> line(AccountId leaf) const;
  // Returns the queued milli-GPU and jobs at or below a node; 0 if unknown.
  MilliGpu queued_milligpu(AccountId node) const;
  std::size_t queued_jobs(AccountId node) const;

  // One child that the walk compared at a node, with the figures that decided. An entry may be the
  // node itself: it then stands for the node's own jobs.
  struct Compared {
    // The figures that the rule read.
    Sibling sibling;
    // Its target share among the children compared here, as a part of 1 (targets()).
    double target = 0;
  };
  // The children with startable demand that the walk compared at one node, in its order.
  struct Level {
    // The account whose children were compared.
    AccountId node;
    // In the order of the rule, so the child that the walk took comes first.
    std::vector<Compared> compared;
  };

  // One pass at one instant. At each node of the tree the walk looks at the children with startable
  // demand and takes the first by order_keys(). Among an account's users it considers only those
  // whose next job has the highest priority class. Within a pass a start changes only allocations.
  // So the pass computes order keys again only on the path of the started job.
  //
  // The caller calls next(), tries to place the job, and reports the result: started(), or one of
  // the blocks. Without a report next() returns the same job again.
  class Pass {
   public:
    // During the pass, no job joins the queue, jobs leave only by starting, and the tree changes
    // only by their holds. Everything referenced must outlive the pass. The pass reads `tick` under
    // OrderPolicy::kUsageTick only; under others it may be null. Block the shapes that cannot fit
    // before the first call of next(): blocking then costs no work per account.
    Pass(const ReadyQueue& queue, const AccountTree& tree, OrderPolicy policy,
         const TargetShareRule& rule, const UsageTick* tick, TimeMs now);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    // Returns the job that is first in the order and not blocked; none if no startable job is left.
    std::optional<JobId> next();
    // Returns the children compared at each node, from the root down to the job's node, with the
    // figures that decide next(). It has no level where only the order within a line decides. The
    // job must be in the queue (asserted). It computes the next job of every child that it
    // compares.
    std::vector<Level> rank(JobId id);
    // Call it after hold() in the tree and after remove() of the job (asserted). `leaf` is the
    // job's node.
    void started(JobId id, AccountId leaf);
    // Says that no further job of this shape fits in this pass.
    void block_shape(ShapeId shape);
    // Skips this one job in this pass.
    void block_job(JobId id);
    // Skips all jobs of this job's leaf and shape, since the same cause stops them all. O(depth).
    void block_line(JobId id);
    // Says that jobs of this leaf and shape are entitled only below the account `reach`, or nowhere
    // (none). The caller says so when their quota does not cover the product that they can get
    // (accounting/quota/entitlement.h). At accounts above `reach`, these jobs come among those that
    // borrow. O(depth).
    void line_borrows(JobId id, AccountId reach);
    // Skips jobs at or below this node that cost at least `milligpu` (a limit is reached).
    void block_account(AccountId node, MilliGpu milligpu);

   private:
    friend class ReadyQueue;
    const ReadyQueue& queue_;
    std::unique_ptr<ready::Walk> walk_;
  };

  // Returns the order in which the next pass would take the jobs if everything fitted, at most
  // `most` of them. The command `subak queue` shows it. Allocation grows with each job, as in a
  // real pass. The arguments are those of Pass.
  std::vector<JobId> order(const AccountTree& tree, OrderPolicy policy, const TargetShareRule& rule,
                           const UsageTick* tick, TimeMs now, std::size_t most) const;
  // Returns a copy of the waiting jobs for another thread. The copy shares nothing with this queue,
  // and a pass over it gives the same result. No job may join the copy. O(jobs), most of it one
  // copy of memory.
  std::unique_ptr<ReadyQueue> copy() const;
  // Copies into an earlier copy, and reuses its memory.
  void copy_to(ReadyQueue& to) const;
  // Asserts the invariants of every node and job. O(nodes + jobs); for tests.
  void check_invariants() const;

 private:
  explicit ReadyQueue(std::unique_ptr<ready::Index> index);
  std::unique_ptr<ready::Index> index_;
  mutable std::vector<std::unique_ptr<ready::Walk>> idle_;  // memory of passes, for reuse
};

}  // namespace subak
