#include "sim/driver.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sim/commands.h"
#include "sim/simulate.h"
#include "temp_dir.h"

namespace subak::sim {
namespace {

TraceJob row(std::string id, DurationMs submit, DurationMs duration, std::int64_t gpus,
             std::string team) {
  TraceJob j;
  j.id = std::move(id);
  j.submit_ms = submit;
  j.duration_ms = duration;
  j.milligpu = gpus * 1000;
  j.team = std::move(team);
  return j;
}

Workload workload(std::vector<TraceJob> trace, const char* nodes, WorkloadOptions options = {}) {
  auto w = make_workload(std::move(trace), *read_nodes(nodes), options);
  EXPECT_TRUE(w.ok()) << w.error().message();
  return std::move(*w);
}

// What was sent and what came of it, as text.
std::string record(const Workload& w, const Policy& policy, bool with_inputs) {
  std::string text;
  SimulateOptions options;
  options.check_invariants = true;
  options.observer = [&](const Input& input, const ApplyOutcome& outcome) {
    if (with_inputs) text += input_to_text(input) + "\n";
    for (const Fact& fact : outcome.facts) text += fact_to_text(fact) + "\n";
  };
  const auto result = simulate(w, policy, options);
  EXPECT_TRUE(result.ok());
  return text;
}

TEST(Driver, SendsEndsThenSubmissionsThenAPass) {
  const Workload w = workload({row("a", 0, 1000, 1, "x"), row("b", 1000, 500, 1, "x")}, "1x1");
  std::vector<std::string> kinds;
  SimulateOptions options;
  options.observer = [&](const Input& input, const ApplyOutcome&) {
    const std::string text = input_to_text(input);
    const std::size_t from = text.find(' ') + 1;
    kinds.push_back(std::to_string(input.time_ms - kTraceEpochMs) + " " +
                    text.substr(from, text.find(' ', from) - from));
  };
  ASSERT_TRUE(simulate(w, Policy(), options).ok());
  EXPECT_EQ(kinds, (std::vector<std::string>{
                       "0 set_cluster", "0 import_nodes", "0 set_policy", "0 set_account", "0 pass",
                       "0 submit_job", "0 pass", "0 pod_bound", "0 pod_running", "0 pass",
                       "1000 pod_gone", "1000 submit_job", "1000 pass", "1000 pod_bound",
                       "1000 pod_running", "1000 pass", "1500 pod_gone", "1500 pass"}));
}

TEST(Driver, WaitsAndUtilisationAreExact) {
  // Two jobs of 8 GPUs one after the other on one node, a third that the fleet could never hold.
  const Workload w = workload(
      {row("a", 0, 3'600'000, 8, "x"), row("b", 0, 3'600'000, 8, "y"), row("c", 0, 1000, 9, "y")},
      "1x8");
  const auto r = simulate(w, Policy());
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->jobs, 3u);
  EXPECT_EQ(r->finished, 2u);
  EXPECT_EQ(r->unplaceable, 1u);
  EXPECT_EQ(r->wait_s.mean, 1800);
  EXPECT_EQ(r->wait_by_size[2].p99, 3600);
  EXPECT_DOUBLE_EQ(r->utilisation, 1);  // the window ends with the last job of the trace
  EXPECT_GT(r->sim_speedup, 0);
}

TEST(Driver, WarmJobsComeFirstOldestFirst) {
  WorkloadOptions options;
  options.from_day = 1;
  options.to_day = 2;
  const Workload w =
      workload({row("old", 0, kDayMs + 5000, 8, "x"),
                row("older-queued", 10, kDayMs + 4000, 8, "x"), row("new", kDayMs, 1000, 8, "y")},
               "1x8", options);
  std::vector<std::pair<std::string, TimeMs>> starts;
  struct Starts : Observer {
    explicit Starts(const Workload& workload) : w(workload) {}
    void submitted(std::uint32_t, JobId, TimeMs) override {}
    void started(std::uint32_t job, TimeMs t, const std::vector<EffectPod>&) override {
      list.emplace_back(w.jobs[job].name, t - w.from_ms);
    }
    void ended(std::uint32_t, TimeMs) override {}
    const Workload& w;
    std::vector<std::pair<std::string, TimeMs>> list;
  } observer(w);
  Engine engine;
  EnginePort port(engine);
  Driver driver(w, port, observer);
  ASSERT_FALSE(driver.set_up(Policy()).has_value());
  driver.run();
  ASSERT_EQ(observer.list.size(), 3u);
  EXPECT_EQ(observer.list[0], (std::pair<std::string, TimeMs>{"old", 0}));
  EXPECT_EQ(driver.finished(), 3u);
  EXPECT_EQ(driver.refused(), 0u);
}

TEST(Driver, EveryPolicyRunsATraceToItsEndDeterministically) {
  std::vector<TraceJob> trace;
  for (int i = 0; i < 400; ++i) {
    trace.push_back(row("j" + std::to_string(i), i * 60'000 / 4, (1 + i * 37 % 50) * 60'000LL,
                        1 + i * 7 % 12, "t" + std::to_string(i % 5)));
  }
  WorkloadOptions options;
  options.weights = {{"t1", 3000}};
  options.quotas = {{"t2", 8000}};
  const Workload w = workload(trace, "4x8", options);
  for (const OrderPolicy order : {OrderPolicy::kTargetShare, OrderPolicy::kExact,
                                  OrderPolicy::kUsageTick, OrderPolicy::kDrf, OrderPolicy::kFifo}) {
    Policy policy;
    policy.order = order;
    const auto r = simulate(w, policy);
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->finished, 400u) << r->policy;
    EXPECT_GT(r->utilisation, 0.3) << r->policy;
    EXPECT_EQ(record(w, policy, false), record(w, policy, false)) << r->policy;
  }
}

