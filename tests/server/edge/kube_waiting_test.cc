// What people are told in the cluster of jobs that wait, and how seldom.
#include <gmock/gmock.h>

#include <regex>

#include "core/duration.h"
#include "core/limits.h"
#include "core/printable.h"
#include "kube_answers.h"
#include "kube_seen.h"
#include "server/edge/events/waiting.h"
#include "tests/core/odd_names.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr DurationMs kMinute = kMinuteMs;
const TimeMs kNoon = *parse_time("2026-03-01T12:00:00Z", "");

StartEstimate forecast(TimeMs expected_ms) {
  return {EstimateBasis::kForecast,
          {expected_ms - 10 * kMinute, expected_ms, expected_ms + 20 * kMinute, true}};
}
StartEstimate promise(TimeMs by_ms) {
  return {EstimateBasis::kPromise, {by_ms - 10 * kMinute, by_ms - kMinute, by_ms, true}};
}

class WaitingTest : public Kube {
 protected:
  // What is written as job `uid` is found to wait for the reason, to start then.
  std::vector<KubeCall> look(const std::string& uid, ReasonToken token,
                             std::optional<StartEstimate> start) {
    WaitingPage page;
    Reason reason;
    reason.token = token;
    reason.detail = "all are in use";
    page.jobs.push_back({JobId(ClusterId(1), 7), uid, reason, start});
    waiting.take(page, now);
    return written();
  }
  std::vector<KubeCall> look(std::optional<StartEstimate> start) {
    return look("1", ReasonToken::kWaitingForCapacity, start);
  }
  std::vector<KubeCall> written() {
    for (int i = 0; i < 100; ++i, clock_ms += kSecondMs) recorder.turn();
    return std::exchange(api.calls, {});
  }
  static const KubeCall& of_path(const std::vector<KubeCall>& calls, std::string_view end) {
    for (const KubeCall& call : calls) {
      if (call.path.ends_with(end)) return call;
    }
    ADD_FAILURE() << "nothing was written to " << end;
    static const KubeCall none;
    return none;
  }

  AnswersAtOnce api;
  TimeMs now = kNoon;
  std::int64_t clock_ms = 1'000'000;
  EventRecorder recorder{api, [this] { return now; }, [this] { return clock_ms; }};
  Waiting waiting{cache, recorder};
};

TEST_F(WaitingTest, TheStartIsInTheEventsTheAnnotationAndTheCondition) {
  see_job("j1", 1);
  see({"1", 1, true, "", "j1"});
  const auto calls = look(forecast(kNoon + 140 * kMinute));
  ASSERT_THAT(calls, SizeIs(4)) << "pod and owner are told, annotation and condition are set";
  const std::string start = "It starts about 14:20 (14:10 to 14:40) UTC";
  for (const KubeCall& call : calls) EXPECT_THAT(call.body, HasSubstr(start)) << call.path;
  const std::string words = "WaitingForCapacity: all are in use. " + start;
  EXPECT_THAT(calls[0].body, HasSubstr("\"note\":\"" + words + "\""));
  EXPECT_THAT(calls[1].body, HasSubstr("\"kind\":\"Job\",\"namespace\":\"a\",\"name\":\"j\""));
  EXPECT_THAT(of_path(calls, "/pods/p1").body, HasSubstr("\"subak.gpu/status\":\"" + words + "\""));
  const std::string condition = of_path(calls, "/pods/p1/status").body;
  EXPECT_THAT(condition, HasSubstr("\"reason\":\"WaitingForCapacity\""));
  EXPECT_THAT(condition, HasSubstr("\"message\":\"all are in use. " + start + "\""));
}

TEST_F(WaitingTest, SmallMovesWriteNothing) {
  see({"1"});
  const TimeMs start = kNoon + 10 * kHourMs;
  EXPECT_THAT(look(forecast(start)), SizeIs(3));
  EXPECT_THAT(look(forecast(start + 55 * kMinute)), IsEmpty()) << "less than a tenth of 10 h";
  EXPECT_THAT(look(forecast(start - 50 * kMinute)), IsEmpty());
  now = start - 30 * kMinute;  // a tenth is less than 5 minutes
  EXPECT_THAT(look(forecast(start)), SizeIs(1)) << "the Event alone is told again";
  EXPECT_THAT(look(forecast(start + 5 * kMinute)), IsEmpty());
  EXPECT_THAT(look(promise(start + kMinute)), IsEmpty()) << "what people plan by is the same";
}

