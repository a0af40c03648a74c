// The jobs that live at one instant, as facts, copied in slices while the jobs go on changing. Jobs hands
// over a job before it changes it, so the copy shows every job as it was at that instant.
// Memory: 8 bytes a job, and the facts of the jobs that changed before their turn. Threads: none.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "engine/fact.h"
#include "engine/state/job.h"

namespace subak::state {

class LiveCopy {
 public:
  using Sink = std::function<void(fact::Body)>;
  using Find = std::function<const Job*(JobId)>;              // nullptr: the job is forgotten
  using Keep = std::function<void(const Job&, const Sink&)>;  // writes the facts of one job

  // `ids`: every job that is there at the instant, ascending; those that are done are passed over. `find`
  // and `keep` are asked until the copy is complete.
  LiveCopy(std::vector<JobId> ids, Find find, Keep keep)
      : ids_(std::move(ids)), find_(std::move(find)), keep_(std::move(keep)) {}

  // `job` is about to change. O(log jobs), and the facts of the job at its first change.
  void before_change(const Job& job);
  // Writes the next jobs by number: their count and the count of their pods together reach `most`, or all
  // are written. True: the copy is complete. Each call writes one job at least.
  bool copy(std::size_t most, const Sink& sink);

 private:
  std::vector<JobId> ids_;
  std::size_t next_ = 0;  // the first in ids_ that is not written
  std::unordered_map<JobId, std::vector<fact::Body>> changed_;  // as they were; none is written yet
  Find find_;
  Keep keep_;
};

}  // namespace subak::state
