// What the queue would be: it is what it becomes once it is, and nothing comes of asking.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"
#include "inputs.h"

namespace subak {
namespace {

// Two nodes, and the accounts a (namespace team-a), b (2 shares, team-b).
void set_up(Engine& engine, Mode mode) {
  engine.apply(at(0, in::SetCluster{"main", mode, {}, "", false}));
  for (const std::string name : {"a", "b"}) {
    in::SetAccount account;
    account.spec.path = name;
    account.spec.shares = name == "a" ? 1 : 2;
    account.spec.namespaces = {"team-" + name};
    engine.apply(at(0, account));
  }
  engine.apply(at(0, in::ListBegin{"main"}));
  for (const std::string name : {"n1", "n2"}) {
    NodeSpec node;
    node.name = name;
    node.product = "H100";
    node.gpus = 8;
    engine.apply(at(0, in::NodeSeen{"main", node}));
  }
  engine.apply(at(0, in::ListComplete{"main"}));
}

PodRecord pod(const std::string& ns, const std::string& name, std::int64_t gpus) {
  PodRecord pod;
  pod.uid = ns + "-" + name;
  pod.ns = ns;
  pod.name = name;
  pod.shape.kind = GpuKind::kWhole;
  pod.shape.gpus = gpus;
  return pod;
}

// Pods of many kinds: alone, in gangs, with users, priorities and more than there is.
std::vector<PodRecord> many_pods() {
  std::vector<PodRecord> pods;
  for (int i = 0; i < 40; ++i) {
    PodRecord p = pod(i % 3 == 0 ? "team-b" : "team-a", "p" + std::to_string(i), 1 + i * 5 % 9);
    if (i % 4 == 1) p.user = i % 8 == 1 ? "ana" : "ben";
    if (i % 7 == 2) p.priority = i;
    if (i % 5 == 3) {
      p.gang = "g" + std::to_string(i);
      p.gang_size = 2;
      p.rank = 0;
      PodRecord other = p;
      other.uid += "-1";
      other.name += "-1";
      other.rank = 1;
      pods.push_back(other);
    }
    pods.push_back(p);
  }
  return pods;
}

std::vector<ShadowRow> would(const Engine& engine, const View& view) {
  const auto rows = engine.shadow_queue(view, "", 0, 1000);
  EXPECT_TRUE(rows.has_value());
  return rows.value_or(std::vector<ShadowRow>());
}

std::vector<std::string> names(const std::vector<ShadowRow>& rows) {
  std::vector<std::string> out;
  for (const ShadowRow& row : rows) out.push_back(row.job.name);
  return out;
}

TEST(ShadowQueue, IsWhatBecomesOfThePodsWhereTheyAreGated) {
  Engine observed, enforced;
  set_up(observed, Mode::kObserve);
  set_up(enforced, Mode::kEnforce);
  TimeMs t = 1;
  for (PodRecord p : many_pods()) {
    p.created_at_ms = t;
    observed.apply(at(t, in::PodSeen{"main", p}));
    p.gated = true;
    enforced.apply(at(t++, in::PodSeen{"main", p}));
  }
  std::vector<std::string> order;
  for (const JobRow& row : enforced.queue(1000)) order.push_back(row.name);
  enforced.apply(at(t, in::Pass{}));
  const std::vector<ShadowRow> rows = would(observed, *observed.view());
  EXPECT_EQ(names(rows), order);
  std::map<std::string, JobRow> real;
  for (const JobRow& row : enforced.jobs(JobId(), 1000, std::nullopt, "")) real[row.name] = row;
  std::size_t starts = 0;
  for (const ShadowRow& row : rows) {
    const JobRow& job = real.at(row.job.name);
    EXPECT_EQ(!row.waits_for, job.state == JobState::kStarting) << job.name;
    EXPECT_EQ(row.job.nodes, job.nodes) << job.name;
    EXPECT_EQ(row.job.account, job.account);
    EXPECT_EQ(row.job.user, job.user);
    EXPECT_EQ(row.job.submit_ms, job.submit_ms);
    starts += row.waits_for ? 0 : 1;
  }
  EXPECT_GT(starts, 1u);
  EXPECT_LT(starts, rows.size());
}

TEST(ShadowQueue, LeavesNothingBehind) {
  Engine observed, untouched;
  set_up(observed, Mode::kObserve);
  set_up(untouched, Mode::kObserve);
  for (const PodRecord& p : many_pods()) {
    EXPECT_TRUE(observed.apply(at(9, in::PodSeen{"main", p})).facts.empty());
  }
  EXPECT_FALSE(would(observed, *observed.view()).empty());
  EXPECT_TRUE(observed.apply(at(9, in::Pass{})).facts.empty());
  observed.check_invariants();
  EXPECT_EQ(observed.digest(), untouched.digest());
  EXPECT_EQ(observed.queue(10).size(), 0u);
}

// Reads are served by an engine that is only fed with facts.
TEST(ShadowQueue, IsTheSameForWhoFollows) {
  Engine loop, follower;
  set_up(loop, Mode::kObserve);
  for (const PodRecord& p : many_pods()) loop.apply(at(500, in::PodSeen{"main", p}));
  for (const Fact& fact : loop.checkpoint()) follower.evolve(fact);
  follower.set_seq(loop.seq());
  EXPECT_LT(follower.now(), 500) << "no fact was made";
  const std::vector<ShadowRow> rows = would(follower, *loop.view());
  EXPECT_EQ(names(rows), names(would(loop, *loop.view())));
  EXPECT_EQ(rows.front().job.submit_ms, 500);
  EXPECT_TRUE(would(follower, *follower.view()).empty());
}

TEST(ShadowQueue, FollowsEachChange) {
  Engine engine;
  set_up(engine, Mode::kWarn);
  engine.apply(at(1, in::PodSeen{"main", pod("team-a", "x", 8)}));
  engine.apply(at(1, in::PodSeen{"main", pod("team-a", "y", 8)}));
  engine.apply(at(1, in::PodSeen{"main", pod("team-a", "z", 8)}));
  EXPECT_EQ(would(engine, *engine.view()).size(), 3u);
  EXPECT_TRUE(would(engine, *engine.view())[2].waits_for);
  PodRecord bound = pod("team-a", "x", 8);
  bound.node = "n1";
  engine.apply(at(1, in::PodSeen{"main", bound}));
  std::vector<ShadowRow> rows = would(engine, *engine.view());
  EXPECT_EQ(names(rows), (std::vector<std::string>{"team-a/y", "team-a/z"}));
  EXPECT_FALSE(rows[0].waits_for);
  EXPECT_EQ(rows[1].waits_for->token, ReasonToken::kWaitingForCapacity);
  engine.apply(at(2, in::PodGone{"main", {"team-a-x", {}, 0}, 0, Cause::kFinished}));
  EXPECT_FALSE(would(engine, *engine.view())[1].waits_for);
  engine.apply(
      at(3, in::PodBound{"main", {"team-a-y", {}, 0}, "n1", 0}));  // of a pod that is no job
  EXPECT_EQ(would(engine, *engine.view()).size(), 1u);
  engine.apply(at(4, in::Restarted{}));
  EXPECT_TRUE(would(engine, *engine.view()).empty());
}

TEST(ShadowQueue, IsRefusedBeyondItsLimit) {
  Engine engine;
  set_up(engine, Mode::kObserve);
  in::SubmitJob job;
  job.cluster = "main";
  job.account = "a";
  job.request.groups.push_back({1, pod("", "", 1).shape});
  for (std::size_t i = 0; i < limits::kMaxShadowQueue - 3; ++i) {  // beside two nodes and a pod
    ASSERT_FALSE(engine.apply(at(1, job)).reply.error);
  }
  engine.apply(at(1, in::PodSeen{"main", pod("team-b", "x", 8)}));
  const auto rows = engine.shadow_queue(*engine.view(), "b", 0, 10);
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().position, 1u + rows->front().index);
  engine.apply(at(1, in::PodSeen{"main", pod("team-b", "y", 8)}));
  EXPECT_FALSE(engine.shadow_queue(*engine.view(), "b", 0, 10).has_value());
}

}  // namespace
}  // namespace subak