TEST_F(WaitingTest, OtherGiversAreTold) {
  see({"1"});
  WaitingPage page;
  Reason reason;
  reason.token = ReasonToken::kWaitingForPreemptedWorkloads;
  reason.detail = "jobs beyond their quota give GPUs back to it: 1-5 of ml; 1-6 of ml";
  reason.blockers = {"1-5", "1-6"};
  page.jobs.push_back({JobId(ClusterId(1), 7), "1", reason, std::nullopt});
  waiting.take(page, now);
  const auto calls = written();
  ASSERT_THAT(calls, SizeIs(3));
  EXPECT_THAT(calls[0].body, HasSubstr("1-5 of ml; 1-6 of ml"));
  page.jobs[0].reason.blockers = {"1-6"};
  waiting.take(page, now);
  EXPECT_THAT(written(), IsEmpty()) << "one has ended";
  page.jobs[0].reason.blockers = {"1-6", "1-8"};
  waiting.take(page, now);
  EXPECT_THAT(written(), SizeIs(3)) << "another one is asked";
}

TEST_F(WaitingTest, TheFirstEstimateIsToldOnceItIsThere) {
  see({"1"});
  const StartEstimate none{EstimateBasis::kTooFewStarts, {}};
  const auto calls = look(none);
  ASSERT_THAT(calls, SizeIs(3));
  for (const KubeCall& call : calls) EXPECT_THAT(call.body, HasSubstr("No estimate yet: "));
  EXPECT_THAT(look(none), IsEmpty());
  EXPECT_THAT(look(forecast(kNoon + kHourMs)), SizeIs(3));
}

// What a node or a person says may be anything.
TEST_F(WaitingTest, WhatIsWrittenIsPrintable) {
  see_job("j1", 1);
  const std::regex json_control(R"((^|[^\\])(\\\\)*\\u00)");
  std::uint64_t job = 0;
  for (const test::OddName& name : test::kOddNames) {
    see({std::to_string(++job), 1, true, "", "j1"});
    WaitingPage page;
    Reason reason;
    reason.token = ReasonToken::kNodeConditions;
    reason.detail = "node " + std::string(name.text) + " is not fit";
    page.jobs.push_back(
        {JobId(ClusterId(1), job), std::to_string(job), reason, forecast(kNoon + kHourMs)});
    waiting.take(page, now);
    const auto calls = written();
    ASSERT_THAT(calls, SizeIs(4));
    for (const KubeCall& call : calls) {
      EXPECT_TRUE(is_printable(call.body)) << call.path << printable(call.body);
      // Neither as JSON says it: a reader of the event would have it back.
      EXPECT_FALSE(std::regex_search(call.body, json_control)) << call.body;
    }
  }
}

TEST_F(WaitingTest, ALargeMoveWritesOnce) {
  see({"1"});
  const TimeMs start = kNoon + 10 * kHourMs;
  look(forecast(start));
  const auto calls = look(forecast(start + 2 * kHourMs));
  EXPECT_THAT(calls, SizeIs(3));
  EXPECT_THAT(of_path(calls, "/pods/p1").body, HasSubstr("about 2026-03-02 00:00 (2026-03-01 23:50 "
                                                         "to 2026-03-02 00:20) UTC"));
  EXPECT_THAT(look(forecast(start + 2 * kHourMs)), IsEmpty());
  EXPECT_THAT(look(forecast(start)), SizeIs(3)) << "and back";
}

// It moves by a minute with each look: told once it is far from what was told last.
TEST_F(WaitingTest, ManySmallMovesAreTogetherALargeOne) {
  see({"1"});
  const TimeMs start = kNoon + 2 * kHourMs;
  look(forecast(start));
  std::size_t writes = 0;
  for (int i = 1; i <= 60; ++i) writes += look(forecast(start + i * kMinute)).size();
  EXPECT_EQ(writes, 3u * 3) << "at 14, 29 and 46 minutes: by a tenth of 134, 149, 166";
}

TEST_F(WaitingTest, AStartThatComesOrGoesIsTold) {
  see({"1"});
  EXPECT_THAT(of_path(look(std::nullopt), "/pods/p1").body, HasSubstr("all are in use\""));
  EXPECT_THAT(look(std::nullopt), IsEmpty());
  EXPECT_THAT(of_path(look(promise(kNoon + kHourMs)), "/pods/p1").body,
              HasSubstr("all are in use. It starts by 13:00 UTC\""));
  EXPECT_THAT(of_path(look(std::nullopt), "/pods/p1").body, Not(HasSubstr("starts")));
}

TEST_F(WaitingTest, AnotherReasonIsToldWithTheStart) {
  see({"1"});
  const TimeMs start = kNoon + kHourMs;
  look(forecast(start));
  const auto calls = look("1", ReasonToken::kWaitingForQuota, forecast(start));
  EXPECT_THAT(of_path(calls, "/pods/p1").body, HasSubstr("all are in use. It starts about 13:00"));
}

// Kubernetes' conditions say since when they are so.
TEST_F(WaitingTest, TheConditionKeepsSinceWhenItWaits) {
  see({"1"});
  look(forecast(kNoon + kHourMs));
  now += 30 * kMinute;
  const auto calls = look(forecast(kNoon + 3 * kHourMs));
  EXPECT_THAT(of_path(calls, "/pods/p1/status").body,
              HasSubstr("\"lastTransitionTime\":\"2026-03-01T12:00:00.000Z\""));
}

