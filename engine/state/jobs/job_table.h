// The jobs by id, their ids in order, and the ended jobs in the order of their ends. The table has
// each job once. An ended job stays until limits::kDoneJobsKept other jobs have ended after it.
//
// Every change of a job begins with writable(), so that a copy in progress (live_copy.h) can first
// copy the unchanged job. A reference to a job is valid until the table forgets the job.
// Threads: one at a time; Jobs owns the table.
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
// come nearly in order. New ids stay unsorted at the end until the next read.
class JobIds {
 public:
  // Adds a new id.
  void add(JobId id) { ids_.push_back(id); }
  // Returns the ids, ascending. The list may still have ids of removed jobs, so look up each id.
  const std::vector<JobId>& ascending() const;
  // Drops removed ids. `live` is the number of remaining jobs, and `is_live` returns whether a job
  // remains. The call is cheap until at least half of the ids are removed.
  void trim(std::size_t live, const std::function<bool(JobId)>& is_live);

 private:
  static constexpr std::size_t kSlack = 64;
  mutable std::vector<JobId> ids_;
  // The number of ids at the front that are in order.
  mutable std::size_t sorted_ = 0;
};

// All jobs.
class JobTable {
 public:
  using All = std::unordered_map<JobId, Job>;

  // Returns the job; nullptr if it is unknown or forgotten.
  const Job* find(JobId id) const;
  // Returns the job. Asserts that the job is in the table.
  const Job& at(JobId id) const;
  // All jobs. Use the map for look-ups and sums only, because its order has no meaning.
  const All& all() const { return by_id_; }
  // The number of jobs, including ended jobs that are not forgotten yet.
  std::size_t size() const { return by_id_.size(); }
  // The ids, ascending. O(jobs).
  std::vector<JobId> ids() const;
  // Returns the ids, ascending, for pages. The list may still have ids of removed jobs, so look up
  // each id.
  const std::vector<JobId>& ascending() const { return ids_.ascending(); }
  // The jobs that have ended and are not yet forgotten, the oldest first.
  const std::deque<JobId>& done() const { return done_; }

  // Returns the job for a change. Asserts that the job is in the table.
  Job& writable(JobId id);
  // Makes a new job with this id. No job may have had the id before (asserted).
  Job& add(JobId id);
  // Says that the job is done. The job becomes the newest of the ended jobs.
  void end(const Job& job);
  // Returns the oldest ended job if there are more than limits::kDoneJobsKept ended jobs, else
  // nullptr.
  const Job* to_forget() const;
  // Forgets the job of to_forget(), which must not be nullptr (asserted).
  void forget_oldest();

  // Begins a copy of the live jobs of this instant. If a copy is in progress, the call drops that
  // copy. `snapshot` writes the facts of one job; the table calls it until the copy is complete.
  // O(jobs), with 8 bytes for each job.
  void begin_copy(LiveCopy::Snapshot snapshot);
  // Copies the next slice: at most `most` jobs and pods together. Returns true if this was the last
  // slice. A copy must be in progress (asserted).
  bool copy_slice(std::size_t most, const LiveCopy::Sink& sink);

  // Asserts that the lists agree with the jobs. O(jobs).
  void check() const;

 private:
  All by_id_;
  JobIds ids_;  // the ids of by_id_
  // The ended jobs, the oldest first.
  std::deque<JobId> done_;
  // The copy in progress; nullptr if there is none.
  std::unique_ptr<LiveCopy> copy_;
};

}  // namespace subak::state
