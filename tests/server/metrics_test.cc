#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "engine/engine.h"
#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Histogram, BucketsAreUpperBounds) {
  Histogram h({10, 100}, 1000);
  for (const std::int64_t value : {0, 10, 11, 100, 101, 5000}) h.observe(value);
  const HistogramSnapshot s = h.snapshot();
  EXPECT_EQ(s.bounds, (std::vector<double>{0.01, 0.1}));
  EXPECT_EQ(s.buckets, (std::vector<std::uint64_t>{2, 2, 2}));
  EXPECT_EQ(s.count, 6u);
  EXPECT_DOUBLE_EQ(s.sum, 5.222);
}

TEST(Exposition, WritesTheTextFormat) {
  Histogram h({250, 500}, 1'000'000);
  h.observe(300);
  Exposition out;
  out.gauge("jobs", "Jobs.");
  out.sample({{"state", "queued"}, {"account", "a\"b\\c\nd"}}, 3);
  out.sample({}, 0.1);
  out.sample({}, std::numeric_limits<double>::infinity());
  out.histogram("pass_seconds", "Passes.");
  out.sample({{"k", "v"}}, h.snapshot());
  EXPECT_EQ(out.take(),
            "# HELP subak_jobs Jobs.\n# TYPE subak_jobs gauge\n"
            "subak_jobs{state=\"queued\",account=\"a\\\"b\\\\c\\nd\"} 3\n"
            "subak_jobs 0.1\nsubak_jobs +Inf\n"
            "# HELP subak_pass_seconds Passes.\n# TYPE subak_pass_seconds histogram\n"
            "subak_pass_seconds_bucket{k=\"v\",le=\"0.00025\"} 0\n"
            "subak_pass_seconds_bucket{k=\"v\",le=\"0.0005\"} 1\n"
            "subak_pass_seconds_bucket{k=\"v\",le=\"+Inf\"} 1\n"
            "subak_pass_seconds_sum{k=\"v\"} 0.0003\nsubak_pass_seconds_count{k=\"v\"} 1\n");
}

