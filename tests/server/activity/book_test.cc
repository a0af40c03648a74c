// The sums of activity, over a day with known activity and over restarts.
#include "server/activity/book.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "core/edge_limits.h"
#include "tests/server/activity/world.h"

namespace subak {
namespace {

// Stores the parts of activity, and nothing else.
class PartStore final : public Store {
 public:
  std::optional<Error> commit(std::span<const Fact>) override { return std::nullopt; }
  std::optional<Error> write_checkpoint(std::uint64_t, const PackedFacts&) override {
    return std::nullopt;
  }
  Result<std::unique_ptr<StoreReader>> open_reader() override {
    return Error{ErrorCode::kPrecondition, "store", "", "want parts alone"};
  }
  std::string describe() const override { return "parts"; }
  std::optional<Error> write_activity(std::int64_t part, std::string_view bytes) override {
    if (fails) return Error{ErrorCode::kPrecondition, "store", "", "want a store that works"};
    parts[part] = bytes;
    return std::nullopt;
  }
  Result<std::string> read_activity(std::int64_t part) override { return parts[part]; }

  std::map<std::int64_t, std::string> parts;
  bool fails = false;
};

constexpr std::int64_t kRaw = GpuTime::kRawPerGpuSecond;

HeldGpus one_pod(std::uint32_t gpus, TimeMs since_ms = kNoon) {
  HeldGpus held;
  held.nodes = {node(1, "n1")};
  held.pods = {pod(1, 1, gpus, "ml/a", since_ms)};
  return held;
}

ActivitySamples all_at(double activity, int gpus) {
  ActivitySamples out;
  for (int i = 0; i < gpus; ++i) out.devices.push_back(device("n1", i, activity, "ml/a"));
  return out;
}

TEST(ActivityBook, DividesHeldTimeByActivity) {
  ActivityBook book;
  const HeldGpus held = one_pod(2);
  ActivitySamples samples = all_at(0, 2);
  samples.devices[1].activity = 0.9;
  samples.devices[1].watts = 500;
  book.add(held, &samples, kNoon + kMinuteMs, 0);
  const auto job = book.job(JobId(ClusterId(1), 1));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->sums, (ActivitySums{60 * kRaw, 0, 60 * kRaw, 30'000'000}));
  EXPECT_EQ(job->unknown, 0);
  book.add(held, nullptr, kNoon + 2 * kMinuteMs, 0);
  EXPECT_EQ(book.job(JobId(ClusterId(1), 1))->unknown, 120 * kRaw) << "no answer: not observed";
  EXPECT_EQ(book.figures().reads, 1u);
}

TEST(ActivityBook, AValueCoversTwoMinutesAtMost) {
  ActivityBook book;
  const ActivitySamples samples = all_at(0, 1);
  book.add(one_pod(1), &samples, kNoon + kHourMs, 0);
  const auto job = book.job(JobId(ClusterId(1), 1));
  EXPECT_EQ(job->sums.idle, 120 * kRaw);
  EXPECT_EQ(job->unknown, (3600 - 120) * kRaw);
  book.add(one_pod(1), &samples, kNoon + kHourMs, 0);
  book.add(one_pod(1), &samples, kNoon, 0);
  EXPECT_EQ(book.job(JobId(ClusterId(1), 1))->sums.idle, 120 * kRaw) << "no time counts twice";
}

TEST(ActivityBook, SplitsTheHours) {
  ActivityBook book;
  const TimeMs midnight = kNoon + kDayMs;
  const ActivitySamples samples = all_at(0.1, 1);
  book.add(one_pod(1, midnight - 30 * kSecondMs), &samples, midnight + 30 * kSecondMs, 0);
  const auto before = book.day(kNoon / kDayMs), after = book.day(midnight / kDayMs);
  ASSERT_TRUE(before && after);
  ASSERT_EQ(before->hours.size(), 1u);
  ASSERT_EQ(after->hours.size(), 1u);
  EXPECT_EQ(before->hours[0].hour, 23u);
  EXPECT_EQ(before->hours[0].sums.low, 30 * kRaw);
  EXPECT_EQ(after->hours[0].hour, 0u);
  EXPECT_EQ(after->hours[0].sums.low, 30 * kRaw);
  EXPECT_EQ(after->hours[0].product, "H100");
}

TEST(ActivityBook, WarnsOnceInAnAttempt) {
  ActivityBook book;
  const HeldGpus held = one_pod(2);
  const ActivitySamples idle = all_at(0, 2), busy = all_at(0.5, 2);
  int warned = 0;
  TimeMs now = kNoon, at = 0;
  const auto run = [&](const ActivitySamples* samples, int minutes) {
    for (int i = 0; i < minutes; ++i) {
      now += kMinuteMs;
      for (const IdleJob& job : book.add(held, samples, now, 30 * kMinuteMs)) {
        ++warned;
        at = now;
        EXPECT_EQ(job.pod_uid, "uid of ml/a");
        EXPECT_EQ(job.milligpu, 2000);
      }
    }
  };
  run(&idle, 29);
  run(&busy, 1);
  run(&idle, 29);
  EXPECT_EQ(warned, 0) << "a busy minute in between";
  run(nullptr, 3);
  run(&idle, 30);
  EXPECT_EQ(warned, 1);
  EXPECT_EQ(at, kNoon + 63 * kMinuteMs) << "33 minutes after it began, since 3 were not seen";
  run(&busy, 5);
  run(&idle, 90);
  EXPECT_EQ(warned, 1) << "once in an attempt";
  book.add(HeldGpus{}, &idle, now += kMinuteMs, 30 * kMinuteMs);
  run(&idle, 40);
  EXPECT_EQ(warned, 2) << "the next attempt";
}

TEST(ActivityBook, APartlyObservedJobIsNotIdle) {
  ActivityBook book;
  const HeldGpus held = one_pod(2);
  ActivitySamples half = all_at(0, 1);
  for (int i = 1; i <= 90; ++i) {
    EXPECT_TRUE(book.add(held, &half, kNoon + i * kMinuteMs, 30 * kMinuteMs).empty());
  }
  EXPECT_TRUE(book.idle_jobs(ClusterId(1)).empty());
}

TEST(ActivityBook, NamesIdleJobs) {
  ActivityBook book;
  const ActivitySamples idle = all_at(0, 2);
  const auto at = [&](int minute, DurationMs warn_after) {
    book.add(one_pod(2), &idle, kNoon + minute * kMinuteMs, warn_after);
    return book.idle_jobs(ClusterId(1)).size();
  };
  for (int i = 1; i <= 9; ++i) EXPECT_EQ(at(i, 30 * kMinuteMs), 0u) << i;
  EXPECT_EQ(at(10, 30 * kMinuteMs), 1u);
  EXPECT_EQ(at(11, 0), 1u);
  EXPECT_TRUE(book.idle_jobs(ClusterId(2)).empty());
  book.add(one_pod(2), nullptr, kNoon + 12 * kMinuteMs, 0);
  EXPECT_TRUE(book.idle_jobs(ClusterId(1)).empty()) << "not observed";
  ActivityBook impatient;
  impatient.add(one_pod(2), &idle, kNoon + 2 * kMinuteMs, kMinuteMs);
  EXPECT_EQ(impatient.idle_jobs(ClusterId(1)).size(), 1u);
}

TEST(ActivityBook, SurvivesARestart) {
  PartStore store;
  TimeMs now = kNoon;
  const ActivitySamples idle = all_at(0, 2);
  const HeldGpus held = one_pod(2);
  {
    ActivityBook book;
    EXPECT_FALSE(book.load(store, now));
    for (int i = 0; i < 40; ++i) book.add(held, &idle, now += kMinuteMs, 30 * kMinuteMs);
    EXPECT_FALSE(book.write(store));
    book.add(held, &idle, now += kMinuteMs, 30 * kMinuteMs);  // lost by the crash
  }
  ActivityBook book;
  EXPECT_FALSE(book.load(store, now));
  EXPECT_TRUE(book.add(held, &idle, now += 4 * kMinuteMs, 30 * kMinuteMs).empty())
      << "the job was warned before the restart";
  const auto job = book.job(JobId(ClusterId(1), 1));
  EXPECT_EQ(job->sums.idle, 2 * (40 + 2) * 60 * kRaw);
  EXPECT_EQ(job->unknown, 2 * 3 * 60 * kRaw) << "the time of the restart, but for two minutes";
  EXPECT_EQ(book.day(kNoon / kDayMs)->hours[0].sums.idle, job->sums.idle);
}

TEST(ActivityBook, WritesAgainWhatCouldNotBeWritten) {
  PartStore store;
  ActivityBook book;
  const ActivitySamples idle = all_at(0, 1);
  book.add(one_pod(1), &idle, kNoon + kMinuteMs, 0);
  store.fails = true;
  EXPECT_TRUE(book.write(store));
  store.fails = false;
  EXPECT_FALSE(book.write(store));
  EXPECT_EQ(store.parts.size(), 2u);
  store.parts.clear();
  EXPECT_FALSE(book.write(store));
  EXPECT_TRUE(store.parts.empty()) << "nothing has changed";
}

TEST(ActivityBook, DamagedPartsCountAsNone) {
  PartStore store;
  store.parts[0] = "\xff\xff damaged";
  ActivityBook book;
  EXPECT_TRUE(book.load(store, kNoon));
  const ActivitySamples idle = all_at(0, 1);
  book.add(one_pod(1), &idle, kNoon + kMinuteMs, 0);
  EXPECT_EQ(book.job(JobId(ClusterId(1), 1))->sums.idle, 60 * kRaw);
}

TEST(ActivityBook, ForgetsJobsThatEndedLongAgo) {
  ActivityBook book;
  const ActivitySamples idle = all_at(0, 1);
  book.add(one_pod(1), &idle, kNoon + kMinuteMs, 0);
  book.add(HeldGpus{}, &idle, kNoon + limits::kActivityJobMs, 0);
  EXPECT_TRUE(book.job(JobId(ClusterId(1), 1)));
  book.add(HeldGpus{}, &idle, kNoon + limits::kActivityJobMs + 2 * kMinuteMs, 0);
  EXPECT_FALSE(book.job(JobId(ClusterId(1), 1)));
}

// A day of jobs whose activity is known to the millisecond. The exporter is scraped every 30 s, and
// the server asked every minute.
class PlayedDay : public ::testing::TestWithParam<int> {
 protected:
  static constexpr std::uint32_t kJobs = 300;
  static constexpr DurationMs kScrapeMs = 30 * kSecondMs;

