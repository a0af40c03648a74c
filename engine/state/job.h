// A job and its pods, as the engine knows them. Values: only state/ changes them, everybody else
// sees them const.
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
#include "placement/fleet.h"
#include "placement/node.h"
#include "placement/request.h"
#include "queue/job.h"

namespace subak::state {

inline constexpr TimeMs kNever = limits::kMaxTimeMs;

// One rank of a job. Of an API job it has no uid.
struct Pod {
  std::string uid;
  std::string name;     // "namespace/name"
  std::string dispute;  // what it says otherwise than its gang; while any pod does, it cannot start
  PodState state = PodState::kWaiting;
  PodGate gate = PodGate::kOpen;
  bool controlled = false;  // something would make it anew
  bool refused = false;     // the cluster's scheduler finds no way to the place that it holds
  std::uint32_t order = 0;  // fact::PodAdded::order
  PodSlot slot;             // what it holds; empty if it holds nothing
  TimeMs since_ms = 0;      // start of the interval that its next ledger row covers
  // Of a pod that is bound: when it was there for certain, by our clock, and how far the clock of whoever says when
  // it ends is behind (fact::PodBound). It does not end before the former.
  TimeMs seen_ms = 0;
  DurationMs behind_ms = 0;
  ShapeUse shape;                // what the fleet holds for it: the job's shape and this rank,
  std::uint32_t shape_rank = 0;  // or a shape of its own, rank 0
  bool holds_slot() const {
    return state == PodState::kHeld || state == PodState::kBound || state == PodState::kRunning;
  }
  bool is_bound() const { return state == PodState::kBound || state == PodState::kRunning; }
  // It is in its cluster and has not ended. A rank of a launcher's has no pod by itself.
  bool is_live() const { return holds_slot() || (state == PodState::kWaiting && !uid.empty()); }
  // Nobody yet: one comes when those before it run (fact::PodsExpected). Its gate will be closed.
  bool is_expected() const { return uid.empty() && gate == PodGate::kClosed; }
  // It could be placed now.
  bool is_ready() const { return state == PodState::kWaiting && gate == PodGate::kClosed; }
  // It had a place, and that was given back while its gate was closed: as far as we know. An order to open
  // it may be under way still.
  bool may_be_opened() const {
    return state == PodState::kWaiting && is_closed(gate) && !uid.empty() && since_ms != 0;
  }
};

// Pods join a job, or its attempt starts: no reference to a pod of it survives that. Where addresses
// are checked (make asan) the pods move each time, so that one that was kept is found out.
inline void unsettle([[maybe_unused]] std::vector<Pod>& pods) {
#ifdef __SANITIZE_ADDRESS__
  std::vector<Pod> moved(std::make_move_iterator(pods.begin()),
                         std::make_move_iterator(pods.end()));
  pods.swap(moved);
#endif
}

// What the pods of a job of Kubernetes say of the whole.
struct OfPods {
  std::string owner;           // of a gang: uid of what makes its pods anew
  std::string account, user;   // while it is of no account
  bool awaits_resume = false;  // its account drained when it came: it is not queued yet
  // PodRecord::replaced_alone; of a job without a gang: its pod was left behind by the start of one.
  bool replaced_alone = false;
};

// What a job has from its start on: until it waits again, or else until it is forgotten.
struct Run {
  TimeMs started_ms = 0;      // of its attempt; 0: it has none
  TimeMs ended_ms = 0;        // of the job; 0: it has not
  TimeMs end_refused_ms = 0;  // kEnding: when it was said that a pod of it may not be ended; 0: not
  // When what it holds is taken to be free (State::planned_end); kNever: nobody knows. 0: it holds
  // nothing. Follows from the rest, the policy and its account.
  TimeMs end_ms = 0;
  TimeMs due_ms = 0;  // when that is looked at again; 0: never
};
inline constexpr Run kNoRun;

// What the cluster's scheduler said last of a pod of a job, until the job runs, or it or the nodes change.
struct Backoff {
  std::string words;
  std::uint32_t times = 0;  // attempts in a row after which the job was not tried again at once
  TimeMs until_ms = 0;      // it is not queued before; 0: it is at once
};

// A million wait: what a queued job does not need is in parts of their own.
struct Job {
  JobId id;
  AccountId leaf;  // the user's node, or the account's; kUnassigned: nobody's
  std::int32_t priority = 0;
  ShapeUse shape;  // none while incomplete, for foreign jobs, and once it has ended
  JobState state = JobState::kIncomplete;
  JobOrigin origin = JobOrigin::kApi;
  Cause cause = Cause::kNone;  // of its end; before that, what its attempt ends or ended of
  Cause stop = Cause::kNone;   // kEnding: why its pods are asked to end
  bool gang = false;           // its name is an identity: members may come later
  std::uint8_t overruns = 0;   // times that its attempt, or the last, was there beyond its end
  std::uint16_t refusals = 0;  // attempts in a row whose gates could not be opened
  std::uint32_t gang_size = 0;
  std::uint32_t attempt = 0;
  TimeMs submit_ms = 0;
  // Starting, ending: end of its hold. Incomplete: done unless a member comes by then. Paused:
  // queued again then. 0: none, or past.
  TimeMs until_ms = 0;
  DurationMs time_limit_ms = 0;
  std::string name;  // "namespace/gang" of a job made of pods
  // By rank; empty for an API job never started. Behind the ranks of a gang: those that came early
  // and wait to take the place of one that goes.
  std::vector<Pod> pods;
  // Of a job made of pods: its topology and segment. Of an ended job: all it asked for.
  std::shared_ptr<const GangRequest> asked;
  std::unique_ptr<OfPods> of_pods;   // only of those, and until it is done
  std::unique_ptr<Run> of_run;       // none of a job that waits
  std::unique_ptr<Backoff> backoff;  // only of one that the cluster's scheduler refused

