// Checks that every index of the jobs agrees with them.
#include <array>

#include "core/must.h"
#include "engine/state/jobs/jobs.h"

namespace subak::state {

void Jobs::check_job(const Job& job) const {
  must(ready_.contains(job.id) == (job.state == JobState::kQueued), "queued jobs are in the queue");
  const bool empty = job.waits() || job.state == JobState::kDone;
  must(!empty || job.pods_holding() == 0, "a job that waits or has ended holds nothing");
  must(job.stop == Cause::kNone || job.state == JobState::kEnding, "who is to end is ending");
  const Run& run = job.run();
  must(job.of_run == nullptr || !job.waits(), "who waits has no run");
  must(run.end_refused_ms == 0 || job.state == JobState::kEnding, "who may not end is to end");
  const bool whole = job.origin != JobOrigin::kPods || job.is_whole();
  must(job.state != JobState::kQueued || whole, "who is queued could start");
  must(job.until_ms == 0 || deadlines_.contains({job.until_ms, job.id}), "deadlines are indexed");
  must(active_.contains(job.id) == job.active(), "who starts or ends is indexed");
  must(waiting_again_.contains(job.id) == job.waits_again(), "who waits again is indexed");
  must(parked_.contains(job.id) == (job.waits() && job.state != JobState::kQueued),
       "who waits beside the queue is indexed");
  must(crowded_.contains(job.id) == (job.pods_behind() > 0), "who waits behind ranks is indexed");
  const auto apart = apart_.find(key_of(job));
  const bool indexed = apart != apart_.end() && apart->second.contains(job.id);
  must(indexed == (job.is_apart() && job.state != JobState::kDone), "who is apart is indexed");
  must(awaiting_resume_.contains(job.id) == job.awaits_resume(), "who awaits a resume is indexed");
  must(refused_.contains(job.id) == (job.backoff != nullptr), "who was refused is indexed");
  must(awaiting_pods_.contains(job.id) == awaits_pod(job), "who awaits its pod is indexed");
  const bool held_back = job.state == JobState::kIncomplete || job.state == JobState::kEnding;
  must(!job.awaits_resume() || held_back, "who awaits is not queued");
  must(!empty || run.end_ms == 0, "who holds nothing has no end");
  must(run.due_ms == 0 || dues(job.id.cluster()).contains({run.due_ms, job.id}),
       "ends are indexed");
}

void Jobs::check() const {
  ready_.check_invariants();
  std::array<std::size_t, EnumText<JobState>::names.size()> counts{};
  for (const auto& [id, job] : by_id_) {  // any order: each is judged by itself
    must(job.id == id, "a job is under its number");
    ++counts[static_cast<std::size_t>(job.state)];
    check_job(job);
  }
  must(counts == counts_, "jobs are counted by state");
  WaitingCount waiting;
  for (const auto& [id, job] : by_id_) {  // any order: sums
    if (!job.waits()) continue;
    waiting.jobs(tree_, job.leaf, 1);
    waiting.pods(tree_, id.cluster(), job.leaf, static_cast<std::ptrdiff_t>(job.pods_live()));
  }
  must(waiting == waiting_, "what waits is counted by account");
  must(ids().size() == by_id_.size(), "each job is in the list of ids once");
  must(done_.size() == count(JobState::kDone), "ended jobs are in the order of their ends");
  LimitRecord record;
  for (const auto& [id, job] : by_id_) {  // any order: they are counted
    if (is_over(job)) record.over(job, fleet_.shared_request(job.shape));
  }
  for (const JobId id : done_) record.ended(at(id));
  must(record_.agrees_with(record), "whose limits were overrun follows from the jobs");
  for (const auto& [key, id] : gangs_) {
    const Job& job = at(id);
    must(job.gang && key == key_of(job), "a gang is found by its identity");
    must(job.state != JobState::kDone && !job.ends_for_good(), "members join who may still start");
  }
  for (const auto& [cluster, uids] : uids_) {
    for (const auto& [uid, place] : uids) {  // any order: each is judged by itself
      const Job* const job = find(place.job);
      must(job != nullptr && place.rank < job->pods.size(), "a uid is of a pod");
      must(job->id.cluster() == cluster && job->pods[place.rank].uid == uid,
           "a uid is of a pod of its cluster");
      must(job->state != JobState::kDone, "nothing searches for the pods of an ended job");
    }
  }
}

}  // namespace subak::state
