// Jobs in a checkpoint.
#include <memory>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "core/stored_size.h"
#include "engine/state/jobs/jobs.h"

namespace subak::state {

fact::JobSnapshot Jobs::snapshot_of(const Job& job) const {
  fact::JobSnapshot k;
  k.job.id = job.id;
  k.job.origin = job.origin;
  k.job.state = job.state;
  k.job.leaf = job.leaf;
  k.job.name = job.name;
  k.job.gang_size = job.gang_size;
  k.job.priority = job.priority;
  k.job.time_limit_ms = job.time_limit_ms;
  k.job.gang = job.gang;
  if (job.pod_origin) {
    k.job.owner = job.pod_origin->owner;
    k.job.account = job.pod_origin->account;
    k.job.user = job.pod_origin->user;
    k.job.awaits_resume = job.pod_origin->awaits_resume;
    k.job.replaced_alone = job.pod_origin->replaced_alone;
  }
  if (job.shape) {
    k.job.request = fleet_.request(job.shape);
  } else if (job.asked) {
    k.job.request = *job.asked;
  }
  k.submit_ms = job.submit_ms;
  k.attempt = job.attempt;
  k.until_ms = job.until_ms;
  k.cause = job.cause;
  k.stop = job.stop;
  k.refusals = job.refusals;
  k.end_refused_ms = job.run().end_refused_ms;
  k.overruns = job.overruns;
  if (job.backoff != nullptr) {
    k.refusal_words = job.backoff->words;
    k.backoffs = job.backoff->times;
    k.backoff_until_ms = job.backoff->until_ms;
  }
  k.started_ms = job.run().started_ms;
  k.ended_ms = job.run().ended_ms;
  return k;
}

fact::JobSnapshot::Pod Jobs::snapshot_of(const Job& job, std::uint32_t rank) const {
  const Pod& pod = job.pods[rank];
  fact::JobSnapshot::Pod p;
  p.uid = pod.uid;
  p.name = pod.name;
  p.state = pod.state;
  p.controlled = pod.controlled;
  p.dispute = pod.dispute;
  p.gate = pod.gate;
  p.order = pod.order;
  p.slot = pod.slot;
  p.since_ms = pod.since_ms;
  if (pod.is_bound()) {
    p.seen_ms = pod.seen_ms;
    p.behind_ms = pod.behind_ms;
  }
  p.refused = pod.refused;
  const bool of_request = job.shape && rank < job.ranks();
  if (!of_request && pod.shape) p.shape = shape_of(pod);
  return p;
}

// Splits a job over several facts: ten thousand pods with requests of their own are more than one
// fact may hold. All but the last set `more`, and only the last has the other fields.
void Jobs::snapshot(const Job& job, const Sink& sink) const {
  fact::JobSnapshot part;
  part.job.id = job.id;
  part.more = true;
  std::size_t bytes = 0;
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    part.pods.push_back(snapshot_of(job, rank));
    bytes += stored_bytes(part.pods.back());
    if (bytes < limits::kCheckpointPartBytes) continue;
    sink(part);
    part.pods.clear();
    bytes = 0;
  }
  fact::JobSnapshot last = snapshot_of(job);
  last.pods = std::move(part.pods);
  sink(std::move(last));
}

void Jobs::snapshot_live(const Sink& sink) const {
  for (const JobId id : ids()) {
    const Job& job = at(id);
    if (job.state != JobState::kDone) snapshot(job, sink);
  }
}

void Jobs::snapshot_done(const Sink& sink) const {
  for (const JobId id : done_) snapshot(at(id), sink);
}

void Jobs::snapshot_needed_done(const Sink& sink) const {
  for (const JobId id : done_) {
    const Job& job = at(id);
    if (record_.rests_on(job)) snapshot(job, sink);
  }
}

void Jobs::begin_copy() {
  copy_ = std::make_unique<LiveCopy>(
      ids_.ascending(), [this](JobId id) { return find(id); },
      [this](const Job& job, const Sink& sink) { snapshot(job, sink); });
}

bool Jobs::copy_slice(std::size_t most, const Sink& sink) {
  must(copy_ != nullptr, "a copy is under way");
  if (!copy_->copy(most, sink)) return false;
  copy_.reset();
  return true;
}

