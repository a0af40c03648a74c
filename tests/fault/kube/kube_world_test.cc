// Fault worlds with the service's own edge, from seeds. SUBAK_FAULT_SEEDS sets how many (default
// 200; 80 for NvidiaWorld) from SUBAK_FAULT_FIRST on. SUBAK_FAULT_SEED=n runs that one alone, and
// prints what happens in it.
#include "kube_world.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <iostream>

#include "server/log/log.h"
#include "tests/fault/claim_history.h"

namespace subak::fault {
namespace {

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

ClaimHistory claims;  // of all worlds so far
std::size_t device_claims = 0, domains = 0, mig_changes = 0;

void run(KubeWorldOptions options) {
  KubeWorld world(options);
  std::string all;
  for (const std::string& line : world.run()) all += line + "\n";
  EXPECT_TRUE(all.empty()) << "SUBAK_FAULT_SEED=" << options.seed << ", faults: " << world.faults()
                           << "\n"
                           << all;
  const ClaimHistory found = read_claims(world.store().facts());
  EXPECT_THAT(found.mistakes, testing::IsEmpty()) << "SUBAK_FAULT_SEED=" << options.seed;
  claims.made += found.made;
  claims.started += found.started;
  claims.asked += found.asked;
  if (world.nvidia() == nullptr) return;
  device_claims += world.nvidia()->claims().stays().size();
  domains += world.nvidia()->domains().count();
  mig_changes += world.nvidia()->devices().mig_changes();
}

// Half of the worlds reclaim.
KubeWorldOptions with_claims(std::uint64_t seed, bool trace = false) {
  return {seed, trace, false, seed % 2 == 0};
}

KubeWorldOptions with_nvidia(std::uint64_t seed, bool trace = false) {
  KubeWorldOptions options = with_claims(seed, trace);
  options.nvidia = true;
  return options;
}

TEST(KubeWorld, Seeds) {
  const std::uint64_t one = setting("SUBAK_FAULT_SEED", 0);
  if (one != 0) return run(with_claims(one, true));
  log::set_level(LogLevel::kError);
  const std::uint64_t first = setting("SUBAK_FAULT_FIRST", 1);
  const std::uint64_t seeds = setting("SUBAK_FAULT_SEEDS", 200);
  claims = ClaimHistory();
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) run(with_claims(seed));
  std::cout << claims.made << " claims, " << claims.started << " started, " << claims.asked
            << " victims asked\n";
  if (seeds >= 200) {
    EXPECT_GT(claims.started, 0u);
  }
}

// What worlds have found, one each: a node went while the watch of its pods was refused, and they had
// ended before; the same with a foreign pod; a hold that ended while its pod was being bound; one whose
// node went and came again before its pod was bound there, and is found as a foreign one; a pod on its way
// whose node went and came again, which the edge heard only after the next had been let go there; a foreign pod
// that only lists which did not come to their end had named.
TEST(KubeWorld, FoundBefore) {
  if (setting("SUBAK_FAULT_SEED", 0) != 0) return;
  log::set_level(LogLevel::kError);
  for (const std::uint64_t seed : {3203, 14568, 11659, 29943, 51634, 50474}) run({seed});
}

// Where nothing keeps a pod that lost its place from being let go there, the judge says so.
TEST(KubeWorld, AMarkThatWasNotMadeIsFound) {
  if (setting("SUBAK_FAULT_SEED", 0) != 0) return;
  log::set_level(LogLevel::kError);
  std::size_t marks = 0, found = 0;
  for (std::uint64_t seed = 1; seed <= 100 && found == 0; ++seed) {
    KubeWorld world({seed, false, true});
    for (const std::string& line : world.run()) {
      if (line.find(", and nothing keeps ") != std::string::npos) ++found;
    }
    marks += world.marks();
  }
  EXPECT_GT(marks, 0u);
  EXPECT_GT(found, 0u);
}

// Forecasts are made beside all faults, and people are told.
TEST(KubeWorld, StartsAreTold) {
  if (setting("SUBAK_FAULT_SEED", 0) != 0) return;
  log::set_level(LogLevel::kError);
  std::size_t told = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    KubeWorld world({seed});
    EXPECT_TRUE(world.run().empty());
    told += world.starts_told();
  }
  EXPECT_GT(told, 100u);
}

// The same seed is the same world, to the last fact.
TEST(KubeWorld, RepeatsExactly) {
  log::set_level(LogLevel::kError);
  for (const std::uint64_t seed : {5, 6, 7}) {
    KubeWorld one(with_claims(seed)), two(with_claims(seed));
    EXPECT_EQ(one.run(), two.run());
    ASSERT_EQ(one.store().facts().size(), two.store().facts().size());
    for (std::size_t i = 0; i < one.store().facts().size(); ++i) {
      ASSERT_EQ(fact_to_text(one.store().facts()[i]), fact_to_text(two.store().facts()[i]));
    }
  }
}

// The same with claims of devices, ComputeDomains and MIG Manager. Only 80 seeds by default: these
// worlds take longer.
TEST(NvidiaWorld, Seeds) {
  const std::uint64_t one = setting("SUBAK_FAULT_SEED", 0);
  if (one != 0) return run(with_nvidia(one, true));
  log::set_level(LogLevel::kError);
  const std::uint64_t first = setting("SUBAK_FAULT_FIRST", 1);
  const std::uint64_t seeds = setting("SUBAK_FAULT_SEEDS", 80);
  device_claims = domains = mig_changes = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) run(with_nvidia(seed));
  std::cout << device_claims << " times that a claim had devices, " << domains
            << " attempts with a ComputeDomain, " << mig_changes << " changes by MIG Manager\n";
  if (seeds >= 80) {
    EXPECT_GT(device_claims, seeds);
    EXPECT_GT(domains, seeds / 2);
    EXPECT_GT(mig_changes, seeds);
  }
}

