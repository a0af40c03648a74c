// A job and its pods, as the engine's state has them. Only code in engine/state/ changes jobs;
// other code sees them as const.
//
// A job is a gang of pods that start together, or one pod, or an API job. A user submitted an API
// job over the API, and its launcher creates the pods. A rank is the number of a pod in its gang.
// An attempt is one try of the job to start, from its holds to its end. A hold is a slot, which is
// GPUs on one node, that a pod has before it is bound. model/job.h has the states of jobs and pods.
// Threads: plain values; the owner of the State decides who may read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "model/fact_claim.h"
#include "model/job.h"
#include "model/node.h"
#include "model/request.h"
#include "placement/fleet/fleet.h"

namespace subak::state {

// The time that stands for "not known" or "never".
inline constexpr TimeMs kNever = limits::kMaxTimeMs;

// One pod of a job: one rank, or a pod that waits for a rank. A rank of an API job has no uid.
struct Pod {
  // The pod's uid. Empty for a rank of an API job, and for an expected pod.
  std::string uid;
  // The pod's name: "namespace/name".
  std::string name;
  // How the pod contradicts its gang, in words. Empty: the pod agrees with its gang. While some pod
  // contradicts the gang, the job cannot start.
  std::string dispute;
  // The state of the pod, and the gates that it still has.
  PodState state = PodState::kWaiting;
  PodGate gate = PodGate::kOpen;
  // True: the pod has a controller that would recreate it.
  bool controlled = false;
  // True: the cluster's scheduler cannot bind the pod to the node of its hold.
  bool refused = false;
  // The value of fact::PodAdded::order.
  std::uint32_t order = 0;
  // How long the pod may take to end after it was asked. 0: the time is not known.
  DurationMs grace_ms = 0;
  // The slot that the pod holds: its node, and the GPUs there. Empty if the pod holds none.
  PodSlot slot;
  // The start of the interval of the pod's next ledger row.
  TimeMs since_ms = 0;
  // For a bound pod: the last time at which the pod certainly existed, by the service's clock, and
  // how far the reporter's clock is behind that clock (fact::PodBound). The pod does not end before
  // `seen_ms`.
  TimeMs seen_ms = 0;
  DurationMs behind_ms = 0;
  ShapeUse shape;                // the job's shape (`shape_rank`: this pod's rank),
  std::uint32_t shape_rank = 0;  // or a shape of the pod alone (`shape_rank`: 0)
  // True while the pod holds GPUs of a node, even if it is not bound.
  bool holds_slot() const {
    return state == PodState::kHeld || state == PodState::kBound || state == PodState::kRunning;
  }
  bool is_bound() const { return state == PodState::kBound || state == PodState::kRunning; }
  // True if the pod exists in its cluster and has not ended. A waiting rank of an API job has no
  // pod.
  bool is_live() const { return holds_slot() || (state == PodState::kWaiting && !uid.empty()); }
  // True for an expected pod (fact::PodsExpected): a pod that does not exist yet, but that the
  // owner of the gang's pods will create, with a closed gate.
  bool is_expected() const {
    return uid.empty() && gate == PodGate::kClosed && state != PodState::kGone;
  }
  // True if Subak could place the pod now: the pod waits, and only Subak's own gate is closed.
  bool is_ready() const { return state == PodState::kWaiting && gate == PodGate::kClosed; }
  // True if the pod's gate was closed, as far as Subak knows, when the pod's hold was released.
  // Because an earlier command to open the gate may still be in flight, the gate may open
  // nevertheless.
  bool may_be_opened() const {
    return state == PodState::kWaiting && is_closed(gate) && !uid.empty() && since_ms != 0;
  }
};

// Invalidates references to a job's pods. No code may use such a reference after pods join or an
// attempt starts. Under the address sanitizer (make asan) the function moves the pods, so that the
// sanitizer finds a stale reference.
inline void unsettle([[maybe_unused]] std::vector<Pod>& pods) {
#ifdef __SANITIZE_ADDRESS__
  std::vector<Pod> moved(std::make_move_iterator(pods.begin()),
                         std::make_move_iterator(pods.end()));
  pods.swap(moved);
#endif
}

// The fields that only a job of pods has, and that come from these pods.
struct PodOrigin {
  // For a gang: the uid of the controller of the gang's pods.
  std::string owner;
  // The account and user that the job's pods name, while the job has no account.
  std::string account, user;
  // True: the account has not accepted the job yet, because it was draining or had too many waiting
  // jobs when the job came. The job is not queued.
  bool awaits_resume = false;
  // For a gang: true if it is inferred, so that a lost pod is replaced alone
  // (PodRecord::replaced_alone). For a job of a single pod: true if the pod's gang started without
  // this pod.
  bool replaced_alone = false;
  // Whether Subak keeps the owner of the job's pods suspended until the job's turn, so that the
  // pods do not exist yet (docs/design/0119).
  Parking parking = Parking::kNone;
  // The object that creates the pods of this job and of others. nullptr: there is none. Jobs of one
  // workload share the object (WorkloadIndex).
  std::shared_ptr<const Workload> workload;
};

// The run of a job from its start on. The run exists until the job waits again or is forgotten.
struct Run {
  // When the job's attempt started. 0: there is no attempt.
  TimeMs started_ms = 0;
  // When the job ended. 0: the job has not ended.
  TimeMs ended_ms = 0;
  // In the state kEnding: when the cluster refused to end one of the job's pods. 0: the cluster did
  // not refuse.
  TimeMs end_refused_ms = 0;
  // When the job's GPUs are expected to be free (state::planned_end). kNever: the time is not
  // known. 0: the job has no holds. The value follows from the other fields, the policy and the
  // job's account.
  TimeMs end_ms = 0;
  // When Subak next checks `end_ms`. 0: Subak does not check it.
  TimeMs due_ms = 0;
  // The number of pods that hold GPUs.
  std::uint32_t holding = 0;
  // For a gang: when its first pod finished in this attempt while others held GPUs. 0: none did.
  TimeMs finishing_ms = 0;
  // The nodes of the pods that finished within limits::kGangFinishMs after `finishing_ms`. A node
  // may occur twice.
  std::vector<NodeId> finished_on;

