#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "kube/pod.h"
#include "kube/rank.h"
#include "pods.h"

namespace subak {
namespace {

Gang gang_of(std::string_view metadata) {
  simdjson::dom::parser parser;
  const std::string text = test::pod(test::container("nvidia.com/gpu", "1"), metadata);
  return read_pod(parser.parse(text), {}).gang;
}

constexpr std::string_view kJobOwner =
    R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"0123456789ab","controller":true}])";

TEST(Gang, ABarePodIsAlone) {
  EXPECT_EQ(gang_of(R"("name":"solo")").job, "solo");
  EXPECT_EQ(gang_of(R"("name":"solo")").id, "");
  EXPECT_EQ(gang_of(R"("name":"solo")").size, 1u);
  EXPECT_EQ(gang_of(R"("generateName":"run-")").job, "run");
  EXPECT_EQ(gang_of("").job, "pod");
}

TEST(Gang, ExplicitNameAndSize) {
  const Gang g =
      gang_of(R"("name":"a","labels":{"subak.gpu/job":"big","subak.gpu/gang-size":"16"})");
  EXPECT_EQ(g.id, "big");
  EXPECT_EQ(g.job, "big");
  EXPECT_EQ(g.size, 16u);
  EXPECT_EQ(g.rank, -1);
}

TEST(Gang, ASizeNeedsANameOnBarePods) {
  simdjson::dom::parser parser;
  const std::string text = test::pod(test::container("nvidia.com/gpu", "1"),
                                     R"("name":"a","annotations":{"subak.gpu/gang-size":"4"})");
  const Pod pod = read_pod(parser.parse(text), {});
  ASSERT_EQ(pod.mistakes.size(), 1u);
  EXPECT_EQ(pod.mistakes[0].field, "metadata.labels[subak.gpu/job]");
}

TEST(Gang, AnOrdinaryJobIsElastic) {
  const std::string m =
      R"("generateName":"train-","labels":{"batch.kubernetes.io/job-name":"train",)"
      R"("batch.kubernetes.io/controller-uid":"0123456789ab"},)" +
      std::string(kJobOwner);
  EXPECT_EQ(gang_of(m).job, "train");
  EXPECT_EQ(gang_of(m).size, 1u);
  EXPECT_EQ(gang_of(m).id, "");
}

TEST(Gang, AJobWithASizeIsAGangOfThatRun) {
  const std::string m =
      R"("labels":{"batch.kubernetes.io/job-name":"train","batch.kubernetes.io/controller-uid":"0123456789ab"},)"
      R"("annotations":{"subak.gpu/gang-size":"4","batch.kubernetes.io/job-completion-index":"3"},)" +
      std::string(kJobOwner);
  const Gang g = gang_of(m);
  EXPECT_EQ(g.id, "train");
  EXPECT_EQ(g.owner, "0123456789ab");
  EXPECT_EQ(g.size, 4u);
  EXPECT_EQ(g.rank, 3);
}

TEST(Gang, OurOwnStampDoesNotChangeTheIdentity) {
  const std::string m = R"("labels":{"job-name":"train","controller-uid":"0123456789ab",)"
                        R"("subak.gpu/job":"train","subak.gpu/gang-size":"2"})";
  EXPECT_EQ(gang_of(m).owner, "0123456789ab");
}

TEST(Gang, AnotherNameJoinsJobsIntoOneGang) {
  const std::string m = R"("labels":{"job-name":"train-b","controller-uid":"0123456789ab",)"
                        R"("subak.gpu/job":"train","subak.gpu/gang-size":"8"},)"
                        R"("annotations":{"batch.kubernetes.io/job-completion-index":"3"})";
  EXPECT_EQ(gang_of(m).id, "train");
  // Those of one Job are neighbours, in the order of their indexes.
  const std::int32_t first = rank_among("train-b", 0);
  EXPECT_EQ(gang_of(m).rank, first + 3);
  EXPECT_NE(rank_among("train-a", 0), first);
  EXPECT_EQ(first % static_cast<std::int32_t>(limits::kMaxPodsPerJob), 0);
}

