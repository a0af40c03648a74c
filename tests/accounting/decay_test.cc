#include "accounting/decay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "random.h"

namespace subak {
namespace {

using test::Random;

constexpr TimeMs kStart = 1'772'323'200'000;  // 2026-03-01
constexpr DurationMs kHalfLives[] = {kHourMs, kDayMs, 7 * kDayMs};
constexpr long double kLn2 = 0.693147180559945309417232121458L;

// Events of the long runs; `make soak` and a curious reader raise it.
std::int64_t event_count() {
  const char* text = std::getenv("SUBAK_DECAY_EVENTS");
  return text != nullptr ? std::atoll(text) : 100'000;
}

// Jobs that start and end at random: `mean_gap` between events, up to `most` at once.
class RandomJobs {
 public:
  RandomJobs(std::uint64_t seed, std::int64_t mean_gap, std::size_t most)
      : random_(seed), mean_gap_(mean_gap), most_(most) {}
  struct Event {
    TimeMs t;
    MilliGpu delta;
  };
  Event next() {
    if (!random_.one_in(4)) now_ += random_.below(2 * mean_gap_);
    if (random_.one_in(5000)) now_ += mean_gap_ * 2000;
    const bool end = running_.size() >= most_ || (!running_.empty() && random_.one_in(2));
    if (!end) {
      running_.push_back(random_.one_in(3) ? 125 * (1 + random_.below(8))
                                           : 1000 * (1 + random_.below(512)));
      return {now_, running_.back()};
    }
    const auto i =
        static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(running_.size())));
    const MilliGpu rate = running_[i];
    running_[i] = running_.back();
    running_.pop_back();
    return {now_, -rate};
  }

 private:
  Random random_;
  std::int64_t mean_gap_;
  std::size_t most_;
  TimeMs now_ = kStart + 12'345;
  std::vector<MilliGpu> running_;
};

// The same by the other way round, in long double:
// decay what was there, add what the interval adds.
class Backward {
 public:
  explicit Backward(DurationMs half_life) : h_(static_cast<long double>(half_life)) {}
  long double at(TimeMs t) {
    const long double x = -static_cast<long double>(t - t_) / h_ * kLn2;
    u_ = u_ * expl(x) - static_cast<long double>(rate_) * (h_ / kLn2) * expm1l(x);
    t_ = t;
    return u_;
  }
  void change(MilliGpu delta) { rate_ += delta; }
  MilliGpu rate() const { return rate_; }

 private:
  long double h_, u_ = 0;
  TimeMs t_ = kStart;
  MilliGpu rate_ = 0;
};

double worst_error(DurationMs half_life, std::int64_t mean_gap, std::int64_t events) {
  const DecayClock clock(half_life);
  DecayedMeter meter;
  Backward oracle(half_life);
  RandomJobs jobs(static_cast<std::uint64_t>(half_life + mean_gap), mean_gap, 200);
  long double worst = 0, peak = 0;
  for (std::int64_t i = 0; i < events; ++i) {
    const auto event = jobs.next();
    const long double before = oracle.at(event.t);
    const double was = meter.value(clock, event.t);
    oracle.change(event.delta);
    meter.change_rate(clock, event.delta, event.t);
    peak = std::max(peak, static_cast<long double>(oracle.rate()));
    EXPECT_EQ(meter.rate(), oracle.rate());
    const double is = meter.value(clock, event.t);
    EXPECT_GE(is, 0);
    const long double bound = peak * static_cast<long double>(half_life) / kLn2;
    worst = std::max(worst, std::fabs(static_cast<long double>(is) - before) / bound);
    worst = std::max(worst, std::fabs(static_cast<long double>(was) - before) / bound);
  }
  return static_cast<double>(worst);
}

