// Writes a job as facts of a checkpoint (fact::JobSnapshot), and joins these facts again. A job
// with more pods than a fact may have becomes several facts. Each fact except the last has only
// pods, and `more` is set. The last fact also has all other fields.
// Threads: one at a time.
#pragma once

#include <vector>

#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "engine/state/jobs/live_copy.h"
#include "model/fact.h"
#include "placement/fleet/fleet.h"

namespace subak::state {

// Passes the job on as facts. O(pods).
void snapshot_job(const Fleet& fleet, const Job& job, const LiveCopy::Sink& sink);

// Joins the facts of one job again. Pass all facts of a job one after the other, before those of
// the next job.
class JobParts {
 public:
  // Adds the next fact. Returns the complete job with all its pods, or nullptr if more facts of the
  // job follow. The result is valid until the next call, but not longer than `part`.
  const fact::JobSnapshot* add(const fact::JobSnapshot& part);

 private:
  // The job whose parts are joined now.
  JobId job_;
  // The pods of the parts that were added before the last part.
  std::vector<fact::JobSnapshot::Pod> pods_;
  // The complete job, if the job came in several parts.
  fact::JobSnapshot whole_;
};

}  // namespace subak::state
