#include "engine/state/jobs/live_copy.h"

#include <algorithm>

#include "core/must.h"

namespace subak::state {

// A job that is done now was already done at the instant of the copy: this function gets all other
// jobs before they end.
void LiveCopy::before_change(const Job& job) {
  if (job.state == JobState::kDone) return;
  const auto rest = ids_.begin() + static_cast<std::ptrdiff_t>(next_);
  // The job was written already, or is newer than the copy.
  if (!std::binary_search(rest, ids_.end(), job.id)) return;
  const auto [at, first] = changed_.try_emplace(job.id);
  if (!first) return;
  snapshot_(job, [&facts = at->second](fact::Body body) { facts.push_back(std::move(body)); });
  must(!at->second.empty(), "a job is one fact at least");
}

bool LiveCopy::copy(std::size_t most, const Sink& sink) {
  must(next_ <= ids_.size() && changed_.size() <= ids_.size() - next_,
       "jobs that changed are not written yet");
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
  must(next_ < ids_.size() || changed_.empty(), "a complete copy leaves no job behind");
  return next_ == ids_.size();
}

}  // namespace subak::state
