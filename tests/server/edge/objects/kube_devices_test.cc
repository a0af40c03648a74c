// Devices of Dynamic Resource Allocation: which nodes have them, and which pods pay for them.
#include <gmock/gmock.h>

#include <string>

#include "core/duration.h"
#include "tests/server/edge/kube_seen.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class KubeDevices : public Kube {
 protected:
  void see_class(const std::string& name = "gpu.nvidia.com", const std::string& resource = "") {
    cache.needs().claims().devices().see_class(event(
        R"({"metadata":{"name":")" + name +
        R"("},"spec":{"selectors":[{"cel":{"expression":"device.driver == 'gpu.nvidia.com'"}}])" +
        (resource.empty() ? "" : R"(,"extendedResourceName":")" + resource + '"') + "}}"));
  }
  void see_slice(const std::string& name, const std::string& node, int generation, int slices,
                 int gpus, WatchKind kind = WatchKind::kModified) {
    std::string devices;
    for (int i = 0; i < gpus; ++i) {
      devices += std::string(i == 0 ? "" : ",") + R"({"name":"gpu-)" + std::to_string(i) +
                 R"(","attributes":{"type":{"string":"gpu"},"uuid":{"string":")" + name +
                 std::to_string(i) + R"("},"productName":{"string":"NVIDIA L4"}}})";
    }
    cache.needs().claims().devices().see_slice(event(
        R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"gpu.nvidia.com","nodeName":")" +
            node + R"(","pool":{"name":")" + node + R"(","generation":)" +
            std::to_string(generation) + R"(,"resourceSliceCount":)" + std::to_string(slices) +
            R"(},"devices":[)" + devices + "]}}",
        kind));
  }
  std::int64_t gpus_of(const std::string& node) {
    const NodeDevices* const found = cache.needs().claims().devices().find(node);
    return found == nullptr ? 0 : found->capacity.at("nvidia.com/gpu");
  }

  static std::string spec_of(int count, const std::string& of) {
    return R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":")" + of +
           R"(","count":)" + std::to_string(count) + "}}]}}";
  }
  void see_template(const std::string& name, int count, const std::string& of = "gpu.nvidia.com") {
    cache.needs().claims().see_template(event(R"({"metadata":{"namespace":"a","name":")" + name +
                                              R"("},"spec":{"spec":)" + spec_of(count, of) + "}}"));
  }
  void see_claim(const std::string& name, int count, const std::string& reserved = "",
                 WatchKind kind = WatchKind::kModified) {
    const std::string status =
        reserved.empty() ? "{}"
                         : R"({"reservedFor":[{"resource":"pods","uid":")" + reserved + "\"}]}";
    cache.needs().claims().see_claim(event(R"({"metadata":{"namespace":"a","name":")" + name +
                                               R"("},"spec":)" + spec_of(count, "gpu.nvidia.com") +
                                               R"(,"status":)" + status + "}",
                                           kind));
  }
  // `claim`: such as `"resourceClaimTemplateName":"one"`. `labels`: members of metadata.labels.
  // `finished`: when its container ended.
  void see_claiming(const std::string& uid, const std::string& claim, const std::string& node = "",
                    const std::string& phase = "Pending", const std::string& labels = "",
                    const std::string& finished = "", bool gated = true) {
    const std::string gate = node.empty() && gated ? R"({"name":"subak.gpu/queue"})" : "";
    const std::string containers =
        finished.empty() ? ""
                         : R"(,"containerStatuses":[{"state":{"terminated":{"finishedAt":")" +
                               finished + R"("}}}])";
    see_text(
        R"({"metadata":{"uid":")" + uid + R"(","namespace":"a","name":"p)" + uid +
        R"(","resourceVersion":")" + std::to_string(++version_) + R"(","labels":{)" + labels +
        R"(}},"spec":{"nodeName":")" + node + R"(","schedulingGates":[)" + gate +
        R"(],"resourceClaims":[{"name":"c",)" + claim +
        R"(}],"containers":[{"name":"c","resources":{"claims":[{"name":"c"}]}}]},"status":{"phase":")" +
        phase +
        R"(","conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-11-01T00:00:00Z"}])" +
        containers + "}}");
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
};

const std::string kOfTemplate = R"("resourceClaimTemplateName":"one")";
const std::string kShared = R"("resourceClaimName":"shared")";

