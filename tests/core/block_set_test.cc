// The set in blocks beside a std::set, over random inserts and erases.
#include "core/block_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>

namespace subak {
namespace {

constexpr int kSteps = 30'000;

// How many different values there are.
class BlockSetTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(BlockSetTest, AgreesWithASet) {
  std::mt19937_64 rng(GetParam());
  BlockSet<std::uint64_t> blocks;
  std::set<std::uint64_t> set;
  for (int step = 0; step < kSteps; ++step) {
    const std::uint64_t value = rng() % GetParam();
    const bool grows = step / 5'000 % 2 == 0;  // in turns
    if (rng() % 4 != 0 ? grows : !grows) {
      ASSERT_EQ(blocks.insert(value), set.insert(value).second);
    } else {
      ASSERT_EQ(blocks.erase(value), set.erase(value));
    }
    ASSERT_EQ(blocks.size(), set.size());
    ASSERT_EQ(blocks.empty(), set.empty());
    const std::uint64_t asked = rng() % GetParam();
    ASSERT_EQ(blocks.contains(asked), set.contains(asked));
    const auto at = blocks.lower_bound(asked);
    const auto wanted = set.lower_bound(asked);
    ASSERT_EQ(at == blocks.end(), wanted == set.end());
    if (wanted != set.end()) {
      ASSERT_EQ(*at, *wanted);
      ASSERT_TRUE(step % 100 != 0 || std::equal(at, blocks.end(), wanted, set.end()));
    }
    if (step % 100 != 0) continue;
    ASSERT_TRUE(std::equal(blocks.begin(), blocks.end(), set.begin(), set.end()));
  }
  for (const std::uint64_t value : std::set(set)) ASSERT_EQ(blocks.erase(value), 1u);
  EXPECT_TRUE(blocks.begin() == blocks.end());
}

// A few blocks, one that comes and goes, many that split and join.
INSTANTIATE_TEST_SUITE_P(Values, BlockSetTest, testing::Values(3, 64, 500, 20'000));

}  // namespace
}  // namespace subak
