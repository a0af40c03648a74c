// The service's time: the wall clock, as long as it is plausible. Charges and deadlines are
// differences of this time, so the time must not jump with the wall clock.
//
// - At a start: the wall clock is believed up to limits::kMaxClockAheadMs ahead of the last fact.
//   If it is further ahead, the service waits until the clock comes back or an operator accepts it.
//   If it is behind by more than limits::kMaxClockStepMs, it is not believed, and time continues
//   from the last fact.
// - While the service runs: a step of more than limits::kMaxClockStepMs against the boot-time clock
//   is not believed. That is the sum of all steps in about an hour. Time then continues as the
//   boot-time clock does, until the wall clock is back or is accepted.
//
// The service's time never goes back. If it is ahead of a believed wall clock, it stands still
// until the clock has caught up.
#pragma once

#include <cstdint>
#include <string>

#include "core/quantity.h"

namespace subak {

// One reading of both clocks.
struct ClockReading {
  // UTC. It may jump in either direction.
  TimeMs wall_ms = 0;
  // The time since the machine's boot, including sleep. It never goes back.
  std::int64_t boot_ms = 0;
};

// Whether the service believes the wall clock.
enum class ClockState : std::uint8_t {
  // Time follows the wall clock.
  kBelieved,
  // The wall clock is not believed: time continues by the boot-time clock.
  kStepped,
  // The wall clock was far ahead at the start, so the service is not ready.
  kWaits,
};

// The state of the clock at the last look.
struct ClockStatus {
  ClockState state = ClockState::kBelieved;
  // The wall clock's time minus the service's, at the last look.
  DurationMs offset_ms = 0;
  // How often the state changed from kBelieved, or from a start, to another state.
  std::uint64_t steps_refused = 0;
};

// Returns the text for users while the state is kWaits.
std::string why_not_ready(const ClockStatus& status);

// Computes the service's time. It reads no clock: the caller passes readings.
// All times are in ms. Threads: none.
class BelievedTime {
 public:
  // Begins. `last_ms`: the time of the last fact; 0: there is none, and any wall clock is believed.
  // It may be called again, for example after facts of another leader.
  // It then forgets the earlier state.
  void start(TimeMs last_ms, ClockReading now);
  // Takes a reading and returns the time, which is never before that of an earlier call.
  // Readings must come in the order of boot_ms.
  TimeMs look(ClockReading now);
  // Returns the time of the last look, plus the time since then by the boot clock.
  TimeMs at(std::int64_t boot_ms) const;
  // Believes the wall clock from now on, and returns the time.
  // Even so, the time does not go back: the result is not before the time of the last look.
  TimeMs accept(ClockReading now);
  // Returns the state as of the last look.
  const ClockStatus& status() const { return status_; }

 private:
  // Returns the state that follows from this reading. Before the first belief it compares with the
  // last fact, else with the anchor.
  ClockState judge(ClockReading now) const;
  // Follows the wall clock. It moves the anchor at most every limits::kClockAnchorMs.
  void believe(ClockReading now);
  // Stores the time of this reading and returns it.
  TimeMs advance(ClockReading now);

  // The service's time is the boot clock plus this offset, unless it would go back.
  DurationMs offset_ = 0;
  // The wall clock's offset to the boot clock when the anchor was set. Steps are measured from it.
  DurationMs anchor_ = 0;
  // When the anchor was set, by the boot clock.
  std::int64_t anchored_at_ = 0;
  // True: the wall clock was believed at least once since the start.
  bool started_ = false;
  // The time of the last look.
  TimeMs last_ = 0;
  ClockStatus status_;
};

}  // namespace subak