TEST_F(KubeDevices, OnlyCompletePoolsOfTheNewestGenerationCount) {
  see_slice("s1", "n1", 1, 2, 4);
  EXPECT_EQ(gpus_of("n1"), 0) << "one of two slices";
  see_slice("s2", "n1", 1, 2, 4);
  EXPECT_EQ(gpus_of("n1"), 8);
  EXPECT_THAT(cache.needs().claims().devices().take_changed_nodes(), ElementsAre("n1"));
  // The driver replaces the slices. Until the new generation is complete, nothing changes.
  see_slice("s3", "n1", 2, 2, 3);
  see_slice("s1", "n1", 1, 2, 4, WatchKind::kDeleted);
  EXPECT_EQ(gpus_of("n1"), 8);
  see_slice("s4", "n1", 2, 2, 3);
  see_slice("s2", "n1", 1, 2, 4, WatchKind::kDeleted);
  EXPECT_EQ(gpus_of("n1"), 6);
  see_slice("s4", "n1", 2, 2, 3);  // again the same
  cache.needs().claims().devices().take_changed_nodes();
  see_slice("s4", "n1", 2, 2, 3);
  EXPECT_THAT(cache.needs().claims().devices().take_changed_nodes(), IsEmpty());
  // A list without them.
  cache.needs().claims().devices().begin_slices();
  cache.needs().claims().devices().complete_slices();
  EXPECT_EQ(gpus_of("n1"), 0);
  EXPECT_THAT(cache.needs().claims().devices().take_changed_nodes(), ElementsAre("n1"));
}

// A node that comes again has slices of the first generation again.
TEST_F(KubeDevices, OldAndNewSlicesOfOneGenerationAreNoPool) {
  see_slice("old-1", "n1", 1, 2, 2);
  see_slice("old-2", "n1", 1, 2, 2);
  ASSERT_EQ(gpus_of("n1"), 4);
  cache.needs().claims().devices().begin_slices();
  see_slice("new-1", "n1", 1, 2, 3);
  cache.needs().claims().devices().complete_slices();
  EXPECT_EQ(gpus_of("n1"), 4) << "the last complete pool";
  see_slice("new-2", "n1", 1, 2, 3);
  EXPECT_EQ(gpus_of("n1"), 6);
  // Two slices that name the same device.
  see_slice("new-1", "n1", 2, 1, 3);
  EXPECT_EQ(gpus_of("n1"), 3);
}

TEST_F(KubeDevices, ANodeHasTheDevicesOfItsSlices) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_node("n1");
  std::optional<NodeSpec> node;
  while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
    if (const auto* seen = std::get_if<in::NodeSeen>(&news->body)) node = seen->node;
  }
  ASSERT_TRUE(node);
  EXPECT_EQ(node->gpus, 4);
  EXPECT_EQ(node->product, "NVIDIA-L4");
  ASSERT_EQ(node->taints.size(), 1u);
  outdate();
  cache.nodes().take_changed();
  see_class("gpu.nvidia.com", "nvidia.com/gpu");
  outdate();
  EXPECT_THAT(cache.nodes().take_changed(), ElementsAre("n1"));
  EXPECT_FALSE(cache.needs().claims().devices().find("n1")->only_by_claim);
}

TEST_F(KubeDevices, AGatedPodWaitsUntilItsClaimIsKnown) {
  see_slice("s1", "n1", 1, 1, 4);
  see_claiming("1", kOfTemplate);
  EXPECT_FALSE(record());
  EXPECT_THAT(cache.marks().take_early(), ElementsAre("1"));
  EXPECT_THAT(cache.find_gpu_pod("1")->gpu->claims.waits.claim,
              HasSubstr("ResourceClaimTemplate one"));
  see_template("one", 2);
  outdate();
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("1"));
  see_claiming("1", kOfTemplate);
  EXPECT_THAT(cache.find_gpu_pod("1")->gpu->claims.waits.claim, HasSubstr("no such DeviceClass"));
  see_class();
  outdate();
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("1"));
  see_claiming("1", kOfTemplate);
  const auto pod = record();
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->shape.gpus, 2);
  EXPECT_EQ(pod->shape.kind, GpuKind::kWhole);
  EXPECT_EQ(cache.find_gpu_pod("1")->gpu->claims.waits.claim, "");
}

