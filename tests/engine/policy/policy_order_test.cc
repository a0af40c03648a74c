// The order of waiting jobs as another policy would have it (Engine::queue_order).
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <vector>

#include "engine/engine.h"
#include "tests/oracle/random_world.h"

namespace subak {
namespace {

constexpr std::size_t kFirst = 20;

Input now_input(const Engine& engine, in::Body body) {
  Input input;
  input.time_ms = engine.now();
  input.actor = "test";
  input.body = std::move(body);
  return input;
}

std::vector<Policy> other_policies(const Policy& now) {
  std::vector<Policy> out;
  for (const OrderPolicy order :
       {OrderPolicy::kTargetShare, OrderPolicy::kExact, OrderPolicy::kDrf, OrderPolicy::kFifo}) {
    out.push_back(now);
    out.back().order = order;
  }
  out.push_back(out.front());
  out.back().fair_share.gain_milli = 1;
  out.push_back(out.front());
  out.back().fair_share.floor_milli = 10;
  return out;
}

TEST(PolicyOrder, IsTheOrderAfterTheEdit) {
  int waiting = 0, different = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Engine engine;
    sim::RandomWorld world(sim::RandomWorld::Options{seed, false, false});
    for (int step = 0; step < 600; ++step) {
      Input input = world.next(engine.next_deadline());
      if (auto* const set = std::get_if<in::SetPolicy>(&input.body)) {
        if (set->policy.order == OrderPolicy::kUsageTick) set->policy.order = OrderPolicy::kExact;
      }
      world.saw(input, engine.apply(input));
      if (step % 50 != 49) continue;
      for (const Policy& policy : other_policies(engine.policy())) {
        const std::vector<JobId> before = engine.queue_order(kFirst);
        const std::vector<JobId> shown = engine.queue_order(kFirst, &policy);
        EXPECT_EQ(engine.queue_order(kFirst), before) << "a question changes nothing";
        const Policy old = engine.policy();
        ASSERT_FALSE(engine.apply(now_input(engine, in::SetPolicy{policy, {}})).reply.error);
        EXPECT_EQ(engine.queue_order(kFirst), shown);
        ASSERT_FALSE(engine.apply(now_input(engine, in::SetPolicy{old, {}})).reply.error);
        waiting += static_cast<int>(before.size());
        different += shown != before ? 1 : 0;
      }
    }
  }
  EXPECT_GT(waiting, 500);
  EXPECT_GT(different, 50) << "the policies differ in these worlds";
}

TEST(PolicyOrder, CostsLittleWith100000WaitingJobs) {
  constexpr int kAccounts = 100, kJobs = 100'000;
  Engine engine;
  const auto apply = [&](in::Body body) {
    const ApplyOutcome out = engine.apply(now_input(engine, std::move(body)));
    ASSERT_FALSE(out.reply.error) << out.reply.error->message();
  };
  apply(in::SetCluster{"main", Mode::kEnforce, {}, "test", false});
  NodeSpec node;
  node.name = "n1";
  node.product = "NVIDIA-H100-80GB-HBM3";
  node.gpus = 8;
  apply(in::ImportNodes{"main", {node}, "test", false});
  for (int i = 0; i < kAccounts; ++i) {
    in::SetAccount account;
    account.spec.path = "a" + std::to_string(i);
    account.reason = "test";
    apply(account);
  }
  for (int i = 0; i < kJobs; ++i) {
    in::SubmitJob job;
    job.cluster = "main";
    job.account = "a" + std::to_string(i % kAccounts);
    job.request.groups = {{1, {}}};
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = 1;
    apply(job);
  }
  ASSERT_EQ(engine.count(JobState::kQueued), static_cast<std::size_t>(kJobs));
  Policy fifo = engine.policy();
  fifo.order = OrderPolicy::kFifo;
  Policy steep = engine.policy();
  steep.fair_share.gain_milli = 64'000;
  const auto begin = std::chrono::steady_clock::now();
  for (const Policy* const policy : {&fifo, &steep}) {
    EXPECT_EQ(engine.queue_order(kFirst).size(), kFirst);
    EXPECT_EQ(engine.queue_order(kFirst, policy).size(), kFirst);
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::cout << "old and new order of " << kFirst << " of " << kJobs << " jobs: " << took.count() / 2
            << " ms\n";
  EXPECT_LT(took.count() / 2, 500);
}

}  // namespace
}  // namespace subak
