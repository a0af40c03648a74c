// The states of jobs and pods, the allowed changes of a job's state, and the causes for which pods,
// attempts and jobs end. The engine allows only the changes of this table (docs/design/0024).
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
// From kIncomplete to kQueued or kPaused: the gang's last pod appears. The reverse: one of its pods
// goes before the start. A waiting job goes to kEnding if its pods in the cluster must end first.
// Every state except kDone may change to kDone. Foreign and adopted jobs begin in kRunning.
//
// Threads: any; plain values and pure functions.
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
  // The job is a gang, and Subak has not seen some of its pods yet.
  kIncomplete,
  // It waits for its turn.
  kQueued,
  // It does not start until a person releases it, or until the end of a pause that Subak set.
  kPaused,
  // It has a hold for each rank; not all pods are bound.
  kStarting,
  // All pods are bound. They need not run yet.
  kRunning,
  // Its pods are asked to end. They keep their holds until they end.
  kEnding,
  // It has ended. It holds no GPUs and never changes again.
  kDone,
};
template <>
struct EnumText<JobState> {
  static constexpr std::array<std::string_view, 7> names{
      "incomplete", "queued", "paused", "starting", "running", "ending", "done"};
};

// How a job came to be. Values are durable: append only.
enum class JobOrigin : std::uint8_t {
  // It was submitted over the API. A launcher creates its pods.
  kApi,
  // It consists of pods with Subak's gate.
  kPods,
  // Subak found the job running. Subak never admitted it.
  kForeign,
  // The job ran when its cluster changed to enforce. Since then it counts as a job of its account.
  kAdopted
};
template <>
struct EnumText<JobOrigin> {
  static constexpr std::array<std::string_view, 4> names{"api", "pods", "foreign", "adopted"};
};

// Why a pod, an attempt or a job ("it" below) ended, or is asked to end. The decision, the effect,
// the event, the metric and the history all use this cause. Values are durable: append only.
enum class Cause : std::uint8_t {
  // It has not ended, or the cause is unknown.
  kNone,
  // It ended by itself, with success.
  kFinished,
  // It ended by itself, with failure.
  kFailed,
  // A person ended it.
  kCancelled,
  // It was not bound before the end of its hold.
  kExpired,
  // It was evicted for another job.
  kPreempted,
  // Its node disappeared.
  kNodeLost,
  // A person took its node out of use, and the node disappeared.
  kNodeDrained,
  // Its node rejected it before it ran.
  kRejected,
  // The cluster's scheduler found no node, or another pod is on its GPUs.
  kUnschedulable,
  // Its gate could not be opened.
  kReleaseRefused,
  // Another pod of its gang ended without success.
  kMemberLost,
  // The pod disappeared, and Subak did not see its end.
  kVanished,
  // It reached its time limit.
  kTimeLimit,
  // The budget of its account is spent.
  kBudget,
  // It can never start as it is written.
  kMisconfigured,
  // The cluster refuses the eviction of a pod that must end. No pod or job ends with this cause.
  kEvictRefused,
};
template <>
struct EnumText<Cause> {
  static constexpr std::array<std::string_view, 17> names{
      "none",      "finished",     "failed",   "cancelled",     "expired",         "preempted",
      "node_lost", "node_drained", "rejected", "unschedulable", "release_refused", "member_lost",
      "vanished",  "time_limit",   "budget",   "misconfigured", "evict_refused"};
};

// True if the table at the top has this change. No state may change to itself, and kDone never
// changes.
bool may_change(JobState from, JobState to);

// True if the job has no hold and wants one: incomplete, queued or paused.
constexpr bool is_waiting(JobState state) {
  return state == JobState::kIncomplete || state == JobState::kQueued || state == JobState::kPaused;
}

// True if a job may wait again after an attempt that ended with this cause. The job must also have
// pods left, or get new pods. Else it is done. After kFinished, only pods that already wait can
// start again.
bool comes_back(Cause cause);

// The scheduling gates that stop a Kubernetes pod from going to a node. A pod can lose gates, but
// never gets a new one. Values are durable: append only.
enum class PodGate : std::uint8_t {
  // No gates. Pods that never had Subak's gate, and a launcher's pods, have this value too.
  kOpen = 0,
  // Only Subak's gate.
  kClosed = 1,
  // Only gates of other parties. Subak's gate is gone.
  kForeign = 2,
  // Subak's gate and gates of other parties. The pod stays gated even if Subak's gate opens.
  kBoth = 3
};
template <>
struct EnumText<PodGate> {
  static constexpr std::array<std::string_view, 4> names{"open", "closed", "foreign", "both"};
};
// True if the pod has Subak's gate. Then the pod cannot go to a node before Subak opens this gate.
constexpr bool is_closed(PodGate gate) {
  return gate == PodGate::kClosed || gate == PodGate::kBoth;
}

// Returns the gates that a pod still has. The pod had the gates `known`, and a report says `seen`.
// Gates only disappear, so only gates in both are left.
constexpr PodGate gates_left(PodGate known, PodGate seen) {
  return static_cast<PodGate>(static_cast<unsigned>(known) & static_cast<unsigned>(seen));
}

// Where a pod of a job is. Values are durable: append only.
enum class PodState : std::uint8_t {
  // It has no hold.
  kWaiting,
  // It has a hold and is not bound.
  kHeld,
  // It is bound to its node, and no container has started yet.
  kBound,
  // One of its containers has started.
  kRunning,
  // It has ended. It holds no GPUs.
  kGone
};
template <>
struct EnumText<PodState> {
  static constexpr std::array<std::string_view, 5> names{"waiting", "held", "bound", "running",
                                                         "gone"};
};

}  // namespace subak