  // Records that a pod finished on this node while other pods of its gang hold GPUs.
  void pod_finished(NodeId node, TimeMs now) {
    if (finishing_ms == 0) finishing_ms = now;
    if (now < finishing_ms + limits::kGangFinishMs) finished_on.push_back(node);
  }
};
inline const Run kNoRun;

// The last refusal of a pod of the job by the cluster's scheduler. The refusal counts until the job
// runs, or until the job or the nodes change.
struct Backoff {
  // The scheduler's message; never empty.
  std::string words;
  // How many attempts in a row have led to a backoff.
  std::uint32_t times = 0;
  // The job is not queued before this time. 0: the job is queued at once.
  TimeMs until_ms = 0;
};

// The last attempt whose pods were not Ready in time (fact::ReadyTimedOut).
struct ReadyTimeout {
  // Why a pod was not Ready; never empty.
  std::string words;
  // How many attempts in a row were not Ready in time.
  std::uint32_t times = 0;
  // The job is not queued before this time.
  TimeMs until_ms = 0;
};

// Records that the job was preempted: it was asked to end for another job (docs/design/0084).
struct Preempted {
  // How often the job was preempted.
  std::uint32_t times = 0;
  // The last preemption: its time, the job that got the GPUs, and the account of that job. 0: the
  // value is not known.
  TimeMs at_ms = 0;
  JobId claimant;
  AccountId leaf;
  // The start of the attempt that was preempted last, and the GPUs that it held.
  TimeMs started_ms = 0;
  MilliGpu milligpu = 0;
  // The right by which the other job claimed these GPUs.
  ClaimRight right = ClaimRight::kReclaim;
};

// The fields that only few jobs need.
struct JobExtras {
  // The grace period of an API job (in::SubmitJob::grace_ms).
  DurationMs grace_ms = 0;
  // The scheduler's last refusal. nullptr: the cluster's scheduler has not refused the job.
  std::unique_ptr<Backoff> backoff;
  // nullptr: the job was never preempted.
  std::unique_ptr<Preempted> preempted;
  // nullptr: no kubelet rejected a pod of the job since the job ran last.
  std::unique_ptr<NodeRejection> rejected;
  // nullptr: no attempt of the job was ended because it was not Ready in time.
  std::unique_ptr<ReadyTimeout> unready;
};
inline const JobExtras kNoExtras;

// One job, with everything that depends on this job alone. The class Jobs has everything that
// depends on several jobs.
//
// A million jobs may wait, so fields that a queued job does not need are allocated separately.
struct Job {
  // The id of the job; never 0.
  JobId id;
  // The user's account, or the job's account if the job has no user. kUnassigned: the job has no
  // account.
  AccountId leaf;
  // Among the jobs of the leaf, the job with the highest number comes first.
  std::int32_t priority = 0;
  // The shape of the job's request. None while the job is incomplete, for foreign jobs (JobOrigin),
  // and after the end of the job.
  ShapeUse shape;
  JobState state = JobState::kIncomplete;
  JobOrigin origin = JobOrigin::kApi;
  // Why the job ended. For a job that has not ended: why its last attempt ends or ended.
  Cause cause = Cause::kNone;
  // In the state kEnding: why the job's pods are asked to end.
  Cause stop = Cause::kNone;
  // True: the job's name identifies a gang, and members may come later.
  bool gang : 1 = false;
  // True: the job has a priority class (Priority::has_class).
  bool has_class : 1 = false;
  // How often the job's present or last attempt ran beyond its planned end.
  std::uint8_t overruns = 0;
  // How many attempts in a row ended because a gate could not be opened.
  std::uint16_t refusals = 0;
  // The number of ranks that start together. 0: the number is not known.
  std::uint32_t gang_size = 0;
  // The number of the current or last attempt, from 1. 0: there was no attempt.
  std::uint32_t attempt = 0;
  // The time since which the job waits for its first start.
  TimeMs submit_ms = 0;
  // The deadline of the job. In the states starting and ending: the end of the job's hold. In the
  // state incomplete: the job is done unless a member comes by then. In the state paused: the job
  // is queued again at that time. 0: there is no deadline, or it has passed.
  TimeMs until_ms = 0;
  // The time limit; 0: the job has none.
  DurationMs time_limit_ms = 0;
  // The name of the job. For a job that consists of pods: "namespace/gang".
  std::string name;
  // The pods, by rank. Empty for an API job that never started. Pods after the ranks of a gang wait
  // for a free rank.
  std::vector<Pod> pods;
  // For a job that consists of pods: what its gang asks for beyond the shapes of its pods, such as
  // a topology. For an ended job: its complete request.
  std::shared_ptr<const GangRequest> asked;
  // The fields that the job's pods state. Set only for jobs that consist of pods, until the job is
  // done.
  std::unique_ptr<PodOrigin> pod_origin;
  // The run of the job; nullptr while the job waits.
  std::unique_ptr<Run> of_run;
  // The rare fields of the job; nullptr while the job has none of these fields.
  std::unique_ptr<JobExtras> of_extras;

