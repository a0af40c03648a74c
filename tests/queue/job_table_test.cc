#include "queue/job_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace subak::ready {
namespace {

Slot slot_of(std::uint64_t id) {
  Slot slot;
  slot.id = JobId(id);
  return slot;
}

TEST(JobTable, FindsWhatIsThereAndNothingElse) {
  JobTable table;
  EXPECT_EQ(table.find(JobId(1)), kNoSlot);
  const std::uint32_t a = table.insert(slot_of(1)), b = table.insert(slot_of(2));
  EXPECT_EQ(table.find(JobId(1)), a);
  EXPECT_EQ(table.find(JobId(2)), b);
  EXPECT_EQ(table.find(JobId(3)), kNoSlot);
  EXPECT_EQ(table.size(), 2u);
}

TEST(JobTable, ATombstoneIsReadableAndItsSlotIsReusedOnlyAfterFree) {
  JobTable table;
  const std::uint32_t a = table.insert(slot_of(1));
  table.erase(a);
  EXPECT_EQ(table.find(JobId(1)), kNoSlot);
  EXPECT_FALSE(table[a].live);
  EXPECT_EQ(table[a].id, JobId(1));
  const std::uint32_t b = table.insert(slot_of(2));
  EXPECT_NE(a, b);
  table.free(a);
  EXPECT_EQ(table.insert(slot_of(3)), a);
  EXPECT_EQ(table.slots(), 2u);
}

TEST(JobTable, AgreesWithAMapUnderRandomUse) {
  JobTable table;
  std::map<std::uint64_t, std::uint32_t> model;
  std::mt19937_64 random(7);
  for (int step = 0; step < 50'000; ++step) {
    const std::uint64_t id = random() % 600 + 1;
    const auto it = model.find(id);
    ASSERT_EQ(table.find(JobId(id)), it == model.end() ? kNoSlot : it->second);
    if (it == model.end()) {
      model[id] = table.insert(slot_of(id));
    } else {
      table.erase(it->second);
      table.free(it->second);
      model.erase(it);
    }
    ASSERT_EQ(table.size(), model.size());
  }
  for (const auto& [id, slot] : model) ASSERT_EQ(table.find(JobId(id)), slot);
  EXPECT_LE(table.slots(), 600u);
}

}  // namespace
}  // namespace subak::ready
