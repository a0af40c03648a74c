// Copies the live jobs of one instant as facts, in slices, while jobs still change. JobTable calls
// before_change() before it changes a job, so the copy shows every job as it was at that instant.
// Memory: 8 bytes for each job, and the facts of the jobs that change before their turn.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "model/fact.h"

namespace subak::state {

// One copy in progress.
class LiveCopy {
 public:
  using Sink = std::function<void(fact::Body)>;
  // Returns a job by its id; nullptr if the job was forgotten.
  using Find = std::function<const Job*(JobId)>;
  // Writes the facts of one job.
  using Snapshot = std::function<void(const Job&, const Sink&)>;

  // `ids` has all jobs of the instant, ascending. The copy skips ended jobs. The copy calls `find`
  // and `snapshot` until it is complete.
  LiveCopy(std::vector<JobId> ids, Find find, Snapshot snapshot)
      : ids_(std::move(ids)), find_(std::move(find)), snapshot_(std::move(snapshot)) {}

  // Call before_change() before `job` changes. O(log jobs). At the first change of a job, the call
  // also writes the job's facts.
  void before_change(const Job& job);
  // Writes the next jobs by id, until the number of these jobs and of their pods together reaches
  // `most`, or until all jobs are written. Each call writes at least one job. Returns true when the
  // copy is complete.
  bool copy(std::size_t most, const Sink& sink);

 private:
  std::vector<JobId> ids_;
  // The index in ids_ of the first job that is not written.
  std::size_t next_ = 0;
  // The facts of jobs that changed after the instant and are not written yet. These facts show the
  // jobs at the instant of the copy.
  std::unordered_map<JobId, std::vector<fact::Body>> changed_;
  Find find_;
  Snapshot snapshot_;
};

}  // namespace subak::state
