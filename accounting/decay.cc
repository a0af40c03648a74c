#include "accounting/decay.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "core/must.h"

namespace subak {
namespace {

// The rest that rounding may leave in an idle meter, as a part of peak rate x H.
constexpr double kRoundingPart = 1e-13;
// 2^-k below this is 0 for every amount that can occur (10^9 milli-GPU x 10^13 ms < 2^74).
constexpr std::int64_t kVanished = 1000;

// 2^-k for 0 <= k <= 1022, exact.
double inverse_power_of_two(std::int64_t k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - k) << 52);
}

}  // namespace

DecayClock::DecayClock(DurationMs half_life_ms) : half_life_ms_(half_life_ms) {
  assert(half_life_ms >= 0);
  if (infinite()) return;
  constexpr double kOneOverLn2 = 0x1.71547652b82fep+0;
  mean_life_ms_ = static_cast<double>(half_life_ms) * kOneOverLn2;
  must(mean_life_ms_ > static_cast<double>(half_life_ms), "a mean life is above the half-life");
  per_half_life_ = 1.0 / static_cast<double>(half_life_ms);
}

DecayInstant DecayClock::at(TimeMs t) const {
  if (infinite()) return {t, 0, 1.0};
  // The product is the quotient, or off by one. A multiplication costs less than a division of
  // integers.
  auto whole = static_cast<std::int64_t>(static_cast<double>(t) * per_half_life_);
  std::int64_t rest = t - whole * half_life_ms_;
  if (rest < 0) {
    --whole;
    rest += half_life_ms_;
  } else if (rest >= half_life_ms_) {
    ++whole;
    rest -= half_life_ms_;
  }
  assert(rest >= 0 && rest < half_life_ms_);
  return {t, whole, exp2_exact(static_cast<double>(rest) * per_half_life_)};
}

double DecayClock::weight(TimeMs t, std::int64_t shift) const {
  if (infinite()) return 1;
  const DecayInstant instant = at(t);
  return instant.part * exp2_exact(static_cast<double>(instant.half_lives - shift));
}

double DecayedMeter::decayed(std::int64_t half_lives) const {
  const std::int64_t k = half_lives - shift_;
  if (k == 0) return a_;
  if (k > kVanished) return 0;
  return k > 0 ? a_ * inverse_power_of_two(k) : a_ / inverse_power_of_two(std::min(-k, kVanished));
}

void DecayedMeter::change_rate(const DecayClock& clock, MilliGpu delta, const DecayInstant& at) {
  if (clock.infinite()) return change_rate_infinite(delta, at.t);
  const double step = static_cast<double>(delta) * clock.mean_life_ms() * at.part;
  if (at.half_lives >= shift_) {
    a_ = decayed(at.half_lives) - step;
    shift_ = at.half_lives;
  } else if (shift_ - at.half_lives <= kVanished) {  // late: the step has decayed since
    a_ -= step * inverse_power_of_two(shift_ - at.half_lives);
  }
  rate_ += delta;
  peak_rate_ = std::max(peak_rate_, rate_);
  if (rate_ == 0) {
    const double noise = kRoundingPart * static_cast<double>(peak_rate_) * clock.mean_life_ms();
    if (a_ > -noise && a_ < noise) a_ = 0;
  }
}

void DecayedMeter::change_rate_infinite(MilliGpu delta, TimeMs t) {
  if (t >= since_) {
    if (rate_ != 0) whole_ += GpuTime::of(rate_, t - since_);
    since_ = t;
  } else {
    whole_ += GpuTime::of(delta, since_ - t);
  }
  rate_ += delta;
  peak_rate_ = std::max(peak_rate_, rate_);
}

void DecayedMeter::add(const DecayClock& clock, double milligpu_ms, TimeMs t) {
  if (clock.infinite()) {
    const double whole = milligpu_ms + (milligpu_ms < 0 ? -0.5 : 0.5);
    constexpr double kParts = static_cast<double>(GpuTime::kRawPerGpuSecond);
    const auto seconds = static_cast<std::int64_t>(whole / kParts);
    const auto rest = static_cast<std::int64_t>(whole - static_cast<double>(seconds) * kParts);
    whole_ += GpuTime::from_parts(seconds, rest);
    return;
  }
  const DecayInstant at = clock.at(t);
  if (at.half_lives >= shift_) {
    a_ = decayed(at.half_lives) + milligpu_ms * at.part;
    shift_ = at.half_lives;
  } else if (shift_ - at.half_lives <= kVanished) {
    a_ += milligpu_ms * at.part * inverse_power_of_two(shift_ - at.half_lives);
  }
}

void DecayedMeter::add(const DecayedMeter& other, int sign) {
  const std::int64_t shift = std::max(shift_, other.shift_);
  a_ = decayed(shift) + sign * other.decayed(shift);
  shift_ = shift;
  // Only an infinite half-life uses the integral. It is brought to the later of both times.
  const TimeMs since = std::max(since_, other.since_);
  whole_ += GpuTime::of(rate_, since - since_);
  const GpuTime more = other.whole_ + GpuTime::of(other.rate_, since - other.since_);
  whole_ = sign > 0 ? whole_ + more : whole_ - more;
  since_ = since;
  rate_ += sign * other.rate_;
  must(rate_ >= 0, "a part has no higher rate than the sum");
  peak_rate_ = std::max({peak_rate_, other.peak_rate_, rate_});
}

double DecayedMeter::value(const DecayClock& clock, const DecayInstant& at) const {
  if (clock.infinite()) {
    return static_cast<double>((whole_ + GpuTime::of(rate_, at.t - since_)).raw());
  }
  const double full = static_cast<double>(rate_) * clock.mean_life_ms();
  const double u = decayed(at.half_lives) / at.part + full;
  // Rounding just after a start may leave a trace below zero; a negative adjustment is far larger.
  const double noise = 10 * kRoundingPart * static_cast<double>(peak_rate_) * clock.mean_life_ms();
  return u < 0 && u >= -noise ? 0 : u;
}

DecayedMeter::State DecayedMeter::state() const {
  return {a_, shift_, rate_, peak_rate_, whole_.gpu_seconds(), whole_.rest(), since_};
}

void DecayedMeter::restore(const State& state) {
  must(state.peak_rate >= 0 && state.peak_rate >= state.rate, "no rate is above the highest");
  a_ = state.a;
  shift_ = state.shift;
  rate_ = state.rate;
  peak_rate_ = state.peak_rate;
  whole_ = GpuTime::from_parts(state.whole_gpu_s, state.whole_rest);
  since_ = state.since;
}

}  // namespace subak
