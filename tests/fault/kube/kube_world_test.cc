// Fault worlds with the service's own edge, from seeds. SUBAK_FAULT_SEEDS sets how many (default 200)
// from SUBAK_FAULT_FIRST on; SUBAK_FAULT_SEED=n runs that one alone and prints what happens in it.
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
}

// Half of the worlds reclaim.
KubeWorldOptions with_claims(std::uint64_t seed, bool trace = false) {
  return {seed, trace, false, seed % 2 == 0};
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

}  // namespace
}  // namespace subak::fault
