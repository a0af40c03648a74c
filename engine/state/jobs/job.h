// A job and its pods, as the engine knows them. Values. Only state/ changes them; other code sees
// them as const.
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
#include "model/job.h"
#include "model/node.h"
#include "model/request.h"
#include "placement/fleet/fleet.h"

namespace subak::state {

// Stands for a time that is not known or never comes.
inline constexpr TimeMs kNever = limits::kMaxTimeMs;

// One rank of a job. A rank of an API job has no uid.
struct Pod {
  // Empty for a rank of an API job, and for an expected pod.
  std::string uid;
  // "namespace/name".
  std::string name;
  // How the pod contradicts its gang. While some pod does, the job cannot start.
  std::string dispute;
  // The state of the pod, and the gates that it has left.
  PodState state = PodState::kWaiting;
  PodGate gate = PodGate::kOpen;
  // True: it has a controller that would recreate it.
  bool controlled = false;
  // True: the cluster's scheduler cannot bind it to the node of its hold.
  bool refused = false;
  // fact::PodAdded::order.
  std::uint32_t order = 0;
  // How long the pod may take to end after it was asked. 0: not known.
  DurationMs grace_ms = 0;
  // The slot that it holds. Empty if it holds none.
  PodSlot slot;
  // The start of the interval of its next ledger row.
  TimeMs since_ms = 0;
  // For a bound pod: the last time at which it certainly existed, by our clock, and how far the
  // reporter's clock is behind ours (fact::PodBound). It does not end before `seen_ms`.
  TimeMs seen_ms = 0;
  DurationMs behind_ms = 0;
  ShapeUse shape;                // its shape in the fleet: the job's shape and this rank,
  std::uint32_t shape_rank = 0;  // or a shape of its own, rank 0
  // True while it takes GPUs of a node, whether bound or not.
  bool holds_slot() const {
    return state == PodState::kHeld || state == PodState::kBound || state == PodState::kRunning;
  }
  bool is_bound() const { return state == PodState::kBound || state == PodState::kRunning; }
  // True if the pod exists in its cluster and has not ended. A waiting rank of a launcher has no
  // pod.
  bool is_live() const { return holds_slot() || (state == PodState::kWaiting && !uid.empty()); }
  // True for an expected pod (fact::PodsExpected): it is created when the pods before it run. Its
  // gate will be closed.
  bool is_expected() const { return uid.empty() && gate == PodGate::kClosed; }
  // True if it could be placed now.
  bool is_ready() const { return state == PodState::kWaiting && gate == PodGate::kClosed; }
  // True if, as far as Subak knows, its gate was closed when its hold was released. An earlier
  // command to open the gate may still be in flight.
  bool may_be_opened() const {
    return state == PodState::kWaiting && is_closed(gate) && !uid.empty() && since_ms != 0;
  }
};

// Invalidates references to a job's pods, which no reference may survive when pods join or an
// attempt starts. Under the address sanitizer (make asan) it moves the pods, so that a stale
// reference is found.
inline void unsettle([[maybe_unused]] std::vector<Pod>& pods) {
#ifdef __SANITIZE_ADDRESS__
  std::vector<Pod> moved(std::make_move_iterator(pods.begin()),
                         std::make_move_iterator(pods.end()));
  pods.swap(moved);
#endif
}

// What the pods of a Kubernetes job say about the job.
struct PodOrigin {
  // For a gang: the uid of the controller of its pods.
  std::string owner;
  // The account and user that its pods name, while it has no account.
  std::string account, user;
  // True: its account was draining when it came, so it is not queued yet.
  bool awaits_resume = false;
  // PodRecord::replaced_alone. For a job without a gang: its gang started without its pod.
  bool replaced_alone = false;
};

// The run of a job from its start on. It exists until the job waits again or is forgotten.
struct Run {
  // When its attempt started. 0: it has none.
  TimeMs started_ms = 0;
  // When the job ended. 0: it has not.
  TimeMs ended_ms = 0;
  // In kEnding: when its cluster refused to end one of its pods. 0: never.
  TimeMs end_refused_ms = 0;
  // When its GPUs are expected to be free (state::planned_end). kNever: not known. 0: the job has
  // no holds. It follows from the other fields, the policy and its account.
  TimeMs end_ms = 0;
  // When Subak checks that end next. 0: never.
  TimeMs due_ms = 0;
};
inline constexpr Run kNoRun;

// The scheduler's last refusal of a pod of the job, until the job runs, or the job or the nodes
// change.
struct Backoff {
  // The scheduler's message; never empty.
  std::string words;
  // How many attempts in a row led to a backoff.
  std::uint32_t times = 0;
  // The job is not queued before. 0: it is queued at once.
  TimeMs until_ms = 0;
};

// One job, with everything that depends on this job alone. Jobs has what depends on several.
//
// A million jobs may wait, so fields that a queued job does not need are allocated separately.
struct Job {
  // Never 0.
  JobId id;
  // The user's node, or the account's. kUnassigned: it has no account.
  AccountId leaf;
  // A higher number comes first among the jobs of the leaf.
  std::int32_t priority = 0;
  // The shape of its request. None while it is incomplete, for foreign jobs, and after its end.
  ShapeUse shape;
  JobState state = JobState::kIncomplete;
  JobOrigin origin = JobOrigin::kApi;
  // Why it ended. Before that: why its attempt ends or ended.
  Cause cause = Cause::kNone;
  // In kEnding: why its pods are asked to end.
  Cause stop = Cause::kNone;
  // True: its name identifies a gang, and members may come later.
  bool gang = false;
  // How often its present or last attempt ran beyond its planned end.
  std::uint8_t overruns = 0;
  // How many attempts in a row had gates that could not be opened.
  std::uint16_t refusals = 0;
  // The ranks that start together. 0: not known.
  std::uint32_t gang_size = 0;
  // The current or last attempt, from 1. 0: none was made.
  std::uint32_t attempt = 0;
  // The time since which it waits for its first start.
  TimeMs submit_ms = 0;
  // The deadline. Starting, ending: the end of its hold. Incomplete: the job is done unless a
  // member comes by then. Paused: the job is queued again at that time. 0: none, or past.
  TimeMs until_ms = 0;
  // The time limit; 0: the job has none.
  DurationMs time_limit_ms = 0;
  // in::SubmitJob::grace_ms.
  DurationMs grace_ms = 0;
  // "namespace/gang" of a job made of pods.
  std::string name;
  // The pods, by rank. Empty for an API job that never started. Pods behind the ranks of a gang
  // wait for a free rank.
  std::vector<Pod> pods;
  // For a job made of pods: the wishes of its gang. For an ended job: its complete request.
  std::shared_ptr<const GangRequest> asked;
  // Only for jobs made of pods, until the job is done.
  std::unique_ptr<PodOrigin> pod_origin;
  // None while the job waits.
  std::unique_ptr<Run> of_run;
  // Only if the cluster's scheduler refused it.
  std::unique_ptr<Backoff> backoff;