  struct Played {
    OpenUsage pod;
    TimeMs end_ms = 0;
    // The activity changes at these times: from each on, the GPUs have this activity.
    std::vector<std::pair<TimeMs, double>> activity;

    double at(TimeMs t) const {
      double now = 0;
      for (const auto& [from, value] : activity) now = from <= t ? value : now;
      return now;
    }
    DurationMs idle_ms() const {
      DurationMs idle = 0;
      for (std::size_t i = 0; i < activity.size(); ++i) {
        const TimeMs end = i + 1 < activity.size() ? activity[i + 1].first : end_ms;
        if (activity[i].second < 0.01) idle += end - activity[i].first;
      }
      return idle;
    }
  };

  void play(std::mt19937_64& random) {
    for (std::uint32_t i = 0; i < kJobs; ++i) {
      Played one;
      const TimeMs start = kNoon + static_cast<TimeMs>(random() % (23 * kHourMs));
      one.pod = pod(i + 1, i + 1, 1 + static_cast<std::uint32_t>(random() % 8),
                    "ml/p" + std::to_string(i), start);
      one.pod.payer = AccountId(1 + i % 5);
      one.end_ms = std::min(kNoon + kDayMs,
                            start + 5 * kMinuteMs + static_cast<TimeMs>(random() % (6 * kHourMs)));
      TimeMs at = start;
      while (at < one.end_ms) {  // phases are much longer than a minute
        one.activity.emplace_back(at, std::array{0.0, 0.1, 0.8}[random() % 3]);
        at += 40 * kMinuteMs + static_cast<TimeMs>(random() % kHourMs);
      }
      all_.push_back(std::move(one));
    }
  }

