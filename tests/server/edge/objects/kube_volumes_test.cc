// Volumes: on which nodes a gated pod can use them, and for which of them it must wait.
#include <gmock/gmock.h>

#include "tests/server/edge/kube_seen.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class KubeVolumes : public Kube {
 protected:
  void see_claim(const std::string& name, const std::string& volume,
                 const std::string& storage_class = "slow", WatchKind kind = WatchKind::kModified) {
    cache.needs().volumes().see_claim(
        event(R"({"metadata":{"namespace":"a","name":")" + name + R"("},"spec":{"volumeName":")" +
                  volume + R"(","storageClassName":")" + storage_class + "\"}}",
              kind));
  }
  void see_volume(const std::string& name, const std::string& zone) {
    const std::string affinity =
        zone.empty() ? ""
                     : R"("nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":
        [{"key":"zone","operator":"In","values":[")" +
                           zone + R"("]}]}]}})";
    cache.needs().volumes().see_volume(
        event(R"({"metadata":{"name":")" + name + R"("},"spec":{)" + affinity + "}}"));
  }
  void see_class(const std::string& name, const std::string& mode, const std::string& zone = "") {
    const std::string topologies =
        zone.empty()
            ? ""
            : R"(,"allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":[")" +
                  zone + R"("]}]}])";
    cache.needs().volumes().see_class(event(R"({"metadata":{"name":")" + name +
                                            R"("},"volumeBindingMode":")" + mode + "\"" +
                                            topologies + "}"));
  }
  void complete() {
    cache.needs().volumes().complete_claims();
    cache.needs().volumes().complete_volumes();
    cache.needs().volumes().complete_classes();
  }
  void begin() {
    cache.needs().volumes().begin_claims();
    cache.needs().volumes().begin_volumes();
    cache.needs().volumes().begin_classes();
  }
  // A GPU pod of namespace "a" with this PersistentVolumeClaim.
  void see_pod(const std::string& uid, const std::string& claim, bool gated = true) {
    const std::string gate = gated ? R"({"name":"subak.gpu/queue"})" : "";
    see_text(
        R"({"metadata":{"uid":")" + uid + R"(","namespace":"a","name":"p)" + uid +
        R"(","resourceVersion":")" + std::to_string(++version_) +
        R"("},"spec":{"schedulingGates":[)" + gate +
        R"(],"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + claim +
        R"("}}],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},"status":{"phase":"Pending"}})");
  }
  std::optional<PodRecord> record() {
    std::optional<PodRecord> found;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* seen = std::get_if<in::PodSeen>(&news->body)) found = seen->pod;
      cache.outbox().answered(news->uid);
    }
    return found;
  }
  std::vector<std::string> zones(const PodRecord& pod) {
    if (pod.shape.affinity.empty()) return {};
    EXPECT_THAT(pod.shape.affinity, SizeIs(1));
    return pod.shape.affinity[0].requirements.at(0).values;
  }
};

TEST_F(KubeVolumes, APodGoesWhereItsVolumeIs) {
  begin();
  see_volume("pv1", "z1");
  see_claim("data", "pv1");
  complete();
  see_pod("1", "data");
  const auto pod = record();
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->shape.gpus, 1);
  EXPECT_THAT(zones(*pod), ElementsAre("z1"));
  // The claim gets another volume.
  see_volume("pv2", "z2");
  EXPECT_THAT(cache.needs().volumes().take_outdated(), IsEmpty()) << "no pod uses it";
  see_claim("data", "pv2");
  EXPECT_THAT(cache.needs().volumes().take_outdated(), ElementsAre("1"));
  see_pod("1", "data");
  EXPECT_THAT(zones(*record()), ElementsAre("z2"));
  // The volume can be used everywhere.
  see_volume("pv2", "");
  EXPECT_THAT(cache.needs().volumes().take_outdated(), ElementsAre("1"));
  see_pod("1", "data");
  EXPECT_THAT(zones(*record()), IsEmpty());
}

TEST_F(KubeVolumes, APodWaitsForAVolumeThatIsMadeFirst) {
  begin();
  see_class("slow", "Immediate");
  complete();
  see_pod("1", "data");
  EXPECT_FALSE(record());
  EXPECT_THAT(cache.marks().take_early(), ElementsAre("1"));
  EXPECT_THAT(cache.find_gpu_pod("1")->gpu->claims.waits.volume,
              HasSubstr("there is no PersistentVolumeClaim"));
  see_claim("data", "");
  EXPECT_THAT(cache.needs().volumes().take_outdated(), ElementsAre("1"));
  see_pod("1", "data");
  EXPECT_FALSE(record());
  EXPECT_THAT(cache.find_gpu_pod("1")->gpu->claims.waits.volume,
              HasSubstr("has no PersistentVolume yet"));
  see_volume("pv1", "z1");
  see_claim("data", "pv1");
  EXPECT_THAT(cache.needs().volumes().take_outdated(), ElementsAre("1"));
  see_pod("1", "data");
  EXPECT_THAT(zones(*record()), ElementsAre("z1"));
  EXPECT_FALSE(cache.find_gpu_pod("1")->gpu->claims.waits.any());
  // Without its claim, it waits again.
  see_claim("data", "", "slow", WatchKind::kDeleted);
  EXPECT_THAT(cache.needs().volumes().take_outdated(), ElementsAre("1"));
  see_pod("1", "data");
  EXPECT_FALSE(record());
  EXPECT_TRUE(cache.find_gpu_pod("1")->gpu->claims.waits.any());
}

