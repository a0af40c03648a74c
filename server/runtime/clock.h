// The real clock. Of the service's files, only server/runtime/clock.cc reads a clock.
#pragma once

#include "server/runtime/ports.h"

namespace subak {

class SystemClock final : public Clock {
 public:
  TimeMs wall_ms() const override;
  std::int64_t monotonic_us() const override;
  std::int64_t boot_ms() const override;
};

}  // namespace subak