// An engine with one cluster of two nodes, one running job, one queued one; facts as a batch.
class PageTest : public ::testing::Test {
 protected:
  PageTest() {
    apply(in::SetCluster{"east", Mode::kEnforce, {}, "test", false});
    NodeSpec node;
    node.product = "H100";
    node.gpus = 8;
    in::ImportNodes fleet{"east", {}, "test", false};
    for (const char* name : {"n1", "n2"}) {
      node.name = name;
      fleet.nodes.push_back(node);
    }
    apply(fleet);
    in::SetAccount account;
    account.reason = "test";
    account.spec.path = "ml";
    account.spec.shares = 3;
    account.spec.limit = {{"gpu", 24'000}};
    apply(account);
    first_ = submit(1, Topology::kNode);
    submit(2, Topology::kAny);
    apply(in::Pass{});
    PodRef pod;
    pod.job = first_;
    apply(in::PodBound{"east", pod, "n1", 0});
    apply(in::PodRunning{"east", pod, 0});
  }
  Reply apply(in::Body body) {
    Input input;
    input.time_ms = now_ += 1000;
    input.body = std::move(body);
    ApplyOutcome outcome = engine_.apply(input);
    for (Fact& fact : outcome.facts) facts_.push_back(std::move(fact));
    EXPECT_FALSE(outcome.reply.error.has_value()) << outcome.reply.error->message();
    return outcome.reply;
  }
  JobId submit(std::uint32_t pods, Topology topology) {
    in::SubmitJob job;
    job.account = "ml";
    job.user = "ana";
    job.name = "train";
    job.request.topology = topology;
    PodGroup group;
    group.count = pods;
    group.shape.kind = GpuKind::kWhole;
    group.shape.gpus = 8;
    job.request.groups.push_back(group);
    return apply(job).job;
  }
  std::string page(bool users) {
    ShellState state;
    state.view = engine_.view();
    state.version = "1.2.3";
    state.drift_gpu_seconds = 0;
    Exposition out;
    write_shell(out, state, events_);
    write_engine(out, engine_, now_, users);
    return out.take();
  }

  Engine engine_;
  Events events_;
  TimeMs now_ = 1'700'000'000'000;
  std::vector<Fact> facts_;
  JobId first_;
};

TEST_F(PageTest, StateAndAccounts) {
  const std::string text = page(false);
  for (const char* line :
       {"subak_jobs{state=\"running\"} 1\n", "subak_jobs{state=\"queued\"} 1\n",
        "subak_cluster_mode{cluster=\"east\",mode=\"enforce\"} 1\n",
        "subak_gpus{cluster=\"east\",product=\"H100\",state=\"allocated\"} 8\n",
        "subak_gpus{cluster=\"east\",product=\"H100\",state=\"idle\"} 8\n",
        "subak_account_shares{account=\"ml\"} 3\n", "subak_jobs_pending{account=\"ml\"} 1\n",
        "subak_account_running_milligpu{account=\"ml\"} 8000\n",
        "subak_account_queued_milligpu{account=\"ml\"} 16000\n",
        "subak_account_limit_milligpu{account=\"ml\",product=\"gpu\"} 24000\n",
        "subak_domains{cluster=\"east\",kind=\"node\",state=\"full\"} 1\n",
        "subak_bill_residual_gpu_seconds 0\n", "subak_ledger_drift_gpu_seconds 0\n",
        "subak_build_info{version=\"1.2.3\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("account=\"\"")));
}

TEST_F(PageTest, UsersOnlyBehindTheSwitch) {
  EXPECT_THAT(page(false), Not(HasSubstr("ml/ana")));
  EXPECT_THAT(page(true), HasSubstr("subak_account_running_milligpu{account=\"ml/ana\"} 8000\n"));
}

TEST_F(PageTest, EventsComeFromFacts) {
  Released batch;
  batch.facts = std::make_shared<const std::vector<Fact>>(facts_);
  batch.commit_us = 1500;
  const Reservations found = events_.durable(batch);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].job, first_);
  events_.look_up(found, &engine_);
  events_.look_up({{first_, found[0].at_ms + 1}}, &engine_);  // extended: not a second placement
  events_.look_up(found, nullptr);
  Input list;
  list.body = in::ListBegin{"east"};
  events_.input(list);
  events_.admission("denied", "over_limit", 30);
  const std::string text = page(false);
  for (const char* line :
       {"subak_placements_total{topology=\"node\"} 1\n",
        "subak_placements_total{topology=\"unknown\"} 1\n",
        "subak_job_wait_seconds_count{class=\"normal\"} 1\n",
        "subak_job_wait_seconds_count{class=\"high\"} 0\n", "subak_watch_relists_total 1\n",
        "subak_store_commit_seconds_bucket{le=\"0.001\"} 0\n",
        "subak_store_commit_seconds_bucket{le=\"0.002\"} 1\n",
        "subak_admissions_total{decision=\"denied\",reason=\"over_limit\"} 1\n",
        "subak_admission_seconds_sum 0.00003\n", "subak_reservations_expired_total 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(PageTest, ExpiredHoldsAreCounted) {
  Released batch;
  batch.facts = std::make_shared<const std::vector<Fact>>(
      std::vector<Fact>{{1, 0, fact::HoldReleased{first_, 1, "expired"}},
                        {2, 0, fact::HoldReleased{first_, 1, "cancelled"}}});
  EXPECT_TRUE(events_.durable(batch).empty());
  EXPECT_THAT(page(false), HasSubstr("subak_reservations_expired_total 1\n"));
}

TEST_F(PageTest, PromtoolAcceptsIt) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) GTEST_SKIP() << "no promtool";
  const std::string file = ::testing::TempDir() + "/subak_metrics_" + std::to_string(::getpid());
  std::ofstream(file) << page(true);
  const int status = std::system(("promtool check metrics <" + file + " >&2").c_str());
  std::remove(file.c_str());
  EXPECT_EQ(status, 0);
}

TEST(Class, ByThePrioritysSign) {
  EXPECT_EQ(kClasses[class_of(-1)], "low");
  EXPECT_EQ(kClasses[class_of(0)], "normal");
  EXPECT_EQ(kClasses[class_of(7)], "high");
}

}  // namespace
}  // namespace subak::metrics
