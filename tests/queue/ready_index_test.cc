#include "queue/ready_index.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fixture.h"

namespace subak::ready {
namespace {

class IndexTest : public ReadyFixture {
 protected:
  void put(std::uint64_t number, const std::string& path, TimeMs submit_ms, std::uint32_t shape) {
    index_.add({.id = JobId(number),
                .leaf = id(path),
                .shape = ShapeId(shape),
                .priority = 0,
                .submit_ms = submit_ms},
               tree_);
  }
  Index index_{[](ShapeId) { return ShapeCost{1000, {}}; }};
};

TEST_F(IndexTest, KindNumbersAndSlotsAreReused) {
  set({"a"});
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    put(i, "a", static_cast<TimeMs>(i), static_cast<std::uint32_t>(i));
    index_.remove(JobId(i));
  }
  EXPECT_EQ(index_.kind_numbers(), 1u);
  EXPECT_EQ(index_.jobs().slots(), 1u);
  index_.check_invariants();
}

TEST_F(IndexTest, TombstonesStayWithinHalfOfTheJobs) {
  set({"a"});
  std::uint64_t next = 1, first = 1;
  for (; next <= 1000; ++next) put(next, "a", static_cast<TimeMs>(next), 1);
  for (int round = 0; round < 20'000; ++round) {
    index_.remove(JobId(first++));
    put(next, "a", static_cast<TimeMs>(next), 1);
    ++next;
  }
  EXPECT_LE(index_.jobs().slots(), 1600u);
  const std::uint32_t kind = index_.kinds().at(ShapeId(1));
  index_.trim(kind);
  EXPECT_EQ(index_.jobs()[index_.kind(kind).by_age.front()].id, JobId(first));
  index_.check_invariants();
}

// After random edits the summaries are those of an index that reads the whole tree.
TEST_F(IndexTest, EditsGiveTheSummariesOfTheWholeTree) {
  std::uint64_t random = 1;
  const auto below = [&](std::uint64_t n) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (random >> 33) % n;
  };
  std::vector<std::string> paths{"a", "b", "a.a", "a.b", "a.b.a", "a.b.b", "b.a", "b.a/u"};
  for (const std::string& path : paths) set({path});
  index_.sync(tree_);
  for (int round = 0; round < 3000; ++round) {
    for (std::uint64_t edits = 1 + below(3); edits > 0; --edits) {
      const std::string& path = paths[below(paths.size())];
      if (below(20) == 0 && path.size() > 3 && id(path)) {
        tree_.remove(id(path), now_);
        continue;
      }
      const std::string parent = path.substr(0, path.find_last_of("./"));
      if (path.size() > 1 && !id(parent)) continue;
      set({path, static_cast<std::int64_t>(1 + below(9)),
           below(3) == 0 ? static_cast<MilliGpu>(1000 * below(5)) : 0, below(3) == 0});
    }
    index_.sync(tree_);
    Index fresh([](ShapeId) { return ShapeCost{1000, {}}; });
    fresh.sync(tree_);
    for (const AccountId id : tree_.preorder()) {
      const NodeSummary &a = index_.summary(id), &b = fresh.summary(id);
      ASSERT_EQ(a.shares, b.shares) << round;
      ASSERT_EQ(a.quota, b.quota) << round;
      ASSERT_EQ(a.parent, b.parent) << round;
      ASSERT_EQ(a.held, b.held) << round;
      ASSERT_EQ(a.held_below, b.held_below) << round;
      ASSERT_EQ(a.own_quota, b.own_quota) << round;
      ASSERT_TRUE(std::ranges::equal(index_.children(id), fresh.children(id))) << round;
    }
  }
}

TEST_F(IndexTest, SummariesFollowTheTree) {
  set({"a"});
  set({"a.b", 3});
  put(1, "a.b", 0, 1);
  index_.sync(tree_);
  EXPECT_EQ(index_.summary(id("a.b")).shares, 3);
  EXPECT_FALSE(index_.summary(id("a")).held_below);
  set({"a.b", 5, 2000, true});
  index_.sync(tree_);
  EXPECT_EQ(index_.summary(id("a.b")).shares, 5);
  EXPECT_EQ(index_.summary(id("a")).quota, 2000);
  EXPECT_TRUE(index_.summary(id("a")).held_below);
  EXPECT_TRUE(index_.summary(id("a.b")).own_quota);
  EXPECT_FALSE(index_.summary(id("a")).own_quota);
  EXPECT_EQ(index_.summary(id("a")).jobs, 1u);
  EXPECT_TRUE(index_.is_leaf(id("a.b")));
  EXPECT_FALSE(index_.is_leaf(id("a")));
}

}  // namespace
}  // namespace subak::ready
