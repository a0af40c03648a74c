// The states of jobs and pods, which change of a job's state may happen, and why anything ends.
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
// kIncomplete <-> kQueued or kPaused: the gang's last pod is seen, or a pod of it goes before its
// start. A job that waits goes to kEnding if pods that it has in the cluster are to be ended first.
// Every state but kDone may change to kDone. Foreign and adopted jobs begin in kRunning.
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
  kIncomplete,  // a gang whose pods have not all been seen
  kQueued,      // waits for its turn
  kPaused,      // waits for a person
  kStarting,    // has its place; not all pods are bound
  kRunning,     // all pods bound
  kEnding,      // its pods are asked to end; what they hold, they hold until they have
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
  kPods,     // made of pods with our gate
  kForeign,  // found running, never admitted
  kAdopted   // found running when its cluster went to enforce: its account's own from then on
};
template <>
struct EnumText<JobOrigin> {
  static constexpr std::array<std::string_view, 4> names{"api", "pods", "foreign", "adopted"};
};

// Why a pod, an attempt or a job ended, or is asked to end: one word from the decision to the
// effect, the event, the metric and the history. Values are durable: append only.
enum class Cause : std::uint8_t {
  kNone,            // it has not, or nobody said why
  kFinished,        // by itself, well
  kFailed,          // by itself, ill
  kCancelled,       // by a person
  kExpired,         // not bound in time
  kPreempted,       // for another job
  kNodeLost,        // its node went
  kNodeDrained,     // its node was taken out of use by a person, and went
  kRejected,        // by its node, before it ran
  kUnschedulable,   // by the cluster's scheduler: it finds no way, or another pod is there
  kReleaseRefused,  // its gate could not be opened
  kMemberLost,      // another pod of its gang ended otherwise than well
  kVanished,        // it is not there any more, and nobody saw it go
  kTimeLimit,       // it ran for as long as it may
  kBudget,          // its account's budget is spent
  kMisconfigured,   // it can never start as written
  kEvictRefused,    // only said of a pod that is to end, and may not: nothing ends of it
};
template <>
struct EnumText<Cause> {
  static constexpr std::array<std::string_view, 17> names{
      "none",      "finished",     "failed",   "cancelled",     "expired",         "preempted",
      "node_lost", "node_drained", "rejected", "unschedulable", "release_refused", "member_lost",
      "vanished",  "time_limit",   "budget",   "misconfigured", "evict_refused"};
};

// True if the table at the top has the edge. No state may change to itself.
bool may_change(JobState from, JobState to);

// It has no place and wants one: incomplete, queued or paused.
constexpr bool is_waiting(JobState state) {
  return state == JobState::kIncomplete || state == JobState::kQueued || state == JobState::kPaused;
}

// A job whose attempt ended so may wait again, if there is somebody to wait with; else it is done.
// kFinished comes back only for pods that wait already.
bool comes_back(Cause cause);

// Which scheduling gates keep a pod of Kubernetes from its node. A pod can lose gates, never get
// them. Values are durable: append only.
enum class PodGate : std::uint8_t {
  kOpen = 0,     // none; also of pods that never had ours, and of those of a launcher
  kClosed = 1,   // ours
  kForeign = 2,  // those of others; ours is gone
  kBoth = 3      // ours and those of others: it cannot go even if ours is opened
};
template <>
struct EnumText<PodGate> {
  static constexpr std::array<std::string_view, 4> names{"open", "closed", "foreign", "both"};
};
// Ours keeps it: nothing but us lets it go, and it can be placed, now or later.
constexpr bool is_closed(PodGate gate) {
  return gate == PodGate::kClosed || gate == PodGate::kBoth;
}

// What is left of `known` when a pod is seen with `seen`: gates only go.
constexpr PodGate gates_left(PodGate known, PodGate seen) {
  return static_cast<PodGate>(static_cast<unsigned>(known) & static_cast<unsigned>(seen));
}

// Where a pod of a job is. Values are durable: append only.
enum class PodState : std::uint8_t {
  kWaiting,  // has no place
  kHeld,     // its place is reserved
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