  // The state at `t`; the samples are as old as the last scrape.
  std::pair<HeldGpus, ActivitySamples> at(TimeMs t) const {
    std::pair<HeldGpus, ActivitySamples> out;
    const TimeMs scraped = t / kScrapeMs * kScrapeMs;
    for (const Played& one : all_) {
      const std::string name = "n" + std::to_string(one.pod.node.value);
      out.first.nodes.push_back(node(one.pod.node.value, name));
      if (one.pod.since_ms <= t && t < one.end_ms) out.first.pods.push_back(one.pod);
      if (one.pod.since_ms > scraped || scraped >= one.end_ms) continue;
      for (std::uint32_t g = 0; g < one.pod.gpus; ++g) {
        out.second.devices.push_back(
            device(name, static_cast<int>(g), one.at(scraped), one.pod.pod));
      }
    }
    return out;
  }

  std::vector<Played> all_;
};

TEST_P(PlayedDay, IdleHoursAreExactToAMinuteOfEachJob) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  play(random);
  PartStore store;
  auto book = std::make_unique<ActivityBook>();
  int minutes = 0;
  const TimeMs first = kNoon + static_cast<TimeMs>(random() % kMinuteMs);
  for (TimeMs t = first; t < kNoon + kDayMs + kMinuteMs; t += kMinuteMs, ++minutes) {
    const auto [held, samples] = at(t);
    book->add(held, &samples, t, 0);
    EXPECT_TRUE(book->figures().unheld.empty()) << t;
    if (minutes % 240 != 239) continue;  // a restart without loss
    ASSERT_FALSE(book->write(store));
    book = std::make_unique<ActivityBook>();
    ASSERT_FALSE(book->load(store, t));
  }
  std::map<AccountId, std::int64_t> idle, known, slack;
  for (const Played& one : all_) {
    known[one.pod.payer] += one.idle_ms() * one.pod.milligpu;
    // Each change of the activity, and the end, is seen up to a minute and a scrape late.
    slack[one.pod.payer] += kMinuteMs * one.pod.milligpu;
  }
  const std::optional<ActivityDay> day = book->day(kNoon / kDayMs);
  ASSERT_TRUE(day);
  for (const HourActivity& row : day->hours) {
    idle[row.payer] += row.sums.idle;
  }
  for (const auto& [payer, sum] : known) {
    EXPECT_LE(std::abs(idle[payer] - sum), slack[payer])
        << "account " << payer.value << ": " << idle[payer] / kRaw << " s, in truth " << sum / kRaw;
  }
}

