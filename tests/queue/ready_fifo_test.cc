#include "queue/ready_fifo.h"

#include <algorithm>

#include "fixture.h"

namespace subak::ready {
namespace {

class FifoTest : public ReadyFixture {
 protected:
  void put(std::uint64_t number, TimeMs submit_ms, std::uint32_t shape) {
    index_.add({.id = JobId(number),
                .leaf = id("a"),
                .shape = ShapeId(shape),
                .priority = 0,
                .submit_ms = submit_ms},
               tree_);
  }
  Index index_{[](ShapeId) { return ShapeCost{1000, {}}; }};
  Fifo fifo_;
};

TEST_F(FifoTest, ReadsInOrderWithoutPopping) {
  set({"a"});
  for (std::uint64_t i = 1; i <= 100; ++i) {
    put(i, static_cast<TimeMs>(i * 37 % 101), static_cast<std::uint32_t>(i % 3 + 1));
  }
  fifo_.begin(index_);
  std::vector<std::uint32_t> seen;
  const auto skip = [&](std::uint32_t slot) {
    return std::find(seen.begin(), seen.end(), slot) != seen.end();
  };
  const auto open = [](std::uint32_t) { return false; };
  while (true) {
    const std::uint32_t slot = fifo_.next(skip, open);
    if (slot == kNoSlot) break;
    ASSERT_EQ(fifo_.next(skip, open), slot);
    ASSERT_TRUE(seen.empty() || index_.older(seen.back(), slot));
    seen.push_back(slot);
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(index_.jobs().size(), 100u);
}

TEST_F(FifoTest, SurvivesJobsThatLeaveAndHeapsThatShrink) {
  set({"a"});
  for (std::uint64_t i = 1; i <= 500; ++i) put(i, static_cast<TimeMs>(i), 1);
  fifo_.begin(index_);
  const auto none = [](std::uint32_t) { return false; };
  for (std::uint64_t i = 1; i <= 500; ++i) {
    const std::uint32_t slot = fifo_.next(none, none);
    ASSERT_EQ(index_.jobs()[slot].id, JobId(i));
    index_.remove(JobId(i));
  }
  EXPECT_EQ(fifo_.next(none, none), kNoSlot);
}

}  // namespace
}  // namespace subak::ready
