#include "engine/state/jobs/job_sets.h"

#include "core/must.h"

namespace subak::state {
namespace {

void set_member(auto& set, const auto& id, bool in) {
  if (in) {
    set.insert(id);
  } else {
    set.erase(id);
  }
}

bool is_beside_queue(const Job& job) { return job.waits() && job.state != JobState::kQueued; }

}  // namespace

void JobSets::add(const Job& job) {
  ++count_of(job.state);
  put_by_state(job);
  change_pods(job);
  change_waits(job);
}

void JobSets::change_state(const Job& job, JobState before) {
  must(count_of(before) > 0, "jobs are counted by state");
  --count_of(before);
  ++count_of(job.state);
  put_by_state(job);
}

void JobSets::put_by_state(const Job& job) {
  set_member(active_, job.id, job.active());
  set_member(waiting_again_, job.id, job.waits_again());
  set_member(beside_queue_, job.id, is_beside_queue(job));
  set_member(finishing_, std::pair(job.run().finishing_ms, job.id), job.is_finishing());
}

void JobSets::change_pods(const Job& job) {
  set_member(crowded_, job.id, job.pods_behind() > 0);
  set_member(finishing_, std::pair(job.run().finishing_ms, job.id), job.is_finishing());
}

void JobSets::change_waits(const Job& job) {
  set_member(refused_, job.id, job.extras().backoff != nullptr);
  set_member(awaiting_resume_, job.id, job.awaits_resume());
  set_member(awaiting_by_leaf_, std::pair(job.leaf, job.id), job.awaits_resume());
  set_member(awaiting_pods_, job.id, job.awaits_pod());
}

void JobSets::forget(const Job& job) {
  must(job.state == JobState::kDone && count_of(job.state) > 0, "a job that is forgotten is done");
  must(!beside_queue_.contains(job.id) && !refused_.contains(job.id), "a done job is in no set");
  --count_of(job.state);
}

void JobSets::check(const JobTable& jobs) const {
  JobSets expected;
  for (const auto& [id, job] : jobs.all()) {  // any order: sets and sums
    expected.add(job);
    must(active_.contains(id) == job.active(), "who starts or ends is indexed");
    must(waiting_again_.contains(id) == job.waits_again(), "who waits again is indexed");
  }
  must(expected.counts_ == counts_, "jobs are counted by state");
  must(expected.active_.size() == active_.size(), "no other job starts or ends");
  must(expected.waiting_again_.size() == waiting_again_.size(), "no other job waits again");
  must(expected.beside_queue_ == beside_queue_, "who waits beside the queue is indexed");
  must(expected.crowded_ == crowded_, "who waits behind ranks is indexed");
  must(expected.refused_ == refused_, "who was refused is indexed");
  must(expected.awaiting_resume_ == awaiting_resume_, "who awaits a resume is indexed");
  must(expected.awaiting_by_leaf_ == awaiting_by_leaf_, "who awaits a resume has an account");
  must(expected.finishing_ == finishing_, "who finishes is indexed");
  must(expected.awaiting_pods_ == awaiting_pods_, "who awaits its pod is indexed");
}

}  // namespace subak::state