// What a stranger uses is found within two minutes, whenever it begins, also right after a job.
TEST_P(PlayedDay, ABusyGpuWithoutAHolderIsFoundWithinTwoMinutes) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  play(random);
  for (int i = 0; i < 20; ++i) {
    const Played& before = all_[random() % all_.size()];
    const TimeMs begin = std::min(
        before.end_ms + static_cast<TimeMs>(i % 2 == 0 ? 0 : random() % kHourMs), kNoon + kDayMs);
    const std::string name = "n" + std::to_string(before.pod.node.value);
    ActivityBook book;
    TimeMs found = 0;
    const TimeMs first = begin - 2 * kMinuteMs + static_cast<TimeMs>(random() % kMinuteMs);
    for (TimeMs t = first; found == 0 && t < begin + kHourMs; t += kMinuteMs) {
      auto [held, samples] = at(t);
      if (t / kScrapeMs * kScrapeMs >= begin) {
        std::erase_if(samples.devices, [&](const auto& d) { return d.node == name; });
        samples.devices.push_back(device(name, 0, 0.9, i % 3 == 0 ? "x/stranger" : ""));
      }
      book.add(held, &samples, t, 0);
      if (!book.figures().unheld.empty()) found = t;
    }
    ASSERT_NE(found, 0);
    EXPECT_LE(found - begin, 2 * kMinuteMs) << i;
    EXPECT_EQ(book.figures().unheld.front().node, name);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlayedDay, ::testing::Range(1, 9));

}  // namespace
}  // namespace subak
