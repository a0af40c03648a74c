// The order of waiting jobs as another policy or other shares would have it (Engine::queue_order).
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
        const std::vector<JobId> shown = engine.queue_order(kFirst, {&policy, {}});
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

// Returns a retroactive edit of the shares of an account that exists and has siblings.
in::SetAccount edit_of_shares(const Engine& engine, std::uint64_t random) {
  const std::vector<AccountId> ids = engine.accounts().preorder();
  in::SetAccount edit;
  edit.spec = engine.accounts().node(ids[1 + random % (ids.size() - 1)]).spec;
  edit.spec.shares = edit.spec.shares == 0 ? 7 : edit.spec.shares * 16;
  edit.reason = "test";
  edit.override_managed = true;
  edit.retroactive = true;
  return edit;
}

TEST(SharesOrder, IsTheOrderAfterARetroactiveEdit) {
  int waiting = 0, different = 0, kept = 0, edits = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Engine engine;
    sim::RandomWorld world(sim::RandomWorld::Options{seed, false, false});
    for (int step = 0; step < 600; ++step) {
      const Input input = world.next(engine.next_deadline());
      world.saw(input, engine.apply(input));
      if (step % 20 != 19 || engine.accounts().preorder().size() < 2) continue;
      const std::vector<JobId> before = engine.queue_order(kFirst);
      in::SetAccount edit = edit_of_shares(engine, seed * 1000 + static_cast<std::uint64_t>(step));
      const AccountId id = engine.accounts().find(edit.spec.path);
      const std::int64_t old = engine.accounts().node(id).spec.shares;
      const std::vector<JobId> shown =
          engine.queue_order(kFirst, {nullptr, {{id, edit.spec.shares}}});
      EXPECT_EQ(engine.queue_order(kFirst), before) << "a question changes nothing";
      const double surplus = engine.accounts().sort_surplus(id, engine.now());
      if (engine.apply(now_input(engine, edit)).reply.error) continue;
      EXPECT_EQ(engine.queue_order(kFirst), shown);
      EXPECT_EQ(engine.accounts().sort_surplus(id, engine.now()), surplus);
      engine.check_invariants();
      edit.spec.shares = old;
      ASSERT_FALSE(engine.apply(now_input(engine, edit)).reply.error);
      EXPECT_EQ(engine.queue_order(kFirst), before) << "an undo brings the old places back";
      ++edits;
      waiting += static_cast<int>(before.size());
      different += shown != before ? 1 : 0;
      edit.spec.shares = old == 0 ? 7 : old * 16;
      edit.retroactive = false;
      ASSERT_FALSE(engine.apply(now_input(engine, edit)).reply.error);
      kept += engine.queue_order(kFirst) != shown ? 1 : 0;
      edit.spec.shares = old;
      ASSERT_FALSE(engine.apply(now_input(engine, edit)).reply.error);
    }
  }
  EXPECT_GT(edits, 100);
  EXPECT_GT(waiting, 500);
  EXPECT_GT(different, 20) << "the past counts in these worlds";
  EXPECT_GT(kept, 5) << "with an adjustment, the past does not count";
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
    EXPECT_EQ(engine.queue_order(kFirst, {policy, {}}).size(), kFirst);
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::cout << "old and new order of " << kFirst << " of " << kJobs << " jobs: " << took.count() / 2
            << " ms\n";
  EXPECT_LT(took.count() / 2, 500);
}

}  // namespace
}  // namespace subak
