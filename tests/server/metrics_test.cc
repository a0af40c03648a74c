#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "engine/engine.h"
#include "server/metrics/events.h"
#include "server/metrics/page.h"
#include "server/metrics/surveyor.h"

namespace subak::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Families, WritesTheTextFormat) {
  Families out;
  out.gauge("subak_jobs", "Jobs.");
  out.sample({{"state", "queued"}, {"account", "a\"b\\c\nd"}}, 3);
  out.sample({}, 0.1);
  out.sample({}, std::numeric_limits<double>::infinity());
  out.counter("subak_facts_total", "Facts.");
  out.sample({}, std::uint64_t{123'456'789'012});
  EXPECT_EQ(out.text(),
            "# HELP subak_jobs Jobs.\n# TYPE subak_jobs gauge\n"
            "subak_jobs{state=\"queued\",account=\"a\\\"b\\\\c\\nd\"} 3\n"
            "subak_jobs 0.1\nsubak_jobs +Inf\n"
            "# HELP subak_facts_total Facts.\n# TYPE subak_facts_total counter\n"
            "subak_facts_total 123456789012\n");
}

// A clock that stands where it is put.
class SetClock final : public Clock {
 public:
  TimeMs wall_ms() const override { return 0; }
  std::int64_t monotonic_us() const override { return us; }
  std::int64_t us = 0;
};

NodeSpec node_of_8(const std::string& name) {
  NodeSpec node;
  node.name = name;
  node.product = "H100";
  node.gpus = 8;
  return node;
}

in::PodSeen pod_on(const std::string& node, const std::string& name, const std::string& ns) {
  in::PodSeen seen{"east", {}};
  seen.pod.uid = seen.pod.name = name;
  seen.pod.ns = ns;
  seen.pod.node = node;
  return seen;
}

// An engine with one cluster of two nodes, one running job, one queued one; facts as a batch.
class PageTest : public ::testing::Test {
 protected:
  PageTest() {
    state_.version = "1.2.3";
    state_.runtime.leads = true;
    state_.drift_gpu_seconds = 0;
    state_.certificate_end_ms = 1'800'000'000'000;
    state_.certificate_change_ms = 1'790'000'000'000;
    state_.start_ms = now_;
    apply(in::SetCluster{"east", Mode::kEnforce, {}, "test", false});
    apply(in::ImportNodes{"east", {node_of_8("n1"), node_of_8("n2")}, "test", false});
    in::SetAccount account;
    account.reason = "test";
    account.spec.path = "ml";
    account.spec.shares = 3;
    account.spec.limit = {{"H100", 32'000}, {"gpu", 24'000}};
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
    job.request.terms.topology = topology;
    PodGroup group;
    group.count = pods;
    group.shape.kind = GpuKind::kWhole;
    group.shape.gpus = 8;
    job.request.groups.push_back(group);
    return apply(job).job;
  }
  std::string page(bool users, std::size_t most = limits::kMetricAccounts) {
    state_.now_ms = now_;
    state_.view = engine_.view();
    Families out;
    write_state(out, state_);
    SetClock clock;
    Surveyor surveyor(clock, events_);
    const Survey& survey = surveyor.look(engine_);
    write_fleet(out, engine_, survey, now_);
    const std::string accounts = write_accounts(out, engine_, survey, now_, users, most);
    return events_.text() + out.text() + accounts;
  }
  void add_account(const std::string& path) {
    in::SetAccount account;
    account.reason = "test";
    account.spec.path = path;
    apply(account);
  }

  Engine engine_;
  Events events_;
  ShellState state_;
  TimeMs now_ = 1'700'000'000'000;
  std::vector<Fact> facts_;
  JobId first_;
};

TEST_F(PageTest, Listeners) {
  EXPECT_THAT(page(false), Not(HasSubstr("subak_connections")));
  state_.listeners = {{"webhook", 3, 4096, 5, 6, true}, {"grpc", 1, 100, 0, 0, false}};
  const std::string text = page(false);
  for (const char* row : {"subak_listener_serves{listener=\"webhook\"} 1\n",
                          "subak_listener_serves{listener=\"grpc\"} 0\n",
                          "subak_connections{listener=\"webhook\"} 3\n",
                          "subak_connections_limit{listener=\"grpc\"} 100\n",
                          "subak_connections_refused_total{listener=\"webhook\"} 5\n",
                          "subak_connections_evicted_total{listener=\"webhook\"} 6\n"}) {
    EXPECT_THAT(text, HasSubstr(row));
  }
}

TEST_F(PageTest, StateAndAccounts) {
  const std::string text = page(false);
  for (const char* line : {"subak_jobs{state=\"running\"} 1\n",
                           "subak_jobs{state=\"queued\"} 1\n",
                           "subak_cluster_mode{cluster=\"east\",mode=\"enforce\"} 1\n",
                           "subak_gpus{cluster=\"east\",product=\"H100\",state=\"allocated\"} 8\n",
                           "subak_gpus{cluster=\"east\",product=\"H100\",state=\"idle\"} 8\n",
                           "subak_account_shares{account=\"ml\"} 3\n",
                           "subak_jobs_pending{account=\"ml\"} 1\n",
                           "subak_account_running_milligpu{account=\"ml\"} 8000\n",
                           "subak_account_queued_milligpu{account=\"ml\"} 16000\n",
                           "subak_account_borrowed_milligpu{account=\"ml\"} 8000\n",
                           "subak_account_limit_milligpu{account=\"ml\",product=\"gpu\"} 24000\n",
                           "subak_account_limited_milligpu{account=\"ml\",product=\"gpu\"} 8000\n",
                           "subak_account_limit_milligpu{account=\"ml\",product=\"H100\"} 32000\n",
                           "subak_account_limited_milligpu{account=\"ml\",product=\"H100\"} 8000\n",
                           "subak_domains{cluster=\"east\",kind=\"node\",state=\"full\"} 1\n",
                           "subak_bill_residual_gpu_seconds 0\n",
                           "subak_ledger_drift_gpu_seconds 0\n",
                           "subak_foreign_milligpu{cluster=\"east\"} 0\n",
                           "subak_contradicting_nodes{cluster=\"east\"} 0\n",
                           "subak_fragmentation_ratio{cluster=\"east\"} 0\n",
                           "subak_kept_idle_milligpu{cluster=\"east\"} 0\n",
                           "subak_nongpu_pods{cluster=\"east\"} 0\n",
                           "subak_nongpu_broken_nodes{cluster=\"east\"} 0\n",
                           "subak_leader 1\n",
                           "subak_certificate_not_after_seconds 1800000000\n",
                           "subak_certificate_change_seconds 1790000000\n",
                           "subak_account_oldest_wait_seconds{account=\"ml\"} 3\n",
                           "subak_accounts_without_series 0\n",
                           "subak_queue_head_waits{reason=\"WaitingForCapacity\"} 1\n",
                           "subak_queue_head_waits{reason=\"ExceedsFleet\"} 0\n",
                           "subak_build_info{version=\"1.2.3\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("account=\"\"")));
}

TEST_F(PageTest, NodesThatContradictThemselves) {
  NodeSpec node = node_of_8("n3");
  node.unfit = "nvidia.com/gpu 50 contradicts nvidia.com/gpu.count=8";
  node.contradicts = true;
  NodeSpec sick = node;
  sick.name = "n4";
  sick.contradicts = false;
  apply(in::ImportNodes{"east", {node, sick}, "test", false});
  EXPECT_THAT(page(false), HasSubstr("subak_contradicting_nodes{cluster=\"east\"} 1\n"));
}

TEST_F(PageTest, NodesThatRejectPods) {
  apply(in::ImportNodes{"east", {node_of_8("n3")}, "test", false});
  EXPECT_THAT(page(false), Not(HasSubstr("subak_node_rejections{")));
  for (int i = 0; i < 5; ++i) {
    in::PodSeen seen = pod_on("n3", "rejected" + std::to_string(i), "other");
    seen.pod.shape.kind = GpuKind::kWhole;
    seen.pod.shape.gpus = 1;
    apply(seen);
    apply(in::PodGone{"east", {seen.pod.uid, {}, 0}, 0, Cause::kRejected, {"OutOfcpu", ""}});
    const std::string count = "subak_node_rejections{cluster=\"east\",node=\"n3\"} ";
    EXPECT_THAT(page(false), HasSubstr(count + std::to_string(i + 1) + "\n"));
    const std::string nodes = "subak_rejecting_nodes{cluster=\"east\"} ";
    EXPECT_THAT(page(false), HasSubstr(nodes + (i < 4 ? "0\n" : "1\n")));
  }
}

TEST_F(PageTest, WorkWithoutGpus) {
  NodeSpec node = node_of_8("n3");
  node.cpu_milli = 64'000;
  apply(in::ImportNodes{"east", {node}, "test", false});
  in::PodSeen seen = pod_on("n3", "web", "shop");
  seen.pod.running = true;
  seen.pod.shape.cpu_milli = 50'500;
  seen.pod.shape.memory_bytes = 4096;
  apply(seen);
  const std::string text = page(false);
  for (const char* line : {"subak_nongpu_pods{cluster=\"east\"} 1\n",
                           "subak_nongpu_cpu_cores{cluster=\"east\"} 50.5\n",
                           "subak_nongpu_memory_bytes{cluster=\"east\"} 4096\n",
                           "subak_nongpu_broken_nodes{cluster=\"east\"} 1\n",
                           "subak_nongpu_broken_domains{cluster=\"east\"} 1\n",
                           "subak_nongpu_broken_free_gpus{cluster=\"east\"} 8\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(PageTest, ClocksOfNodesAndWhatIsOvercommitted) {
  NodeSpec node = node_of_8("n9");
  node.product = "A100";
  node.clock_behind_ms = 20'000;
  apply(in::ImportNodes{"east", {node}, "test", false});
  in::PodSeen seen = pod_on("n9", "web", "shop");
  seen.pod.shape.kind = GpuKind::kWhole;
  seen.pod.shape.gpus = 8;
  apply(seen);
  node.gpus = 4;
  apply(in::ImportNodes{"east", {node}, "test", false});
  state_.edges.resize(1);
  state_.edges[0].cluster = "east";
  state_.edges[0].late_domain_nodes = state_.edges[0].put_off = 7;
  state_.edges[0].clock_behind_ms = -1500;
  const std::string text = page(false);
  for (const char* line :
       {"subak_node_clock_offset_seconds{cluster=\"east\",node=\"n9\"} 20\n",
        "subak_nodes_clock_off{cluster=\"east\"} 1\n",
        "subak_edge_clock_offset_seconds{cluster=\"east\"} -1.5\n",
        "subak_edge_pods_put_off{cluster=\"east\"} 7\n",
        "subak_compute_domain_nodes_not_ready{cluster=\"east\"} 7\n",
        "subak_overcommitted_gpus{cluster=\"east\",product=\"A100\"} 4\n",
        "subak_gpus{cluster=\"east\",product=\"A100\",state=\"unusable\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(PageTest, ClaimsAndWhatIsLent) {
  Policy policy = engine_.policy();
  policy.reclaim = true;
  policy.reclaim_min_run_ms = 0;
  apply(in::SetPolicy{policy, {}});
  in::SetAccount owner;
  owner.reason = "test";
  owner.spec.path = "bio";
  owner.spec.quota = {{"gpu", 16'000}};
  apply(owner);
  const auto none = [](const std::string& text) {
    for (const char* line : {"subak_claims 0\n", "subak_claim_late_seconds 0\n",
                             "subak_preempted_gpu_seconds_total 0\n",
                             "subak_not_recallable_milligpu{why=\"foreign\"} 0\n"}) {
      EXPECT_THAT(text, HasSubstr(line));
    }
  };
  std::string text = page(false);
  none(text);
  EXPECT_THAT(text, HasSubstr("subak_account_lent_milligpu{account=\"bio\"} 8000\n"))
      << "half of its quota is idle";
  EXPECT_THAT(text, HasSubstr("subak_account_lent_milligpu{account=\"ml\"} 0\n"));
  in::SubmitJob job;
  job.account = "bio";
  job.request.groups.push_back({2, {}});
  job.request.groups[0].shape.kind = GpuKind::kWhole;
  job.request.groups[0].shape.gpus = 8;
  apply(job);
  facts_.clear();
  apply(in::Pass{});  // ml's job is asked at once
  EXPECT_THAT(page(false), HasSubstr("subak_claims 1\n"));
  const std::optional<Preemption> last = engine_.job(first_, false)->reclaim.preempted;
  ASSERT_TRUE(last.has_value());
  const TimeMs asked = std::exchange(now_, last->by_ms);
  EXPECT_THAT(page(false), HasSubstr("subak_claim_late_seconds 0\n"));
  now_ += 30 * kSecondMs;
  EXPECT_THAT(page(false), HasSubstr("subak_claim_late_seconds 30\n"));
  now_ = asked;
  EXPECT_EQ(last->milligpu, 8'000);
  PodRef pod;
  pod.job = first_;
  apply(in::PodGone{"east", pod, 0, Cause::kPreempted});
  Released batch;
  batch.facts = std::make_shared<const std::vector<Fact>>(facts_);
  events_.look_up(events_.durable(batch), &engine_);
  const double seconds =
      8 * static_cast<double>(now_ - last->started_ms) / static_cast<double>(kSecondMs);
  EXPECT_THAT(page(false), HasSubstr("subak_preempted_gpu_seconds_total " +
                                     std::to_string(static_cast<int>(seconds)) + "\n"));
  EXPECT_THAT(page(false), HasSubstr("subak_preemptions_total{reason=\"reclaim\"} 1\n"));
}

TEST_F(PageTest, TheClock) {
  std::string text = page(false);
  EXPECT_THAT(text, HasSubstr("subak_clock_believed 1\n"));
  EXPECT_THAT(text, HasSubstr("subak_clock_offset_seconds 0\n"));
  state_.runtime.clock = {ClockState::kStepped, -2500, 3};
  text = page(false);
  EXPECT_THAT(text, HasSubstr("subak_clock_believed 0\n"));
  EXPECT_THAT(text, HasSubstr("subak_clock_offset_seconds -2.5\n"));
  EXPECT_THAT(text, HasSubstr("subak_clock_steps_refused_total 3\n"));
  state_.runtime.clock.state = ClockState::kWaits;
  EXPECT_THAT(page(false), HasSubstr("subak_clock_believed 0\n"));
}

TEST_F(PageTest, WhoLeadsWhereSeveralShareAStore) {
  EXPECT_THAT(page(false), Not(HasSubstr("subak_leader_epoch"))) << "a file is one process's";
  state_.lead = {7, "gpu-7 process 4711", "gpu-7:9444", {}};
  state_.runtime.leads = false;
  state_.runtime.behind_ms = 40;
  std::string text = page(false);
  for (const char* line : {"subak_leader 0\n", "subak_leader_epoch 7\n",
                           "subak_standby_lag_seconds 0.04\n", "subak_store_waiting_seconds 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  state_.runtime.leads = true;
  state_.runtime.behind_ms = 0;
  state_.commit_waits_ms = 2500;
  text = page(false);
  for (const char* line :
       {"subak_leader 1\n", "subak_standby_lag_seconds 0\n", "subak_store_waiting_seconds 2.5\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, HasSubstr("subak_known_facts_missing 0\n"));
  EXPECT_THAT(text, HasSubstr("subak_configuration_differences 0\n"));
  EXPECT_THAT(page(false), Not(HasSubstr("subak_database_clock")));
  state_.database_clock = {-1500, 2};
  EXPECT_THAT(page(false), HasSubstr("subak_database_clock_offset_seconds -1.5\n"));
  EXPECT_THAT(page(false), HasSubstr("subak_database_clock_steps_total 2\n"));
  state_.known_seq = state_.view->seq + 65;
  EXPECT_THAT(page(false), HasSubstr("subak_known_facts_missing 65\n"));
  state_.known_seq = state_.view->seq;  // where the database has another fact
  EXPECT_THAT(page(false), HasSubstr("subak_known_facts_missing 1\n"));
}

TEST_F(PageTest, UsersOnlyBehindTheSwitch) {
  EXPECT_THAT(page(false), Not(HasSubstr("ml/ana")));
  EXPECT_THAT(page(true), HasSubstr("subak_account_running_milligpu{account=\"ml/ana\"} 8000\n"));
}

// Three levels: ml, ml.a and ml.b, ml/ana.
TEST_F(PageTest, BeyondTheLimitWholeLevelsAreLeftOut) {
  add_account("ml.a");
  add_account("ml.b");
  const auto series = [](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find("\nsubak_account_shares{", at)) != text.npos; ++at)
      ++found;
    return found;
  };
  EXPECT_EQ(series(page(true)), 4u);
  const std::string most = page(true, 3);
  EXPECT_EQ(series(most), 3u);
  EXPECT_THAT(most, Not(HasSubstr("ml/ana")));
  EXPECT_THAT(most, HasSubstr("subak_accounts_without_series 1\n"));
  const std::string top = page(true, 2);
  EXPECT_EQ(series(top), 1u) << "one level of two does not fit beside the first";
  EXPECT_THAT(top, HasSubstr("subak_jobs_pending{account=\"ml\"} 1\n")) << "all below it counts";
  EXPECT_THAT(top, HasSubstr("subak_accounts_without_series 3\n"));
  add_account("bio");
  EXPECT_EQ(series(page(true, 1)), 1u) << "of a first level that does not fit, its first ones";
}

TEST_F(PageTest, EdgesOfWatchedClusters) {
  apply(in::SetCluster{"west", Mode::kObserve, {}, "test", false});
  Input seen;
  seen.time_ms = now_ - 30'000;
  seen.body = in::NodeGone{"west", "n9"};
  events_.input(seen);
  state_.observers = {{"west", 1}, {"east", 1}};
  state_.last_observed = events_.last_observed();
  const std::string text = page(false);
  EXPECT_THAT(text, HasSubstr("subak_cluster_observers{cluster=\"west\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("subak_cluster_observation_age_seconds{cluster=\"west\"} 30\n"));
  state_.last_observed.clear();
  state_.uptime_ms = 45'000;
  EXPECT_THAT(page(false),
              HasSubstr("subak_cluster_observation_age_seconds{cluster=\"west\"} 45\n"));
  EXPECT_THAT(text, Not(HasSubstr("observers{cluster=\"east\"}"))) << "its fleet was imported";
}

// The survey is older than the removal: its row had no name any more.
TEST_F(PageTest, ARemovedClusterLeavesThePageAtOnce) {
  apply(in::Finalize{kFactVersion, "test", false});
  apply(in::SetCluster{"west", Mode::kObserve, {}, "test", false});
  SetClock clock;
  Surveyor surveyor(clock, events_);
  const Survey survey = surveyor.look(engine_);
  ASSERT_EQ(survey.clusters.size(), 2u);
  apply(in::DeleteCluster{"west", "test", false});
  Families out;
  write_fleet(out, engine_, survey, now_);
  EXPECT_THAT(out.text(), HasSubstr("subak_foreign_milligpu{cluster=\"east\"}"));
  EXPECT_THAT(out.text(), Not(HasSubstr("cluster=\"\"")));
  EXPECT_THAT(out.text(), Not(HasSubstr("west")));
}

TEST_F(PageTest, TheSurveyIsTakenNowAndThenAndFollowsPositions) {
  SetClock clock;
  Surveyor surveyor(clock, events_);
  EXPECT_EQ(surveyor.look(engine_).oldest_submit.size(), 3u);  // root, ml, ml/ana
  add_account("bio");
  in::SubmitJob other;
  other.account = "bio";
  other.request = engine_.job(first_, false)->request;
  apply(other);  // bio has used nothing: its job comes first
  EXPECT_EQ(surveyor.look(engine_).oldest_submit.size(), 3u) << "not yet time";
  clock.us = limits::kSurveyEveryMs * 1000;
  EXPECT_EQ(surveyor.look(engine_).oldest_submit.size(), 4u);
  EXPECT_THAT(events_.text(), HasSubstr("subak_job_position_moves_total 1\n"));
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
        "subak_placements_total{topology=\"rack\"} 0\n",
        "subak_job_wait_seconds_count{class=\"normal\"} 1\n",
        "subak_job_wait_seconds_count{class=\"high\"} 0\n", "subak_watch_relists_total 1\n",
        "subak_job_wait_seconds_bucket{class=\"normal\",le=\"1\"} 0\n",
        "subak_job_wait_seconds_bucket{class=\"normal\",le=\"5\"} 1\n",
        "subak_store_commit_seconds_bucket{le=\"0.001\"} 0\n",
        "subak_store_commit_seconds_bucket{le=\"0.002\"} 1\n",
        "subak_admissions_total{decision=\"denied\",reason=\"over_limit\"} 1\n",
        "subak_admission_seconds_sum 3e-05\n", "subak_reservations_expired_total 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(PageTest, PlacesThatCameToNothingAreCounted) {
  Released batch;
  batch.facts = std::make_shared<const std::vector<Fact>>(
      std::vector<Fact>{{1, 0, fact::AttemptEnded{first_, 1, Cause::kExpired, JobState::kQueued}},
                        {2, 0, fact::PlaceLost{first_, 1, Cause::kNodeLost}},
                        {3, 0, fact::PodGone{first_, 0, 0, Cause::kRejected, {"OutOfcpu", ""}}},
                        {4, 0, fact::PodGone{first_, 1, 0, Cause::kFinished}},
                        {5, 0, fact::JobOverran{first_, 1, 3}}});
  EXPECT_TRUE(events_.durable(batch).empty());
  const std::string text = page(false);
  EXPECT_THAT(text, HasSubstr("subak_reservations_expired_total 1\n"));
  EXPECT_THAT(text, HasSubstr("subak_attempts_ended_total{cause=\"expired\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("subak_time_limit_overruns_total 1\n"));
  EXPECT_THAT(text, HasSubstr("subak_release_refused_total{reason=\"node_lost\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("subak_release_refused_total{reason=\"rejected\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("subak_pod_rejections_total{kind=\"room\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("subak_pod_rejections_total{kind=\"topology\"} 0\n"));
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
