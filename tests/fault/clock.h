// The clock of a fault world. The world sets its time.
// Threads: one at a time.
#pragma once

#include "server/runtime/ports.h"

namespace subak::fault {

class WorldClock final : public Clock {
 public:
  TimeMs wall_ms() const override { return wall; }
  std::int64_t monotonic_us() const override { return mono_us; }
  TimeMs wall = 0;
  std::int64_t mono_us = 0;
};

}  // namespace subak::fault