bool Jobs::gather(const fact::JobSnapshot& f) {
  gathered_.insert(gathered_.end(), f.pods.begin(), f.pods.end());
  return !f.more;
}

Job& Jobs::restore(const fact::JobSnapshot& f, ShapeUse shape) {
  const auto [it, added] = by_id_.try_emplace(f.job.id);
  must(added, "a checkpoint has each job once");
  must(f.job.leaf == kUnassigned || tree_.exists(f.job.leaf),
       "a job has an existing account, or none");
  ids_.add(f.job.id);
  Job& job = it->second;
  job.id = f.job.id;
  job.leaf = f.job.leaf;
  job.shape = std::move(shape);
  job.origin = f.job.origin;
  job.name = f.job.name;
  job.gang_size = f.job.gang_size;
  job.priority = f.job.priority;
  job.time_limit_ms = f.job.time_limit_ms;
  job.gang = f.job.gang;
  job.submit_ms = f.submit_ms;
  job.attempt = f.attempt;
  job.cause = f.cause;
  job.stop = f.stop;
  job.refusals = static_cast<std::uint16_t>(f.refusals);
  job.overruns = static_cast<std::uint8_t>(f.overruns);
  if (!f.refusal_words.empty()) {
    set_backoff(
        job, std::make_unique<Backoff>(Backoff{f.refusal_words, f.backoffs, f.backoff_until_ms}));
  }
  if (!is_waiting(f.job.state)) {
    Run& run = job.make_run();
    run.started_ms = f.started_ms;
    run.ended_ms = f.ended_ms;
    run.end_refused_ms = f.end_refused_ms;
  }
  const bool live_of_pods = job.from_pods() && f.job.state != JobState::kDone;
  if (live_of_pods || !job.shape) {
    GangRequest asked = f.job.request;
    if (live_of_pods && job.shape) asked.groups.clear();
    job.asked = std::make_shared<const GangRequest>(std::move(asked));
  }
  if (live_of_pods) {
    job.pod_origin = said_by_pods(f.job);
    note_unassigned(job);
    if (job.awaits_resume()) awaiting_resume_.insert(job.id);
  }
  job.pods.resize(gathered_.size());
  return job;
}

void Jobs::restore_pod(Job& job, std::uint32_t rank, ShapeUse shape) {
  const fact::JobSnapshot::Pod& pod_snapshot = gathered_[rank];
  Pod& pod = job.pods[rank];
  pod.uid = pod_snapshot.uid;
  pod.name = pod_snapshot.name;
  pod.controlled = pod_snapshot.controlled;
  pod.dispute = pod_snapshot.dispute;
  pod.gate = pod_snapshot.gate;
  pod.order = pod_snapshot.order;
  pod.refused = pod_snapshot.refused;
  pod.state = pod_snapshot.state;
  pod.shape = std::move(shape);
  pod.shape_rank = job.shape && rank < job.ranks() ? rank : 0;
  // A pod of an ended job has no shape and no uid in the index: another job may have the uid by
  // now.
  if (pod.shape && !pod.uid.empty() && pod.state != PodState::kGone) {
    uids_[job.id.cluster()][pod.uid] = {job.id, rank};
  }
}

void Jobs::restored(Job& job, const fact::JobSnapshot& f) {
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    job.pods[rank].since_ms = gathered_[rank].since_ms;
  }
  must(gathered_.size() == job.pods.size(), "a checkpoint has each pod once");
  gathered_.clear();
  ++count_of(f.job.state);
  job.state = f.job.state;
  count_waiting(job, 1);
  if (job.state == JobState::kQueued) ready_.add(ready_job(job), tree_);
  index_state(job);
  note_crowd(job);
  if (is_over(job)) record_.over(job, fleet_.shared_request(job.shape));
  set_deadline(job, f.until_ms);
  if (job.state == JobState::kDone) {
    done_.push_back(job.id);
    record_.ended(job);
  } else if (job.gang && !job.ends_for_good()) {
    gangs_[key_of(job)] = job.id;
  } else {
    note_apart(job);
  }
}

}  // namespace subak::state
