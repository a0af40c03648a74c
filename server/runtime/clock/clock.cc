#include "server/runtime/clock/clock.h"

#include <chrono>
#include <ctime>

namespace subak {

TimeMs SystemClock::wall_ms() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::int64_t SystemClock::boot_ms() const {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return std::int64_t{t.tv_sec} * kSecondMs + t.tv_nsec / 1'000'000;
}

std::int64_t SystemClock::monotonic_us() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace subak