TEST(Gang, LeaderWorkerSetStatesItsSize) {
  const Gang g = gang_of(
      R"("labels":{"leaderworkerset.sigs.k8s.io/name":"llm","leaderworkerset.sigs.k8s.io/group-index":"1",)"
      R"("leaderworkerset.sigs.k8s.io/worker-index":"2"},"annotations":{"leaderworkerset.sigs.k8s.io/size":"4"})");
  EXPECT_EQ(g.id, "llm-1");
  EXPECT_EQ(g.size, 4u);
  EXPECT_EQ(g.rank, 2);
}

TEST(Gang, AGroupBelongsToItsLeaderWorkerSet) {
  const auto gang_in = [](const std::string& more, std::uint32_t without_gpus) {
    simdjson::dom::parser parser;
    const std::string text = test::pod(test::container("nvidia.com/gpu", "8"),
                                       R"("labels":{"leaderworkerset.sigs.k8s.io/name":"llm",)"
                                       R"("leaderworkerset.sigs.k8s.io/group-index":"3",)"
                                       R"("leaderworkerset.sigs.k8s.io/worker-index":"1"},)"
                                       R"("annotations":{"leaderworkerset.sigs.k8s.io/size":"3")" +
                                           more + "}");
    Pod pod = read_pod(parser.parse(text), {});
    EXPECT_EQ(worker_set_of(pod), "llm");
    join_worker_set(pod, "u", without_gpus);
    return pod.gang;
  };
  EXPECT_EQ(gang_in("", 0).owner, "u+3");
  EXPECT_EQ(gang_in("", 0).id, "llm-3");
  EXPECT_EQ(gang_in("", 0).rank, 1);
  EXPECT_EQ(gang_in("", 1).size, 2u);
  EXPECT_EQ(gang_in("", 2).id, "") << "alone";
  EXPECT_EQ(gang_in(R"(,"subak.gpu/gang-size":"3")", 1).size, 3u) << "who says it knows";
}

TEST(Gang, KueueAndCoschedulingGroups) {
  EXPECT_EQ(gang_of(R"("labels":{"kueue.x-k8s.io/pod-group-name":"g"},)"
                    R"("annotations":{"kueue.x-k8s.io/pod-group-total-count":"3"})")
                .size,
            3u);
  const Gang g = gang_of(
      R"("labels":{"scheduling.x-k8s.io/pod-group":"g"},"annotations":{"subak.gpu/gang-size":"5"})");
  EXPECT_EQ(g.id, "g");
  EXPECT_EQ(g.size, 5u);
}

TEST(Gang, OperatorsNameTheJob) {
  EXPECT_EQ(gang_of(R"("labels":{"jobset.sigs.k8s.io/jobset-name":"js","job-name":"js-w-0"})").job,
            "js");
  EXPECT_EQ(gang_of(R"("labels":{"training.kubeflow.org/job-name":"pt"})").job, "pt");
  EXPECT_EQ(
      gang_of(R"("labels":{"ray.io/cluster":"rc-abc","ray.io/originated-from-cr-name":"rj"})").job,
      "rj");
  const Gang g = gang_of(R"("labels":{"jobset.sigs.k8s.io/jobset-name":"js",)"
                         R"("jobset.sigs.k8s.io/jobset-uid":"abcdefghij"},)"
                         R"("annotations":{"subak.gpu/gang-size":"2"})");
  EXPECT_EQ(g.id, "js");
  EXPECT_EQ(g.owner, "abcdefghij");
}

TEST(Gang, OtherControllersByOwner) {
  const Gang g = gang_of(
      R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d","uid":"u","controller":true}])");
  EXPECT_EQ(g.job, "web-5d");
  EXPECT_EQ(g.size, 1u);
}

TEST(Gang, LongNamesBecomeLabelsAndStayDistinct) {
  const std::string a(80, 'a'), b = a + "b";
  const std::string ja = gang_of(R"("name":")" + a + "\"").job;
  const std::string jb = gang_of(R"("name":")" + b + "\"").job;
  EXPECT_LE(ja.size(), 63u);
  EXPECT_TRUE(is_label_value(ja));
  EXPECT_NE(ja, jb);
}

TEST(Gang, LabelValues) {
  EXPECT_TRUE(is_label_value("a.b_c-D9"));
  EXPECT_FALSE(is_label_value(""));
  EXPECT_FALSE(is_label_value("-a"));
  EXPECT_FALSE(is_label_value("a@b"));
  EXPECT_FALSE(is_label_value(std::string(64, 'a')));
}

}  // namespace
}  // namespace subak
