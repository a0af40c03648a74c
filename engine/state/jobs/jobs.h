// All jobs of a state, with the indexes that find them: by id, pod, gang, due time and state. Jobs
// also has the queue, the counts of waiting jobs and pods, and the record of overruns. State calls
// this class when it applies a fact.
//
// Each index is a class of its own, whose header states the invariant. Jobs changes them together,
// so that they agree; no other class changes more than one. Allocations changes the slots of a job,
// which are the GPUs of its pods on nodes. Jobs changes everything else.
//
// A reference to a job is valid until Jobs forgets the job: when limits::kDoneJobsKept other jobs
// have ended after it. A reference to a pod is valid until pods join the job, or until the job's
// attempt starts.
// Threads: one at a time. State owns the object. Only code in state/ changes the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "accounting/tree.h"
#include "core/ids.h"
#include "engine/state/jobs/gang_index.h"
#include "engine/state/jobs/job.h"
#include "engine/state/jobs/job_request.h"
#include "engine/state/jobs/job_sets.h"
#include "engine/state/jobs/job_snapshot.h"
#include "engine/state/jobs/job_table.h"
#include "engine/state/jobs/job_times.h"
#include "engine/state/jobs/limit_record.h"
#include "engine/state/jobs/pod_index.h"
#include "engine/state/jobs/waiting.h"
#include "model/fact.h"
#include "placement/fleet/fleet.h"
#include "queue/ready.h"

namespace subak::state {

// The jobs of all clusters.
class Jobs {
 public:
  // The fleet and the tree must outlive the object.
  Jobs(const Fleet& fleet, const AccountTree& tree);

  // --- reads -------------------------------------------------------------------------------------
  // The jobs by id, and in order.
  const JobTable& table() const { return table_; }
  // Sets of jobs with certain properties.
  const JobSets& sets() const { return sets_; }
  // The jobs by their due times.
  const JobTimes& times() const { return times_; }
  // The jobs by gang, owner, namespace and workload.
  const GangIndex& gangs() const { return gangs_; }
  // The queued jobs, in their order.
  const ReadyQueue& ready() const { return ready_; }
  // The numbers of waiting jobs and of gated pods that wait.
  const WaitingCount& waiting() const { return waiting_; }
  // The record of which kinds of jobs overran their limits lately.
  const LimitRecord& limit_record() const { return record_; }
  // find() returns nullptr if the job is unknown or forgotten. at() asserts that the job exists.
  const Job* find(JobId id) const { return table_.find(id); }
  const Job& at(JobId id) const { return table_.at(id); }
  // Returns the live pod of this uid. A uid is unique only within its cluster.
  std::optional<PodPlace> find(ClusterId cluster, const std::string& uid) const {
    return pods_.find(cluster, uid);
  }
  // Returns the pod of this uid, or of this rank of a job of the cluster. nullopt: there is no such
  // pod, it is only expected, or `ref` names another attempt of the job.
  std::optional<PodPlace> find(ClusterId cluster, const PodRef& ref) const;

