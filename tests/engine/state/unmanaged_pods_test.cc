#include "engine/state/observed/unmanaged_pods.h"

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

TEST(UnmanagedPods, TheNewestWordCountsAndVersionsStay) {
  state::UnmanagedPods unmanaged;
  EXPECT_EQ(unmanaged.of(kEast)->by_uid.size(), 0u);
  unmanaged.seen(kEast, pod("a"));
  const auto before = unmanaged.of(kEast);
  PodRecord again = pod("a");
  again.name = "train-0";
  unmanaged.seen(kEast, again);
  unmanaged.gone(kEast, "b");
  unmanaged.check();
  EXPECT_EQ(unmanaged.size(), 1u);
  EXPECT_EQ(unmanaged.of(kEast)->by_uid.find("a")->name, "train-0");
  EXPECT_EQ(before->by_uid.find("a")->name, "");
  unmanaged.gone(kEast, "a");
  EXPECT_EQ(unmanaged.find(kEast, "a"), nullptr);
  EXPECT_EQ(unmanaged.size(), 0u);
}

TEST(UnmanagedPods, BeyondTheLimitItSaysThatThereAreMore) {
  state::UnmanagedPods unmanaged;
  for (std::size_t i = 0; i < limits::kMaxUnmanagedPods; ++i) {
    unmanaged.seen(i % 2 == 0 ? kEast : kWest, pod(std::to_string(i)));
  }
  EXPECT_FALSE(unmanaged.of(kEast)->more);
  unmanaged.seen(kEast, pod("one more"));
  unmanaged.seen(kEast, pod("0"));  // known
  unmanaged.check();
  EXPECT_EQ(unmanaged.size(), limits::kMaxUnmanagedPods);
  EXPECT_TRUE(unmanaged.of(kEast)->more);
  EXPECT_FALSE(unmanaged.of(kWest)->more);
  EXPECT_EQ(unmanaged.find(kEast, "one more"), nullptr);
  unmanaged.gone(kWest, "1");
  unmanaged.seen(kEast, pod("one more"));
  EXPECT_NE(unmanaged.find(kEast, "one more"), nullptr);
  EXPECT_TRUE(unmanaged.of(kEast)->more) << "the next list says";
  unmanaged.forget(kEast);
  unmanaged.check();
  EXPECT_FALSE(unmanaged.of(kEast)->more);
  EXPECT_EQ(unmanaged.size(), limits::kMaxUnmanagedPods / 2 - 1);
}

}  // namespace
}  // namespace subak
