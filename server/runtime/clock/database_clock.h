// The clock of a database that several machines share, so that every leader uses the same clock.
// The store samples the database's clock from time to time (server/store/postgres). Between two
// samples, the time continues as the machine's boot-time clock does.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "server/runtime/clock/clock.h"

namespace subak {

// The database's time at a moment between two readings of the machine's boot-time clock. `began_ms`
// was read before the request was sent, and `ended_ms` after the answer arrived.
struct ClockSample {
  // The database's time, UTC.
  TimeMs wall_ms = 0;
  std::int64_t began_ms = 0, ended_ms = 0;
};

// The state of the database's clock, for metrics and warnings.
struct DatabaseClockStatus {
  // The database's time minus that of the machine's wall clock.
  DurationMs offset_ms = 0;
  // How often the clock stepped by more than limits::kClockStepMs from one sample to the next.
  std::uint64_t steps = 0;
};

// The database's clock, as the samples show it. Threads: any.
class DatabaseClock final : public Clock {
 public:
  // Until the first sample, wall_ms() returns the machine's wall-clock time. `machine` must outlive
  // this object.
  explicit DatabaseClock(const Clock& machine) : machine_(machine) {}
  // Takes a sample, and logs a step of the database's clock. The use of a sample depends on its
  // duration:
  // - A sample of at most limits::kClockSampleMs: it assumes that the database read its clock in
  //   the middle of the sample, as in Cristian's algorithm (Distributed Computing 3, 1989). The
  //   error is at most half the duration of the sample.
  // - A longer sample, if it is the first one: it assumes that the database read its clock at the
  //   end of the sample. So the time may be behind, by up to the duration of the sample, until a
  //   shorter sample comes.
  // - Any other longer sample: it ignores the sample.
  void take(const ClockSample& sample);
  // Returns the status; nullopt before the first sample.
  std::optional<DatabaseClockStatus> status() const;

  // Returns the database's present time, as it follows from the last sample that was used. This
  // time may step with each sample, in either direction.
  TimeMs wall_ms() const override;
  std::int64_t monotonic_us() const override { return machine_.monotonic_us(); }
  std::int64_t boot_ms() const override { return machine_.boot_ms(); }

 private:
  // The value of `offset_ms_` before the first sample.
  static constexpr std::int64_t kNone = INT64_MIN;

  const Clock& machine_;
  // The database's time minus that of the boot-time clock.
  std::atomic<std::int64_t> offset_ms_{kNone};
  // True: the sample in use took longer than limits::kClockSampleMs.
  std::atomic<bool> is_rough_{false};
  // The value of DatabaseClockStatus::steps.
  std::atomic<std::uint64_t> steps_{0};
};

}  // namespace subak
