// Pod affinity: near which pods a gated pod may run, and when it must wait for them.
#include <gmock/gmock.h>

#include "tests/server/edge/kube_seen.h"

namespace subak {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class KubeNear : public Kube {
 protected:
  void add_node(const std::string& name, const std::string& zone) {
    const std::string labels = R"({"kubernetes.io/hostname":")" + name +
                               R"(","topology.kubernetes.io/zone":")" + zone + "\"}";
    cache.see_node(event(R"({"metadata":{"name":")" + name + R"(","labels":)" + labels + "}}"),
                   kNow);
  }
  void SetUp() override {
    add_node("n1", "z1");
    add_node("n2", "z1");
    add_node("n3", "z2");
    cache.begin_pods(kNow);
    cache.complete_pods(kNow);
  }
  static std::string pod(const std::string& uid, const std::string& app, const std::string& rest,
                         const std::string& meta = "") {
    return R"({"metadata":{"uid":")" + uid + R"(","namespace":"a","name":"p)" + uid +
           R"(","labels":{"app":")" + app + "\"" + meta + "}}," + rest + "}";
  }
  // A pod without GPUs; an empty node: it has none yet.
  void see_other(const std::string& uid, const std::string& app, const std::string& node,
                 const std::string& phase = "Running", WatchKind kind = WatchKind::kModified) {
    see_text(pod(uid, app,
                 R"("spec":{"nodeName":")" + node +
                     R"(","containers":[{"name":"c"}]},"status":{"phase":")" + phase + "\"}"),
             kind);
  }
  // A GPU pod near pods with the label app=`near`, in domains of the label `key`.
  void see_near(const std::string& uid, const std::string& app, const std::string& near,
                const std::string& key = "topology.kubernetes.io/zone",
                const std::string& node = "", const std::string& meta = "") {
    const std::string gate = node.empty() ? R"({"name":"subak.gpu/queue"})" : "";
    see_text(pod(
        uid, app,
        R"("spec":{"nodeName":")" + node + R"(","schedulingGates":[)" + gate +
            R"(],"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
            R"([{"topologyKey":")" +
            key + R"(","labelSelector":{"matchLabels":{"app":")" + near +
            R"("}}}]}},"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},)"
            R"("status":{"phase":"Pending"})",
        meta));
  }
  // The last record of a pod that the core would get.
  std::optional<PodRecord> record() {
    std::optional<PodRecord> found;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* seen = std::get_if<in::PodSeen>(&news->body)) found = seen->pod;
      cache.outbox().answered(news->uid);
    }
    return found;
  }
  static std::vector<std::string> values(const std::optional<PodRecord>& pod) {
    if (!pod || pod->shape.affinity.empty()) return {};
    EXPECT_THAT(pod->shape.affinity, SizeIs(1));
    return pod->shape.affinity[0].requirements.at(0).values;
  }
  std::set<std::string> outdated() { return cache.needs().near().take_outdated(); }
};

TEST_F(KubeNear, APodWaitsUntilASelectedPodHasANode) {
  see_other("c", "cache", "");
  see_near("1", "train", "cache");
  EXPECT_FALSE(record()) << "the core does not get the pod";
  EXPECT_THAT(cache.marks().take_early(), ElementsAre("1"));
  EXPECT_THAT(cache.find_gpu_pod("1")->gpu->claims.waits.near, HasSubstr("has a node"));
  see_other("x", "other", "n1");
  EXPECT_THAT(outdated(), IsEmpty()) << "its affinity does not select this pod";
  see_other("c", "cache", "n3");
  EXPECT_THAT(outdated(), ElementsAre("1"));
  see_near("1", "train", "cache");
  const auto pod = record();
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->shape.gpus, 1);
  EXPECT_THAT(values(pod), ElementsAre("z2"));
  // A second pod in the zone changes nothing; one in another zone does.
  see_other("d", "cache", "n3");
  EXPECT_THAT(outdated(), IsEmpty());
  see_other("e", "cache", "n1");
  EXPECT_THAT(outdated(), ElementsAre("1"));
  see_near("1", "train", "cache");
  EXPECT_THAT(values(record()), ElementsAre("z1", "z2"));
  // Pods that have ended or are gone count no more.
  see_other("e", "cache", "n1", "Succeeded");
  EXPECT_THAT(outdated(), ElementsAre("1"));
  see_other("d", "cache", "n3", "Running", WatchKind::kDeleted);
  see_other("c", "cache", "n3", "Running", WatchKind::kDeleted);
  EXPECT_THAT(outdated(), ElementsAre("1"));
  see_near("1", "train", "cache");
  EXPECT_THAT(cache.find_gpu_pod("1")->gpu->claims.waits.near, HasSubstr("has a node"));
  EXPECT_THAT(told(), Contains("pod_gone 1"));
}

