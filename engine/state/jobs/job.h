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

inline constexpr TimeMs kNever = limits::kMaxTimeMs;

// One rank of a job. A rank of an API job has no uid.
struct Pod {
  std::string uid;
  std::string name;     // "namespace/name"
  std::string dispute;  // where it contradicts its gang; while any pod does, the job cannot start
  PodState state = PodState::kWaiting;
  PodGate gate = PodGate::kOpen;
  bool controlled = false;  // it has a controller that would recreate it
  bool refused = false;     // the cluster's scheduler cannot bind it to the node of its hold
  std::uint32_t order = 0;  // fact::PodAdded::order
  PodSlot slot;             // what it holds; empty if it holds nothing
  TimeMs since_ms = 0;      // start of the interval of its next ledger row
  // Of a bound pod: the last time at which it certainly existed, by our clock, and how far the
  // clock behind its end report is behind ours (fact::PodBound). It does not end before `seen_ms`.
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
  // True if its hold was released while its gate was closed, as far as Subak knows. An earlier
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

// What the pods of a Kubernetes job say of the whole job.
struct PodOrigin {
  std::string owner;           // of a gang: uid of the controller of its pods
  std::string account, user;   // while it has no account
  bool awaits_resume = false;  // its account was draining when it came: it is not queued yet
  // PodRecord::replaced_alone. Of a job without a gang: its gang started without its pod.
  bool replaced_alone = false;
};

// The run of a job from its start on. It is kept until the job waits again or is forgotten.
struct Run {
  TimeMs started_ms = 0;      // of its attempt; 0: it has none
  TimeMs ended_ms = 0;        // of the job; 0: it has not ended
  TimeMs end_refused_ms = 0;  // kEnding: when its cluster refused to end one of its pods; 0: never
  // When its GPUs are expected to be free (state::planned_end). kNever: not known. 0: it holds
  // nothing. It follows from the other fields, the policy and its account.
  TimeMs end_ms = 0;
  TimeMs due_ms = 0;  // when Subak checks that end next; 0: never
};
inline constexpr Run kNoRun;

// The scheduler's last refusal of a pod of the job, until the job runs, or the job or the nodes
// change.
struct Backoff {
  std::string words;
  std::uint32_t times = 0;  // attempts in a row that led to a backoff
  TimeMs until_ms = 0;      // the job is not queued before; 0: it is queued at once
};

// One job, and what is true of it alone. What several jobs have in common is in Jobs.
//
// A million may wait, so fields that a queued job does not need are allocated separately.
struct Job {
  JobId id;
  AccountId leaf;  // the user's node, or the account's; kUnassigned: it has no account
  std::int32_t priority = 0;
  ShapeUse shape;  // none while incomplete, for foreign jobs, and once it has ended
  JobState state = JobState::kIncomplete;
  JobOrigin origin = JobOrigin::kApi;
  Cause cause = Cause::kNone;  // why it ended; before that, why its attempt ends or ended
  Cause stop = Cause::kNone;   // kEnding: why its pods are asked to end
  bool gang = false;           // its name identifies a gang: members may come later
  std::uint8_t overruns = 0;   // how often its present or last attempt ran beyond its planned end
  std::uint16_t refusals = 0;  // attempts in a row whose gates could not be opened
  std::uint32_t gang_size = 0;
  std::uint32_t attempt = 0;
  TimeMs submit_ms = 0;
  // Starting, ending: end of its hold. Incomplete: the job is done unless a member comes by then.
  // Paused: the job is queued again then. 0: none, or past.
  TimeMs until_ms = 0;
  DurationMs time_limit_ms = 0;
  std::string name;  // "namespace/gang" of a job made of pods
  // By rank. Empty for an API job that never started. Pods behind the ranks of a gang came early
  // and wait for a free rank.
  std::vector<Pod> pods;
  // Of a job made of pods: its topology and segment. Of an ended job: its whole request.
  std::shared_ptr<const GangRequest> asked;
  std::unique_ptr<PodOrigin> pod_origin;  // only for jobs made of pods, until the job is done
  std::unique_ptr<Run> of_run;            // none while the job waits
  std::unique_ptr<Backoff> backoff;       // only if the cluster's scheduler refused it

  bool from_pods() const { return origin != JobOrigin::kApi; }
  // True if Subak places it; else it was found running.
  bool is_ours() const { return origin == JobOrigin::kApi || origin == JobOrigin::kPods; }
  // True while it is incomplete, queued or paused.
  bool waits() const { return is_waiting(state); }
  // True if the job waits and its pods had holds before.
  bool waits_again() const { return waits() && attempt > 0 && origin == JobOrigin::kPods; }
  // All times are 0 while it has no run.
  const Run& run() const { return of_run != nullptr ? *of_run : kNoRun; }
  Run& make_run() {  // the existing one, else a new one
    if (of_run == nullptr) of_run = std::make_unique<Run>();
    return *of_run;
  }
  // True if its account was draining when it came and was not resumed since.
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
  // Of a gang: drops ranks at the end that have no pod.
  void drop_empty_ranks();
  // The namespace of a job made of pods.
  std::string ns() const { return name.substr(0, name.find('/')); }
  // The time before which it is not queued because the cluster's scheduler refused it. 0: it is not
  // backed off.
  TimeMs backed_off_until(TimeMs t) const {
    return backoff != nullptr && backoff->until_ms > t ? backoff->until_ms : 0;
  }
  // True if it is paused for that reason.
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
  // True if it holds something beyond its limit and its request is known.
  bool is_over() const { return overruns > 0 && run().started_ms != 0 && shape; }
  // True if effects are needed for it (derive/effects.h).
  bool active() const { return state == JobState::kStarting || state == JobState::kEnding; }
  const Pod* disputing() const;  // a live pod that contradicts its gang; nullptr: none
  // Says in words why the ranks of a gang are not known, if its segments have to be together.
  // Empty: they are known, or it has no segments that have to be together. O(pods log pods).
  std::string unknown_ranks() const;
  // True if its pods are asked to end and it will not wait again. Its name is free for another job.
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
  std::uint32_t rank = 0;
  friend auto operator<=>(const PodPlace&, const PodPlace&) = default;
};

}  // namespace subak::state