// An API server keeps an Event for an hour.
TEST_F(WaitingTest, EventsAreToldAgainWhileNothingChanges) {
  see_job("j1", 1);
  see({"1", 1, true, "", "j1"});
  const TimeMs start = kNoon + 10 * kHourMs;
  const auto first = look(forecast(start));
  now += limits::kTellAgainMs - 1;
  EXPECT_THAT(look(forecast(start)), IsEmpty());
  now += 1;
  const auto again = look(forecast(start));
  ASSERT_THAT(again, SizeIs(2)) << "on the pod and on its owner, and nothing else is written";
  for (const KubeCall& call : again) {
    EXPECT_EQ(call.method, "PATCH");
    EXPECT_THAT(call.path, HasSubstr("/events/"));
    EXPECT_THAT(call.body, HasSubstr("\"count\":2"));
  }
  EXPECT_THAT(look(forecast(start)), IsEmpty());
  EXPECT_THAT(first, SizeIs(4));
}

TEST_F(WaitingTest, AnEventThatIsForgottenIsMadeAnew) {
  see({"1"});
  const TimeMs start = kNoon + 10 * kHourMs;
  look(forecast(start));
  now += limits::kTellAgainMs;
  api.next = {Outcome::kUnknown, "NotFound", "", 0};
  const auto again = look(forecast(start));
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(again[0].method, "PATCH");
  EXPECT_EQ(again[1].method, "POST");
  EXPECT_THAT(again[1].body, HasSubstr("It starts about 22:00"));
}

// The process before this one told it.
TEST_F(WaitingTest, AnEventThatIsThereIsCountedOn) {
  see({"1"});
  api.next = {Outcome::kUnknown, "AlreadyExists", "", 0};
  const auto calls = look(forecast(kNoon + kHourMs));
  ASSERT_THAT(calls, SizeIs(4));
  EXPECT_EQ(calls[0].method, "POST");
  EXPECT_EQ(calls[3].method, "PATCH");
  EXPECT_THAT(calls[3].path, HasSubstr("/events/"));
}

// Twenty a second for all jobs together: what is left comes later, in order.
TEST_F(WaitingTest, WritesAreBoundedWhileAllStartsMove) {
  WaitingPage page;
  for (std::uint32_t i = 1; i <= 64; ++i) {
    see({std::to_string(i)});
    page.jobs.push_back({JobId(ClusterId(1), i), std::to_string(i), {}, forecast(kNoon + kHourMs)});
  }
  waiting.take(page, now);
  recorder.turn();
  const std::size_t first = api.calls.size();
  EXPECT_LE(first, 2 * limits::kEventsPerSecond) << "after a pause a second's worth at once";
  clock_ms += kSecondMs;
  recorder.turn();
  EXPECT_LE(api.calls.size(), first + limits::kEventsPerSecond + 1);
  EXPECT_THAT(written(), SizeIs(64 * 3));
}

TEST(StartSentence, SaysWhatTheStartRestsOn) {
  const TimeMs start = kNoon + 2 * kHourMs + 20 * kMinute;
  EXPECT_EQ(start_sentence(promise(start), kNoon), "It starts by 14:20 UTC");
  EXPECT_EQ(start_sentence(promise(start + 1), kNoon), "It starts by 14:21 UTC") << "not earlier";
  EXPECT_EQ(start_sentence(promise(start + kDayMs), kNoon), "It starts by 2026-03-02 14:20 UTC");
  EXPECT_EQ(start_sentence(forecast(start), kNoon), "It starts about 14:20 (14:10 to 14:40) UTC");
  StartEstimate unlearned = forecast(start);
  unlearned.at.learned = false;
  EXPECT_EQ(start_sentence(unlearned, kNoon),
            "It starts about 14:20 UTC; too few starts have come to say how far off this is");
  StartEstimate assumed = forecast(start);
  assumed.at.assumed = true;
  EXPECT_EQ(start_sentence(assumed, kNoon),
            "It starts about 14:20 (14:10 to 14:40) UTC; no time limit given: assuming 24 h");
  EXPECT_EQ(start_sentence({EstimateBasis::kTooFewStarts, {}}, kNoon),
            "No estimate yet: what runs before it has no time limit, and too few starts have come "
            "to learn from");
  StartEstimate guess = forecast(start);
  guess.by = EstimateBasis::kGuess;
  EXPECT_EQ(start_sentence(guess, kNoon),
            "It starts about 14:20 (14:10 to 14:40) UTC, if what has no time limit that can be "
            "counted on ends when it is guessed to");
  StartEstimate beyond{EstimateBasis::kBeyond, {kNoon + 30 * kDayMs, 0, 0, false}};
  EXPECT_EQ(start_sentence(beyond, kNoon), "It does not start before 2026-03-31 12:00 UTC");
}

}  // namespace
}  // namespace subak
