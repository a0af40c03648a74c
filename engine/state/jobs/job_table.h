// The jobs by id, their ids in order, and the ended ones in the order of their ends. Each job is
// there once. Ended jobs stay until limits::kDoneJobsKept others ended after them.
//
// Every change of a job begins with writable(): a copy in progress first takes the job as it was.
// A reference to a job holds until the job is forgotten. Threads: none; Jobs owns it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "engine/state/jobs/live_copy.h"

namespace subak::state {

// The ids of all jobs in order, so that the cost of a page of jobs depends on its size alone. Ids
// come nearly in order. New ones stay unsorted at the end until the next read.
class JobIds {
 public:
  // `id` is new.
  void add(JobId id) { ids_.push_back(id); }
  // The ids, ascending. A removed job stays in for a while: look each one up.
  const std::vector<JobId>& ascending() const;
  // Drops removed ids. `live` is the number of jobs left, and `is_live` tells which they are. Cheap
  // unless half of the ids are removed.
  void trim(std::size_t live, const std::function<bool(JobId)>& is_live);

 private:
  static constexpr std::size_t kSlack = 64;
  mutable std::vector<JobId> ids_;
  // So many at the front are in order.
  mutable std::size_t sorted_ = 0;
};

// All jobs.
class JobTable {
 public:
  using All = std::unordered_map<JobId, Job>;

  // nullptr if the job is unknown or forgotten.
  const Job* find(JobId id) const;
  // Asserts that the job is there.
  const Job& at(JobId id) const;
  // For look-ups and sums: its order means nothing.
  const All& all() const { return by_id_; }
  // The number of jobs, ended ones that are remembered included.
  std::size_t size() const { return by_id_.size(); }
  // Ascending. O(jobs).
  std::vector<JobId> ids() const;
  // Ascending, for pages. A removed job stays in for a while: look each one up.
  const std::vector<JobId>& ascending() const { return ids_.ascending(); }
  // Ended and not yet forgotten: oldest first.
  const std::deque<JobId>& done() const { return done_; }

  // The job, to change it. Asserts that it is there.
  Job& writable(JobId id);
  // A new job with this id, which no job had (asserted).
  Job& add(JobId id);
  // The job is done: it is the newest of the ended ones.
  void end(const Job& job);
  // The oldest ended job, if there are more than limits::kDoneJobsKept; else nullptr.
  const Job* to_forget() const;
  // Forgets that job. Requires one (asserted).
  void forget_oldest();

  // Begins a copy of the live jobs of this instant, and drops one in progress. `snapshot` writes
  // the facts of one job; the table keeps it until the copy is complete. O(jobs), 8 bytes each.
  void begin_copy(LiveCopy::Snapshot snapshot);
  // Copies the next slice: jobs and pods together, `most`. True: it was the last. Requires a copy
  // in progress (asserted).
  bool copy_slice(std::size_t most, const LiveCopy::Sink& sink);

  // Asserts that the lists agree with the jobs. O(jobs).
  void check() const;

 private:
  All by_id_;
  JobIds ids_;  // of by_id_
  // The oldest first.
  std::deque<JobId> done_;
  // The copy in progress. nullptr: none.
  std::unique_ptr<LiveCopy> copy_;
};

}  // namespace subak::state
