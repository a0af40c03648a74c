// The service's time: the wall clock, as far as it is plausible. Charges and deadlines are
// differences of this time, so a clock that jumps must not move it.
//
// - At a start: the wall clock is believed up to limits::kMaxClockAheadMs ahead of the last fact.
//   If it is further ahead, the service waits until the clock comes back or an operator accepts it.
//   If it is behind by more than limits::kMaxClockStepMs, it is not believed, and time continues
//   from the last fact.
// - While the service runs: a step of more than limits::kMaxClockStepMs against the boot-time clock
//   is not believed. That is the sum of all steps in about an hour. Time then continues as the
//   boot-time clock does, until the wall clock is back or is accepted.
//
// Time never goes back. If it is ahead of a believed wall clock, it stands until that has caught
// up.
#pragma once

#include <cstdint>
#include <string>

#include "core/quantity.h"

namespace subak {

// One reading of both clocks.
struct ClockReading {
  // UTC. It may jump in either direction.
  TimeMs wall_ms = 0;
  // Since the machine's boot, including sleep. It never goes back.
  std::int64_t boot_ms = 0;
};

// The service's judgement of the wall clock.
enum class ClockState : std::uint8_t {
  // Time follows the wall clock.
  kBelieved,
  // The wall clock is not believed: time runs on without it.
  kStepped,
  // The wall clock was far ahead at a start: the service is not ready.
  kWaits,
};

// The judgement at the last look.
struct ClockStatus {
  ClockState state = ClockState::kBelieved;
  // The wall clock's time minus the service's, at the last look.
  DurationMs offset_ms = 0;
  // How often the clock went from believed (or a start) to another state.
  std::uint64_t steps_refused = 0;
};

// Returns the text for users while the state is kWaits.
std::string why_not_ready(const ClockStatus& status);

// Threads: none.
// Reads no clock: the caller passes readings. All times are in ms.
class BelievedTime {
 public:
  // Starts. `last_ms`: time of the last fact; 0: there is none, and any wall clock is believed.
  // May be called again, for example after facts of another leader. Forgets all earlier judgements.
  void start(TimeMs last_ms, ClockReading now);
  // Reads the clocks and returns the time, never before that of an earlier call.
  // Readings must come in order of boot_ms.
  TimeMs look(ClockReading now);
  // Returns the time without using the wall clock.
  // The time of the last look, carried on by the boot clock.
  TimeMs at(std::int64_t boot_ms) const;
  // Believes the wall clock from now on, whatever it shows.
  // The result still does not go back: it is at least that of the last look.
  TimeMs accept(ClockReading now);
  // As of the last look.
  const ClockStatus& status() const { return status_; }

 private:
  // Returns the state that follows from this reading. Before the first belief it compares with the
  // last fact, else with the anchor.
  ClockState judge(ClockReading now) const;
  // Moves the anchor at most every limits::kClockAnchorMs.
  void believe(ClockReading now);
  // Notes the time of this reading and returns it.
  TimeMs advance(ClockReading now);

  // Time is the boot clock's plus this, unless it would go back.
  DurationMs offset_ = 0;
  // The wall clock's offset that steps are measured from.
  DurationMs anchor_ = 0;
  // When the anchor was set, by the boot clock.
  std::int64_t anchored_at_ = 0;
  // The wall clock was believed since the start.
  bool started_ = false;
  // The time of the last look.
  TimeMs last_ = 0;
  ClockStatus status_;
};

}  // namespace subak
