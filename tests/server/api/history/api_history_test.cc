// The past: the events of real jobs, pages, the search for the begin of a job, and steps of usage.
#include <random>

#include "accounting/account.h"
#include "server/api/history/history_limits.h"
#include "server/api/history/job_past.h"
#include "server/api/history/usage_steps.h"
#include "tests/server/api/api_stream_fixture.h"
#include "tests/server/store/support/facts_reader.h"

namespace subak {
namespace {

class ApiHistoryTest : public ApiTest {
 protected:
  ApiHistoryTest() {
    start();
    EXPECT_TRUE(create_account("ml").ok());
    EXPECT_TRUE(import_nodes(1).ok());
  }
  grpc::Status history(const std::string& id, int size = 0, const std::string& token = "") {
    v1::GetJobHistoryRequest in;
    in.set_job_id(id);
    in.set_page_size(size);
    in.set_page_token(token);
    out_.Clear();
    return run([&](auto* c) { return jobs_->GetJobHistory(c, in, &out_); });
  }
  std::vector<std::string> kinds() const {
    std::vector<std::string> names;
    for (const v1::JobEvent& e : out_.events())
      names.push_back(v1::JobEventKind_Name(e.kind()).substr(15));
    return names;
  }
  void cancel(const std::string& id) {
    v1::CancelJobRequest in;
    in.set_job_id(id);
    in.set_reason("a mistake");
    v1::EditJobResponse out;
    EXPECT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, in, &out); }).ok());
  }
  v1::GetJobHistoryResponse out_;
};

TEST_F(ApiHistoryTest, AJobThatStarted) {
  const std::string id = submit(job_request("ml", 2, 4));
  for (int i = 0; i < 500 && get_job(id).state() != v1::JOB_STATE_STARTING; ++i) ::usleep(10'000);
  ASSERT_TRUE(history(id).ok());
  EXPECT_EQ(kinds(), (std::vector<std::string>{"CREATED", "ATTEMPT_STARTED"}));
  const v1::JobEvent& created = out_.events(0);
  EXPECT_EQ(created.account(), "ml");
  EXPECT_EQ(created.actor(), "loopback");
  EXPECT_EQ(created.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(created.pods(), 2);
  const v1::JobEvent& started = out_.events(1);
  EXPECT_EQ(started.attempt(), 1);
  EXPECT_EQ(started.node_count(), 1);
  EXPECT_EQ(started.nodes(0), "n0");
  EXPECT_GT(started.sequence(), created.sequence());
  EXPECT_EQ(out_.next_page_token(), "");
}

TEST_F(ApiHistoryTest, PagesJoinWithoutAGap) {
  const std::string blocker = submit(job_request("ml", 1, 8));
  const std::string id = submit(job_request("ml", 1, 8));
  cancel(id);
  ASSERT_TRUE(history(id).ok());
  const std::vector<std::string> all = kinds();
  EXPECT_EQ(all.front(), "CREATED");
  EXPECT_EQ(all.back(), "ENDED");
  EXPECT_EQ(out_.events(out_.events_size() - 1).words(), "a mistake");
  std::vector<std::string> paged;
  std::string token;
  do {
    ASSERT_TRUE(history(id, 1, token).ok());
    EXPECT_LE(out_.events_size(), 1);
    for (const std::string& kind : kinds()) paged.push_back(kind);
    token = out_.next_page_token();
  } while (!token.empty());
  EXPECT_EQ(paged, all);
}

TEST_F(ApiHistoryTest, RefusesWhatIsNoJob) {
  submit(job_request("ml", 1, 8));
  EXPECT_EQ(history("1-99").error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(history("7-1").error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(bad_field(history("x")), "job_id");
  EXPECT_EQ(bad_field(history("1-1", -1)), "page_size");
  EXPECT_EQ(bad_field(history("1-1", 1, "x")), "page_token");
}

class ApiHistoryLifeTest : public ApiStreamTest {};

TEST_F(ApiHistoryLifeTest, FromSubmissionToTheEnd) {
  const std::string id = submit(job_request("ml", 2, 8));
  grpc::ClientContext context;
  prepare(context);
  auto observe = clusters_->Observe(&context);
  const v1::Job job = get_job(id, true);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(send(*observe, bound(id, rank, job.pods(rank).node())).empty());
  }
  EXPECT_TRUE(send(*observe, running(id, 0)).empty());
  move_clock(kHourMs);
  for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(send(*observe, gone(id, rank)).empty());
  v1::GetJobHistoryRequest in;
  in.set_job_id(id);
  v1::GetJobHistoryResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->GetJobHistory(c, in, &out); }).ok());
  std::vector<std::string> texts;
  for (const v1::JobEvent& e : out.events()) texts.push_back(e.text());
  ASSERT_EQ(texts.size(), 6u);
  EXPECT_EQ(texts[0], "created by loopback with 2 pods, queued");
  EXPECT_EQ(texts[1].substr(0, 35), "started: GPUs held for 2 pods until");
  EXPECT_EQ(texts[2], "2 pods bound");
  EXPECT_EQ(texts[3], "1 pod running");
  EXPECT_EQ(texts[4], "2 pods ended: finished");
  EXPECT_EQ(texts[5], "attempt ended: finished; done");
  EXPECT_EQ(out.events(2).node_count(), 2);
  EXPECT_EQ(out.events(5).cause(), v1::CAUSE_FINISHED);
  EXPECT_EQ(out.events(5).state(), v1::JOB_STATE_DONE);
  EXPECT_EQ(out.events(5).time().seconds() - out.events(0).time().seconds(), 3600);
  observe->WritesDone();
  EXPECT_TRUE(observe->Finish().ok());
}

