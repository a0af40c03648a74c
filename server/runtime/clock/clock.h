// The interface of a clock, and its implementation for the real clocks. Of the service's files,
// only server/runtime/clock/clock.cc reads a real clock.
#pragma once

#include <cstdint>

#include "core/quantity.h"

namespace subak {

// The only source of time in the service. Threads: any.
class Clock {
 public:
  virtual ~Clock() = default;
  // Returns the wall clock's time, UTC. The wall clock may jump in either direction.
  virtual TimeMs wall_ms() const = 0;
  // Returns the time since an arbitrary instant, in microseconds. This time never goes back.
  virtual std::int64_t monotonic_us() const = 0;
  DurationMs monotonic_ms() const { return monotonic_us() / 1000; }
  // Returns a time in ms that never goes back. Unlike monotonic_ms(), it includes the time in which
  // the machine slept.
  virtual std::int64_t boot_ms() const { return monotonic_ms(); }
};

// CLOCK_REALTIME, CLOCK_MONOTONIC and CLOCK_BOOTTIME of Linux.
class SystemClock final : public Clock {
 public:
  TimeMs wall_ms() const override;
  std::int64_t monotonic_us() const override;
  std::int64_t boot_ms() const override;
};

}  // namespace subak
