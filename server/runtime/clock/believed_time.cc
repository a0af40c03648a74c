#include "server/runtime/clock/believed_time.h"

#include <algorithm>
#include <cstdlib>

#include "core/duration.h"
#include "core/limits.h"

namespace subak {
namespace {

DurationMs offset_of(ClockReading now) { return now.wall_ms - now.boot_ms; }

}  // namespace

std::string why_not_ready(const ClockStatus& status) {
  return "the wall clock is " + format_duration(status.offset_ms - status.offset_ms % kSecondMs) +
         " ahead of the last fact: set it right, or accept it (subak admin accept-clock)";
}

void BelievedTime::start(TimeMs last_ms, ClockReading now) {
  *this = BelievedTime();
  last_ = last_ms;
  offset_ = last_ms - now.boot_ms;
  if (last_ms == 0) believe(now);
  look(now);
}

ClockState BelievedTime::judge(ClockReading now) const {
  if (started_) {
    const bool near = std::abs(offset_of(now) - anchor_) <= limits::kMaxClockStepMs;
    return near ? ClockState::kBelieved : ClockState::kStepped;
  }
  const DurationMs ahead = now.wall_ms - at(now.boot_ms);
  if (ahead > limits::kMaxClockAheadMs) return ClockState::kWaits;
  return ahead < -limits::kMaxClockStepMs ? ClockState::kStepped : ClockState::kBelieved;
}

// The anchor follows from time to time, so that small steps of a long run do not add up.
void BelievedTime::believe(ClockReading now) {
  offset_ = offset_of(now);
  if (started_ && now.boot_ms - anchored_at_ < limits::kClockAnchorMs) return;
  started_ = true;
  anchor_ = offset_;
  anchored_at_ = now.boot_ms;
}

TimeMs BelievedTime::advance(ClockReading now) {
  last_ = at(now.boot_ms);
  status_.offset_ms = now.wall_ms - last_;
  return last_;
}

TimeMs BelievedTime::at(std::int64_t boot_ms) const { return std::max(last_, boot_ms + offset_); }

TimeMs BelievedTime::look(ClockReading now) {
  const ClockState state = judge(now);
  if (state == ClockState::kBelieved) {
    believe(now);
  } else if (status_.state == ClockState::kBelieved) {
    ++status_.steps_refused;
  }
  status_.state = state;
  return advance(now);
}

TimeMs BelievedTime::accept(ClockReading now) {
  started_ = false;
  believe(now);
  status_.state = ClockState::kBelieved;
  return advance(now);
}

}  // namespace subak
