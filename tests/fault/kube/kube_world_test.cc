// Fault worlds with the service's own edge, from seeds. SUBAK_FAULT_SEEDS sets how many (default 200)
// from SUBAK_FAULT_FIRST on; SUBAK_FAULT_SEED=n runs that one alone and prints what happens in it.
#include "kube_world.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "server/log/log.h"

namespace subak::fault {
namespace {

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

void run(std::uint64_t seed, bool trace = false) {
  KubeWorld world(seed, trace);
  std::string all;
  for (const std::string& line : world.run()) all += line + "\n";
  EXPECT_TRUE(all.empty()) << "SUBAK_FAULT_SEED=" << seed << ", faults: " << world.faults() << "\n"
                           << all;
}

TEST(KubeWorld, Seeds) {
  const std::uint64_t one = setting("SUBAK_FAULT_SEED", 0);
  if (one != 0) return run(one, true);
  log::set_level(LogLevel::kError);
  const std::uint64_t first = setting("SUBAK_FAULT_FIRST", 1);
  const std::uint64_t seeds = setting("SUBAK_FAULT_SEEDS", 200);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) run(seed);
}

// What worlds have found, one each: a node went while the watch of its pods was refused, and they had
// ended before; the same with a foreign pod; a hold that ended while its pod was being bound; one whose
// node went and came again before its pod was bound there, and is found as a foreign one; a pod on its way
// whose node went and came again, which the edge heard only after the next had been let go there; a foreign pod
// that only lists which did not come to their end had named.
TEST(KubeWorld, FoundBefore) {
  if (setting("SUBAK_FAULT_SEED", 0) != 0) return;
  log::set_level(LogLevel::kError);
  for (const std::uint64_t seed : {3203, 14568, 11659, 29943, 51634, 50474}) run(seed);
}

// Where nothing keeps a pod that lost its place from being let go there, the judge says so.
TEST(KubeWorld, AMarkThatWasNotMadeIsFound) {
  if (setting("SUBAK_FAULT_SEED", 0) != 0) return;
  log::set_level(LogLevel::kError);
  std::size_t marks = 0, found = 0;
  for (std::uint64_t seed = 1; seed <= 100 && found == 0; ++seed) {
    KubeWorld world(seed, false, true);
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
    KubeWorld world(seed, false);
    EXPECT_TRUE(world.run().empty());
    told += world.starts_told();
  }
  EXPECT_GT(told, 100u);
}

// The same seed is the same world, to the last fact.
TEST(KubeWorld, RepeatsExactly) {
  log::set_level(LogLevel::kError);
  for (const std::uint64_t seed : {5, 6, 7}) {
    KubeWorld one(seed, false), two(seed, false);
    EXPECT_EQ(one.run(), two.run());
    ASSERT_EQ(one.store().facts().size(), two.store().facts().size());
    for (std::size_t i = 0; i < one.store().facts().size(); ++i) {
      ASSERT_EQ(fact_to_text(one.store().facts()[i]), fact_to_text(two.store().facts()[i]));
    }
  }
}

}  // namespace
}  // namespace subak::fault
