// Copies the live jobs of one instant as facts, in slices, while the jobs go on changing. Jobs
// passes a job here before it changes it, so the copy shows every job as of that instant.
// Memory: 8 bytes a job, and the facts of the jobs that changed before their turn. Threads: none.
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
  // Looks a job up. nullptr: it is forgotten.
  using Find = std::function<const Job*(JobId)>;
  // Writes the facts of one job.
  using Snapshot = std::function<void(const Job&, const Sink&)>;

  // `ids`: all jobs of the instant, ascending. Ended jobs are skipped. It calls `find` and `keep`
  // until the copy is complete.
  LiveCopy(std::vector<JobId> ids, Find find, Snapshot snapshot)
      : ids_(std::move(ids)), find_(std::move(find)), snapshot_(std::move(snapshot)) {}

  // Call it before `job` changes. O(log jobs), and at the first change the facts of the job.
  void before_change(const Job& job);
  // Writes the next jobs by number, until their count plus the count of their pods reaches `most`,
  // or all are written. Each call writes one job at least. True: the copy is complete.
  bool copy(std::size_t most, const Sink& sink);

 private:
  std::vector<JobId> ids_;
  // The first in ids_ that is not written.
  std::size_t next_ = 0;
  // As they were at the instant; not written yet.
  std::unordered_map<JobId, std::vector<fact::Body>> changed_;
  Find find_;
  Snapshot snapshot_;
};

}  // namespace subak::state