class ApiHistoryTokensTest : public ApiTokensTest {};

TEST_F(ApiHistoryTokensTest, AViewerMayRead) {
  start();
  const auto asked = [&] {
    v1::GetJobHistoryRequest in;
    in.set_job_id("1-1");
    v1::GetJobHistoryResponse out;
    return run([&](auto* c) { return jobs_->GetJobHistory(c, in, &out); }).error_code();
  };
  EXPECT_EQ(asked(), grpc::UNAUTHENTICATED);
  as_viewer();
  EXPECT_EQ(asked(), grpc::NOT_FOUND);
}

// A log of facts. Each `every`th fact creates a job, in one of two clusters by turns.
class FactsOnly final : public FactsReader {
 public:
  FactsOnly(std::uint64_t count, std::uint64_t every) {
    for (std::uint64_t seq = 1; seq <= count; ++seq) {
      Fact fact{seq, static_cast<TimeMs>(seq * 10), fact::NodeLoad{}};
      if (seq % every == 0) {
        fact::JobCreated created;
        const auto number = seq / every;
        created.id = JobId(ClusterId(static_cast<std::uint16_t>(1 + number % 2)), 1 + number / 2);
        created.state = JobState::kQueued;
        fact.body = created;
      }
      facts_.push_back(std::move(fact));
    }
  }
  Result<std::vector<Fact>> facts(std::uint64_t after, std::size_t most) override {
    const std::size_t end = std::min(facts_.size(), after + most);
    const auto at = [&](std::size_t i) { return facts_.begin() + static_cast<std::ptrdiff_t>(i); };
    return std::vector<Fact>(at(std::min<std::size_t>(after, end)), at(end));
  }
  Result<Recovered> recover(FactSink&) override { return Recovered(); }
  std::uint64_t size() const { return facts_.size(); }

 private:
  std::vector<Fact> facts_;
};

// Returns the page, and checks that each turn is bounded.
api::JobPast past_of(FactsOnly& store, const api::JobPast::Asked& asked) {
  api::JobPast past(asked);
  while (true) {
    const std::uint64_t before = past.facts_read();
    const Result<bool> done = past.read(store);
    EXPECT_TRUE(done.ok());
    EXPECT_LE(past.facts_read() - before,
              limits::kHistoryFactsPerTurn + limits::kHistoryFactsPerRead);
    if (*done) return past;
  }
}

