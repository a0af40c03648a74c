// How full the openb fleet gets by our own rule beside those of others (packing.h). SUBAK_PACKING_SEEDS:
// how many draws, from SUBAK_PACKING_SEED on.
#include "packing.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "temp_dir.h"

namespace subak {
namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// In points of the fleet's GPUs; FGD knows beforehand what will come, and we do not.
TEST(Packing, OpenbGetsAsFullAsByFragmentationGradientDescent) {
  constexpr double kBehindFgd = 0.2;
  const std::string dir = sim::traces_dir();
  SUBAK_NEED_DATA(dir);
  const auto world =
      packing::read(dir + "/openb.csv.gz", dir + "/openb-extra.csv.gz", dir + "/openb-nodes.csv");
  ASSERT_TRUE(world.ok()) << world.error().message();
  EXPECT_EQ(world->tasks.size(), 3630U);
  EXPECT_EQ(world->nodes.size(), 1213U);
  const std::uint64_t first = number("SUBAK_PACKING_SEED", 1);
  const std::uint64_t seeds = number("SUBAK_PACKING_SEEDS", 2);
  std::map<std::string, double> mean;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    for (const auto& [rule, percent] : packing::allocated(*world, seed)) {
      mean[rule] += percent / static_cast<double>(seeds);
    }
  }
  for (const auto& [rule, percent] : mean) {
    std::printf("%-18s %.2f %% of GPUs\n", rule.empty() ? "ours" : rule.c_str(), percent);
    EXPECT_GT(percent, 95) << rule;
    EXPECT_LE(percent, 100) << rule;
  }
  EXPECT_GE(mean[""], mean["fgd"] - kBehindFgd);
  for (const char* rule : {"first_fit", "best_fit", "packing", "clustering"}) {
    EXPECT_GE(mean[""], mean[rule]) << rule;
  }
}

}  // namespace
}  // namespace subak
