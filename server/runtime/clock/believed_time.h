// Computes the service's time, which equals the wall clock's time as long as the wall clock is
// plausible. Charges and deadlines are differences between two such times, so the service's time
// must not jump when the wall clock jumps.
//
// At a start, the service compares the wall clock with the time of the last fact:
// - If the wall clock is more than limits::kMaxClockAheadMs ahead, the service is not ready. It
//   waits until the wall clock is right or an operator accepts it.
// - If the wall clock is more than limits::kMaxClockStepMs behind, the service does not believe it.
//   The service's time then continues from the last fact.
// - Otherwise the service believes the wall clock.
// While the service runs, it compares the wall clock with the boot-time clock. If the wall clock
// has stepped by more than limits::kMaxClockStepMs, the service no longer believes it. All steps
// within about an hour (limits::kClockAnchorMs) add up, so several small steps count like one large
// step. While the wall clock is not believed, the service's time continues as the boot-time clock
// does. The service believes the wall clock again when it is within the limit again, or when an
// operator accepts it.
//
// The service's time never goes back. If it is ahead of a believed wall clock, it stands still
// until the wall clock has caught up.
#pragma once

#include <cstdint>
#include <string>

#include "core/quantity.h"

namespace subak {

// One reading of both clocks.
struct ClockReading {
  // UTC. The wall clock may jump in either direction.
  TimeMs wall_ms = 0;
  // The time since the machine's boot, including sleep. This clock never goes back.
  std::int64_t boot_ms = 0;
};

// Whether the service believes the wall clock.
enum class ClockState : std::uint8_t {
  // Time follows the wall clock.
  kBelieved,
  // The wall clock is not believed: the service's time continues by the boot-time clock.
  kStepped,
  // The wall clock was far ahead at the start, so the service is not ready.
  kWaits,
};

// The state of the clock at the last look.
struct ClockStatus {
  ClockState state = ClockState::kBelieved;
  // The wall clock's time minus the service's time, at the last look.
  DurationMs offset_ms = 0;
  // How often the state changed from kBelieved to another state. A start at which the wall clock
  // was not believed counts too.
  std::uint64_t steps_refused = 0;
};

// Returns a text for users that says why the service is not ready. The state must be kWaits.
std::string why_not_ready(const ClockStatus& status);

// Computes the service's time. BelievedTime reads no clock: the caller passes readings. All times
// are in ms. Threads: one at a time.
class BelievedTime {
 public:
  // Begins with a first reading. `last_ms`: the time of the last fact; 0: there is no fact, so any
  // wall clock is believed. A second call forgets the earlier state, including steps_refused. The
  // runtime makes a second call after it has taken facts of another leader.
  void start(TimeMs last_ms, ClockReading now);
  // Takes a reading and returns the service's time, which is never before the result of an earlier
  // call. Readings must come in the order of boot_ms.
  TimeMs look(ClockReading now);
  // Returns the service's time at `boot_ms`, without a new reading of the wall clock. The result is
  // never before the time of the last look.
  TimeMs at(std::int64_t boot_ms) const;
  // Believes the wall clock from now on, and returns the service's time. Even if the wall clock is
  // behind, this time is not before the time of the last look.
  TimeMs accept(ClockReading now);
  // Returns the state as of the last look.
  const ClockStatus& status() const { return status_; }

 private:
  // Returns the state that follows from this reading. Before the wall clock was believed for the
  // first time, it compares the reading with the last fact; after that, with the anchor.
  ClockState judge(ClockReading now) const;
  // Makes the service's time follow the wall clock. It also moves the anchor, if the anchor was set
  // at least limits::kClockAnchorMs ago.
  void believe(ClockReading now);
  // Stores the service's time at this reading, and returns that time.
  TimeMs advance(ClockReading now);

  // The service's time is the boot clock plus this offset, unless the time would go back.
  DurationMs offset_ = 0;
  // The anchor: the wall clock minus the boot clock when the anchor was set. Steps are measured
  // against this difference.
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
