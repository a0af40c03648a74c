// Sets of jobs that other code must find quickly, such as the jobs that wait but are not in the
// queue. Also the number of jobs in each state. The comment of a set says which jobs are in it.
//
// The class Jobs owns the sets. It reports each change of a job to them, so that they stay correct.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "core/block_set.h"
#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "engine/state/jobs/job_table.h"
#include "model/job.h"

namespace subak::state {

// The sets of all jobs. Each set is ordered by id.
class JobSets {
 public:
  // The number of jobs in this state. Ended jobs count only while Jobs remembers them.
  std::size_t count(JobState state) const { return counts_[static_cast<std::size_t>(state)]; }
  // Jobs with Job::active(): starting or ending jobs, which need effects.
  const BlockSet<JobId>& active() const { return active_; }
  // Jobs with Job::waits_again(): the job waits, and its pods had holds before.
  const BlockSet<JobId>& waiting_again() const { return waiting_again_; }
  // Jobs that wait and are not in the queue: incomplete or paused.
  const std::set<JobId>& beside_queue() const { return beside_queue_; }
  // Jobs with Job::pods_behind() > 0: the job has more pods than ranks.
  const std::set<JobId>& crowded() const { return crowded_; }
  // Jobs with JobExtras::backoff: the cluster's scheduler refused a pod of such a job.
  const std::set<JobId>& refused() const { return refused_; }
  // Jobs with Job::awaits_resume(): the job's account has not accepted the job yet.
  const std::set<JobId>& awaiting_resume() const { return awaiting_resume_; }
  // The jobs of awaiting_resume(), by account and id.
  const std::set<std::pair<AccountId, JobId>>& awaiting_by_leaf() const {
    return awaiting_by_leaf_;
  }
  // Jobs with Job::awaits_pod(): the job's controller has to create another pod.
  const std::set<JobId>& awaiting_pods() const { return awaiting_pods_; }
  // Jobs with Job::is_finishing(), by Run::finishing_ms.
  const std::set<std::pair<TimeMs, JobId>>& finishing() const { return finishing_; }

  // Counts a job that is new or restored, and adds the job to its sets.
  void add(const Job& job);
  // Call it after Job::state changed from `before`.
  void change_state(const Job& job, JobState before);
  // Call it after Job::pods, Job::gang_size or Run::finishing_ms changed.
  void change_pods(const Job& job);
  // Call it before the job loses its run.
  void end_run(const Job& job) { finishing_.erase({job.run().finishing_ms, job.id}); }
  // Call it after Job::until_ms, Job::stop, JobExtras::backoff or Job::awaits_resume() changed.
  void change_waits(const Job& job);
  // Removes a done job that is forgotten.
  void forget(const Job& job);

  // Asserts that each set has exactly the jobs that it should have, and that the counts are right.
  // O(jobs).
  void check(const JobTable& jobs) const;

 private:
  std::size_t& count_of(JobState state) { return counts_[static_cast<std::size_t>(state)]; }
  void put_by_state(const Job& job);

  std::array<std::size_t, EnumText<JobState>::names.size()> counts_{};
  BlockSet<JobId> active_, waiting_again_;
  std::set<JobId> beside_queue_, crowded_, refused_, awaiting_resume_, awaiting_pods_;
  std::set<std::pair<TimeMs, JobId>> finishing_;
  std::set<std::pair<AccountId, JobId>> awaiting_by_leaf_;
};

}  // namespace subak::state