  // False for a job of the API.
  bool from_pods() const { return origin != JobOrigin::kApi; }
  // True if Subak places the job. False if Subak found it running.
  bool is_ours() const { return origin == JobOrigin::kApi || origin == JobOrigin::kPods; }
  // True while the job is incomplete, queued or paused.
  bool waits() const { return is_waiting(state); }
  // True if the job waits again: it consists of pods, and an earlier attempt gave them holds.
  bool waits_again() const { return waits() && attempt > 0 && origin == JobOrigin::kPods; }
  // Returns the job's run. All times are 0 while the job has no run.
  const Run& run() const { return of_run != nullptr ? *of_run : kNoRun; }
  Run& make_run() {  // returns the existing run, else a new run
    if (of_run == nullptr) of_run = std::make_unique<Run>();
    return *of_run;
  }
  // Returns the rare fields of the job. All fields are empty while the job has none of them.
  const JobExtras& extras() const { return of_extras != nullptr ? *of_extras : kNoExtras; }
  JobExtras& make_extras() {  // returns the existing fields, else new fields
    if (of_extras == nullptr) of_extras = std::make_unique<JobExtras>();
    return *of_extras;
  }
  // True if the job's account has not accepted the job yet (PodOrigin::awaits_resume).
  bool awaits_resume() const { return pod_origin != nullptr && pod_origin->awaits_resume; }
  // True for an inferred gang: when one pod is lost, the other pods run on.
  bool replaced_alone() const {
    return gang && pod_origin != nullptr && pod_origin->replaced_alone;
  }
  // Returns whether the job waits for a suspended owner.
  Parking parking() const { return pod_origin != nullptr ? pod_origin->parking : Parking::kNone; }
  bool is_parked() const { return parking() == Parking::kParked; }
  // True if the owner of the job was parked, and no pod of the job has come since.
  bool awaits_parked_pods() const;
  // True if the number of pods that start together is not known.
  bool is_unsized() const { return gang && gang_size == 0; }
  // True for a job of one pod that belongs to a gang which started without this pod.
  bool is_apart() const {
    const bool left = pod_origin != nullptr && pod_origin->replaced_alone;
    return origin == JobOrigin::kPods && !gang && left;
  }
  // Returns the number of pods beyond the ranks of their gang. These pods wait for a free rank.
  std::size_t pods_behind() const {
    const bool may = origin == JobOrigin::kPods && gang_size > 0 && state != JobState::kDone;
    return may ? pods.size() - ranks() : 0;
  }
  // For a gang: drops the last ranks as long as they have no pod.
  void drop_empty_ranks();
  // Returns the namespace of a job that consists of pods.
  std::string ns() const { return name.substr(0, name.find('/')); }
  // Returns the time before which the job is not queued, because the cluster's scheduler refused it
  // or because it was not Ready in time. 0: the job is not backed off at `t`.
  TimeMs backed_off_until(TimeMs t) const;
  // True if the job waits out a backoff because it was not Ready in time.
  bool awaits_readiness() const {
    return state == JobState::kPaused && until_ms != 0 && extras().unready != nullptr &&
           cause == Cause::kNotReady;
  }
  // True if the job is paused because the cluster's scheduler refused it.
  bool is_backed_off() const {
    return state == JobState::kPaused && until_ms != 0 && extras().backoff != nullptr &&
           cause != Cause::kReleaseRefused && !awaits_readiness();
  }
  // True if the job is done and its last attempt ended by itself or was cancelled.
  bool ran_its_course() const {
    const bool own =
        cause == Cause::kFinished || cause == Cause::kFailed || cause == Cause::kCancelled;
    return own && state == JobState::kDone && run().started_ms != 0 &&
           run().ended_ms > run().started_ms;
  }
  // True if the job's controller has to create another pod: its only pod is gone, or Subak ends it.
  // Subak ends such a pod if the scheduler refused it, or if it was not Ready in time.
  bool awaits_pod() const;
  // True if the job's current run went beyond a planned end, and the job's request is known.
  bool is_over() const { return overruns > 0 && run().started_ms != 0 && shape; }
  // True if some pods of the gang have finished, and others may still hold GPUs.
  bool is_finishing() const { return in_attempt() && run().finishing_ms != 0; }
  // True if the job needs effects (derive/effects.h).
  bool active() const { return state == JobState::kStarting || state == JobState::kEnding; }
  // True for a starting inferred gang with some pods that are already bound. Subak never ends the
  // bound pods because of the other pods.
  bool runs_on() const;
  // True from the start of an attempt until the attempt is over.
  bool in_attempt() const { return active() || state == JobState::kRunning; }
  // Returns a waiting pod with a rank that contradicts its gang (Pod::dispute); nullptr if there is
  // none.
  const Pod* disputing() const;
  // For a gang with segments, whose pods need known ranks: returns in words why the ranks are not
  // known, or not unique. A segment is consecutive ranks that share an NVLink domain. Empty: the
  // ranks are known or not needed. O(pods log pods).
  std::string unknown_ranks() const;
  // True if the job's pods are asked to end and the job will not wait again. Another job may then
  // take the job's name.
  bool ends_for_good() const { return state == JobState::kEnding && !comes_back(stop); }
  // True if all ranks of the gang have a pod that could be placed now.
  bool is_whole() const;
  // Returns the number of pods with a rank in the gang.
  std::size_t ranks() const {
    return origin == JobOrigin::kPods && gang_size < pods.size() ? gang_size : pods.size();
  }
  // Returns the number of pods that hold a slot. O(pods).
  std::size_t pods_holding() const;
  // Returns the number of live pods. Expected pods do not count. O(pods).
  std::size_t pods_live() const;
};

// One rank of one job.
struct PodPlace {
  JobId job;
  // The index of the pod, from 0. The index may be after the ranks of the gang.
  std::uint32_t rank = 0;
  friend auto operator<=>(const PodPlace&, const PodPlace&) = default;
};

}  // namespace subak::state
