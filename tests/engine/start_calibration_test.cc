// Intervals of told starts: nine of ten hit, also after the world has changed, and what is not known is
// wide.
#include "engine/forecast/start_calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/limits.h"

namespace subak {
namespace {

constexpr TimeMs kNow = 1'767'225'600'000;

JobId job(std::uint64_t n) { return JobId(ClusterId(1), n); }

// Tells `starts` jobs one after the other starts in 1 h to 20 h, and lets each wait as long as told times
// a random factor around `median`. The part that started within its interval.
double covered(StartCalibration& book, std::size_t starts, double median, double spread,
               unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> factor(std::log(median), spread);
  std::uniform_real_distribution<double> wait(std::log(3'600.0), std::log(72'000.0));
  std::size_t in = 0;
  TimeMs now = kNow;
  for (std::size_t i = 1; i <= starts; ++i) {
    const auto told_ms = static_cast<DurationMs>(1000 * std::exp(wait(random)));
    book.announced(job(i), now, now + told_ms);
    const auto waited =
        static_cast<DurationMs>(static_cast<double>(told_ms) * std::exp(factor(random)));
    now += waited;
    book.look(now - 1);
    const auto as = book.started(job(i), now);
    if (!as) return -1;
    in += now >= as->earliest_ms && now <= as->latest_ms ? 1 : 0;
  }
  return static_cast<double>(in) / static_cast<double>(starts);
}

TEST(StartCalibration, NineOfTenHit) {
  StartCalibration book;
  covered(book, 500, 2, 0.8, 1);
  EXPECT_NEAR(covered(book, 4000, 2, 0.8, 2), 0.9, 0.02);
  // In the middle is what comes most likely.
  const StartOdds odds = book.odds();
  EXPECT_TRUE(odds.learned);
  EXPECT_NEAR(odds.middle, 2, 0.3);
  EXPECT_GT(odds.low, 0.2);
  EXPECT_LT(odds.high, 8);
}

// Most come as told and a few much later: who is early misses nothing, so the interval ends sooner.
TEST(StartCalibration, TheShortestThatHoldsNineOfTen) {
  StartCalibration book;
  TimeMs now = kNow;
  for (std::uint64_t i = 1; i <= 200; ++i) {
    book.announced(job(i), now, now + 10 * kMinuteMs);
    now += i % 20 == 0 ? kDayMs : (10 + i % 20) * kMinuteMs;
    book.started(job(i), now);
  }
  const StartOdds odds = book.odds();
  EXPECT_GE(odds.low, 1);
  EXPECT_LE(odds.high, 2);
  EXPECT_NEAR(odds.middle, 1.5, 0.1);
}

TEST(StartCalibration, AlsoAfterAChange) {
  StartCalibration book;
  covered(book, 1000, 1, 0.2, 1);
  const double at_once = covered(book, 300, 6, 0.5, 2);
  EXPECT_GT(at_once, 0.6);
  EXPECT_NEAR(covered(book, 3000, 6, 0.5, 3), 0.9, 0.03);
}

TEST(StartCalibration, WhatIsNotKnownIsWide) {
  const StartOdds nothing = StartCalibration().odds();
  const ExpectedStart start = nothing.of(kNow, kNow + 10 * kHourMs);
  EXPECT_EQ(start.earliest_ms, kNow + 51 * kMinuteMs);
  EXPECT_EQ(start.latest_ms, kNow + (30 * 610 - 10) * kMinuteMs);
  StartCalibration book;
  covered(book, 200, 2, 0.5, 1);
  const ExpectedStart known = book.odds().of(kNow, kNow + 10 * kHourMs);
  EXPECT_GT(known.earliest_ms, start.earliest_ms);
  EXPECT_LT(known.latest_ms, start.latest_ms);
}

// One who waits too long is a miss before it starts, and only once.
TEST(StartCalibration, WhoStillWaitsIsAMissAtOnce) {
  StartCalibration waiting, book;
  for (StartCalibration* b : {&waiting, &book}) covered(*b, 400, 1, 0.3, 1);
  const auto width = [](const StartCalibration& b) {
    const ExpectedStart s = b.odds().of(kNow, kNow + kHourMs);
    return s.latest_ms - s.earliest_ms;
  };
  for (std::uint64_t i = 1001; i <= 1020; ++i) waiting.announced(job(i), kNow, kNow + kHourMs);
  waiting.look(kNow + kHourMs / 2);
  EXPECT_EQ(width(waiting), width(book));
  waiting.look(kNow + 30 * kDayMs);
  const DurationMs missed = width(waiting);
  EXPECT_GT(missed, width(book));
  waiting.look(kNow + 31 * kDayMs);
  EXPECT_EQ(width(waiting), missed);
}

TEST(StartCalibration, FollowsNoMoreThanItMay) {
  StartCalibration book;
  for (std::uint64_t i = 1; i <= limits::kMaxCalibrationStarts + 5; ++i)
    book.announced(job(i), kNow, kNow + i);
  EXPECT_EQ(book.size(), limits::kMaxCalibrationStarts);
  EXPECT_EQ(book.started(job(limits::kMaxCalibrationStarts + 1), kNow + 9), std::nullopt);
  book.forget(job(1));
  EXPECT_EQ(book.started(job(1), kNow + 9), std::nullopt);
  EXPECT_NE(book.started(job(2), kNow + 9), std::nullopt);
  EXPECT_EQ(book.size(), limits::kMaxCalibrationStarts - 2);
}

// Only the first counts: it is what the job was told.
TEST(StartCalibration, ATellingAgainChangesNothing) {
  StartCalibration book;
  book.announced(job(1), kNow, kNow + kHourMs);
  book.announced(job(1), kNow + kMinuteMs, kNow + 5 * kHourMs);
  EXPECT_EQ(book.started(job(1), kNow + kHourMs)->latest_ms, kNow + (30 * 70 - 10) * kMinuteMs);
}

TEST(StartCalibration, WhatIsKeptIsAllOfIt) {
  StartCalibration book;
  covered(book, 700, 2, 0.8, 1);
  for (std::uint64_t i = 1; i <= 50; ++i) book.announced(job(i), kNow, kNow + i * kHourMs);
  book.look(kNow + 30 * kHourMs);
  const CalibrationRecord record = book.record();
  Result<StartCalibration> read = StartCalibration::from(record);
  ASSERT_TRUE(read.ok()) << read.error().message();
  StartCalibration again = *read;
  const auto same = [&] {
    EXPECT_EQ(again.odds().low, book.odds().low);
    EXPECT_EQ(again.odds().middle, book.odds().middle);
    EXPECT_EQ(again.odds().high, book.odds().high);
  };
  same();
  // And it goes on as if nothing had been.
  EXPECT_EQ(again.size(), 50u);
  again.look(kNow + 90 * kHourMs);
  book.look(kNow + 90 * kHourMs);
  EXPECT_EQ(again.started(job(7), kNow + 95 * kHourMs), book.started(job(7), kNow + 95 * kHourMs));
  EXPECT_EQ(covered(again, 100, 3, 0.5, 2), covered(book, 100, 3, 0.5, 2));
  same();
}

TEST(StartCalibration, WhatNobodySaysIsRefused) {
  StartCalibration book;
  covered(book, 100, 2, 0.8, 1);
  book.announced(job(1), kNow, kNow + kHourMs);
  const CalibrationRecord good = book.record();
  ASSERT_TRUE(StartCalibration::from(good).ok());
  const auto refused = [&](auto change) {
    CalibrationRecord bad = good;
    change(bad);
    const auto told = StartCalibration::from(bad);
    return told.ok() ? "" : told.error().field;
  };
  EXPECT_EQ(refused([](CalibrationRecord& k) { k.level = 0.9; }), "told_starts.level");
  EXPECT_EQ(refused([](CalibrationRecord& k) { k.level = std::nan(""); }), "told_starts.level");
  EXPECT_EQ(refused([](CalibrationRecord& k) { k.ratios[3].ratio = 0; }), "told_starts.ratios");
  EXPECT_EQ(refused([](CalibrationRecord& k) { k.ratios.push_back({INFINITY}); }),
            "told_starts.ratios");
  EXPECT_EQ(refused([](CalibrationRecord& k) {
              k.ratios.resize(limits::kMaxCalibrationOutcomes + 1, {1.0});
            }),
            "told_starts.ratios");
  EXPECT_EQ(refused([](CalibrationRecord& k) { k.waiting.push_back(k.waiting[0]); }),
            "told_starts.waiting");
  EXPECT_EQ(refused([](CalibrationRecord& k) { k.waiting[0].latest_ms = kNow; }),
            "told_starts.waiting");
  EXPECT_EQ(refused([](CalibrationRecord& k) { k.waiting[0].start_ms = limits::kMaxTimeMs + 1; }),
            "told_starts.waiting");
}

TEST(StartOdds, NothingIsBeforeNowOrBeyondAllTime) {
  StartOdds odds;
  const ExpectedStart now = odds.of(kNow, kNow - kHourMs);
  EXPECT_EQ(now.earliest_ms, kNow);
  EXPECT_LE(odds.of(kNow, limits::kMaxTimeMs).latest_ms, limits::kMaxTimeMs);
}

}  // namespace
}  // namespace subak