TEST_F(KubeNear, TheLabelOfTheTermDecides) {
  see_other("c", "cache", "n2");
  see_near("1", "train", "cache", "kubernetes.io/hostname");
  EXPECT_THAT(values(record()), ElementsAre("n2"));
  add_node("n2", "z9");
  see_near("2", "train", "cache");
  EXPECT_THAT(values(record()), ElementsAre("z9"));
  add_node("n2", "z1");
  EXPECT_THAT(outdated(), ElementsAre("2")) << "the zone of its domain has another name";
  // The cache does not know this label, so the scheduler decides.
  see_near("3", "train", "cache", "example.com/row");
  const auto told = record();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->shape.affinity, IsEmpty());
}

TEST_F(KubeNear, PodsOfOtherNamespacesDoNotCount) {
  see_text(R"({"metadata":{"uid":"c","namespace":"b","name":"c","labels":{"app":"cache"}},)"
           R"("spec":{"nodeName":"n1","containers":[]},"status":{"phase":"Running"}})");
  record();
  see_near("1", "train", "cache");
  EXPECT_FALSE(record());
}

TEST_F(KubeNear, APodThatSelectsItselfNeedsNoOther) {
  see_near("1", "train", "train");
  const auto alone = record();
  ASSERT_TRUE(alone);
  EXPECT_THAT(alone->shape.affinity, IsEmpty());
  EXPECT_THAT(alone->shape.near, SizeIs(1));
  // Once such a pod of another job has a node, only its zone is left.
  see_near("2", "train", "train", "topology.kubernetes.io/zone", "n3");
  record();
  EXPECT_THAT(outdated(), ElementsAre("1"));
  see_near("1", "train", "train");
  const auto beside = record();
  EXPECT_THAT(values(beside), ElementsAre("z2"));
  EXPECT_THAT(beside->shape.near, IsEmpty());
}

TEST_F(KubeNear, PodsOfTheOwnGangCountOnlyForALatePod) {
  const std::string zone = "topology.kubernetes.io/zone";
  const std::string gang = R"(,"subak.gpu/job":"g","subak.gpu/gang-size":"3")";
  see_near("1", "train", "train", zone, "", gang);
  see_near("2", "train", "train", zone, "", gang);
  record();
  see_near("1", "train", "train", zone, "n3", gang);
  record();
  EXPECT_THAT(outdated(), IsEmpty()) << "its gang gets its nodes now";
  see_near("2", "train", "train", zone, "", gang);
  EXPECT_FALSE(record()) << "the core gets no other record of the pod";
  see_near("3", "train", "train", zone, "", gang);
  EXPECT_THAT(values(record()), ElementsAre("z2"));
}

TEST_F(KubeNear, BeforeTheListIsCompleteNoPodIsMissed) {
  cache.forget_told();
  add_node("n3", "z2");
  cache.begin_pods(kNow);
  see_near("1", "train", "cache");
  EXPECT_FALSE(record());
  see_other("c", "cache", "n3");
  cache.complete_pods(kNow);
  EXPECT_THAT(outdated(), ElementsAre("1"));
  see_near("1", "train", "cache");
  EXPECT_THAT(values(record()), ElementsAre("z2"));
}

}  // namespace
}  // namespace subak