  // False for a job of the API.
  bool from_pods() const { return origin != JobOrigin::kApi; }
  // True if Subak places it. False if Subak found it running.
  bool is_ours() const { return origin == JobOrigin::kApi || origin == JobOrigin::kPods; }
  // True while it is incomplete, queued or paused.
  bool waits() const { return is_waiting(state); }
  // True if the job waits and its pods had holds before.
  bool waits_again() const { return waits() && attempt > 0 && origin == JobOrigin::kPods; }
  // Its run. All times are 0 while it has none.
  const Run& run() const { return of_run != nullptr ? *of_run : kNoRun; }
  Run& make_run() {  // the existing one, else a new one
    if (of_run == nullptr) of_run = std::make_unique<Run>();
    return *of_run;
  }
  // True if its account was draining when it came and has drained since.
  bool awaits_resume() const { return pod_origin != nullptr && pod_origin->awaits_resume; }
  // True for an inferred gang: when one pod is lost the others run on.
  bool replaced_alone() const {
    return gang && pod_origin != nullptr && pod_origin->replaced_alone;
  }
  // True if the number of pods that start together is not known.
  bool is_unsized() const { return gang && gang_size == 0; }
  // True for a job of one pod whose gang had started without it.
  bool is_apart() const {
    const bool left = pod_origin != nullptr && pod_origin->replaced_alone;
    return origin == JobOrigin::kPods && !gang && left;
  }
  // The number of pods without a rank in their gang. They wait for a free rank.
  std::size_t pods_behind() const {
    const bool may = origin == JobOrigin::kPods && gang_size > 0 && state != JobState::kDone;
    return may ? pods.size() - ranks() : 0;
  }
  // For a gang: drops ranks at the end that have no pod.
  void drop_empty_ranks();
  // The namespace of a job made of pods.
  std::string ns() const { return name.substr(0, name.find('/')); }
  // The time before which it is not queued because the cluster's scheduler refused it. 0: it is not
  // backed off.
  TimeMs backed_off_until(TimeMs t) const {
    return backoff != nullptr && backoff->until_ms > t ? backoff->until_ms : 0;
  }
  // True if it is paused because the cluster's scheduler refused it.
  bool is_backed_off() const {
    return state == JobState::kPaused && until_ms != 0 && backoff != nullptr &&
           cause != Cause::kReleaseRefused;
  }
  // True if it is done and ran as long as its owner wanted.
  bool ran_its_course() const {
    const bool own =
        cause == Cause::kFinished || cause == Cause::kFailed || cause == Cause::kCancelled;
    return own && state == JobState::kDone && run().started_ms != 0 &&
           run().ended_ms > run().started_ms;
  }
  // True if the job's controller has to create another pod: its only pod is gone, or is to go
  // because the scheduler refused it.
  bool awaits_pod() const;
  // True if it has holds beyond its limit and its request is known.
  bool is_over() const { return overruns > 0 && run().started_ms != 0 && shape; }
  // True if effects are needed for it (derive/effects.h).
  bool active() const { return state == JobState::kStarting || state == JobState::kEnding; }
  // True for an inferred gang that starts, and of which some pods run. These are never ended for
  // the others.
  bool runs_on() const;
  // True from the start of an attempt until it is over.
  bool in_attempt() const { return active() || state == JobState::kRunning; }
  // Returns a live pod that contradicts its gang; nullptr if none does.
  const Pod* disputing() const;
  // If segments of the gang must be together, and the ranks of its pods are not known, returns in
  // words why. Else returns an empty text. O(pods log pods).
  std::string unknown_ranks() const;
  // True if its pods are asked to end and it will not wait again. Another job may then have its
  // name.
  bool ends_for_good() const { return state == JobState::kEnding && !comes_back(stop); }
  // True if all ranks of the gang have a pod that could be placed now.
  bool is_whole() const;
  // The number of pods with a rank in its gang.
  std::size_t ranks() const {
    return origin == JobOrigin::kPods && gang_size < pods.size() ? gang_size : pods.size();
  }
  // The number of pods that hold a slot. O(pods).
  std::size_t pods_holding() const;
  // The number of live pods, without expected pods. O(pods).
  std::size_t pods_live() const;
};

// One rank of one job.
struct PodPlace {
  JobId job;
  // The index of the pod, from 0; it may be behind the ranks of the gang.
  std::uint32_t rank = 0;
  friend auto operator<=>(const PodPlace&, const PodPlace&) = default;
};

}  // namespace subak::state
