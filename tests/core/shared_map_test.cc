#include "core/shared_map.h"

#include <gtest/gtest.h>

#include <map>

namespace subak {
namespace {

using Map = SharedMap<int>;

Map::Entry set(const std::string& key, int value) {
  return {key, std::make_shared<const int>(value)};
}

TEST(SharedMap, AVersionDoesNotChangeTheOneBefore) {
  const Map empty;
  const Map one = empty.changed({set("a", 1)});
  const Map two = one.changed({set("a", 2), set("b", 3)});
  const Map none = two.changed({{"a", nullptr}, {"b", nullptr}, {"never", nullptr}});
  EXPECT_EQ(empty.find("a"), nullptr);
  EXPECT_EQ(*one.find("a"), 1);
  EXPECT_EQ(one.find("b"), nullptr);
  EXPECT_EQ(*two.find("a"), 2);
  EXPECT_EQ(*two.find("b"), 3);
  EXPECT_EQ(none.find("a"), nullptr);
  EXPECT_EQ(one.size(), 1u);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_EQ(none.size(), 0u);
}

TEST(SharedMap, OfOneKeyTheLastCounts) {
  EXPECT_EQ(*Map().changed({set("a", 1), set("a", 2)}).find("a"), 2);
  EXPECT_EQ(Map().changed({set("a", 1), {"a", nullptr}}).size(), 0u);
}

TEST(SharedMap, WhatDidNotChangeIsShared) {
  std::vector<Map::Entry> all;
  for (int i = 0; i < 10'000; ++i) all.push_back(set("key-" + std::to_string(i), i));
  const Map before = Map().changed(all);
  const Map after = before.changed({set("key-77", -1)});
  std::size_t shared = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = "key-" + std::to_string(i);
    shared += before.find(key) == after.find(key) ? 1 : 0;
  }
  EXPECT_EQ(shared, 9'999u);
}

TEST(SharedMap, AgreesWithAMap) {
  std::map<std::string, int> expected;
  Map map;
  std::uint32_t random = 1;
  for (int step = 0; step < 3000; ++step) {
    random = random * 1664525u + 1013904223u;
    const std::string key = std::to_string(random >> 8 & 511);
    if ((random >> 20 & 3) == 0) {
      expected.erase(key);
      map = map.changed({{key, nullptr}});
    } else {
      expected[key] = step;
      map = map.changed({set(key, step)});
    }
    ASSERT_EQ(map.size(), expected.size());
  }
  std::vector<int> values;
  for (const auto& [key, value] : expected) {
    ASSERT_NE(map.find(key), nullptr);
    values.push_back(value);
  }
  std::vector<int> found;
  for (const int* value : map.values()) found.push_back(*value);
  EXPECT_EQ(found, values);
}

}  // namespace
}  // namespace subak
