#include "server/runtime/clock/database_clock.h"

#include <cstdlib>

#include "core/limits.h"
#include "server/log/log.h"

namespace subak {

// The middle of a sample is wrong by at most half its duration. Of a long sample the end is used.
// If time is behind it catches up later; if it were ahead it would stand still.
void DatabaseClock::take(const ClockSample& sample) {
  const DurationMs way_ms = sample.ended_ms - sample.began_ms;
  const bool is_rough = way_ms > limits::kClockSampleMs;
  if (is_rough && offset_ms_ != kNone) return;
  const std::int64_t at_ms = is_rough ? sample.ended_ms : sample.began_ms + way_ms / 2;
  const std::int64_t offset_ms = sample.wall_ms - at_ms;
  const std::int64_t before_ms = offset_ms_.exchange(offset_ms);
  const bool was_rough = is_rough_.exchange(is_rough);
  if (before_ms == kNone || was_rough) return;
  const DurationMs step_ms = offset_ms - before_ms;
  if (std::abs(step_ms) <= limits::kClockStepMs) return;
  ++steps_;
  log::warn("the database's clock has stepped",
            {{"step_ms", step_ms}, {"machine_offset_ms", status()->offset_ms}});
}

std::optional<DatabaseClockStatus> DatabaseClock::status() const {
  if (offset_ms_ == kNone) return std::nullopt;
  return DatabaseClockStatus{wall_ms() - machine_.wall_ms(), steps_};
}

TimeMs DatabaseClock::wall_ms() const {
  const std::int64_t offset_ms = offset_ms_;
  return offset_ms == kNone ? machine_.wall_ms() : machine_.boot_ms() + offset_ms;
}

}  // namespace subak
