// Exact time-decayed usage: the one place in Subak where floating point decides anything.
//
// A meter of constant integer rate R (milli-GPU) since some instant and an accumulator A answer
//     u(t) = A * 2^-tau + R * H,   tau = (t - L) / h,   H = h / ln 2
// in O(1) per start, end and read, with no sweep (forward decay: Cormode et al., ICDE 2009). u is the
// integral of rate(x) * 2^-((t-x)/h) dx in milli-GPU x ms. |error| <= 1e-12 x (highest rate so far x H).
// An infinite half-life (h = 0 in DecayClock) is its own form: u = the plain integer integral.
//
// Built with contraction off and its own exp2, so that every build decides the same.
// Threads: none.
#pragma once

#include <cstdint>

#include "core/quantity.h"

namespace subak {

// 2^x for |x| <= 1022 by a fixed sequence of IEEE operations: same bits on every build. Relative error
// <= 1e-15.
double exp2_exact(double x);
// log2(x) for x > 0, same promise.
double log2_exact(double x);

// The common clock of all meters of one tree: the half-life and the landmark L, which moves by whole
// half-lives only. h == 0 means infinite.
class DecayClock {
 public:
  explicit DecayClock(DurationMs half_life_ms = 7 * kDayMs) : half_life_ms_(half_life_ms) {}
  DurationMs half_life_ms() const { return half_life_ms_; }
  bool infinite() const { return half_life_ms_ == 0; }
  // H in ms.
  double mean_life_ms() const;
  // 2^((t - shift half-lives) / h): the weight of an instant relative to landmark `shift`.
  double weight(TimeMs t, std::int64_t shift) const;
  // The landmark in whole half-lives that a meter touched at t should use.
  std::int64_t shift_for(TimeMs t) const;

 private:
  DurationMs half_life_ms_;
};

// One decayed meter. 40 bytes.
class DecayedMeter {
 public:
  // The rate changes by `delta` milli-GPU at `t`; t never goes backwards.
  void change_rate(const DecayClock& clock, MilliGpu delta, TimeMs t);
  // Adds a plain amount that decays from t on (an adjustment, or a checkpoint).
  void add(const DecayClock& clock, double milligpu_ms, TimeMs t);
  // u(t) in milli-GPU x ms, never negative for non-negative rates.
  double value(const DecayClock& clock, TimeMs t) const;
  MilliGpu rate() const { return rate_; }

  // Exact state, for checkpoints and digests.
  struct State {
    double a = 0;
    std::int64_t shift = 0;
    MilliGpu rate = 0;
    MilliGpu peak_rate = 0;
    std::int64_t whole_gpu_s = 0;   // infinite half-life: integral up to `since`
    std::int64_t whole_rest = 0;
    TimeMs since = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  State state() const;
  void restore(const State& state);

 private:
  void move_landmark(const DecayClock& clock, TimeMs t);
  double a_ = 0;               // finite half-life: the accumulator relative to shift_
  std::int64_t shift_ = 0;
  MilliGpu rate_ = 0;
  MilliGpu peak_rate_ = 0;     // for the clamp to 0 when idle
  GpuTime whole_;              // infinite half-life: the integral up to since_
  TimeMs since_ = 0;
};

}  // namespace subak
