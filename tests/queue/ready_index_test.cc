#include "queue/ready_index.h"

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
