// Pods without GPUs that count in a gang, as the edge sees them, without any I/O.
#include <gmock/gmock.h>

#include "kube_seen.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NonGpuMembers : public Kube {
 protected:
  // A pod without GPUs; `gang` as PodText has it.
  void see_non_gpu(const std::string& uid, int gang, const std::string& phase = "Pending",
                   WatchKind kind = WatchKind::kModified, const std::string& meta = "") {
    PodText pod{uid};
    pod.gated = false;
    pod.gang = gang;
    pod.phase = phase;
    pod.meta = meta;
    std::string text = text_of(pod);
    const std::string gpus = R"({"nvidia.com/gpu":"1"})";
    text.replace(text.find(gpus), gpus.size(), "{}");
    see_text(text, kind);
  }
  // "uid gang size" of each pod that is told, "uid gone" of each that leaves its gang.
  std::vector<std::string> told_sizes() {
    std::vector<std::string> out;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* seen = std::get_if<in::PodSeen>(&news->body)) {
        out.push_back(seen->pod.uid + " " + seen->pod.gang + " " +
                      std::to_string(seen->pod.gang_size));
      } else {
        out.push_back(news->uid + " gone");
      }
    }
    return out;
  }
  static PodText worker(const std::string& uid, int gang = 3) {
    PodText pod{uid};
    pod.gang = gang;
    return pod;
  }
};

TEST_F(NonGpuMembers, ALauncherThatIsThereLeavesTheRanksToTheWorkers) {
  see_non_gpu("l", 3);
  see(worker("a"));
  see(worker("b"));
  EXPECT_THAT(told_sizes(), ElementsAre("a g 2", "b g 2"));
  EXPECT_THAT(cache.marks().take_outdated(), IsEmpty());
}

TEST_F(NonGpuMembers, WorkersAreReadAgainWhenTheLauncherComes) {
  see(worker("a"));
  EXPECT_THAT(told_sizes(), ElementsAre("a g 3"));
  see_non_gpu("l", 3);
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("a"));
  see_answered(worker("a"));
  EXPECT_THAT(told_sizes(), ::testing::Contains("a g 2"));
}

TEST_F(NonGpuMembers, OneThatHasSucceededCountsOneThatFailedDoesNot) {
  see_non_gpu("l", 3, "Succeeded");
  see(worker("a"));
  EXPECT_THAT(told_sizes(), ElementsAre("a g 2"));
  see_non_gpu("l", 3, "Failed");
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("a"));
  see_non_gpu("m", 3);
  see_answered(worker("a"));
  EXPECT_THAT(told_sizes(), IsEmpty()) << "the launcher that was made again counts in its place";
}

TEST_F(NonGpuMembers, OneThatIsDeletedOrGoesDoesNotCount) {
  see_non_gpu("l", 4, "Pending", WatchKind::kModified,
              R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  see_non_gpu("m", 4);
  see_non_gpu("m", 4, "Pending", WatchKind::kDeleted);
  see(worker("a", 4));
  EXPECT_THAT(told_sizes(), ElementsAre("a g 4"));
}

// Its pods have said other sizes, so a new pod contradicts none of them.
TEST_F(NonGpuMembers, TheSizeOfAGangThatHadOneMayChangeAgain) {
  const auto may_change = [this] {
    const auto news = cache.outbox().next(Outbox::kAllPodsKnown);
    const auto* const seen = news ? std::get_if<in::PodSeen>(&news->body) : nullptr;
    return seen != nullptr && seen->pod.gang_size == 3 && seen->pod.owners.size_of_owner;
  };
  see(worker("a"));
  EXPECT_FALSE(may_change());
  see_non_gpu("l", 3);
  see_non_gpu("l", 3, "Pending", WatchKind::kDeleted);
  EXPECT_THAT(told_sizes(), IsEmpty());
  see(worker("b"));
  EXPECT_TRUE(may_change());
}

TEST_F(NonGpuMembers, OneThatSaysNoSizeCountsInNoGang) {
  see_non_gpu("l", 1, "Pending", WatchKind::kModified, R"(,"labels":{"subak.gpu/job":"g"})");
  see(worker("a"));
  EXPECT_THAT(told_sizes(), ElementsAre("a g 3"));
}

TEST_F(NonGpuMembers, AListThatDoesNotNameItTakesItOut) {
  see_non_gpu("l", 3);
  see(worker("a"));
  EXPECT_THAT(told_sizes(), ElementsAre("a g 2"));
  cache.begin_pods(kNow);
  see(worker("a"));
  ASSERT_TRUE(cache.complete_pods(kNow));
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("a"));
}

TEST_F(NonGpuMembers, OneRankIsLeftAtLeast) {
  for (const char* uid : {"l", "m", "n"}) see_non_gpu(uid, 2);
  see(worker("a", 2));
  EXPECT_THAT(told_sizes(), ElementsAre("a g 1"));
  see_non_gpu("l", 2, "Failed");
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("a"));
}

}  // namespace
}  // namespace subak
