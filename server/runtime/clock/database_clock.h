// The clock of a database that several machines share, so that every leader uses the same clock.
// The store samples it from time to time (server/store/postgres). Between two samples, the time
// continues by the machine's boot-time clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "server/runtime/clock/clock.h"

namespace subak {

// The database's time at a moment between two readings of the boot-time clock.
// `began_ms`: before the request was sent. `ended_ms`: after the answer arrived.
struct ClockSample {
  // The database's time, UTC.
  TimeMs wall_ms = 0;
  std::int64_t began_ms = 0, ended_ms = 0;
};

struct DatabaseClockStatus {
  // The database's time minus the machine's wall clock.
  DurationMs offset_ms = 0;
  // How often the clock stepped by more than limits::kClockStepMs from one sample to the next.
  std::uint64_t steps = 0;
};

// Threads: any.
class DatabaseClock final : public Clock {
 public:
  // Returns the machine's time until the first sample. `machine` outlives this object.
  explicit DatabaseClock(const Clock& machine) : machine_(machine) {}
  // Takes a sample, and logs a step. It does not use a sample that took longer than
  // limits::kClockSampleMs, unless it is the first. After such a first sample, the time may be
  // behind by as much until the next sample.
  // It assumes that the database read its clock in the middle of the sample, as in Cristian's
  // algorithm (Distributed Computing 3, 1989). The error is at most half the
  // duration of the sample.
  void take(const ClockSample& sample);
  // Returns the status; nothing before the first sample.
  std::optional<DatabaseClockStatus> status() const;

  // Returns the database's present time, by the last sample. It may step with each sample, in
  // either direction.
  TimeMs wall_ms() const override;
  std::int64_t monotonic_us() const override { return machine_.monotonic_us(); }
  std::int64_t boot_ms() const override { return machine_.boot_ms(); }

 private:
  // The value of `offset_ms_` before the first sample.
  static constexpr std::int64_t kNone = INT64_MIN;

  const Clock& machine_;
  // The database's time less the boot-time clock.
  std::atomic<std::int64_t> offset_ms_{kNone};
  // True: the sample in use took too long.
  std::atomic<bool> is_rough_{false};
  // The value of DatabaseClockStatus::steps.
  std::atomic<std::uint64_t> steps_{0};
};

}  // namespace subak
