#include "queue/line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace subak::ready {
namespace {

class LineTest : public ::testing::Test {
 protected:
  std::uint32_t add(std::uint64_t id, TimeMs submit_ms, std::int32_t priority) {
    Slot slot;
    slot.id = JobId(id);
    slot.submit_ms = submit_ms;
    slot.priority = priority;
    const std::uint32_t at = jobs_.insert(slot);
    line_insert(jobs_, line_, at);
    return at;
  }
  std::vector<std::uint64_t> ids() const {
    std::vector<std::uint32_t> slots;
    line_list(jobs_, line_, slots);
    std::vector<std::uint64_t> out;
    for (const std::uint32_t slot : slots) out.push_back(jobs_[slot].id.value);
    return out;
  }
  JobTable jobs_;
  Line line_;
};

TEST_F(LineTest, OrdersByClassThenSubmitTimeThenId) {
  add(5, 10, 0);
  add(4, 10, 0);
  add(3, 5, 0);
  add(2, 20, 7);
  add(1, 1, -1);
  EXPECT_EQ(ids(), (std::vector<std::uint64_t>{2, 3, 4, 5, 1}));
  EXPECT_EQ(jobs_[line_.head].id, JobId(2));
  EXPECT_EQ(line_.priority, 7);
}

TEST_F(LineTest, TheHeadFollowsWhatLeaves) {
  const std::uint32_t a = add(1, 1, 3), b = add(2, 2, 2);
  line_erase(jobs_, line_, a);
  EXPECT_EQ(line_.head, b);
  EXPECT_EQ(line_.priority, 2);
  line_erase(jobs_, line_, b);
  EXPECT_EQ(line_.head, kNoSlot);
  EXPECT_EQ(line_.root, kNoSlot);
}

TEST_F(LineTest, TheNextIsFoundAlsoFromOneThatLeft) {
  const std::uint32_t a = add(1, 1, 0), b = add(2, 2, 0), c = add(3, 3, 0);
  EXPECT_EQ(line_after(jobs_, line_, a), b);
  line_erase(jobs_, line_, b);
  EXPECT_EQ(line_after(jobs_, line_, a), c);
  EXPECT_EQ(line_after(jobs_, line_, b), c);
  EXPECT_EQ(line_after(jobs_, line_, c), kNoSlot);
}

TEST_F(LineTest, StaysSortedUnderRandomUse) {
  std::mt19937_64 random(11);
  std::vector<std::uint32_t> live;
  const auto rank = [&](std::uint32_t s) {
    return std::tuple(-jobs_[s].priority, jobs_[s].submit_ms, jobs_[s].id);
  };
  for (std::uint64_t step = 1; step < 4000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      live.push_back(
          add(step, static_cast<TimeMs>(random() % 50), static_cast<std::int32_t>(random() % 3)));
    } else {
      const std::size_t i = random() % live.size();
      line_erase(jobs_, line_, live[i]);
      jobs_.erase(live[i]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::sort(live.begin(), live.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
    std::vector<std::uint32_t> listed;
    line_list(jobs_, line_, listed);
    ASSERT_EQ(listed, live);
    ASSERT_EQ(line_.head, live.empty() ? kNoSlot : live.front());
  }
}

}  // namespace
}  // namespace subak::ready