TEST_F(KubeDevices, UnknownClaimsCountAsNothingIfThePolicySaysSo) {
  cache.needs().claims().ignore_unknown();
  see_claiming("1", kOfTemplate);
  EXPECT_EQ(cache.find_gpu_pod("1")->gpu->claims.waits.claim, "");
  EXPECT_THAT(cache.marks().take_early(), IsEmpty());
}

TEST_F(KubeDevices, AClaimThatIsNoGpuNeedsNoGate) {
  see_slice("s1", "n1", 1, 1, 4);
  cache.needs().claims().devices().see_class(event(
      R"({"metadata":{"name":"nic"},"spec":{"selectors":[{"cel":{"expression":"device.driver == 'x'"}}]}})"));
  cache.needs().claims().devices().see_slice(
      event(R"({"metadata":{"name":"s9"},"spec":{"driver":"x","nodeName":"n1",
      "pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[{"name":"d"}]}})"));
  see_template("one", 1, "nic");
  see_claiming("1", kOfTemplate);
  EXPECT_FALSE(record());
  EXPECT_EQ(cache.find_gpu_pod("1")->gpu->claims.waits.claim, "");
  EXPECT_THAT(cache.marks().take_early(), IsEmpty());
}

TEST_F(KubeDevices, TwoPodsOfOneClaimPayOnce) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 2);
  see_claiming("1", kShared);
  ASSERT_EQ(record()->shape.gpus, 2);
  see_claiming("2", kShared);
  EXPECT_FALSE(record());
  EXPECT_THAT(cache.find_gpu_pod("2")->gpu->claims.waits.claim, HasSubstr("another pod"));
  // The first pod has its devices, so the second one may follow.
  see_claim("shared", 2, "1");
  see_claiming("1", kShared, "n1", "Running");
  ASSERT_EQ(record()->shape.gpus, 2);
  outdate();
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("1", "2"));
  see_claiming("2", kShared);
  EXPECT_FALSE(record());
  EXPECT_EQ(cache.find_gpu_pod("2")->gpu->claims.waits.claim, "") << "its gate may open";
  see_claiming("2", kShared, "n1", "Running");
  EXPECT_EQ(record()->shape.kind, GpuKind::kNone);
  // The first pod ends: the second one pays from now on.
  see_claiming("1", kShared, "n1", "Succeeded");
  EXPECT_EQ(record()->ended, Cause::kFinished);
  see_claim("shared", 2, "2");
  outdate();
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("2"));
  see_claiming("2", kShared, "n1", "Running");
  std::vector<std::string> kinds;
  std::optional<PodRecord> payer;
  while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
    kinds.push_back(
        std::visit([](const auto& body) { return std::string(body.kName); }, news->body));
    if (const auto* seen = std::get_if<in::PodSeen>(&news->body)) payer = seen->pod;
    cache.outbox().answered(news->uid);
  }
  EXPECT_THAT(kinds, ElementsAre("pod_gone", "pod_seen"));
  ASSERT_TRUE(payer);
  EXPECT_EQ(payer->shape.gpus, 2);
  EXPECT_EQ(payer->bound_at_ms, 0) << "until now the first pod has paid";
}

// Both pods of a claim were bound at 00:00:00.
const TimeMs kBound = *parse_time("2026-11-01T00:00:00Z", "");
const TimeMs kEnd = kBound + 8 * kSecondMs;
const std::string kEndText = "2026-11-01T00:00:08Z";

TEST_F(KubeDevices, TheNextPayerPaysFromTheEndOfTheOneBefore) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 2, "1");
  see_claiming("1", kShared, "n1", "Running");
  see_claiming("2", kShared, "n1", "Running");
  record();
  see_claiming("1", kShared, "n1", "Succeeded", "", kEndText);
  see_claim("shared", 2, "2");
  see_claiming("2", kShared, "n1", "Running");
  EXPECT_EQ(record()->bound_at_ms, kEnd);
}

