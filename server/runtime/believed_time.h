// What time it is for Subak: the wall clock, as far as it is believed. Charges and deadlines are
// differences of this time, so a clock that jumps must not move it.
//
//   at a start    up to limits::kMaxClockAheadMs ahead of the last fact is believed. Further: the
//                 service waits until the clock comes back or is accepted. Behind by more than
//                 limits::kMaxClockStepMs: not believed, time runs on from the last fact.
//   while it runs a step of more than limits::kMaxClockStepMs (the sum of all in about an hour)
//                 against the boot-time clock is not taken: time runs on as that one does, until
//                 the wall clock is back or is accepted.
//
// Time never goes back: behind a believed wall clock it stands until that has caught up.
#pragma once

#include <cstdint>
#include <string>

#include "core/quantity.h"

namespace subak {

struct ClockReading {
  TimeMs wall_ms = 0;
  std::int64_t boot_ms = 0;  // since the machine's boot, its sleep included; never goes back
};

enum class ClockState : std::uint8_t {
  kBelieved,
  kStepped,  // not believed: time runs on without it
  kWaits,    // far ahead at a start: not ready
};

struct ClockStatus {
  ClockState state = ClockState::kBelieved;
  DurationMs offset_ms = 0;  // the wall clock's time minus Subak's, at the last look
  // How often it went from believed (or a start) to anything else.
  std::uint64_t steps_refused = 0;
};

// What people are told while the state is kWaits.
std::string why_not_ready(const ClockStatus& status);

// Threads: none.
class BelievedTime {
 public:
  // `last_ms`: time of the last fact; 0: there is none, and any wall clock is believed.
  void start(TimeMs last_ms, ClockReading now);
  // Looks at the clocks; the time, not before that of any earlier call.
  TimeMs look(ClockReading now);
  // The time without a look at the wall clock.
  TimeMs at(std::int64_t boot_ms) const;
  // Believes the wall clock from here on, whatever it shows.
  TimeMs accept(ClockReading now);
  const ClockStatus& status() const { return status_; }

 private:
  ClockState judge(ClockReading now) const;
  void believe(ClockReading now);
  TimeMs advance(ClockReading now);

  DurationMs offset_ = 0;         // time is the boot clock's plus this, unless it would go back
  DurationMs anchor_ = 0;         // the wall clock's offset that steps are measured from
  std::int64_t anchored_at_ = 0;  // boot clock
  bool started_ = false;          // the wall clock has been believed since the start
  TimeMs last_ = 0;
  ClockStatus status_;
};

}  // namespace subak
