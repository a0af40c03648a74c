// The clock of a database that several machines share, so that whoever leads goes by the same one. It is asked now and then
// (server/store/postgres), and carried on by the machine's boot-time clock in between.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "server/runtime/ports.h"

namespace subak {

// What a database said that its clock shows, somewhere between two readings of the boot-time clock.
struct ClockSample {
  TimeMs wall_ms = 0;
  std::int64_t began_ms = 0, ended_ms = 0;
};

struct DatabaseClockStatus {
  DurationMs offset_ms = 0;  // its time minus the machine's wall clock
  // How often two samples that follow each other were further apart than limits::kClockStepMs.
  std::uint64_t steps = 0;
};

// Threads: any.
class DatabaseClock final : public Clock {
 public:
  // Shows the machine's clocks until the first sample. `machine` outlives it.
  explicit DatabaseClock(const Clock& machine) : machine_(machine) {}
  // One that was under way for longer than limits::kClockSampleMs is not used, unless there is none yet: then time may
  // be behind by as much, until the next one. A step is logged.
  void take(const ClockSample& sample);
  // Nothing before the first sample.
  std::optional<DatabaseClockStatus> status() const;

  TimeMs wall_ms() const override;
  std::int64_t monotonic_us() const override { return machine_.monotonic_us(); }
  std::int64_t boot_ms() const override { return machine_.boot_ms(); }

 private:
  static constexpr std::int64_t kNone = INT64_MIN;

  const Clock& machine_;
  std::atomic<std::int64_t> offset_ms_{kNone};  // of its time to the boot-time clock
  std::atomic<bool> is_rough_{false};           // that was under way for too long
  std::atomic<std::uint64_t> steps_{0};
};

}  // namespace subak
