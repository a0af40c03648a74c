// Exact time-decayed usage. Floating point decides here and in the order rule that reads it
// (accounting/order.h), and nowhere else in Subak.
//
// What was used at instant x counts 2^-((t-x)/h) at instant t, where h is the half-life. So
//     u(t) = integral of rate(x) * 2^-((t-x)/h) dx up to t,   in milli-GPU x ms.
// It follows from two numbers, the present integer rate R and an accumulator A:
//     u(t) = A * 2^-tau + R * H,   tau = (t - L) / h,   H = h / ln 2
// with any landmark L (forward decay: Cormode et al., ICDE 2009). A start, an end and a read are
// O(1) each, and there is no sweep.
//
// |error| <= 1e-12 x (highest rate so far x H); measured below 4e-14 at each of 10^6 random events
// (tests/accounting/decay_test.cc). An infinite half-life (h = 0 in DecayClock) has a form of its
// own: u is the plain integral, an integer.
//
// Built with contraction off and its own exp2, so that every build decides the same
// (docs/design/0004). Threads: none.
#pragma once

#include <cstdint>

#include "core/quantity.h"

namespace subak {

// 2^x for |x| <= 1022 by a fixed sequence of IEEE operations: same bits on every build.
// Relative error <= 1e-15 (measured: below 1.2e-16).
double exp2_exact(double x);
// log2(x) for finite x > 0, same promise (measured: below 4e-16).
double log2_exact(double x);

// One instant as all meters of a tree see it: t = (half_lives + log2(part)) x h. Computed once per
// event or per pass and passed to every meter, so that a path or a list of siblings costs one exp2.
struct DecayInstant {
  TimeMs t = 0;
  std::int64_t half_lives = 0;  // whole half-lives since the epoch, rounded down
  double part = 1;              // 2^(the rest), in [1, 2)
};

// The common clock of all meters of one tree: the half-life h, and landmarks that are whole
// multiples of it, so that moving one is an exact scaling by a power of two.
class DecayClock {
 public:
  // 0 means infinite; a negative half-life is asserted against.
  explicit DecayClock(DurationMs half_life_ms = 7 * kDayMs);
  DurationMs half_life_ms() const { return half_life_ms_; }
  bool infinite() const { return half_life_ms_ == 0; }
  // H in ms; 0 if infinite.
  double mean_life_ms() const { return mean_life_ms_; }
  // The instant of t. Whole half-lives are split off in integers, so t loses no precision.
  DecayInstant at(TimeMs t) const;
  // 2^((t - shift half-lives) / h): the weight of an instant relative to landmark `shift`.
  double weight(TimeMs t, std::int64_t shift) const;

 private:
  DurationMs half_life_ms_;
  double mean_life_ms_ = 0;
  double per_half_life_ = 0;  // 1 / h
};

// One decayed meter. 64 bytes. All calls of one meter take the same clock.
class DecayedMeter {
 public:
  // The rate changes by `delta` milli-GPU at `t`. Changes may come in any order of time (a release
  // that is reported late): the result is the same integral.
  void change_rate(const DecayClock& clock, MilliGpu delta, TimeMs t) {
    change_rate(clock, delta, clock.at(t));
  }
  void change_rate(const DecayClock& clock, MilliGpu delta, const DecayInstant& at);
  // Adds a plain amount that decays from t on (an adjustment, or a checkpoint). May be negative.
  void add(const DecayClock& clock, double milligpu_ms, TimeMs t);
  // u(t) in milli-GPU x ms, never negative for non-negative rates and no negative add(). t is not
  // before the last change.
  double value(const DecayClock& clock, TimeMs t) const { return value(clock, clock.at(t)); }
  double value(const DecayClock& clock, const DecayInstant& at) const;
  // What it comes to if nothing changes: decaying / at.part + lasting at any instant `at` of these
  // half-lives, and 0 where rounding leaves less. For a finite half-life.
  struct Course {
    double decaying = 0, lasting = 0;
  };
  Course course(const DecayClock& clock, std::int64_t half_lives) const {
    return {decayed(half_lives), static_cast<double>(rate_) * clock.mean_life_ms()};
  }
  // Nothing was ever added, or all of it is forgotten: value() is 0 at any time.
  bool idle() const { return rate_ == 0 && a_ == 0 && whole_.is_zero(); }
  MilliGpu rate() const { return rate_; }

  // Exact state, for checkpoints and digests: restore(state()) changes no bit.
  struct State {
    double a = 0;
    std::int64_t shift = 0;
    MilliGpu rate = 0;
    MilliGpu peak_rate = 0;
    std::int64_t whole_gpu_s = 0;  // infinite half-life: integral up to `since`
    std::int64_t whole_rest = 0;
    TimeMs since = 0;  // infinite half-life only
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