  // --- changes -----------------------------------------------------------------------------------
  // Call it after a node of the fleet has changed, because the cost of shapes may have changed.
  void fleet_changed() { ready_.costs_changed(); }
  // Returns the job for a change. Asserts that the job exists. State uses this function, and
  // Allocations uses it to change the slots of pods and their times. Every change of an existing
  // job begins with this call, so that a copy in progress can copy the unchanged job first.
  Job& writable(JobId id) { return table_.writable(id); }
  // Creates a job. `shape` is set only for an API job. The job is incomplete until set_state().
  Job& create(const fact::JobCreated& f, ShapeUse shape, TimeMs now);
  // Adds a waiting pod at a free rank. `shape` is the shape of the pod.
  void add_pod(const fact::PodAdded& f, ShapeUse shape);
  // Records that an expected pod, which got a hold before it existed, has come. The new pod takes
  // its rank and its hold.
  void fill_place(const fact::PodAdded& f);
  // Changes the request of a waiting job. The job's priority and submit time do not change, so the
  // job's position in its class stays.
  void change_request(Job& job, ShapeUse shape);
  // Moves a waiting pod to a free rank.
  void seat_pod(Job& job, std::uint32_t from, std::uint32_t rank);
  // Reorders waiting pods. Asserts that the pods have the same set of ranks before and after.
  void rank_pods(Job& job, std::span<const fact::PodsRanked::Move> moves);
  // Changes the size of a waiting gang of pods that has no complete request (asserted; open_gang()
  // drops the request). Pods beyond the new size wait without a rank.
  void resize_gang(Job& job, std::uint32_t size);
  // Frees the job's gang name for another job.
  void forget_gang(const Job& job) { gangs_.forget_gang(job); }
  // Gives an account to a job without one. Call Allocations::assign() too, which counts the job's
  // holds for the account.
  void assign(Job& job, AccountId leaf);
  // Moves the waiting jobs of an account that the tree has just moved from the parent `from`.
  void account_moved(AccountId account, AccountId from) {
    ready_.moved(tree_, account, from);
    waiting_.moved(tree_, account, from);
  }
  // Sets JobExtras::backoff. nullptr: drops the record of the scheduler's refusal.
  void set_backoff(Job& job, std::unique_ptr<Backoff> backoff);
  // Sets whether the account has not accepted the job yet. If `awaits` is true, the job stays out
  // of the queue.
  void await_resume(Job& job, bool awaits);
  // Changes a job's state, and all indexes that depend on the state. No other function changes a
  // job's state. Asserts that model/job.h allows the change.
  void set_state(Job& job, JobState to);
  // Sets Job::until_ms. 0: the job has no deadline.
  void set_deadline(Job& job, TimeMs until_ms);
  // Sets Run::end_ms and due_ms. Pass 0 for both if the job has no holds.
  void set_end(Job& job, TimeMs end_ms, TimeMs due_ms) { times_.set_end(job, end_ms, due_ms); }
  // Drops Job::of_run of a job that is about to wait.
  void end_run(Job& job);
  // Sets Job::overruns to a higher number.
  void overran(Job& job, std::uint32_t times);
  // Moves all deadlines of one cluster's jobs later by the duration `by`, such as the ends of
  // holds. O(jobs with a deadline).
  void put_off(ClusterId cluster, DurationMs by);
  // Ends a job whose state is kDone. Afterwards, look-ups by uid or gang no longer find the job.
  // Jobs then forgets the oldest ended jobs.
  void end(Job& job, TimeMs now);
  // Ends a pod. Afterwards, a look-up no longer finds the pod's uid. Call it also after
  // Run::finishing_ms changed.
  void end_pod(Job& job, std::uint32_t rank);

  // --- checkpoints -------------------------------------------------------------------------------
  // To restore a job, call gather() with each of the job's facts until it returns the complete job
  // `f` (JobParts::add). Then call restore(), which leaves out the pods. Then call restore_pod()
  // for each pod, and take the pod's slot. Then call restored(), which adds the job to the queue
  // and the indexes. In restore(), `shape` is the shape of a complete request. In restore_pod(),
  // `shape` is the shape of the pod.
  const fact::JobSnapshot* gather(const fact::JobSnapshot& part) { return parts_.add(part); }
  Job& restore(const fact::JobSnapshot& f, ShapeUse shape);
  void restore_pod(Job& job, std::uint32_t rank, const fact::JobSnapshot::Pod& kept,
                   ShapeUse shape);
  void restored(Job& job, const fact::JobSnapshot& f);

  // Copy the live jobs as facts in slices. begin_copy() fixes the instant. Jobs may change between
  // the slices, but the facts show the jobs at the fixed instant. JobTable describes both
  // functions.
  void begin_copy();
  bool copy_slice(std::size_t most, const LiveCopy::Sink& sink) {
    return table_.copy_slice(most, sink);
  }
  // Asserts that every index agrees with the jobs. O(jobs).
  void check() const;

 private:
  // Adds a waiting job and its pods to the counts, or removes them (`sign` -1).
  void count_waiting(const Job& job, std::ptrdiff_t sign);

  const Fleet& fleet_;
  const AccountTree& tree_;
  JobTable table_;
  PodIndex pods_;
  GangIndex gangs_;
  JobSets sets_;
  JobTimes times_;
  LimitRecord record_;
  ReadyQueue ready_;
  WaitingCount waiting_;
  // Joins the facts of the job that is restored now.
  JobParts parts_;
};

}  // namespace subak::state
