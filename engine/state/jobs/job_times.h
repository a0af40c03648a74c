// The due times of jobs: the deadline (Job::until_ms), such as the end of its hold, and the time at
// which Subak checks the job's planned end (Run::due_ms). A job has at most one deadline and one
// such check. derive/deadlines.h reads them.
//
// JobTimes sets these times in the jobs and in its sorted lists together, so the jobs and the lists
// always agree. Times are in ms since 1970-01-01 UTC; 0 stands for none.
// Threads: one at a time; Jobs owns the object.
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

  // The jobs with a deadline, sorted by Job::until_ms.
  const Order& deadlines() const { return deadlines_; }
  // The jobs of one cluster with a check of their planned end, sorted by Run::due_ms.
  const Order& dues(ClusterId cluster) const;

  // Sets Job::until_ms. Asserts that a job that runs or is done gets no deadline.
  void set_deadline(Job& job, TimeMs until_ms);
  // Sets Run::end_ms and due_ms. Pass 0 for both if the job has no holds. `due_ms` must not be
  // after `end_ms` (asserted).
  void set_end(Job& job, TimeMs end_ms, TimeMs due_ms);

  // Asserts that the sorted lists have exactly the times of these jobs. O(jobs).
  void check(const JobTable& jobs) const;

 private:
  Order deadlines_;
  std::map<ClusterId, Order> dues_;
};

}  // namespace subak::state
