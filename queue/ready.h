// Who next: the jobs that could start, and the walk down the account tree that picks among them.
//
// Jobs of one leaf with one shape wait in one line (class, then submit time, then id). Each tree
// node knows which shapes wait below it, so a pass looks only where something could fit: its cost
// follows what changed, not what waits. Nothing is popped: a job leaves by remove().
//
// Whether a child's next job is within quota: it must be covered at the child, and at every node
// below it on the job's path that has a quota. The first node without any (a user, say) is spoken
// for by the quota of the one above if that is its own; a quota that is only the sum of the
// children's belongs to those that have it. Jobs of an account that also has children wait beside
// these like a user's: shares 1, no quota.
//
// Units: costs in milli-GPU, times in ms. Errors: none; a call that cannot be is asserted against.
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

// What one job of a shape costs before its place is known.
struct ShapeCost {
  MilliGpu milligpu = 0;  // least cost of the gang, for the quota band, the order and limits
  ProductId product;      // the one product that it can take; none if several would do
  friend bool operator==(const ShapeCost&, const ShapeCost&) = default;
};
// Pure as long as the fleet stands still.
using CostOf = std::function<ShapeCost(ShapeId)>;

// A job that waits, as the queue needs to know it.
struct ReadyJob {
  JobId id;
  AccountId leaf;  // the user's node (or an account, for jobs without a user)
  ShapeId shape;
  std::int32_t priority = 0;  // class value: higher first, within its team
  TimeMs submit_ms = 0;
};

class ReadyQueue {
 public:
  // What a shape costs is the fleet's to say: it is asked when jobs of the shape begin to wait, and
  // again after costs_changed().
  explicit ReadyQueue(CostOf cost_of);
  ~ReadyQueue();
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;
  // The id is new to the queue (asserted), and the leaf exists in the tree. The tree is read for
  // the leaf's ancestors only; it is the same one in all calls.
  void add(const ReadyJob& job, const AccountTree& tree);
  // The id is in the queue (asserted). A job that starts or leaves is removed by the caller.
  void remove(JobId id);
  // The fleet changed, and with it perhaps what shapes cost. O(1); the next pass or sum asks.
  void costs_changed();
  bool contains(JobId id) const;
  std::size_t size() const;
  // Shapes that anything waits for, by id.
  std::vector<ShapeId> waiting_shapes() const;
  // The job of this shape that has waited longest (submit time, then id); none if none waits. O(1),
  // with what has left since the last time.
  std::optional<JobId> oldest(ShapeId shape) const;
  // What waits, in figures, for metrics that are read now and then. Both lists by id. O(jobs).
  struct Census {
    std::vector<std::pair<ShapeId, std::size_t>> by_shape;  // jobs
    std::vector<std::pair<AccountId, TimeMs>> oldest;       // by leaf: the earliest submit time
  };
  Census census() const;
  // The jobs that sit at this node, in line order, for lists and explanations. O(n log n) of them.
  std::vector<JobId> line(AccountId leaf) const;
  // Queued milli-GPU and jobs at or below a node; 0 if unknown.
  MilliGpu queued_milligpu(AccountId node) const;
  std::size_t queued_jobs(AccountId node) const;

  // One child that was compared at a node, with what decided; the node itself for its own jobs.
  struct Compared {
    Sibling sibling;
    double target = 0;  // its part of the moment, of 1 among these (targets())
  };
  // Who is compared at one node: the children with startable demand, first come first.
  struct Level {
    AccountId node;
    std::vector<Compared> compared;
  };

  // One pass at one instant. At each node of the tree the walk looks at the children with startable
  // demand and takes the first by order_keys(). Of an account's users only those take part whose
  // next job has the highest class. As long as the instant stands, a start changes nothing but
  // allocations, so keys are kept and made anew on the job's path only.
  //
  // The caller asks next(), tries to place the job, and says what came of it: started(), or one of
  // the blocks. Else next() returns the same job again.
  class Pass {
   public:
    // While it lives, nothing joins the queue, jobs leave by starting only, and the tree changes by
    // their holds only. Everything referenced outlives the pass. `tick` is read under
    // OrderPolicy::kUsageTick only, and may be null under others. Where it is known which shapes
    // cannot fit, block them before the first next(): that costs nothing per account.
    Pass(const ReadyQueue& queue, const AccountTree& tree, OrderPolicy policy,
         const TargetShareRule& rule, const UsageTick* tick, TimeMs now);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    // The neediest job that is not blocked; none when nothing startable is left.
    std::optional<JobId> next();
    // Who is compared at each node from the root down to where the job sits, and by what: the same
    // figures that decide next(). Ends above a node where only a line decides. The job is in the
    // queue (asserted). Asks all that are compared for their next job.
    std::vector<Level> rank(JobId id);
    // To be called after its hold is in the tree (hold()) and it left the queue (remove(), which is
    // asserted). `leaf` is where it sat.
    void started(JobId id, AccountId leaf);
    // No job of this shape fits any more in this pass.
    void block_shape(ShapeId shape);
    // This one job is passed over for this pass (a lost race).
    void block_job(JobId id);
    // So are all jobs of its leaf with its shape: what stops one of them stops them all. O(depth).
    void block_line(JobId id);
    // Jobs that cost at least `milligpu` at or below this node are passed over (a limit is
    // reached).
    void block_account(AccountId node, MilliGpu milligpu);

   private:
    friend class ReadyQueue;
    const ReadyQueue& queue_;
    std::unique_ptr<ready::Walk> walk_;
  };

  // The order in which the next pass would take the jobs if everything fitted, at most `most` of
  // them: what `queue` shows. Allocation grows with each job, as it would. Arguments as of Pass.
  std::vector<JobId> order(const AccountTree& tree, OrderPolicy policy, const TargetShareRule& rule,
                           const UsageTick* tick, TimeMs now, std::size_t most) const;
  // All that waits as it is now, for another thread: it shares nothing with this one, and a pass
  // over it is one over this. Nothing joins it any more. O(jobs), most of it one copy of memory.
  std::unique_ptr<ReadyQueue> copy() const;
  // The same into an earlier copy, whose memory is used again.
  void copy_to(ReadyQueue& to) const;
  // Asserts what must hold of every node and job. O(nodes + jobs); for tests.
  void check_invariants() const;

 private:
  explicit ReadyQueue(std::unique_ptr<ready::Index> index);
  std::unique_ptr<ready::Index> index_;
  mutable std::vector<std::unique_ptr<ready::Walk>> idle_;  // memory of passes, for the next ones
};

}  // namespace subak
