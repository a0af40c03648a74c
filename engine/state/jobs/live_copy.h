// Copies the live jobs of one instant as facts, in slices, while jobs still change. Jobs calls
// before_change() before it changes a job, so the copy shows every job as of that instant.
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
  // Returns a job by its id; nullptr if it is forgotten.
  using Find = std::function<const Job*(JobId)>;
  // Writes the facts of one job.
  using Snapshot = std::function<void(const Job&, const Sink&)>;

  // `ids` has all jobs of the instant, ascending. Ended jobs are skipped. The copy calls `find` and
  // `snapshot` until it is complete.
  LiveCopy(std::vector<JobId> ids, Find find, Snapshot snapshot)
      : ids_(std::move(ids)), find_(std::move(find)), snapshot_(std::move(snapshot)) {}

  // Call it before `job` changes. O(log jobs); the first change of a job also costs writing its
  // facts.
  void before_change(const Job& job);
  // Writes the next jobs by number, until their count plus the count of their pods reaches `most`,
  // or all are written. Each call writes at least one job. Returns true when the copy is complete.
  bool copy(std::size_t most, const Sink& sink);

 private:
  std::vector<JobId> ids_;
  // The index in ids_ of the first job that is not written.
  std::size_t next_ = 0;
  // The facts, as of the instant, of jobs that changed later and are not written yet.
  std::unordered_map<JobId, std::vector<fact::Body>> changed_;
  Find find_;
  Snapshot snapshot_;
};

}  // namespace subak::state