// The claim may name the next payer before the pod is seen to end.
TEST_F(KubeDevices, AnOlderEndIsNotTheEndOfThePayerBefore) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 2, "1");
  for (const char* uid : {"1", "2", "3"}) see_claiming(uid, kShared, "n1", "Running");
  see_claiming("1", kShared, "n1", "Succeeded", "", kEndText);
  see_claim("shared", 2, "2");
  for (const char* uid : {"2", "3"}) see_claiming(uid, kShared, "n1", "Running");
  record();
  see_claim("shared", 2, "3");
  see_claiming("3", kShared, "n1", "Running");
  EXPECT_EQ(record()->bound_at_ms, 0) << "when pod 2 ended is not known yet";
}

// The list names the pods in any order.
TEST_F(KubeDevices, APayerThatEndedBeforeTheSessionHasPaid) {
  for (const bool first : {false, true}) {
    cache.forget_told();
    see_class();
    see_slice("s1", "n1", 1, 1, 4);
    see_claim("shared", 2, "2");
    cache.needs().claims().begin_session(kEnd - kSecondMs);
    cache.begin_pods(kNow);
    if (first) see_claiming("1", kShared, "n1", "Succeeded", "", kEndText);
    see_claiming("2", kShared, "n1", "Running");
    if (!first) see_claiming("1", kShared, "n1", "Succeeded", "", kEndText);
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      const auto* const seen = std::get_if<in::PodSeen>(&news->body);
      EXPECT_TRUE(seen == nullptr || seen->pod.uid == "1") << "the list is not complete";
    }
    ASSERT_TRUE(cache.complete_pods(kNow));
    const auto payer = record();
    ASSERT_TRUE(payer);
    EXPECT_EQ(payer->uid, "2");
    EXPECT_EQ(payer->bound_at_ms, kEnd);
    see_claiming("2", kShared, "n1", "Running");
    EXPECT_FALSE(record()) << "its charge still begins then";
  }
}

// The core charges a pod that vanished until the last report of an edge.
TEST_F(KubeDevices, APayerThatVanishedHasPaidUntilTheLastReport) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 2, "2");
  cache.needs().claims().begin_session(kBound + kHourMs);
  cache.begin_pods(kNow);
  see_claiming("0", kShared, "n1", "Succeeded", "",
               kEndText);  // it paid before the one that vanished
  see_claiming("2", kShared, "n1", "Running");
  ASSERT_TRUE(cache.complete_pods(kNow));
  EXPECT_EQ(record()->bound_at_ms, kBound + kHourMs);
}

TEST_F(KubeDevices, APodOfAClaimThatWasBoundMeanwhilePaysFromItsBinding) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 2, "2");
  cache.needs().claims().begin_session(kBound - kHourMs);
  cache.begin_pods(kNow);
  see_claiming("2", kShared, "n1", "Running");
  ASSERT_TRUE(cache.complete_pods(kNow));
  EXPECT_EQ(record()->bound_at_ms, kBound);
}

TEST_F(KubeDevices, APodThatRanAsASharerBeforeTheSessionPaysLater) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 2, "1");
  see_claiming("1", kShared, "n1", "Running");
  see_claiming("2", kShared, "n1", "Running");
  EXPECT_EQ(record()->shape.kind, GpuKind::kNone);
  see_claiming("1", kShared, "n1", "Succeeded");
  see_claim("shared", 2, "2");
  outdate();
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("2"));
  EXPECT_NE(cache.find_gpu_pod("2"), nullptr) << "else the edge does not read it again";
}

TEST_F(KubeDevices, ARunningPodIsChargedOnceItsTemplateIsKnown) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claiming("1", kOfTemplate, "n1", "Running");
  ASSERT_EQ(record()->shape.kind, GpuKind::kNone);
  see_template("one", 2);
  outdate();
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("1"));
  see_claiming("1", kOfTemplate, "n1", "Running");
  const auto pod = record();
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->shape.gpus, 2);
  EXPECT_NE(pod->bound_at_ms, 0) << "no pod has paid until now";
}

const std::string kGangOfTwo = R"("subak.gpu/job":"g","subak.gpu/gang-size":"2")";

TEST_F(KubeDevices, APodWhoseClaimIsNotKnownCountsInItsGang) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_template("one", 1);
  see_claiming("1", R"("resourceClaimTemplateName":"late")", "", "Pending", kGangOfTwo);
  see_claiming("2", kOfTemplate, "", "Pending", kGangOfTwo);
  const auto pod = record();
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->gang_size, 2u) << "the other pod may request GPUs";
}

