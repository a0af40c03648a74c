// Jobs and their states. One transition table; the engine is the only caller.
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
// Threads: none.
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

// How a job came to be. kForeign and kAdopted were found running and never waited.
enum class JobOrigin : std::uint8_t { kApi, kPods, kForeign, kAdopted };
template <>
struct EnumText<JobOrigin> {
  static constexpr std::array<std::string_view, 4> names{"api", "pods", "foreign", "adopted"};
};

enum class Outcome : std::uint8_t {
  kNone,
  kSucceeded,
  kFailed,
  kCancelled,
  kEvicted,
  kLost,
  kRejected
};
template <>
struct EnumText<Outcome> {
  static constexpr std::array<std::string_view, 7> names{
      "none", "succeeded", "failed", "cancelled", "evicted", "lost", "rejected"};
};

// True if the table above has the edge.
bool may_change(JobState from, JobState to);

enum class PodState : std::uint8_t { kWaiting, kHeld, kBound, kRunning, kGone };
template <>
struct EnumText<PodState> {
  static constexpr std::array<std::string_view, 5> names{"waiting", "held", "bound", "running",
                                                         "gone"};
};

}  // namespace subak
