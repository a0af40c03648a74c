// Changes of the half-life in random worlds: the meters are those of a state that had the new
// half-life from the start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/forecast/half_life_fold.h"
#include "tests/oracle/random_world.h"

namespace subak {
namespace {

using testing::HasSubstr;

// An engine in a random world, with all its facts.
class World {
 public:
  explicit World(std::uint64_t seed) : world_(sim::RandomWorld::Options{seed, false, false}) {}

  ApplyOutcome apply(const Input& input) {
    ApplyOutcome out = engine_.apply(input);
    for (const Fact& fact : out.facts) {
      facts_.push_back(fact);
      starts_ += std::holds_alternative<fact::AttemptStarted>(fact.body) ? 1 : 0;
    }
    return out;
  }
  ApplyOutcome apply(in::Body body) {
    Input input;
    input.time_ms = engine_.now();
    input.actor = "test";
    input.body = std::move(body);
    return apply(input);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      Input input = world_.next(engine_.next_deadline());
      if (auto* const set = std::get_if<in::SetPolicy>(&input.body)) {
        // The world knows one half-life, and would cancel the change.
        if (engine_.seq() > 0 && began_) set->policy.half_life_ms = engine_.policy().half_life_ms;
        set->policy.fair_share = engine_.policy().fair_share;
        if (set->policy.order == OrderPolicy::kUsageTick) set->policy.order = OrderPolicy::kExact;
      }
      // The new shares then also count for the past, so no adjustment is added.
      if (auto* const set = std::get_if<in::SetAccount>(&input.body)) {
        const bool exists = static_cast<bool>(engine_.accounts().find(set->spec.path));
        set->retroactive = exists && !set->unchanged.shares && i % 3 == 0;
      }
      world_.saw(input, apply(input));
    }
  }
  std::uint64_t begin(DurationMs half_life_ms) {
    began_ = true;
    Policy policy = engine_.policy();
    want_half_life(policy, half_life_ms);
    const ApplyOutcome out = apply(in::SetPolicy{policy, {}});
    EXPECT_FALSE(out.reply.error) << out.reply.error->message();
    return change().seq;
  }
  HalfLifeChange change() const { return engine_.policy().fair_share.change; }
  // Folds the facts up to `seq` with another half-life.
  void fold(HalfLifeFold& into, std::uint64_t seq) const {
    while (into.seq() < seq) into.fold(facts_.at(into.seq()));
  }
  ApplyOutcome finish() {
    HalfLifeFold fold_with(change().half_life_ms);
    fold(fold_with, change().seq);
    return apply(in::HalfLifeRead{change().seq, fold_with.values()});
  }
  // Restores the engine from a checkpoint, as after kill -9.
  void kill() {
    const std::vector<Fact> checkpoint = engine_.checkpoint();
    const std::uint64_t seq = engine_.seq();
    const TimeMs now = engine_.now();
    engine_ = Engine();
    for (const Fact& fact : checkpoint) engine_.evolve(fact);
    engine_.set_seq(seq);
    Input input;
    input.time_ms = now;
    input.body = in::Restarted{};
    world_.saw(input, apply(input));
  }
  // Compares all meters with those of a state that had this half-life from the start. Returns the
  // largest difference, as a part of highest rate x H (infinite half-life: of the value).
  double difference(DurationMs half_life_ms) const {
    HalfLifeFold from_start(half_life_ms);
    fold(from_start, engine_.seq());
    const AccountTree& tree = engine_.accounts();
    EXPECT_EQ(tree.clock().half_life_ms(), half_life_ms);
    std::vector<MeterValues> want(tree.nodes().size());
    for (const MeterValues& one : from_start.values()) want[one.account.value] = one;
    const DecayInstant at = tree.clock().at(facts_.back().time_ms);
    double most = 0;
    for (const AccountNode& node : tree.nodes()) {
      if (!node.id) continue;
      const MeterValues& other = want[node.id.value];
      const MilliGpu peak = std::max<MilliGpu>(1, node.meters.state().usage.peak_rate);
      const double scale = half_life_ms == 0
                               ? std::max(1.0, std::abs(other.usage))
                               : static_cast<double>(peak) * tree.clock().mean_life_ms();
      for (const double difference : {node.meters.usage(tree.clock(), at) - other.usage,
                                      node.meters.surplus(tree.clock(), at) - other.surplus}) {
        most = std::max(most, std::abs(difference) / scale);
      }
      // Without decay, each adjustment is a whole number of milli-GPU x ms.
      const double rounding = half_life_ms == 0 ? 20 : 0;
      const double change = node.meters.adjustment(tree.clock(), at) - other.adjustment;
      // It is a multiple of other accounts' surplus, so it may be larger than rate x H.
      const double adjusted = std::max(scale, std::abs(other.adjustment));
      most = std::max(most, (std::abs(change) - rounding) / adjusted);
      adjustments_ += other.adjustment != 0 ? 1 : 0;
      used_ += other.usage != 0 ? 1 : 0;
    }
    return most;
  }
  const Engine& engine() const { return engine_; }
  const std::vector<Fact>& facts() const { return facts_; }
  int starts() const { return starts_; }
  int adjustments() const { return adjustments_; }
  int used() const { return used_; }

