// Exact time-decayed usage. Only here and in the order rule that reads it (accounting/order.h) does
// a decision in Subak depend on floating point.
//
// Usage at instant x counts 2^-((t-x)/h) at instant t, with the half-life h. So
//     u(t) = integral of rate(x) * 2^-((t-x)/h) dx up to t,   in milli-GPU x ms.
// Two numbers are enough, the present integer rate R and an accumulator A:
//     u(t) = A * 2^-tau + R * H,   tau = (t - L) / h,   H = h / ln 2
// with any landmark L (forward decay: Cormode et al., ICDE 2009). A start, an end and a read are
// O(1) each. No periodic run over all accounts is needed.
//
// |error| <= 1e-12 x (highest rate so far x H). In 10^6 random events it was always below 4e-14
// (tests/accounting/decay_test.cc). For an infinite half-life (h = 0 in DecayClock) u is the plain
// integral, an integer.
//
// The code has its own exp2 and is compiled without contraction, so that every build makes the same
// decisions (docs/design/0004).
// Threads: none.
#pragma once

#include <cstdint>

#include "core/quantity.h"

namespace subak {

// Returns 2^x for |x| <= 1022 by a fixed sequence of IEEE operations: the same bits on every build.
// Relative error <= 1e-15 (measured: below 1.2e-16).
double exp2_exact(double x);
// Returns log2(x) for finite x > 0, with the same guarantees (measured: below 4e-16).
double log2_exact(double x);

// One instant for all meters of a tree: t = (half_lives + log2(part)) x half-life. Compute it once
// per event or per pass, and give it to every meter. Then a path or a list of siblings costs one
// exp2.
struct DecayInstant {
  // The instant itself. For a finite half-life, the next two members express it in half-lives.
  TimeMs t = 0;
  // Whole half-lives since 1970-01-01 UTC, rounded down.
  std::int64_t half_lives = 0;
  // 2^(the remaining part of a half-life), in [1, 2).
  double part = 1;
};

// The common clock of all meters of one tree: the half-life h, and landmarks at its whole
// multiples. To move a meter to another landmark is to scale by a power of two, which is exact.
class DecayClock {
 public:
  // 0 means that usage does not decay. A half-life may not be negative (asserted).
  explicit DecayClock(DurationMs half_life_ms = 7 * kDayMs);
  // 0: infinite.
  DurationMs half_life_ms() const { return half_life_ms_; }
  // True if usage does not decay.
  bool infinite() const { return half_life_ms_ == 0; }
  // H in ms; 0 if infinite.
  double mean_life_ms() const { return mean_life_ms_; }
  // Returns the instant of t. It separates whole half-lives in integers, so t loses no precision.
  DecayInstant at(TimeMs t) const;
  // Returns 2^((t - shift half-lives) / h): the weight of an instant relative to landmark `shift`.
  double weight(TimeMs t, std::int64_t shift) const;

 private:
  DurationMs half_life_ms_;
  double mean_life_ms_ = 0;
  double per_half_life_ = 0;  // 1 / h
};

// One decayed meter. 64 bytes. All calls of one meter take the same clock.
class DecayedMeter {
 public:
  // Changes the rate by `delta` milli-GPU at `t`. Changes may come in any order of time, since a
  // release may be reported late. The integral is the same.
  void change_rate(const DecayClock& clock, MilliGpu delta, TimeMs t) {
    change_rate(clock, delta, clock.at(t));
  }
  void change_rate(const DecayClock& clock, MilliGpu delta, const DecayInstant& at);
  // Adds an amount that decays from t on, for an adjustment or a checkpoint. It may be negative.
  void add(const DecayClock& clock, double milligpu_ms, TimeMs t);
  // Returns u(t) in milli-GPU x ms. It is not negative if no rate and no add() was. t must not be
  // before the last change.
  double value(const DecayClock& clock, TimeMs t) const { return value(clock, clock.at(t)); }
  double value(const DecayClock& clock, const DecayInstant& at) const;
  // The future value within one half-life, if nothing changes. At the instant `at` it is decaying /
  // at.part + lasting, or 0 if rounding gives less. The half-life must be finite.
  struct Course {
    double decaying = 0, lasting = 0;
  };
  Course course(const DecayClock& clock, std::int64_t half_lives) const {
    return {decayed(half_lives), static_cast<double>(rate_) * clock.mean_life_ms()};
  }
  // True if nothing was ever added, or all of it has decayed: value() is 0 at any time.
  bool idle() const { return rate_ == 0 && a_ == 0 && whole_.is_zero(); }
  // The present rate R.
  MilliGpu rate() const { return rate_; }

  // The exact state, for checkpoints and digests: restore(state()) changes no bit.
  struct State {
    // A, relative to the landmark `shift`. 0 with an infinite half-life.
    double a = 0;
    std::int64_t shift = 0;
    // The present rate, and the highest rate so far, which bounds the rounding error.
    MilliGpu rate = 0;
    MilliGpu peak_rate = 0;
    // With an infinite half-life: the integral up to `since`, in whole GPU-seconds and the rest.
    std::int64_t whole_gpu_s = 0;
    std::int64_t whole_rest = 0;
    // The time of the last change, with an infinite half-life only.
    TimeMs since = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  State state() const;
  void restore(const State& state);

 private:
  void change_rate_infinite(MilliGpu delta, TimeMs t);
  double decayed(std::int64_t half_lives) const;  // a_ relative to another landmark
  double a_ = 0;  // finite half-life: the accumulator relative to shift_
  std::int64_t shift_ = 0;
  MilliGpu rate_ = 0;
  MilliGpu peak_rate_ = 0;  // for the clamp to 0 when idle
  GpuTime whole_;           // infinite half-life: the integral up to since_
  TimeMs since_ = 0;
};

}  // namespace subak
