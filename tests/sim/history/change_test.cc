// What a change does to a history: shares, nodes, load and policy; and the errors of changes.
#include "sim/history/change.h"

#include <gtest/gtest.h>

#include "recorded.h"
#include "sim/history/present.h"
#include "sim/history/what_if.h"

namespace subak::sim {
namespace {

// Two teams that always have more work than two nodes can do.
History crowded() {
  std::vector<TraceJob> trace;
  for (int i = 0; i < 600; ++i) {
    trace.push_back(
        trace_job("j" + std::to_string(i), i * 20 * kSecondMs, kHourMs, 1, i % 2 == 0 ? "a" : "b"));
  }
  const auto workload = make_workload(std::move(trace), *read_nodes("2x8"), {});
  EXPECT_TRUE(workload.ok());
  return history_of(record(*workload).facts, 0);
}

// The same, up to the middle of the facts: jobs wait at the end.
History half_of_crowded() {
  std::vector<TraceJob> trace;
  for (int i = 0; i < 200; ++i) {
    trace.push_back(trace_job("j" + std::to_string(i), i * kSecondMs, kHourMs, 1, "a"));
  }
  const auto workload = make_workload(std::move(trace), *read_nodes("2x8"), {});
  std::vector<Fact> facts = record(*workload).facts;
  facts.resize(facts.size() / 2);
  return history_of(facts, 0);
}

SimResult with(const History& history, const Change& change) {
  const auto workload = changed(history, change);
  EXPECT_TRUE(workload.ok()) << workload.error().message();
  const auto done = replay_history(history, *workload);
  EXPECT_TRUE(done);
  return done->result;
}

in::AccountChange shares_of(const std::string& path, std::int64_t shares) {
  in::AccountChange change;
  change.spec.path = path;
  change.spec.shares = shares;
  in::UnchangedFields& same = change.unchanged;
  same.quota = same.limit = same.borrow = same.lend = same.namespaces = same.held = true;
  same.draining = same.time_limits = same.job_limits = same.user_limits = same.budgets = true;
  same.default_time_limit = same.managed_by = true;
  return change;
}

TEST(Change, MoreSharesGiveAnAccountMoreAndShorterWaits) {
  const History history = crowded();
  Change change;
  change.accounts = {shares_of("a", 3)};
  const SimResult before = with(history, {}), after = with(history, change);
  ASSERT_EQ(before.teams[0].team, "a");
  EXPECT_LT(after.teams[0].wait_mean_s, 0.8 * before.teams[0].wait_mean_s);
  EXPECT_GT(after.teams[1].wait_mean_s, before.teams[1].wait_mean_s);
}

TEST(Change, MoreNodesShortenWaitsAndFewerLengthenThem) {
  const History history = crowded();
  Change more, fewer, one_fewer;
  more.nodes = {{"", "node-0", 2, ""}};
  fewer.nodes = {{"", "node-0", -1, ""}};
  one_fewer.nodes = {{kClusterName, "", 0, "node-1"}};
  const double before = with(history, {}).wait_s.mean;
  EXPECT_LT(with(history, more).wait_s.mean, before / 1.5);
  EXPECT_GT(with(history, fewer).wait_s.mean, before * 1.5);
  EXPECT_EQ(with(history, fewer).wait_s.mean, with(history, one_fewer).wait_s.mean);
  EXPECT_EQ(changed(history, more)->capacity, 2 * history.workload.capacity);
}

TEST(Change, LoadComesAgainWithItsRateAndItsSeed) {
  const History history = crowded();
  Change change;
  change.load = {{"a", 1500}};
  const auto once = changed(history, change), again = changed(history, change);
  ASSERT_TRUE(once.ok() && again.ok());
  std::size_t extra = 0;
  for (std::size_t i = 0; i < once->jobs.size(); ++i) {
    extra += once->jobs[i].past.extra ? 1 : 0;
    EXPECT_EQ(once->jobs[i].submit_ms, again->jobs[i].submit_ms);
    if (i > 0) {
      EXPECT_LE(once->jobs[i - 1].submit_ms, once->jobs[i].submit_ms);
    }
  }
  EXPECT_EQ(once->jobs.size(), history.workload.jobs.size() + extra);
  EXPECT_GT(extra, 400u);
  EXPECT_LT(extra, 500u);
  const SimResult after = with(history, change);
  EXPECT_EQ(after.jobs, history.result.jobs);
  EXPECT_GT(after.wait_s.mean, history.result.wait_s.mean);
  change.seed = 2;
  EXPECT_NE(changed(history, change)->jobs.size(), once->jobs.size());
}

TEST(Change, ThePolicyHoldsDuringTheWholeWindow) {
  const History history = crowded();
  Change change;
  change.policy = [](Policy policy) {
    policy.order = OrderPolicy::kFifo;
    return policy;
  };
  const auto workload = changed(history, change);
  ASSERT_TRUE(workload.ok());
  bool is_fifo = false;
  HistoryOptions options;
  options.observer = [&](const Input& input, const ApplyOutcome& outcome) {
    for (const Fact& fact : outcome.facts) {
      const auto* const set = std::get_if<fact::PolicySet>(&fact.body);
      if (set != nullptr) is_fifo = set->policy.order == OrderPolicy::kFifo;
    }
    if (std::holds_alternative<in::SubmitJob>(input.body)) {
      EXPECT_TRUE(is_fifo);
    }
  };
  EXPECT_TRUE(replay_history(history, *workload, options));
}

TEST(Change, ErrorsNameTheLine) {
  const History history = crowded();
  const auto field_of = [&](const Change& change) {
    const auto workload = changed(history, change);
    return workload.ok() ? std::string("no error") : workload.error().field;
  };
  Change change;
  change.accounts = {shares_of("a", 2), shares_of("nobody", 2)};
  EXPECT_EQ(field_of(change), "accounts[1].path");
  change = {};
  change.load = {{"nobody", 500}};
  EXPECT_EQ(field_of(change), "load[0].like");
  change = {};
  change.nodes = {{"", "node-0", 1, ""}, {"", "", 0, "node-9"}};
  EXPECT_EQ(field_of(change), "nodes[1].remove");
  change.nodes = {{"", "node-0", -3, ""}};
  EXPECT_EQ(field_of(change), "nodes[0].count");
  change.nodes = {{"elsewhere", "node-0", 1, ""}};
  EXPECT_EQ(field_of(change), "nodes[0].like");
}

TEST(Change, AProgressThatSaysNoStopsTheReplay) {
  const History history = crowded();
  HistoryOptions options;
  options.progress = [](double) { return false; };
  EXPECT_FALSE(replay_history(history, history.workload, options));
}

TEST(Present, MoreNodesStartWaitingJobsSooner) {
  const History history = half_of_crowded();
  Change change;
  change.nodes = {{"", "node-0", 2, ""}};
  const auto present = present_difference(history, change);
  ASSERT_TRUE(present.ok());
  EXPECT_GT(present->waiting, 20u);
  EXPECT_GT(present->sooner, 0u);
  EXPECT_EQ(present->later, 0u);
  EXPECT_LT(present->mean_after_s, present->mean_before_s);
  ASSERT_FALSE(present->starts.empty());
  const JobMove& first = present->starts.front();
  EXPECT_LT(*first.after_ms, *first.before_ms);
  const auto same = present_difference(history, {});
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->starts.empty());
  EXPECT_EQ(same->promises_moved, 0u);
}

}  // namespace
}  // namespace subak::sim
