// Random owners: nobody who runs is ended without a cause, nobody waits without a reason. SUBAK_OWNERS sets how many
// (default 2000) from SUBAK_OWNER_FIRST on; SUBAK_OWNER_SEED=n plays that world alone.
#include "owner_world.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace subak::fault {
namespace {

constexpr std::size_t kOwnersOfWorld = 5;
constexpr std::size_t kSteps = 250;

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

TEST(OwnerWorld, NobodyIsEndedWithoutACauseOrWaitsWithoutAReason) {
  const std::uint64_t one = setting("SUBAK_OWNER_SEED", 0);
  const std::uint64_t first = one != 0 ? one : setting("SUBAK_OWNER_FIRST", 1);
  const std::uint64_t worlds = one != 0 ? 1 : setting("SUBAK_OWNERS", 2000) / kOwnersOfWorld;
  std::size_t ran = 0, ended = 0, held = 0;
  for (std::uint64_t seed = first; seed < first + worlds; ++seed) {
    OwnerWorld world(seed, kOwnersOfWorld);
    std::string all;
    for (const std::string& line : world.run(kSteps)) all += line + "\n";
    ASSERT_TRUE(all.empty()) << "SUBAK_OWNER_SEED=" << seed << "\n" << all;
    ran += world.ran();
    ended += world.ended_by_us();
    held += world.held();
  }
  if (one != 0) return;
  EXPECT_GT(ran, worlds) << "pods run";
  EXPECT_GT(ended, 0u) << "gangs that are declared do lose their pods";
  EXPECT_GT(held, worlds) << "pods wait";
}

// What is inferred, taken for declared: the judge says so.
TEST(OwnerWorld, AGangThatIsOnlyInferredAndEndsTogetherIsFound) {
  if (setting("SUBAK_OWNER_SEED", 0) != 0) return;
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 50 && found == 0; ++seed) {
    OwnerWorld world(seed, kOwnersOfWorld, false);
    for (const std::string& line : world.run(kSteps)) {
      if (line.find("declares no gang and nobody asked") != std::string::npos) ++found;
    }
  }
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace subak::fault