TEST_F(KubeVolumes, AVolumeThatWaitsForThePodIsNotWaitedFor) {
  begin();
  see_class("zonal", "WaitForFirstConsumer", "z3");
  see_claim("data", "", "zonal");
  complete();
  see_pod("1", "data");
  EXPECT_THAT(zones(*record()), ElementsAre("z3"));
}

TEST_F(KubeVolumes, WithoutTheRightToReadVolumesTheSchedulerDecides) {
  see_pod("1", "data");
  const auto pod = record();
  ASSERT_TRUE(pod);
  EXPECT_THAT(pod->shape.affinity, IsEmpty());
  // The lists come late: the pod is read again.
  begin();
  see_volume("pv1", "z1");
  see_claim("data", "pv1");
  complete();
  EXPECT_THAT(cache.needs().volumes().take_outdated(), ElementsAre("1"));
}

TEST_F(KubeVolumes, AListForgetsWhatItDoesNotName) {
  begin();
  see_volume("pv1", "z1");
  see_claim("data", "pv1");
  complete();
  see_pod("1", "data");
  record();
  begin();
  see_claim("data", "pv1");
  complete();
  EXPECT_THAT(cache.needs().volumes().take_outdated(), ElementsAre("1")) << "its volume is gone";
  begin();
  complete();
  see_pod("1", "data");
  EXPECT_THAT(cache.find_gpu_pod("1")->gpu->claims.waits.volume,
              HasSubstr("there is no PersistentVolumeClaim"));
}

TEST_F(KubeVolumes, OnlyGatedPodsAreChanged) {
  begin();
  complete();
  see_pod("1", "data", false);
  EXPECT_FALSE(cache.find_gpu_pod("1")->gpu->claims.waits.any());
  EXPECT_EQ(cache.find_gpu_pod("1")->gpu->asks_gpu, true);
}

TEST_F(KubeVolumes, AffinityThatWouldBeTooLongStaysAsItIs) {
  begin();
  std::string terms;
  for (int i = 0; i < 40; ++i)
    terms += std::string(i == 0 ? "" : ",") + R"({"matchExpressions":[{"key":"k)" +
             std::to_string(i) + R"(","operator":"Exists"}]})";
  cache.needs().volumes().see_volume(event(
      R"({"metadata":{"name":"pv1"},"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[)" +
      terms + "]}}}}"));
  see_claim("data", "pv1");
  complete();
  see_pod("1", "data");
  const auto pod = record();
  ASSERT_TRUE(pod);
  EXPECT_THAT(pod->shape.affinity, IsEmpty());
}

// The affinity of a pod multiplies the terms of all its volumes: 2 terms of 40 volumes are 2^40.
TEST_F(KubeVolumes, VolumesThatMultiplyTheTermsAddNone) {
  begin();
  std::string volumes;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "d" + std::to_string(i);
    const auto term = [&](const char* value) {
      return R"({"matchExpressions":[{"key":"k)" + name + R"(","operator":"In","values":[")" +
             value + "\"]}]}";
    };
    cache.needs().volumes().see_volume(
        event(R"({"metadata":{"name":")" + name +
              R"("},"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[)" + term("a") + "," +
              term("b") + "]}}}}"));
    if (i < 39) see_claim(name, name);
    volumes += std::string(i == 0 ? "" : ",") + R"({"name":")" + name +
               R"(","persistentVolumeClaim":{"claimName":")" + name + "\"}}";
  }
  complete();
  const auto see = [&] {
    see_text(
        R"({"metadata":{"uid":"1","namespace":"a","name":"p","resourceVersion":")" +
        std::to_string(++version_) +
        R"("},"spec":{"schedulingGates":[{"name":"subak.gpu/queue"}],"volumes":[)" + volumes +
        R"(],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},"status":{"phase":"Pending"}})");
  };
  see();
  EXPECT_FALSE(record()) << "the last of its claims does not exist";
  see_claim("d39", "d39");
  see();
  const auto pod = record();
  ASSERT_TRUE(pod);
  EXPECT_THAT(pod->shape.affinity, IsEmpty());
}

}  // namespace
}  // namespace subak
