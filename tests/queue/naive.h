// A simple second implementation of ReadyQueue::Pass, the order in which a pass takes the queued
// jobs. Tests compare both. It finds the next job by lists and loops, and computes everything again
// for each choice. It shares only order_keys() and the account tree with the queue. Threads: one at
// a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "accounting/order.h"
#include "accounting/tree.h"
#include "queue/ready.h"

namespace subak {

using Costs = std::map<ShapeId, ShapeCost>;

class NaivePass {
 public:
  NaivePass(const std::vector<ReadyJob>& jobs, const Costs& costs, const AccountTree& tree,
            OrderPolicy policy, const TargetShareRule& rule, const UsageTick* tick, TimeMs now);
  std::optional<JobId> next() const;
  void block_shape(ShapeId shape) { shapes_.insert(shape); }
  void block_job(JobId id) { blocked_.insert(id); }
  void block_line(const ReadyJob& job) {
    for (const ReadyJob& other : jobs_) {
      if (other.leaf == job.leaf && other.shape == job.shape) blocked_.insert(other.id);
    }
  }
  void block_account(AccountId node, MilliGpu milligpu);
  // Counts the job as started: it leaves the queue, and its accounts hold its GPUs.
  void take(const ReadyJob& job);

 private:
  struct Choice {
    const ReadyJob* job = nullptr;
    bool within = false;  // within quota at each level below the account
  };
  struct Candidate {
    Sibling sibling;
    Choice choice;
    bool by_class = false;
  };
  bool open(const ReadyJob& job) const;
  bool startable(AccountId node) const;
  const ReadyJob* own_next(AccountId node) const;
  Choice choose(AccountId node) const;
  std::vector<Candidate> candidates(AccountId node) const;
  bool covered(AccountId node, const ReadyJob& job) const;
  MilliGpu alloc(AccountId node) const;
  const ReadyJob* next_fifo() const;

  MilliGpu cost(const ReadyJob& job) const { return costs_.at(job.shape).milligpu; }

  const std::vector<ReadyJob>& jobs_;
  const Costs& costs_;
  const AccountTree& tree_;
  OrderPolicy policy_;
  const TargetShareRule& rule_;
  std::map<AccountId, double> surplus_, usage_;  // at `now`, before any start
  std::map<AccountId, MilliGpu> extra_, limit_;
  std::set<ShapeId> shapes_;
  std::set<JobId> blocked_;
};

}  // namespace subak
