// Sums the GPU time that an account used, and lets old usage count less: half after each
// half-life. With a half-life of 7 days, 80 GPU-hours of 14 days ago count as 20. Each account
// has such meters (account.h), and the order of waiting jobs depends on them (order.h).
//
// At the instant t, usage of an earlier instant x has the weight 2^-((t-x)/h), with half-life h:
//     u(t) = integral of rate(x) * 2^-((t-x)/h) dx up to t,   in milli-GPU x ms.
// Here rate(x) is the number of milli-GPU that the account's jobs hold at x. A meter stores only
// the present rate R and a number A, the accumulator. A refers to a fixed instant L, the
// landmark:
//     u(t) = A * 2^-tau + R * H,   tau = (t - L) / h,   H = h / ln 2
// A start or an end of a job changes R and A. Such a change costs O(1), and so does a read. For
// an infinite half-life (h = 0 in DecayClock) u is the plain integral, an integer.
// Source: forward decay (Cormode et al., ICDE 2009).
//
// The error of u is at most 1e-12 x (highest rate so far x H). In 10^6 random events it was
// always below 4e-14 x (highest rate so far x H) (tests/accounting/decay_test.cc). Every build
// makes the same decisions: the code has its own exp2, and is compiled without fused multiply-add
// (docs/design/0004).
// Threads: one at a time for each object; exp2_exact() and log2_exact() are pure functions.
#pragma once

#include <cstdint>

#include "core/quantity.h"

namespace subak {

// Returns 2^x for |x| <= 1022 by a fixed sequence of IEEE operations, so every build gets the same
// bits. Relative error <= 1e-15 (measured: below 1.2e-16).
double exp2_exact(double x);
// Returns log2(x) for finite x > 0, with the guarantees of exp2_exact() (measured relative error:
// below 4e-16).
double log2_exact(double x);

// One instant, in the form that all meters of a tree read: t = (half_lives + log2(part)) x
// half-life. Compute it once for each event or pass, and pass it to every meter. Then a path of
// accounts or a list of siblings costs one exp2 in total.
struct DecayInstant {
  // The instant itself. For a finite half-life, the next two members express it in half-lives.
  TimeMs t = 0;
  // Whole half-lives since 1970-01-01 UTC, rounded down.
  std::int64_t half_lives = 0;
  // 2^(the remaining part of a half-life), in [1, 2).
  double part = 1;
};

// The clock that all meters of one tree share. Its half-life is h, and landmarks are multiples of
// h. So a meter moves to another landmark by a multiplication with a power of two, which is
// exact.
class DecayClock {
 public:
  // 0 means that usage does not decay. A half-life may not be negative (asserted).
  explicit DecayClock(DurationMs half_life_ms = 7 * kDayMs);
  // Returns the half-life; 0 if it is infinite.
  DurationMs half_life_ms() const { return half_life_ms_; }
  // True if usage does not decay.
  bool infinite() const { return half_life_ms_ == 0; }
  // Returns H in ms; 0 if the half-life is infinite.
  double mean_life_ms() const { return mean_life_ms_; }
  // Returns the instant of t. The function counts the half-lives in integers, so t loses no
  // precision.
  DecayInstant at(TimeMs t) const;
  // Returns 2^((t - shift half-lives) / h), the weight of the instant t relative to the landmark
  // `shift` (in half-lives since 1970). Returns 1 if the half-life is infinite.
  double weight(TimeMs t, std::int64_t shift) const;

 private:
  DurationMs half_life_ms_;
  double mean_life_ms_ = 0;
  double per_half_life_ = 0;  // 1 / h
};

// One decayed meter, in 64 bytes. All calls on one meter must pass the same clock.
class DecayedMeter {
 public:
  // Changes the rate by `delta` milli-GPU at `t`. Changes may come in any order of time, because a
  // release may be reported late. Every order gives the same integral.
  void change_rate(const DecayClock& clock, MilliGpu delta, TimeMs t) {
    change_rate(clock, delta, clock.at(t));
  }
  void change_rate(const DecayClock& clock, MilliGpu delta, const DecayInstant& at);
  // Adds an amount that decays from t on, for an adjustment or a checkpoint. The amount may be
  // negative.
  void add(const DecayClock& clock, double milligpu_ms, TimeMs t);
  // Adds the present and past rates of another meter, or subtracts them (`sign` -1). The error
  // bound then counts from the highest rate of both meters.
  void add(const DecayedMeter& other, int sign);
  // Returns u(t) in milli-GPU x ms. The result is not negative if no rate and no added amount was
  // negative. t must not be before the last change.
  double value(const DecayClock& clock, TimeMs t) const { return value(clock, clock.at(t)); }
  double value(const DecayClock& clock, const DecayInstant& at) const;
  // How value() depends on time while the rate stays the same. At an instant `at` with the same
  // DecayInstant::half_lives, the value is decaying / at.part + lasting, or 0 if rounding gives
  // less. The half-life must be finite.
  struct Course {
    double decaying = 0, lasting = 0;
  };
  Course course(const DecayClock& clock, std::int64_t half_lives) const {
    return {decayed(half_lives), static_cast<double>(rate_) * clock.mean_life_ms()};
  }
  // True if the meter never had an amount, or if its amount has decayed to 0. Then value() is 0 at
  // any time.
  bool idle() const { return rate_ == 0 && a_ == 0 && whole_.is_zero(); }
  // The present rate R.
  MilliGpu rate() const { return rate_; }

  // The exact state of the meter, for checkpoints and digests: restore(state()) changes no bit.
  struct State {
    // The accumulator A, relative to the landmark `shift`. Both are 0 with an infinite half-life.
    double a = 0;
    std::int64_t shift = 0;
    // The present rate, and the highest rate so far, which bounds the rounding error.
    MilliGpu rate = 0;
    MilliGpu peak_rate = 0;
    // The integral up to `since`, in whole GPU-seconds and the rest. Used only with an infinite
    // half-life.
    std::int64_t whole_gpu_s = 0;
    std::int64_t whole_rest = 0;
    // The time of the last change. Used only with an infinite half-life.
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