TEST(DecayedMeter, ErrorOverRandomEventsStaysBelowTheBound) {
  for (const DurationMs half_life : kHalfLives) {
    for (const std::int64_t mean_gap : {20, 1000, 60'000}) {
      const double worst = worst_error(half_life, mean_gap, event_count());
      EXPECT_LE(worst, 1e-12) << half_life << " " << mean_gap;
      ::testing::Test::RecordProperty(
          "worst_" + std::to_string(half_life) + "_" + std::to_string(mean_gap),
          std::to_string(worst * 1e15) + "e-15");
    }
  }
}

TEST(DecayedMeter, InfiniteHalfLifeIsTheIntegerIntegral) {
  const DecayClock clock(0);
  DecayedMeter meter;
  RandomJobs jobs(7, 1000, 200);
  GpuTime want;
  MilliGpu rate = 0;
  TimeMs last = kStart;
  for (std::int64_t i = 0; i < event_count(); ++i) {
    const auto event = jobs.next();
    want += GpuTime::of(rate, event.t - last);
    last = event.t;
    rate += event.delta;
    meter.change_rate(clock, event.delta, event.t);
    const auto state = meter.state();
    ASSERT_EQ(GpuTime::from_parts(state.whole_gpu_s, state.whole_rest), want);
    ASSERT_EQ(meter.value(clock, event.t), static_cast<double>(want.raw()));
  }
}

TEST(DecayedMeter, EqualsTheSumOfTheIntegralsOfItsIntervals) {
  struct Interval {
    MilliGpu rate;
    TimeMs from, to;
  };
  const DurationMs h = kDayMs;
  const DecayClock clock(h);
  DecayedMeter meter;
  Random random(11);
  std::vector<Interval> intervals;
  for (int i = 0; i < 2000; ++i) {
    const TimeMs from = kStart + random.below(5 * kDayMs);
    intervals.push_back({1 + random.below(8000), from, from + 1 + random.below(kDayMs)});
  }
  for (const auto& [rate, from, to] : intervals) {  // in no order of time
    meter.change_rate(clock, rate, from);
    meter.change_rate(clock, -rate, to);
  }
  const TimeMs t = kStart + 6 * kDayMs;
  long double want = 0;
  const auto weight = [&](TimeMs x) { return exp2l(-static_cast<long double>(t - x) / h); };
  for (const auto& [rate, from, to] : intervals) {
    want += static_cast<long double>(rate) * h / kLn2 * (weight(to) - weight(from));
  }
  EXPECT_EQ(meter.rate(), 0);
  EXPECT_NEAR(meter.value(clock, t) / static_cast<double>(want), 1, 1e-13);
}

TEST(DecayedMeter, OneJobByHand) {
  const DecayClock clock(kDayMs);
  DecayedMeter meter;
  meter.change_rate(clock, 1000, kStart);
  // One half-life at a constant rate is half of what it saturates at, R x H.
  const double full = 1000.0 * clock.mean_life_ms();
  EXPECT_NEAR(meter.value(clock, kStart + kDayMs) / full, 0.5, 1e-15);
  EXPECT_NEAR(meter.value(clock, kStart + 100 * kDayMs) / full, 1, 1e-15);
  meter.change_rate(clock, -1000, kStart + kDayMs);
  EXPECT_NEAR(meter.value(clock, kStart + 2 * kDayMs) / full, 0.25, 1e-15);
  EXPECT_EQ(meter.rate(), 0);
}

TEST(DecayedMeter, AMomentAfterTheStartIsTheRectangle) {
  const DecayClock clock(7 * kDayMs);
  DecayedMeter meter;
  meter.change_rate(clock, 8000, kStart);
  EXPECT_EQ(meter.value(clock, kStart), 0);
  const double bound = 1e-12 * 8000 * clock.mean_life_ms();
  EXPECT_NEAR(meter.value(clock, kStart + 1), 8000, bound);
}

TEST(DecayedMeter, AZeroLengthJobLeavesNothing) {
  for (const DurationMs half_life : kHalfLives) {
    const DecayClock clock(half_life);
    DecayedMeter meter;
    for (TimeMs t = kStart; t < kStart + 1000; t += 7) {
      meter.change_rate(clock, 125, t);
      meter.change_rate(clock, 8000, t);
      meter.change_rate(clock, -125, t);
      meter.change_rate(clock, -8000, t);
      ASSERT_EQ(meter.value(clock, t), 0);
      ASSERT_EQ(meter.state().a, 0);
    }
  }
}

TEST(DecayedMeter, ManyZeroLengthJobsLeaveNothing) {
  Random random(9);
  for (const DurationMs half_life : kHalfLives) {
    const DecayClock clock(half_life);
    DecayedMeter meter;
    for (TimeMs t = kStart; t < kStart + 100'000; t += 997) {
      std::vector<MilliGpu> rates;
      for (int i = 0; i < 30; ++i) rates.push_back(1 + random.below(512'000));
      for (const MilliGpu rate : rates) meter.change_rate(clock, rate, t);
      std::sort(rates.begin(), rates.end());
      for (const MilliGpu rate : rates) meter.change_rate(clock, -rate, t);
      ASSERT_EQ(meter.rate(), 0);
      ASSERT_EQ(meter.state().a, 0);
    }
  }
}

TEST(DecayedMeter, IsNeverBelowZeroAtAStart) {
  Random random(10);
  const DecayClock clock(7 * kDayMs);
  for (int i = 0; i < 10'000; ++i) {
    DecayedMeter meter;
    const TimeMs t = kStart + random.below(7 * kDayMs);
    meter.change_rate(clock, 1 + random.below(512'000), t);
    ASSERT_GE(meter.value(clock, t), 0) << t;
    ASSERT_GE(meter.value(clock, t + 1), 0) << t;
  }
}

TEST(DecayedMeter, MovingTheLandmarkChangesNothing) {
  const DecayClock clock(kHourMs);
  DecayedMeter meter;
  meter.change_rate(clock, 3000, kStart);
  meter.change_rate(clock, -3000, kStart + kHourMs / 3);
  const double before = meter.value(clock, kStart + 2 * kHourMs);
  DecayedMeter moved = meter;
  moved.add(clock, 0, kStart + 700 * kHourMs);  // no change but of the landmark
  EXPECT_EQ(moved.state().shift, meter.state().shift + 700);
  EXPECT_EQ(moved.value(clock, kStart + 702 * kHourMs), std::ldexp(before, -700));
}

TEST(DecayedMeter, VanishesAfterAThousandHalfLives) {
  const DecayClock clock(kHourMs);
  DecayedMeter meter;
  meter.change_rate(clock, 3000, kStart);
  meter.change_rate(clock, -3000, kStart + kHourMs);
  EXPECT_GT(meter.value(clock, kStart + 900 * kHourMs), 0);
  EXPECT_EQ(meter.value(clock, kStart + 1100 * kHourMs), 0);
  meter.change_rate(clock, 1000, kStart + 5000 * kHourMs);
  EXPECT_EQ(meter.value(clock, kStart + 5000 * kHourMs), 0);
}

TEST(DecayedMeter, LateNewsGivesTheSameIntegral) {
  for (const DurationMs half_life : {DurationMs{0}, kHourMs, 7 * kDayMs}) {
    const DecayClock clock(half_life);
    DecayedMeter in_order, late;
    const TimeMs t1 = kStart, t2 = kStart + 3 * kHourMs, t3 = kStart + 40 * kHourMs;
    for (auto [delta, t] : {std::pair(4000, t1), std::pair(-3000, t2), std::pair(1000, t3)}) {
      in_order.change_rate(clock, delta, t);
    }
    for (auto [delta, t] : {std::pair(4000, t1), std::pair(1000, t3), std::pair(-3000, t2)}) {
      late.change_rate(clock, delta, t);
    }
    const TimeMs t = t3 + kHourMs;
    EXPECT_NEAR(late.value(clock, t) / in_order.value(clock, t), 1, 1e-13) << half_life;
  }
}

TEST(DecayedMeter, AddDecaysFromItsInstant) {
  const DecayClock clock(kDayMs);
  DecayedMeter meter;
  meter.add(clock, 1e9, kStart);
  EXPECT_NEAR(meter.value(clock, kStart), 1e9, 1e-3);
  EXPECT_NEAR(meter.value(clock, kStart + kDayMs), 5e8, 1e-3);
  meter.add(clock, -2e9, kStart + kDayMs);
  EXPECT_NEAR(meter.value(clock, kStart + kDayMs), -1.5e9, 1e-3);
  meter.add(clock, 1e9, kStart);  // late: counts half by now
  EXPECT_NEAR(meter.value(clock, kStart + kDayMs), -1e9, 1e-3);
}

TEST(DecayedMeter, AddToAnInfiniteMeterIsWhole) {
  const DecayClock clock(0);
  DecayedMeter meter;
  meter.add(clock, 1234567.6, kStart);
  meter.add(clock, -0.7, kStart);
  EXPECT_EQ(meter.value(clock, kStart + kDayMs), 1234567);
}

TEST(DecayedMeter, StateRestoresToTheBit) {
  const DecayClock clock(kDayMs);
  DecayedMeter meter;
  RandomJobs jobs(3, 1000, 50);
  RandomJobs::Event event{};
  for (int i = 0; i < 1000; ++i) {
    event = jobs.next();
    meter.change_rate(clock, event.delta, event.t);
  }
  DecayedMeter copy;
  copy.restore(meter.state());
  EXPECT_EQ(copy.state(), meter.state());
  copy.change_rate(clock, 125, event.t + 5);
  meter.change_rate(clock, 125, event.t + 5);
  EXPECT_EQ(copy.state(), meter.state());
}

TEST(DecayClock, WeightsAreRelativeToTheLandmark) {
  const DecayClock clock(kHourMs);
  const std::int64_t shift = clock.at(kStart + kHourMs / 2).half_lives;
  EXPECT_EQ(shift, kStart / kHourMs);
  EXPECT_EQ(clock.weight(shift * kHourMs, shift), 1);
  EXPECT_EQ(clock.weight((shift + 3) * kHourMs, shift), 8);
  EXPECT_EQ(clock.weight((shift - 3) * kHourMs, shift), 0.125);
  EXPECT_NEAR(clock.weight(shift * kHourMs + kHourMs / 2, shift), std::sqrt(2.0), 1e-15);
  EXPECT_EQ(clock.at(-1).half_lives, -1);
}

TEST(DecayClock, SplitsWholeHalfLivesExactly) {
  Random random(5);
  for (const DurationMs half_life :
       {DurationMs{1}, DurationMs{7}, kSecondMs, kHourMs, 7 * kDayMs}) {
    const DecayClock clock(half_life);
    for (int i = 0; i < 20'000; ++i) {
      const std::int64_t whole = random.below(40 * 365 * kDayMs / half_life);
      for (const TimeMs t : {whole * half_life, whole * half_life - 1, whole * half_life + 1}) {
        const DecayInstant at = clock.at(t);
        ASSERT_TRUE(at.half_lives * half_life <= t && t - at.half_lives * half_life < half_life)
            << half_life << " " << t;
        ASSERT_TRUE(at.part >= 1 && at.part < 2);
      }
      ASSERT_EQ(clock.at(whole * half_life).part, 1);
    }
  }
}

TEST(DecayClock, InfiniteHasNoWeights) {
  const DecayClock clock(0);
  EXPECT_TRUE(clock.infinite());
  EXPECT_EQ(clock.weight(kStart, 5), 1);
  EXPECT_EQ(clock.at(kStart).half_lives, 0);
  EXPECT_EQ(clock.mean_life_ms(), 0);
}

}  // namespace
}  // namespace subak
