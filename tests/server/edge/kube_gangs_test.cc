// What the cards make of gangs that say no size, grow late, or were made smaller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube_seen.h"

namespace subak {
namespace {

using ::testing::ElementsAre;

// What other schedulers' marks say of a group, and nobody of its size.
TEST_F(Kube, AGroupWithoutASizeIsHeldWhateverMarksIt) {
  const auto pod = [](const std::string& meta, const std::string& spec = "") {
    return R"({"metadata":{"uid":"w","namespace":"a","name":"w",)" + meta + R"(},"spec":{)" + spec +
           R"("schedulingGates":[{"name":"subak.gpu/queue"}],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"4"}}}]}})";
  };
  const std::string none = R"("labels":{})";
  for (const std::string& text :
       {pod(R"("labels":{"scheduling.x-k8s.io/pod-group":"g"})"),
        pod(R"("labels":{"kueue.x-k8s.io/pod-group-name":"g"})"),
        pod(R"("annotations":{"scheduling.k8s.io/group-name":"g"})"),
        pod(R"("annotations":{"scheduling.volcano.sh/group-name":"g"})"),
        pod(R"("annotations":{"pod-group-name":"g"})"),
        pod(none, R"("schedulingGroup":{"podGroupName":"g"},)"),
        pod(none, R"("workloadRef":{"name":"g","podGroup":"workers"},)")}) {
    cache.forget_told();
    see_text(text);
    const auto held = std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod;
    EXPECT_EQ(held.gang + ":" + std::to_string(held.gang_size), "g:0") << text;
    EXPECT_THAT(cache.marks().take_unsized(), ElementsAre("w")) << text;
  }
  cache.forget_told();
  see_text(pod(
      R"("annotations":{"scheduling.k8s.io/group-name":"g","scheduling.volcano.sh/group-min-member":"2"})"));
  const auto sized = std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod;
  EXPECT_EQ(sized.gang + ":" + std::to_string(sized.gang_size), "g:2");
}

// Its first pod is enough: the others may come only when that one runs.
TEST_F(Kube, OfAGroupWithFastAdmissionTheOthersAreSaid) {
  see_text(
      R"({"metadata":{"uid":"w","namespace":"a","name":"w","labels":{"kueue.x-k8s.io/pod-group-name":"g"},"annotations":{)"
      R"("kueue.x-k8s.io/pod-group-total-count":"3","kueue.x-k8s.io/pod-group-fast-admission":"true"}},"spec":{)"
      R"("schedulingGates":[{"name":"subak.gpu/queue"}],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"4"}}}]}})");
  const auto pod = std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod;
  EXPECT_TRUE(pod.replaced_alone);
  const auto gang = std::get<in::GangSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body);
  EXPECT_EQ(gang.gang, "g");
  EXPECT_EQ(gang.least, 1u);
  ASSERT_EQ(gang.groups.size(), 1u);
  EXPECT_EQ(gang.groups[0].count, 3u);
  EXPECT_EQ(gang.groups[0].shape, pod.shape);
}

// A Job was made smaller: who is of an index that it has no more is not lost.
TEST_F(Kube, WhoIsLeftOutEndsWell) {
  const auto pod = [](int index, const std::string& phase) {
    return text_of({std::to_string(index), index + 1, false, "n1", "I", phase, "",
                    R"(,"annotations":{"batch.kubernetes.io/job-completion-index":")" +
                        std::to_string(index) + "\"}"});
  };
  see_owner(indexed(3, ""));
  for (int i = 0; i < 3; ++i) see_text(pod(i, "Running"));
  told();
  see_owner(indexed(1, ""));
  see_text(pod(1, "Failed"));
  EXPECT_EQ(std::get<in::PodSeen>(cache.outbox().next(Outbox::kAllPodsKnown)->body).pod.ended,
            Cause::kFinished);
  see_text(pod(2, "Running"), WatchKind::kDeleted);
  EXPECT_EQ(std::get<in::PodGone>(cache.outbox().next(Outbox::kAllPodsKnown)->body).cause,
            Cause::kFinished);
  see_text(pod(0, "Running"), WatchKind::kDeleted);
  EXPECT_EQ(std::get<in::PodGone>(cache.outbox().next(Outbox::kAllPodsKnown)->body).cause,
            Cause::kCancelled);
}

}  // namespace
}  // namespace subak