TEST(Commands, RunAndCompareReadFilesAndNameMistakes) {
  TempDir dir;
  SimOptions options;
  options.trace =
      dir.write("t.csv", "job_id,submit_s,duration_s,gpus,team\na,0,60,4,x\nb,5,60,8,y\n");
  options.nodes = "1x8";
  options.output = "json";
  options.plot = dir.path("plots");
  std::ostringstream out, err;
  EXPECT_EQ(sim_run(options, out, err), 0) << err.str();
  EXPECT_NE(out.str().find("\"wait_s\""), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(dir.path("plots/share-target-share.svg")));
  options.policies = {"target-share", "usage-tick", "drf", "fifo"};
  options.output = "table";
  EXPECT_EQ(sim_compare(options, out, err), 0) << err.str();
  EXPECT_NE(out.str().find("drf"), std::string::npos);
  EXPECT_EQ(err.str(), "");
  SimOptions backfill = options;
  backfill.backfill = {"none", "easy", "reserve", "all"};
  EXPECT_EQ(sim_compare(backfill, out, err), 0) << err.str();
  EXPECT_NE(out.str().find("drf-easy"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(dir.path("plots/share-fifo-all.svg")));

  const auto exit_code = [&](auto change) {
    SimOptions bad = options;
    change(bad);
    std::ostringstream ignored, message;
    const int code = sim_compare(bad, ignored, message);
    EXPECT_NE(message.str(), "");
    return code;
  };
  EXPECT_EQ(exit_code([](SimOptions& o) { o.policies = {"best"}; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.policies = {}; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.backfill = {"some"}; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.run_times = "guessed"; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.half_life = "7"; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.load = 0; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.teams = "random:x"; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.from_day = -1; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.output = "xml"; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.charge_end = "maybe"; }), 2);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.trace += "x"; }), 4);
  EXPECT_EQ(exit_code([](SimOptions& o) { o.nodes = "none.csv"; }), 4);
  std::ostringstream ignored, message;
  EXPECT_EQ(sim_run(options, ignored, message), 2);  // one policy only
}

// The acceptance trace: its busiest two weeks on a fleet that they fill.
TEST(Philly, TheBusyWeeksRunUnderEveryPolicy) {
  SUBAK_NEED_DATA(traces_dir());
  auto trace = read_trace(traces_dir() + "/philly.csv.gz");
  ASSERT_TRUE(trace.ok());
  WorkloadOptions options;
  options.from_day = 21;
  options.to_day = 35;
  const Workload w = workload(std::move(*trace), "80x8", options);
  ASSERT_EQ(w.teams.size(), 12u);
  double fifo_wait = 0, shared_wait = 0, fifo_jain = 0, shared_jain = 0;
  for (const OrderPolicy order : {OrderPolicy::kFifo, OrderPolicy::kTargetShare}) {
    Policy policy;
    policy.order = order;
    SimulateOptions checked;
    checked.check_invariants = true;
    const auto r = simulate(w, policy, checked);
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->jobs, 16'899u);
    EXPECT_EQ(r->warm, 116u);
    EXPECT_EQ(r->finished, 16'899u);
    EXPECT_GT(r->utilisation, 0.9);
    EXPECT_LE(r->utilisation, 1);
    (order == OrderPolicy::kFifo ? fifo_wait : shared_wait) = r->wait_s.mean;
    (order == OrderPolicy::kFifo ? fifo_jain : shared_jain) = *r->jain.day;
  }
  EXPECT_LT(shared_wait, fifo_wait);
  EXPECT_GT(shared_jain, fifo_jain);
}

}  // namespace
}  // namespace subak::sim