  bool from_pods() const { return origin != JobOrigin::kApi; }
  // Its places are chosen here; else it was found running.
  bool is_ours() const { return origin == JobOrigin::kApi || origin == JobOrigin::kPods; }
  bool waits() const { return is_waiting(state); }
  // Its pods have had places before.
  bool waits_again() const { return waits() && attempt > 0 && origin == JobOrigin::kPods; }
  const Run& run() const { return of_run != nullptr ? *of_run : kNoRun; }
  Run& make_run() {  // the one that it has, else a new one
    if (of_run == nullptr) of_run = std::make_unique<Run>();
    return *of_run;
  }
  // Its account drained when it came, and was not resumed since.
  bool awaits_resume() const { return of_pods != nullptr && of_pods->awaits_resume; }
  // When a pod of the gang is lost the others run on: that it is a gang is only inferred.
  bool replaced_alone() const { return gang && of_pods != nullptr && of_pods->replaced_alone; }
  // Nobody says how many of its pods start together.
  bool is_unsized() const { return gang && gang_size == 0; }
  // A pod by itself, of a gang that had started when it came.
  bool is_apart() const {
    const bool left = of_pods != nullptr && of_pods->replaced_alone;
    return origin == JobOrigin::kPods && !gang && left;
  }
  // Pods that its gang has no rank for: they wait for one that goes.
  std::size_t pods_behind() const {
    const bool may = origin == JobOrigin::kPods && gang_size > 0 && state != JobState::kDone;
    return may ? pods.size() - ranks() : 0;
  }
  // Of a gang: the last one behind its ranks is somebody.
  void drop_empty_ranks();
  // The namespace of a job made of pods.
  std::string ns() const { return name.substr(0, name.find('/')); }
  // It is not queued before `t`, as the cluster's scheduler refused it; 0: nothing keeps it.
  TimeMs backed_off_until(TimeMs t) const {
    return backoff != nullptr && backoff->until_ms > t ? backoff->until_ms : 0;
  }
  // It is paused for that.
  bool is_backed_off() const {
    return state == JobState::kPaused && until_ms != 0 && backoff != nullptr &&
           cause != Cause::kReleaseRefused;
  }
  // Done, and it ran as long as its people had it run.
  bool ran_its_course() const {
    const bool own =
        cause == Cause::kFinished || cause == Cause::kFailed || cause == Cause::kCancelled;
    return own && state == JobState::kDone && run().started_ms != 0 &&
           run().ended_ms > run().started_ms;
  }
  // Something is to be done outside about it (derive/effects.h).
  bool active() const { return state == JobState::kStarting || state == JobState::kEnding; }
  const Pod* disputing() const;  // a pod that is there and says otherwise; nullptr: none
  // Of a gang of pods whose segments have to be together: why its ranks are not known, in words. Empty:
  // they are, or it has no such segments. O(pods log pods).
  std::string unknown_ranks() const;
  // Its pods are asked to end, and it will not wait again: its name is free for another.
  bool ends_for_good() const { return state == JobState::kEnding && !comes_back(stop); }
  // All ranks of the gang have a pod that could be placed now.
  bool is_whole() const;
  // Pods that are its gang's, not behind it.
  std::size_t ranks() const {
    return origin == JobOrigin::kPods && gang_size < pods.size() ? gang_size : pods.size();
  }
  std::size_t pods_holding() const;
  std::size_t pods_live() const;  // those that are expected left out
};

// One rank of one job.
struct PodPlace {
  JobId job;
  std::uint32_t rank = 0;
  friend auto operator<=>(const PodPlace&, const PodPlace&) = default;
};

}  // namespace subak::state
