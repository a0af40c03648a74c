#include "engine/state/jobs/live_copy.h"

#include <algorithm>

namespace subak::state {

// A job that is done now was done at the instant: jobs that end later are passed here before they
// end.
void LiveCopy::before_change(const Job& job) {
  if (job.state == JobState::kDone) return;
  const auto rest = ids_.begin() + static_cast<std::ptrdiff_t>(next_);
  // Written already, or newer than the copy.
  if (!std::binary_search(rest, ids_.end(), job.id)) return;
  const auto [at, first] = changed_.try_emplace(job.id);
  if (!first) return;
  snapshot_(job, [&facts = at->second](fact::Body body) { facts.push_back(std::move(body)); });
}

bool LiveCopy::copy(std::size_t most, const Sink& sink) {
  for (std::size_t done = 0; done < most && next_ < ids_.size(); ++next_) {
    const JobId id = ids_[next_];
    ++done;
    if (const auto at = changed_.find(id); at != changed_.end()) {
      done += at->second.size();
      for (fact::Body& body : at->second) sink(std::move(body));
      changed_.erase(at);
    } else if (const Job* const job = find_(id); job != nullptr && job->state != JobState::kDone) {
      done += job->pods.size();
      snapshot_(*job, sink);
    }
  }
  return next_ == ids_.size();
}

}  // namespace subak::state