 private:
  Engine engine_;
  sim::RandomWorld world_;
  std::vector<Fact> facts_;
  bool began_ = false;
  int starts_ = 0;
  mutable int adjustments_ = 0, used_ = 0;
};

constexpr DurationMs kOld = 6 * kHourMs;

class HalfLife : public testing::TestWithParam<DurationMs> {};

TEST_P(HalfLife, MetersAreThoseOfAStateThatHadItFromTheStart) {
  double most = 0;
  int adjustments = 0, used = 0, starts = 0, made_meanwhile = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    World world(seed);
    world.steps(400);
    const std::uint64_t seq = world.begin(GetParam());
    ASSERT_EQ(seq, world.facts().size());
    const int before = world.starts();
    const std::uint32_t accounts = world.engine().accounts().next_id().value;
    world.steps(600);
    EXPECT_LE(world.difference(kOld), 1e-12) << "the old one holds up to the end";
    starts += world.starts() - before;
    made_meanwhile += static_cast<int>(world.engine().accounts().next_id().value - accounts);
    const ApplyOutcome done = world.finish();
    ASSERT_FALSE(done.reply.error) << done.reply.error->message();
    EXPECT_EQ(world.change().seq, 0U);
    most = std::max(most, world.difference(GetParam()));
    world.engine().check_invariants();
    for (int i = 0; i < 4; ++i) {
      world.steps(100);
      most = std::max(most, world.difference(GetParam()));
    }
    Engine other;  // a follower
    for (const Fact& fact : world.facts()) other.evolve(fact);
    if (world.facts().back().time_ms == world.engine().now()) {
      EXPECT_EQ(other.digest(), world.engine().digest());
    }
    adjustments += world.adjustments();
    used += world.used();
  }
  EXPECT_LE(most, 1e-12);
  EXPECT_GT(used, 100);
  EXPECT_GT(adjustments, 100) << "the worlds change shares and make accounts";
  EXPECT_GT(made_meanwhile, 10) << "also while the change is under way";
  EXPECT_GT(starts, 100) << "also while the change is under way";
  std::cout << "largest difference " << most << " of rate x H; " << starts << " starts meanwhile\n";
}

INSTANTIATE_TEST_SUITE_P(All, HalfLife,
                         testing::Values(30 * kDayMs, 7 * kDayMs, kHourMs, DurationMs{0}));

TEST(HalfLifeChange, BeginsAgainAfterARestart) {
  for (std::uint64_t seed = 20; seed < 24; ++seed) {
    World world(seed);
    world.steps(300);
    const std::uint64_t first = world.begin(30 * kDayMs);
    world.steps(100);
    world.kill();
    const std::uint64_t second = world.change().seq;
    EXPECT_GT(second, first);
    const ApplyOutcome late = world.apply(in::HalfLifeRead{first, {}});
    ASSERT_TRUE(late.reply.error);
    EXPECT_EQ(late.reply.error->code, ErrorCode::kConflict);
    EXPECT_TRUE(late.facts.empty());
    world.steps(200);
    ASSERT_FALSE(world.finish().reply.error);
    EXPECT_LE(world.difference(30 * kDayMs), 1e-12);
    world.steps(100);
    world.kill();
    EXPECT_LE(world.difference(30 * kDayMs), 1e-12) << "a checkpoint has the new meters";
    EXPECT_EQ(world.change().seq, 0U);
  }
}

TEST(HalfLifeChange, IsReplacedAndCancelled) {
  World world(30);
  world.steps(300);
  const std::uint64_t first = world.begin(30 * kDayMs);
  EXPECT_EQ(world.begin(30 * kDayMs), first) << "it is under way already";
  world.steps(50);
  const std::uint64_t second = world.begin(kHourMs);
  EXPECT_GT(second, first);
  world.steps(50);
  ASSERT_FALSE(world.finish().reply.error);
  EXPECT_LE(world.difference(kHourMs), 1e-12);
  world.begin(30 * kDayMs);
  EXPECT_NE(world.change().seq, 0U);
  EXPECT_EQ(world.begin(kHourMs), 0U) << "the half-life in force cancels it";
  world.steps(50);
  EXPECT_LE(world.difference(kHourMs), 1e-12);
  // A second change after a first one: the facts of the first are read too.
  world.begin(7 * kDayMs);
  world.steps(50);
  ASSERT_FALSE(world.finish().reply.error);
  EXPECT_LE(world.difference(7 * kDayMs), 1e-12);
}

