#include "engine/state/observed/pending.h"

#include <gtest/gtest.h>

#include <string>

#include "core/limits.h"

namespace subak {
namespace {

const ClusterId kEast(1), kWest(2);

PodRecord pod(const std::string& uid) {
  PodRecord pod;
  pod.uid = uid;
  return pod;
}

TEST(Pending, TheNewestWordCountsAndVersionsStay) {
  state::Pending pending;
  EXPECT_EQ(pending.of(kEast)->by_uid.size(), 0u);
  pending.seen(kEast, pod("a"));
  const auto before = pending.of(kEast);
  PodRecord again = pod("a");
  again.name = "train-0";
  pending.seen(kEast, again);
  pending.gone(kEast, "b");
  pending.check();
  EXPECT_EQ(pending.size(), 1u);
  EXPECT_EQ(pending.of(kEast)->by_uid.find("a")->name, "train-0");
  EXPECT_EQ(before->by_uid.find("a")->name, "");
  pending.gone(kEast, "a");
  EXPECT_EQ(pending.find(kEast, "a"), nullptr);
  EXPECT_EQ(pending.size(), 0u);
}

TEST(Pending, BeyondTheLimitItSaysThatThereAreMore) {
  state::Pending pending;
  for (std::size_t i = 0; i < limits::kMaxPendingPods; ++i) {
    pending.seen(i % 2 == 0 ? kEast : kWest, pod(std::to_string(i)));
  }
  EXPECT_FALSE(pending.of(kEast)->more);
  pending.seen(kEast, pod("one more"));
  pending.seen(kEast, pod("0"));  // known
  pending.check();
  EXPECT_EQ(pending.size(), limits::kMaxPendingPods);
  EXPECT_TRUE(pending.of(kEast)->more);
  EXPECT_FALSE(pending.of(kWest)->more);
  EXPECT_EQ(pending.find(kEast, "one more"), nullptr);
  pending.gone(kWest, "1");
  pending.seen(kEast, pod("one more"));
  EXPECT_NE(pending.find(kEast, "one more"), nullptr);
  EXPECT_TRUE(pending.of(kEast)->more) << "the next list says";
  pending.forget(kEast);
  pending.check();
  EXPECT_FALSE(pending.of(kEast)->more);
  EXPECT_EQ(pending.size(), limits::kMaxPendingPods / 2 - 1);
}

}  // namespace
}  // namespace subak