TEST_F(KubeDevices, PodsThatWaitForThePayerOfTheirClaimAreNonGpuMembers) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 2);
  see_claiming("1", kShared, "", "Pending", kGangOfTwo);
  ASSERT_EQ(record()->gang_size, 2u);
  see_claiming("2", kShared, "", "Pending", kGangOfTwo);
  EXPECT_THAT(cache.find_gpu_pod("2")->gpu->claims.waits.claim, HasSubstr("another pod"));
  see_claiming("1", kShared, "", "Pending", kGangOfTwo);
  const auto payer = record();
  ASSERT_TRUE(payer) << "it stays in its gang, whose size changes";
  EXPECT_EQ(payer->gang_size, 1u) << "only the payer requests GPUs";
  EXPECT_TRUE(payer->owners.size_of_owner);
  EXPECT_THAT(cache.marks().take_withdrawn(), IsEmpty());
}

// The core may know such a pod from an earlier session, and may have sent a patch that opens its gate.
TEST_F(KubeDevices, APodOfAListThatRequestsNoGpusNowIsWithdrawn) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  cache.begin_pods(kNow);
  see_claiming("1", kShared);
  see_claiming("2", kShared);
  EXPECT_THAT(told(), IsEmpty()) << "their claim is not known";
  see_claim("shared", 1);
  see_claiming("1", kShared);
  see_claiming("2", kShared);
  EXPECT_THAT(told(), ElementsAre("pod_seen 1")) << "the other pod does not pay";
  ASSERT_TRUE(cache.complete_pods(kNow));
  EXPECT_THAT(told(), ElementsAre("pod_gone 2"));
  EXPECT_THAT(cache.marks().take_withdrawn(), ElementsAre("2"));
}

TEST_F(KubeDevices, APodThatEndedBeforeTheSessionIsToldWithItsEnd) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_template("one", 2);
  see_claiming("1", kOfTemplate, "n1", "Succeeded");
  const auto ended = record();
  ASSERT_TRUE(ended) << "else the core takes the pod for vanished";
  EXPECT_EQ(ended->ended, Cause::kFinished);
  see_claiming("1", kOfTemplate, "n1", "Succeeded");
  EXPECT_FALSE(record()) << "once";
}

TEST_F(KubeDevices, AClaimThatVanishesClosesTheGateAgain) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 1);
  see_claiming("1", kShared);
  ASSERT_TRUE(record());
  see_claim("shared", 1, "", WatchKind::kDeleted);
  outdate();
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("1"));
  see_claiming("1", kShared);
  EXPECT_THAT(told(), ElementsAre("pod_gone 1"));
  EXPECT_THAT(cache.find_gpu_pod("1")->gpu->claims.waits.claim,
              HasSubstr("no ResourceClaim shared"));
  EXPECT_THAT(cache.marks().take_withdrawn(), ElementsAre("1"))
      << "a patch that opens its gate may be on its way";
}

// Such a pod keeps its hold: the core and the scheduler decide what happens to it.
TEST_F(KubeDevices, AnOpenPodKeepsWhatItsClaimRequested) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 1);
  see_claiming("1", kShared);
  ASSERT_TRUE(record());
  see_claim("shared", 1, "", WatchKind::kDeleted);
  see_claiming("1", kShared, "", "Pending", "", "", false);
  EXPECT_EQ(record()->shape.gpus, 1);
  EXPECT_TRUE(cache.find_gpu_pod("1")->gpu->asks_gpu);
  EXPECT_EQ(cache.find_gpu_pod("1")->gpu->claims.waits.claim, "");
}

// The scheduler may still place such a pod on the node of its hold, so the edge guards that node.
TEST_F(KubeDevices, AnOpenPodThatNoLongerPaysIsWithdrawn) {
  see_class();
  see_slice("s1", "n1", 1, 1, 4);
  see_claim("shared", 1);
  see_claiming("1", kShared);
  ASSERT_TRUE(record());
  see_claiming("1", kShared, "", "Pending", "", "", false);
  ASSERT_TRUE(record());
  see_claim("shared", 1, "2");
  see_claiming("1", kShared, "", "Pending", "", "", false);
  EXPECT_THAT(told(), ElementsAre("pod_gone 1"));
  EXPECT_THAT(cache.marks().take_withdrawn(), ElementsAre("1"));
}

}  // namespace
}  // namespace subak