// What worlds have found, one each: a hold that was extended after its ComputeDomain was deleted; the
// same with a patch of an earlier attempt; a ComputeDomain that was made twice after a refusal; one
// that came back with a late answer; a sharer that never paid; a claim that vanished while the gate
// was being opened; one that vanished when it was open; a gang that changed its size meanwhile; old
// and new slices of one generation.
TEST(NvidiaWorld, FoundBefore) {
  if (setting("SUBAK_FAULT_SEED", 0) != 0) return;
  log::set_level(LogLevel::kError);
  for (const std::uint64_t seed : {86, 108, 129, 863, 347, 291, 679, 705, 871, 1105, 1284, 3055,
                                   694, 755, 1095, 3349, 4767, 6300})
    run(with_nvidia(seed));
}

TEST(NvidiaWorld, RepeatsExactly) {
  log::set_level(LogLevel::kError);
  for (const std::uint64_t seed : {5, 6}) {
    KubeWorld one(with_nvidia(seed)), two(with_nvidia(seed));
    EXPECT_EQ(one.run(), two.run());
    ASSERT_EQ(one.store().facts().size(), two.store().facts().size());
    for (std::size_t i = 0; i < one.store().facts().size(); ++i) {
      ASSERT_EQ(fact_to_text(one.store().facts()[i]), fact_to_text(two.store().facts()[i]));
    }
  }
}

// The judge must be able to say no: what is wrong on purpose, and what the judge then says.
class PlantedDevices : public testing::TestWithParam<std::pair<Plant, const char*>> {};

TEST_P(PlantedDevices, IsFound) {
  log::set_level(LogLevel::kError);
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 40 && found == 0; ++seed) {
    KubeWorldOptions options = with_nvidia(seed);
    options.plant = GetParam().first;
    for (const std::string& line : KubeWorld(options).run()) {
      if (line.find(GetParam().second) != std::string::npos) ++found;
    }
  }
  EXPECT_GT(found, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    NvidiaWorld, PlantedDevices,
    testing::Values(std::pair(Plant::kGivesTwice, "has two holders"),
                    std::pair(Plant::kDoublesPool, "GPUs are promised then"),
                    std::pair(Plant::kLosesTemplate, "is let go without the ComputeDomain"),
                    std::pair(Plant::kForgetsDeletion, "never finished: ComputeDomain"),
                    std::pair(Plant::kLosesDomain, "is made twice for attempt"),
                    std::pair(Plant::kHidesMig, "is open, and MIG Manager changes it")));

// A start on a node whose labels say that MIG Manager changes it, as if the edge had not seen that.
TEST(NvidiaJudge, AStartOnANodeThatMigManagerChangesIsFound) {
  FaultStore store(subak::fault::Planted::kNothing);
  Judge judge(store, false);
  judge.recovered();
  for (const char* line :
       {"@0 set_cluster actor=a name=main mode=enforce",
        "@0 set_account actor=a spec={path=ml shares=1} reason=test",
        "@0 list_begin actor=a cluster=main",
        "@0 node_seen actor=a cluster=main node={name=n1 product=NVIDIA-H100-80GB-HBM3 gpus=1 "
        "labels=[{key=nvidia.com/mig.config.state value=pending}]}",
        "@0 list_complete actor=a cluster=main",
        "@0 submit_job actor=a cluster=main account=ml "
        "request={groups=[{count=1 shape={kind=whole gpus=1}}]}",
        "@0 pass"}) {
    const Result<Input> input = input_from_text(line);
    ASSERT_TRUE(input.ok()) << line << ": " << input.error().message();
    judge.posted(line);
    judge.saw(*input);
  }
  EXPECT_THAT(judge.mistakes(),
              testing::Contains(testing::HasSubstr("MIG Manager's state is pending")));
}

// Two pods share a claim for ten seconds.
TEST(NvidiaJudge, AClaimThatIsChargedTwiceIsFound) {
  constexpr TimeMs kUntil = 10'000;
  const ClaimStay stay{"a/shared", kMilliPerGpu, 0, kUntil, {"u1", "u2"}};
  std::vector<Fact> facts;
  for (std::uint64_t number : {1, 2}) {
    const JobId job(ClusterId(1), number);
    fact::PodAdded added;
    added.job = job;
    added.uid = "u" + std::to_string(number);
    fact::Charged charged;
    charged.row.allocation.job = job;
    charged.row.to_ms = kUntil;
    charged.row.milligpu = kMilliPerGpu;
    for (fact::Body body : {fact::Body(added), fact::Body(charged)}) {
      facts.emplace_back().body = std::move(body);
    }
    const auto seen = [](const std::string&) { return true; };
    EXPECT_EQ(charged_too_much(facts, {stay}, seen).size(), number - 1);
    const auto unseen = [](const std::string& uid) { return uid != "u1"; };
    EXPECT_EQ(charged_too_much(facts, {stay}, unseen).size(), 0u);
  }
}

}  // namespace
}  // namespace subak::fault
