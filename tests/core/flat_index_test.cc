// The flat index beside a std::map, over random inserts and erases with hashes that collide.
#include "core/flat_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace subak {
namespace {

struct Table {
  std::vector<std::uint64_t> keys;  // by number: the caller's own array
  FlatIndex index;
  // How many different hashes there are.
  std::uint64_t spread;

  std::uint64_t hash(std::uint64_t key) const { return mix_bits(key % spread); }
  std::uint32_t find(std::uint64_t key) const {
    return index.find(hash(key), [&](std::uint32_t n) { return keys[n] == key; });
  }
  std::uint32_t insert(std::uint64_t key) {
    const auto number = static_cast<std::uint32_t>(keys.size());
    keys.push_back(key);
    index.insert(hash(key), number, [&](std::uint32_t n) { return hash(keys[n]); });
    return number;
  }
};

class FlatIndexTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FlatIndexTest, AgreesWithAMap) {
  std::mt19937_64 rng(GetParam());
  Table table{{}, {}, GetParam()};
  std::map<std::uint64_t, std::uint32_t> map;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t key = rng() % 700;
    const auto known = map.find(key);
    ASSERT_EQ(table.find(key), known == map.end() ? FlatIndex::kNone : known->second);
    // It grows, shrinks to nothing and grows again.
    const bool grows = step / 4000 % 2 == 0;
    if (known == map.end() && (grows || rng() % 4 == 0)) {
      map[key] = table.insert(key);
    } else if (known != map.end() && (!grows || rng() % 4 == 0)) {
      table.index.erase(table.hash(key), known->second);
      map.erase(known);
    }
    ASSERT_EQ(table.index.size(), map.size());
  }
  for (std::uint64_t key = 0; key < 700; ++key) {
    const auto known = map.find(key);
    ASSERT_EQ(table.find(key), known == map.end() ? FlatIndex::kNone : known->second);
  }
}

// All the same, few, and as many hashes as keys.
INSTANTIATE_TEST_SUITE_P(Spreads, FlatIndexTest, testing::Values(1, 20, 1'000'000));

TEST(FlatIndex, AnEmptyOneFindsNothing) { EXPECT_EQ(Table({{}, {}, 7}).find(3), FlatIndex::kNone); }

// Markers of erased entries are used again: a table of one entry that comes and goes a million
// times would else grow, or be searched from end to end.
TEST(FlatIndex, ErasedPlacesAreUsedAgain) {
  FlatIndex index;
  int asked = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const std::uint64_t hash = mix_bits(i);
    index.insert(hash, 5, [&](std::uint32_t) { return hash; });
    EXPECT_EQ(index.find(hash, [&](std::uint32_t n) { return ++asked, n == 5; }), 5u);
    index.erase(hash, 5);
  }
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(asked, 100'000);
}

TEST(FlatIndex, HoldsTheLargestNumber) {
  FlatIndex index;
  index.insert(~std::uint64_t{0}, FlatIndex::kMaxNumber, [](std::uint32_t) { return 0; });
  EXPECT_EQ(
      index.find(~std::uint64_t{0}, [](std::uint32_t n) { return n == FlatIndex::kMaxNumber; }),
      FlatIndex::kMaxNumber);
}

}  // namespace
}  // namespace subak