TEST(HalfLifeChange, OtherEditsOfThePolicyLeaveIt) {
  World world(31);
  world.steps(300);
  const std::uint64_t seq = world.begin(30 * kDayMs);
  Policy policy = world.engine().policy();
  policy.patience_ms += kHourMs;
  ASSERT_FALSE(world.apply(in::SetPolicy{policy, {}}).reply.error);
  EXPECT_EQ(world.change().seq, seq);
  EXPECT_EQ(world.engine().policy().half_life_ms, kOld);
  ASSERT_FALSE(world.finish().reply.error);
  EXPECT_EQ(world.engine().policy().patience_ms, policy.patience_ms);
  EXPECT_LE(world.difference(30 * kDayMs), 1e-12);
}

// The loop stands still while it applies the last input.
TEST(HalfLifeChange, EndsQuicklyWith5000Accounts) {
  constexpr int kAccounts = 5000;
  Engine engine;
  std::vector<Fact> facts;
  TimeMs now = 1'700'000'000'000;
  const auto apply = [&](in::Body body) {
    Input input;
    input.time_ms = now;
    input.actor = "test";
    input.body = std::move(body);
    const ApplyOutcome out = engine.apply(input);
    EXPECT_FALSE(out.reply.error) << out.reply.error->message();
    facts.insert(facts.end(), out.facts.begin(), out.facts.end());
    return out.facts.size();
  };
  const auto make = [&](const std::string& path) {
    in::SetAccount account;
    account.spec.path = path;
    account.reason = "test";
    apply(account);
  };
  apply(in::SetCluster{"main", Mode::kEnforce, {}, "test", false});
  NodeSpec node;
  node.name = "n1";
  node.product = "NVIDIA-H100-80GB-HBM3";
  node.gpus = 8;
  apply(in::ImportNodes{"main", {node}, "test", false});
  make("used");
  in::SubmitJob job;
  job.cluster = "main";
  job.account = "used";
  job.request.groups = {{1, {}}};
  job.request.groups[0].shape.kind = GpuKind::kWhole;
  job.request.groups[0].shape.gpus = 1;
  apply(job);
  apply(in::Pass{});
  now += kMinuteMs;
  for (int i = 0; i < kAccounts; ++i) make("a" + std::to_string(i));  // each with an adjustment
  Policy policy = engine.policy();
  policy.half_life_ms = 30 * kDayMs;
  apply(in::SetPolicy{policy, {}});
  const std::uint64_t seq = engine.policy().fair_share.change.seq;
  ASSERT_NE(seq, 0U);
  HalfLifeFold fold(30 * kDayMs);
  while (fold.seq() < seq) fold.fold(facts[fold.seq()]);
  const std::vector<MeterValues> values = fold.values();
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t made = apply(in::HalfLifeRead{seq, values});
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(made, static_cast<std::size_t>(kAccounts));
  std::cout << "the end of a change with " << made << " facts: " << took.count() << " ms\n";
  EXPECT_LT(took.count(), 2000);
}

TEST(HalfLifeChange, RefusesValuesThatCannotBe) {
  World world(32);
  world.steps(300);
  const std::uint64_t seq = world.begin(30 * kDayMs);
  const auto refused = [&](std::vector<MeterValues> values) {
    const ApplyOutcome out = world.apply(in::HalfLifeRead{seq, std::move(values)});
    EXPECT_TRUE(out.facts.empty());
    return out.reply.error ? out.reply.error->message() : std::string();
  };
  EXPECT_THAT(refused({{AccountId(2), 1, 0, 0}, {AccountId(2), 1, 0, 0}}), HasSubstr("ascending"));
  EXPECT_THAT(refused({{AccountId(), 1, 0, 0}}), HasSubstr("meters[0].account"));
  EXPECT_THAT(refused({{AccountId(1'000'000), 1, 0, 0}}), HasSubstr("exist"));
  EXPECT_THAT(refused({{AccountId(2), std::nan(""), 0, 0}}), HasSubstr("finite"));
  EXPECT_NE(world.change().seq, 0U);
}

}  // namespace
}  // namespace subak
