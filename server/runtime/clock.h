// The real clock. server/runtime/clock.cc is the one file of the service that reads a clock.
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
