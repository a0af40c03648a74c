// Fault worlds from seeds. SUBAK_FAULT_SEEDS sets how many (default 100) from SUBAK_FAULT_FIRST on;
// SUBAK_FAULT_SEED=n runs that one alone and prints what happens in it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "world.h"

namespace subak::fault {
namespace {

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

std::string join(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

std::vector<std::string> mistakes_of(WorldOptions options) { return World(options).run(); }

std::size_t leads = 0, inputs = 0;  // of all worlds so far
ClaimHistory claims;
std::map<std::string, std::size_t> faults_in_claims;

void run(WorldOptions options, const std::string& was = "") {
  World world(options);
  const std::vector<std::string> mistakes = world.run();
  EXPECT_TRUE(mistakes.empty()) << "SUBAK_FAULT_SEED=" << options.seed
                                << ", faults: " << world.faults() << "\n"
                                << was << join(mistakes);
  leads += world.leads();
  inputs += world.counts().inputs;
  claims.made += world.counts().claims.made;
  claims.started += world.counts().claims.started;
  claims.ended += world.counts().claims.ended;
  claims.asked += world.counts().claims.asked;
  for (const auto& [name, times] : world.counts().faults_in_claims) faults_in_claims[name] += times;
}

constexpr std::uint64_t kUsualSeeds = 100;

// Half of the worlds reclaim.
WorldOptions with_claims(WorldOptions options) {
  options.reclaims = options.seed % 2 == 0;
  return options;
}

void run_seeds(WorldOptions options) {
  options.seed = setting("SUBAK_FAULT_SEED", 0);
  options.trace = options.seed != 0;
  if (options.trace) return run(with_claims(options));
  const std::uint64_t first = setting("SUBAK_FAULT_FIRST", 1);
  const std::uint64_t seeds = setting("SUBAK_FAULT_SEEDS", kUsualSeeds);
  leads = inputs = 0;
  claims = ClaimHistory();
  faults_in_claims.clear();
  for (options.seed = first; options.seed < first + seeds; ++options.seed)
    run(with_claims(options));
  std::cout << seeds << " worlds, " << inputs << " inputs, " << leads << " times that one led; "
            << claims.made << " claims, " << claims.started << " started, " << claims.ended
            << " ended otherwise, " << claims.asked << " victims asked";
  for (const auto& [name, times] : faults_in_claims)
    std::cout << "; with claims " << name << " " << times << " times";
  std::cout << "\n";
  if (seeds >= kUsualSeeds) {
    EXPECT_GT(claims.started, 0u);
  }
}

TEST(FaultWorld, Seeds) { run_seeds({}); }

// Whoever reports sets his clock at any time, and the service is killed and starts by a wrong one.
TEST(ClockWorld, Seeds) {
  WorldOptions options;
  options.clocks = true;
  run_seeds(options);
}

// Two or three processes and one database.
TEST(ReplicaWorld, Seeds) {
  WorldOptions options;
  options.replicas = setting("SUBAK_FAULT_REPLICAS", 2);
  run_seeds(options);
  if (setting("SUBAK_FAULT_SEED", 0) != 0 ||
      setting("SUBAK_FAULT_SEEDS", kUsualSeeds) < kUsualSeeds)
    return;
  for (const char* fault : {"killed", "paused", "cut off"})
    EXPECT_GE(faults_in_claims[fault], 10u) << fault;
}

// An hour without a database: pods are let in and gated all the while, the cluster goes on, and afterwards all that
// ran is charged, and nothing was started twice.
TEST(ReplicaWorld, TheDatabaseIsAwayForAnHour) {
  WorldOptions options;
  options.replicas = 2;
  options.faults = false;
  for (options.seed = 1; options.seed <= 10; ++options.seed) {
    World world(options);
    world.begin();
    for (int i = 0; i < 500; ++i) world.step();
    world.database_is_away(true);
    const std::size_t facts = world.store().facts().size();
    const std::size_t ended = world.cluster().ended().size();
    for (int second = 0; second < 3600; ++second) {
      world.pass_time(kSecondMs);
      if (second % 4 == 0) world.step();
      ASSERT_EQ(world.ask_webhooks(), "") << "seed " << options.seed << ", second " << second;
    }
    EXPECT_EQ(world.store().facts().size(), facts) << "nothing could be committed";
    EXPECT_GT(world.cluster().ended().size(), ended) << "the cluster went on";
    world.database_is_away(false);
    for (int i = 0; i < 500; ++i) world.step();
    EXPECT_EQ(join(world.end()), "") << "seed " << options.seed;
    EXPECT_EQ(world.cluster().launched_twice(), 0u);
    EXPECT_EQ(world.leads(), 1u) << "nobody is taken for dead without a database";
  }
}

// Seeds that failed once, and what it was.
TEST(FaultWorld, SeedsThatFailedOnce) {
  constexpr std::pair<std::uint64_t, const char*> kSeeds[] = {
      {1, "a request that had changed nothing was done when it was said again"},
      {8, "a pod on its way to a node that went was forgotten"},
      {24, "a gate was opened to a second place after its node had gone"},
      {54, "a gang whose first rank never came could not be cancelled"},
      {58, "a pod that got past its gate was forgotten with its gang, and charged for ever"},
      {83, "the same, with a crash in between"},
      {2080, "a pod that ran before its node was known stayed where it had been taken to be"},
      {2017, "the judge kept the time of a list that a crash had forgotten"},
      {3248, "the judge took a pod that a late list named again to be of another attempt"},
      {6391, "the judge took a second start that was told to stop for the first one"},
  };
  for (const auto& [seed, was] : kSeeds) run({seed}, std::string("once ") + was + "\n");
}

// The same seed is the same world, to the last fact.
TEST(FaultWorld, RepeatsExactly) {
  for (const std::uint64_t seed : {5, 6, 7}) {
    World one({seed}), two({seed});
    EXPECT_EQ(one.run(), two.run());
    ASSERT_EQ(one.store().facts().size(), two.store().facts().size());
    for (std::size_t i = 0; i < one.store().facts().size(); ++i) {
      ASSERT_EQ(fact_to_text(one.store().facts()[i]), fact_to_text(two.store().facts()[i]));
    }
  }
}

// The judges must be able to say no: worlds in which something is wrong on purpose.
class PlantedFault : public testing::TestWithParam<Planted> {};

int found_in(WorldOptions options, std::uint64_t worlds) {
  int found = 0;
  for (options.seed = 1; options.seed <= worlds; ++options.seed) {
    found += mistakes_of(options).empty() ? 0 : 1;
  }
  return found;
}

TEST_P(PlantedFault, IsFound) { EXPECT_GE(found_in({1, GetParam()}, 20), 5); }

INSTANTIATE_TEST_SUITE_P(FaultWorld, PlantedFault,
                         testing::Values(Planted::kLies, Planted::kLosesTail,
                                         Planted::kSpoilsCheckpoint, Planted::kSpoilsFact));

class PlantedReplicaFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedReplicaFault, IsFound) {
  WorldOptions options{1, GetParam()};
  options.replicas = 2;
  EXPECT_GE(found_in(options, 40), 4);
}

INSTANTIATE_TEST_SUITE_P(ReplicaWorld, PlantedReplicaFault,
                         testing::Values(Planted::kNoEpochCheck, Planted::kUnconfirmed));

}  // namespace
}  // namespace subak::fault
