// The times at which something is due for a job: its deadline (Job::until_ms), and when Subak looks
// at its planned end (Run::due_ms). A job has one of each at most.
//
// It sets the times and keeps them in order, so both agree. Times are in ms since 1970-01-01 UTC; 0
// stands for none. Threads: none; Jobs owns it.
#pragma once

#include <map>
#include <utility>

#include "core/block_set.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/jobs/job.h"
#include "engine/state/jobs/job_table.h"

namespace subak::state {

// The due times of all jobs.
class JobTimes {
 public:
  using Order = BlockSet<std::pair<TimeMs, JobId>>;

  // By Job::until_ms.
  const Order& deadlines() const { return deadlines_; }
  // By Run::due_ms, of one cluster.
  const Order& dues(ClusterId cluster) const;

  // Sets Job::until_ms. Asserts that a job that runs or is done gets none.
  void set_deadline(Job& job, TimeMs until_ms);
  // Sets Run::end_ms and due_ms. Both 0: the job holds nothing. `due_ms` is not after `end_ms`
  // (asserted).
  void set_end(Job& job, TimeMs end_ms, TimeMs due_ms);

  // Asserts that the times of the jobs are in order, and no others. O(jobs).
  void check(const JobTable& jobs) const;

 private:
  Order deadlines_;
  std::map<ClusterId, Order> dues_;
};

}  // namespace subak::state
