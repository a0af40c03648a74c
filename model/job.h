// The states of jobs and pods, the changes of a job's state that may happen, and why anything ends.
// The engine decides every change by this one table (docs/design/0024).
//
//                    +------------------ ended, to wait again -----------------+
//                    v                                                         |
//   kIncomplete <--> kQueued --attempt--> kStarting --all pods bound--> kRunning
//        ^            ^   |                   |                            |
//        |    release |   | hold              +------- stop asked ---------+
//        |            |   v                                |
//        +--------> kPaused                                v
//        +------------------- ended, to wait again --- kEnding ---> kDone
//
// kIncomplete <-> kQueued or kPaused: the gang's last pod appears, or one of its pods goes before
// the start. A waiting job goes to kEnding if its pods in the cluster must end first. Every state
// but kDone may change to kDone. Foreign and adopted jobs begin in kRunning.
//
// Threads: plain values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"

namespace subak {

// Values are durable: append only.
enum class JobState : std::uint8_t {
  kIncomplete,  // a gang of which some pods have not been seen
  kQueued,      // waits for its turn
  kPaused,      // waits for a person
  kStarting,    // has a hold; not all pods are bound
  kRunning,     // all pods bound
  kEnding,      // its pods are asked to end; they keep their holds until they end
  kDone,
};
template <>
struct EnumText<JobState> {
  static constexpr std::array<std::string_view, 7> names{
      "incomplete", "queued", "paused", "starting", "running", "ending", "done"};
};

// How a job came to be. Values are durable: append only.
enum class JobOrigin : std::uint8_t {
  kApi,      // submitted over the API
  kPods,     // made of pods with Subak's gate
  kForeign,  // found running, never admitted
  kAdopted   // running when its cluster went to enforce; now its account's own
};
template <>
struct EnumText<JobOrigin> {
  static constexpr std::array<std::string_view, 4> names{"api", "pods", "foreign", "adopted"};
};

// Why a pod, an attempt or a job ended, or is asked to end. The decision, the effect, the event,
// the metric and the history all use this cause. Values are durable: append only.
enum class Cause : std::uint8_t {
  kNone,            // it has not ended, or the cause is unknown
  kFinished,        // by itself, with success
  kFailed,          // by itself, with failure
  kCancelled,       // by a person
  kExpired,         // not bound in time
  kPreempted,       // for another job
  kNodeLost,        // its node disappeared
  kNodeDrained,     // a person took its node out of use, and the node disappeared
  kRejected,        // by its node, before it ran
  kUnschedulable,   // the cluster's scheduler found no node, or another pod is there
  kReleaseRefused,  // its gate could not be opened
  kMemberLost,      // another pod of its gang ended without success
  kVanished,        // the pod disappeared, and its end was not seen
  kTimeLimit,       // it reached its time limit
  kBudget,          // its account's budget is spent
  kMisconfigured,   // it can never start as written
  kEvictRefused,    // only for a pod that must end but may not; nothing ends with it
};
template <>
struct EnumText<Cause> {
  static constexpr std::array<std::string_view, 17> names{
      "none",      "finished",     "failed",   "cancelled",     "expired",         "preempted",
      "node_lost", "node_drained", "rejected", "unschedulable", "release_refused", "member_lost",
      "vanished",  "time_limit",   "budget",   "misconfigured", "evict_refused"};
};

// True if the table at the top has this change. No state may change to itself, and nothing leaves
// kDone.
bool may_change(JobState from, JobState to);

// True if the job has no hold and wants one: incomplete, queued or paused.
constexpr bool is_waiting(JobState state) {
  return state == JobState::kIncomplete || state == JobState::kQueued || state == JobState::kPaused;
}

// True if a job may wait again after an attempt that ended with this cause, provided that it has
// pods left or gets new ones. Else it is done. After kFinished only pods that wait already come
// back.
bool comes_back(Cause cause);

// The scheduling gates that keep a Kubernetes pod from its node. A pod can lose gates, but never
// get one. Values are durable: append only.
enum class PodGate : std::uint8_t {
  kOpen = 0,     // none; also for pods that never had Subak's gate, and for a launcher's
  kClosed = 1,   // Subak's gate
  kForeign = 2,  // gates of others; Subak's is gone
  kBoth = 3      // both: it stays gated even if Subak's gate opens
};
template <>
struct EnumText<PodGate> {
  static constexpr std::array<std::string_view, 4> names{"open", "closed", "foreign", "both"};
};
// True if Subak's gate keeps the pod: only Subak can release it, and the pod can be placed, now or
// later.
constexpr bool is_closed(PodGate gate) {
  return gate == PodGate::kClosed || gate == PodGate::kBoth;
}

// Returns the gates left of `known` when a pod is seen with `seen`: gates only disappear.
constexpr PodGate gates_left(PodGate known, PodGate seen) {
  return static_cast<PodGate>(static_cast<unsigned>(known) & static_cast<unsigned>(seen));
}

// Where a pod of a job is. Values are durable: append only.
enum class PodState : std::uint8_t {
  kWaiting,  // has no hold
  kHeld,     // has a hold
  kBound,    // bound to its node
  kRunning,  // its containers run
  kGone      // ended
};
template <>
struct EnumText<PodState> {
  static constexpr std::array<std::string_view, 5> names{"waiting", "held", "bound", "running",
                                                         "gone"};
};

}  // namespace subak
