// What is told of a start: only what says something, and what it rests on.
#include "engine/forecast/start_estimate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace subak {
namespace {

constexpr TimeMs kNow = 1'767'225'600'000;
const JobId kJob(ClusterId(1), 7), kOther(ClusterId(1), 8);

JobRow waiting() {
  JobRow row;
  row.id = kJob;
  row.state = JobState::kQueued;
  row.submit_ms = kNow - kMinuteMs;
  return row;
}

// A forecast of now in which the job starts in an hour.
ForecastStarts starts(bool assumed, bool learned, JobId id = kJob, bool whole = true) {
  Forecast::Start start;
  start.job = id;
  start.at_ms = kNow + kHourMs;
  start.assumed = assumed;
  ForecastStarts out;
  out.forecast = std::make_shared<const Forecast>(1, kNow, kNow + kDayMs, whole,
                                                  std::vector<Forecast::Start>{start});
  if (learned) out.odds = {0.5, 1, 2, true};
  return out;
}

std::string words(const JobRow& row, const ForecastStarts& of) {
  const auto estimate = start_estimate(row, of, kNow);
  return estimate ? std::string(assumption(*estimate)) : "none";
}

TEST(Outlook, AStartByTimeLimitsIsToldFromTheFirstOne) {
  const auto estimate = start_estimate(waiting(), starts(false, false), kNow);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->by, EstimateBasis::kForecast);
  EXPECT_EQ(estimate->at.expected_ms, kNow + kHourMs);
  EXPECT_FALSE(estimate->at.learned);
  EXPECT_EQ(assumption(*estimate),
            "jobs run as the last ones like them or to their limits; "
            "too few starts tell how far off this is");
}

TEST(Outlook, WhoWaitsForNewNodesHasNoEstimate) {
  ForecastStarts of = starts(false, true);
  Growth growth;
  growth.pools.resize(1);
  growth.jobs = {{kJob, {{0, 2}}}};
  of.growth = std::make_shared<const Growth>(growth);
  EXPECT_EQ(words(waiting(), of),
            "it starts on new nodes of a pool, and when these come is not known");
  EXPECT_FALSE(is_estimate(start_estimate(waiting(), of, kNow)->by));
  JobRow other = waiting();
  other.id = kOther;
  EXPECT_EQ(words(other, of), "none");
  JobRow promised = waiting();  // a promise holds without new nodes
  promised.start_ms = kNow + 2 * kHourMs;
  promised.start_promised = true;
  EXPECT_EQ(start_estimate(promised, of, kNow)->by, EstimateBasis::kPromise);
}

TEST(Outlook, AStartByAnAssumptionIsNotToldUntilOthersHaveCome) {
  const auto estimate = start_estimate(waiting(), starts(true, false), kNow);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->by, EstimateBasis::kTooFewStarts);
  EXPECT_FALSE(is_estimate(estimate->by));
  EXPECT_EQ(estimate->at, ExpectedStart());
  EXPECT_EQ(assumption(*estimate),
            "what runs before it has no time limit, and too few starts have come to learn from");
}

TEST(Outlook, AStartByAnAssumptionSaysSo) {
  const auto estimate = start_estimate(waiting(), starts(true, true), kNow);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->by, EstimateBasis::kForecast);
  EXPECT_EQ(estimate->at.expected_ms, kNow + kHourMs);
  EXPECT_EQ(assumption(*estimate),
            "jobs run as the last ones like them, others come as usual; "
            "no time limit given: assuming 24 h");
  EXPECT_EQ(words(waiting(), starts(false, true)),
            "jobs run as long as the last ones like them, and those that come meanwhile are as "
            "usual");
}

// Nodes are kept for it: its promise rests on time limits alone.
TEST(Outlook, APromiseIsToldWhateverTheForecastRestsOn) {
  JobRow row = waiting();
  row.start_ms = row.start_expected_ms = kNow + 2 * kHourMs;
  row.start_promised = true;
  const auto estimate = start_estimate(row, starts(true, false), kNow);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->by, EstimateBasis::kPromise);
  EXPECT_EQ(estimate->at.latest_ms, kNow + 2 * kHourMs);
}

TEST(Outlook, BeyondTheForecastTheEarliestIsToldUnlessItIsAnAssumption) {
  EXPECT_EQ(words(waiting(), starts(false, false, kOther, false)),
            "the forecast does not look further");
  EXPECT_EQ(words(waiting(), starts(true, true, kOther, false)),
            "the forecast does not look further");
  const auto estimate = start_estimate(waiting(), starts(true, false, kOther, false), kNow);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->by, EstimateBasis::kTooFewStarts);
}

TEST(Outlook, AJobThatTheForecastDoesNotKnowYetHasNoEstimate) {
  JobRow row = waiting();
  EXPECT_EQ(words(row, starts(false, true, kOther)), "none") << "as things stand it does not start";
  row.submit_ms = kNow + 1;
  EXPECT_EQ(words(row, starts(false, true, kOther)), "it is newer than the newest forecast");
  EXPECT_EQ(words(waiting(), {std::make_shared<const Forecast>(), {}}),
            "it is newer than the newest forecast");
  row.state = JobState::kPaused;
  EXPECT_EQ(words(row, starts(false, true, kOther)), "none");
  row.state = JobState::kRunning;
  EXPECT_EQ(words(row, starts(false, true)), "none");
}

}  // namespace
}  // namespace subak
