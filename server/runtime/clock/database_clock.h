// The clock of a database that several machines share, so that every leader uses the same clock. It
// is sampled from time to time (server/store/postgres). In between, the machine's boot-time clock
// carries it on.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "server/runtime/clock/clock.h"

namespace subak {

// The database's time at a moment between two readings of the boot-time clock.
// The boot clock before the request was sent, and after the answer came.
struct ClockSample {
  // The database's time, UTC.
  TimeMs wall_ms = 0;
  std::int64_t began_ms = 0, ended_ms = 0;
};

struct DatabaseClockStatus {
  // The database's time minus the machine's wall clock.
  DurationMs offset_ms = 0;
  // How often two successive samples were further apart than limits::kClockStepMs.
  std::uint64_t steps = 0;
};

// Threads: any.
class DatabaseClock final : public Clock {
 public:
  // Shows the machine's clocks until the first sample. `machine` outlives it.
  explicit DatabaseClock(const Clock& machine) : machine_(machine) {}
  // Takes a sample. One that took longer than limits::kClockSampleMs is not used unless it is the
  // first. Then time may be behind by as much until the next sample. A step is logged.
  // The database's time is taken to be of the middle of the sample, as in Cristian's algorithm
  // (Distributed Computing 3, 1989). The error is at most half its duration.
  void take(const ClockSample& sample);
  // Returns nothing before the first sample.
  std::optional<DatabaseClockStatus> status() const;

  // The database's time now, by the last sample. May step with each sample, in either direction.
  TimeMs wall_ms() const override;
  std::int64_t monotonic_us() const override { return machine_.monotonic_us(); }
  std::int64_t boot_ms() const override { return machine_.boot_ms(); }

 private:
  // Of `offset_ms_`: there was no sample yet.
  static constexpr std::int64_t kNone = INT64_MIN;

  const Clock& machine_;
  // The database's time less the boot-time clock.
  std::atomic<std::int64_t> offset_ms_{kNone};
  // The sample in use took too long.
  std::atomic<bool> is_rough_{false};
  // As DatabaseClockStatus::steps.
  std::atomic<std::uint64_t> steps_{0};
};

}  // namespace subak
