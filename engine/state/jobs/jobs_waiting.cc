// Jobs that wait for more than their turn: until their account is resumed, their backoff ends, or
// their one pod is recreated.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/must.h"
#include "engine/state/jobs/jobs.h"

namespace subak::state {

void Jobs::await_resume(Job& job, bool awaits) {
  must(job.from_pods() && (!awaits || job.state == JobState::kIncomplete),
       "who awaits that its account is resumed is not queued");
  job.pod_origin->awaits_resume = awaits;
  if (awaits) {
    awaiting_resume_.insert(job.id);
  } else {
    awaiting_resume_.erase(job.id);
  }
}

void Jobs::set_backoff(Job& job, std::unique_ptr<Backoff> backoff) {
  job.backoff = std::move(backoff);
  if (job.backoff != nullptr) {
    refused_.insert(job.id);
  } else {
    refused_.erase(job.id);
  }
}

bool Jobs::awaits_pod(const Job& job) {
  if (job.origin != JobOrigin::kPods || job.gang) return false;
  return (job.state == JobState::kIncomplete && job.until_ms != 0) ||
         (job.state == JobState::kEnding && job.stop == Cause::kUnschedulable);
}

JobId Jobs::awaiting_pod(ClusterId cluster, const std::string& ns, const std::string& owner,
                         const PodShape& shape) const {
  const auto it = std::find_if(awaiting_pods_.begin(), awaiting_pods_.end(), [&](JobId id) {
    const Job& job = at(id);
    const bool its = id.cluster() == cluster && job.pod_origin->owner == owner && job.ns() == ns;
    return its && job.pods.size() == 1 && job.pods[0].shape && shape_of(job.pods[0]) == shape;
  });
  return it == awaiting_pods_.end() ? JobId() : *it;
}

}  // namespace subak::state