TEST(JobPast, FindsEachJobWithoutAHint) {
  for (const std::uint64_t every : {1, 2, 7, 400, 3000}) {
    FactsOnly store(12'000, every);
    for (std::uint64_t number = 1; number <= 12'000 / every; number += 1 + 997 / every) {
      const JobId job(ClusterId(static_cast<std::uint16_t>(1 + number % 2)), 1 + number / 2);
      const auto past = past_of(store, {job, 0, store.size()});
      ASSERT_FALSE(past.missing()) << every << " " << number;
      ASSERT_EQ(past.events().size(), 1u);
      EXPECT_EQ(past.events()[0].seq, number * every);
    }
    const JobId none(ClusterId(1), 2 + 12'000 / every);
    EXPECT_TRUE(past_of(store, {none, 0, store.size()}).missing());
    EXPECT_TRUE(past_of(store, {JobId(ClusterId(9), 1), 0, store.size()}).missing());
  }
}

TEST(JobPast, TheTimesOfAJobShortenTheSearch) {
  FactsOnly store(100'000, 5);
  const JobId job(ClusterId(1), 1 + 9000 / 2);  // created by the fact 45,000
  api::JobPast::Asked asked{job, 0, store.size(), 449'900, 450'100, 1};
  const auto past = past_of(store, asked);
  ASSERT_EQ(past.events().size(), 1u);
  EXPECT_EQ(past.events()[0].seq, 45'000u);
  EXPECT_LT(past.facts_read(), 2'500u);
}

TEST(JobPast, ALongWaitNeedsSeveralPages) {
  FactsOnly store(500'000, 400'000);  // one job of cluster 2, and nothing more about it
  api::JobPast::Asked asked{JobId(ClusterId(2), 1), 0, store.size()};
  asked.most_events = 100;
  std::size_t pages = 0, events = 0;
  do {
    const auto past = past_of(store, asked);
    ASSERT_FALSE(past.missing());
    EXPECT_LE(past.facts_read(), limits::kMaxHistoryFacts + limits::kHistoryFactsPerRead);
    events += past.events().size();
    asked.after = past.next();
    ++pages;
  } while (asked.after != 0);
  EXPECT_EQ(events, 1u);
  EXPECT_GT(pages, 1u);
}

TEST(UsageSteps, DivideRowsExactly) {
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  const TimeMs from = 5000, to = 5000 + 37 * 700 + 123;
  const std::vector<AccountId> payers{AccountId(3), AccountId(5)};
  api::UsageSteps steps(from, to, 700, payers);
  ASSERT_EQ(steps.size(), 38u);
  // The naive sums: one for each millisecond.
  std::vector<MilliGpu> used(static_cast<std::size_t>(to)), held(used), platform(used);
  for (int i = 0; i < 300; ++i) {
    LedgerRow row;
    row.from_ms = below(to + 3000);
    row.to_ms = row.from_ms + 1 + below(4000);
    row.holder = AccountId(static_cast<std::uint32_t>(2 + below(5)));
    row.payer = below(5) == 0 ? kPlatform : row.holder;
    row.state = static_cast<UsageState>(below(3));
    row.milligpu = below(8000) - 1000;
    if (below(6) == 0) row.booked_ms = 1 + below(to + 2000);
    steps.add(row);
    const AccountId who = row.payer == kPlatform ? row.holder : row.payer;
    if (who != payers[0] && who != payers[1]) continue;
    auto& sums = row.payer == kPlatform ? platform : row.state == UsageState::kHeld ? held : used;
    const auto add = [&](TimeMs t, MilliGpu amount) {
      if (t >= from && t < to) sums[static_cast<std::size_t>(t)] += amount;
    };
    if (row.booked_ms != 0) {
      add(row.booked_ms - 1, row.milligpu * (row.to_ms - row.from_ms));
    } else {
      for (TimeMs t = row.from_ms; t < row.to_ms; ++t) add(t, row.milligpu);
    }
  }
  TimeMs begin = from;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps.from_ms(i), begin);
    const TimeMs end = steps.to_ms(i);
    const auto sum = [&](const std::vector<MilliGpu>& each) {
      MilliGpu total = 0;
      for (TimeMs t = begin; t < end; ++t) total += each[static_cast<std::size_t>(t)];
      return GpuTime::of(total, 1);
    };
    EXPECT_EQ(steps[i].used, sum(used)) << i;
    EXPECT_EQ(steps[i].held, sum(held)) << i;
    EXPECT_EQ(steps[i].platform, sum(platform)) << i;
    begin = end;
  }
  EXPECT_EQ(begin, to);
}

}  // namespace
}  // namespace subak
