// The states of jobs and pods, and which change of a job's state may happen. The engine decides
// every change by this one table.
//
//   kIncomplete <--> kQueued --reserve--> kReserved --all pods bound--> kRunning
//        ^            ^   ^                   |
//        |       hold |   +----- expired -----+
//        |    release v
//        +--------> kHeld         each of them --ended, cancelled--> kDone
//
// kIncomplete <-> kQueued or kHeld: the gang's last pod is seen, or a pod of it goes before its
// start. Foreign and adopted jobs begin in kRunning.
//
// Threads: plain values and a pure function.
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
  kHeld,        // waits for a person
  kReserved,    // has its place; not all pods are bound
  kRunning,     // all pods bound; ends when the last one has
  kDone,
};
template <>
struct EnumText<JobState> {
  static constexpr std::array<std::string_view, 6> names{"incomplete", "queued",  "held",
                                                         "reserved",   "running", "done"};
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

// How a job or a pod ended. Values are durable: append only.
enum class Outcome : std::uint8_t {
  kNone,  // it has not, or nobody said how
  kSucceeded,
  kFailed,
  kCancelled,  // by a person
  kEvicted,    // by us
  kLost,       // its node went, or a full list of the cluster lacked it
  kRejected    // by its node, before it ran
};
template <>
struct EnumText<Outcome> {
  static constexpr std::array<std::string_view, 7> names{
      "none", "succeeded", "failed", "cancelled", "evicted", "lost", "rejected"};
};

// True if the table at the top has the edge. No state may change to itself.
bool may_change(JobState from, JobState to);

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
