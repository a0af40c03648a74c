// What the edge sees of NVIDIA's GPU Operator: its pods on a node, and pods that it evicts.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "tests/server/edge/kube_seen.h"

namespace subak {
namespace {

class KubeOperator : public Kube {
 protected:
  void see_gpu_node(const std::string& upgrade = "", const std::string& works = "8") {
    see_node("n1", WatchKind::kModified,
             R"(,"status":{"capacity":{"nvidia.com/gpu":"8"},"allocatable":{"nvidia.com/gpu":")" +
                 works + "\"}}",
             upgrade);
  }
  // Sees the node again with a label. It replaces Kube::see_node(), whose nodes have no labels.
  void see_node(const std::string& name, WatchKind kind, const std::string& more,
                const std::string& upgrade) {
    WatchEvent event;
    event.kind = kind;
    event.object = parser_.parse(R"({"metadata":{"name":")" + name +
                                 R"(","labels":{"nvidia.com/gpu-driver-upgrade-state":")" +
                                 upgrade + "\"}}" + more + "}");
    cache.see_node(event, kNow);
  }
  void see_part(const std::string& app, const std::string& ready,
                const std::string& ns = "gpu-operator", WatchKind kind = WatchKind::kModified) {
    see_text(R"({"metadata":{"uid":"part","namespace":")" + ns +
                 R"(","name":"x","labels":{"app":")" + app + R"("},"resourceVersion":")" +
                 std::to_string(++version_) +
                 R"(","ownerReferences":[{"controller":true,"apiVersion":"apps/v1",)" +
                 R"("kind":"DaemonSet","name":"d","uid":"d"}]},"spec":{"nodeName":"n1",)" +
                 R"("containers":[{"name":"c"}]},"status":{"phase":"Running",)" +
                 R"("conditions":[{"type":"Ready","status":")" + ready + R"("}]}})",
             kind);
  }
  // The node as the core gets it next; nullopt if the core gets none.
  std::optional<NodeSpec> told_node() {
    std::optional<NodeSpec> node;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (auto* seen = std::get_if<in::NodeSeen>(&news->body)) node = seen->node;
      cache.outbox().answered(news->uid);
    }
    return node;
  }
  // Why the pod ended, as the core gets it next.
  Cause told_end() {
    Cause cause = Cause::kNone;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (auto* gone = std::get_if<in::PodGone>(&news->body)) cause = gone->cause;
      if (auto* seen = std::get_if<in::PodSeen>(&news->body)) cause = seen->pod.ended;
      cache.outbox().answered(news->uid);
    }
    return cause;
  }

 private:
  simdjson::dom::parser parser_;
};

TEST_F(KubeOperator, ANodeIsFitWhenItsPartsAreReady) {
  see_part("nvidia-operator-validator", "False");
  see_gpu_node();
  EXPECT_EQ(told_node()->unfit, "the GPU Operator's validator is not ready");
  EXPECT_EQ(cache.nodes().take_changed(), std::set<std::string>());
  see_part("nvidia-operator-validator", "True");
  EXPECT_EQ(cache.nodes().take_changed(), std::set<std::string>{"n1"});
  see_gpu_node();
  EXPECT_EQ(told_node()->unfit, "");
  see_part("nvidia-operator-validator", "True");
  EXPECT_EQ(cache.nodes().take_changed(), std::set<std::string>());
}

TEST_F(KubeOperator, WithoutItsDevicePluginTheGpusAreUnknown) {
  see_gpu_node();
  EXPECT_FALSE(told_node()->gpus_unknown);
  see_part("nvidia-device-plugin-daemonset", "False");
  EXPECT_EQ(cache.nodes().take_changed(), std::set<std::string>{"n1"});
  see_gpu_node();
  const auto away = told_node();
  EXPECT_TRUE(away->gpus_unknown);
  EXPECT_EQ(away->gpus, 8);
  EXPECT_EQ(away->unfit, "the GPU Operator's device plugin is not ready");
  see_part("nvidia-device-plugin-daemonset", "False", "gpu-operator", WatchKind::kDeleted);
  EXPECT_EQ(cache.nodes().take_changed(), std::set<std::string>{"n1"});
  see_gpu_node("", "0");
  EXPECT_TRUE(told_node()->gpus_unknown);
}

TEST_F(KubeOperator, UsersCannotCloseANode) {
  see_gpu_node();
  told_node();
  see_part("nvidia-operator-validator", "False", "team-a");
  EXPECT_EQ(cache.nodes().take_changed(), std::set<std::string>());
  see_gpu_node();
  EXPECT_EQ(told_node(), std::nullopt);
}

TEST_F(KubeOperator, AnEvictionDuringAnUpgradeIsADrain) {
  const std::string evicted =
      R"(,"conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}])";
  const std::string ran = R"(,"containerStatuses":[{"name":"c"}])";
  struct {
    const char* upgrade;
    std::string status;
    WatchKind kind;
    const char* phase;
    Cause cause;
  } const kEnds[] = {
      {"drain-required", evicted + ran, WatchKind::kModified, "Failed", Cause::kNodeDrained},
      {"pod-deletion-required", evicted, WatchKind::kDeleted, "Running", Cause::kNodeDrained},
      {"upgrade-done", evicted + ran, WatchKind::kModified, "Failed", Cause::kEvicted},
      {"upgrade-required", evicted, WatchKind::kDeleted, "Running", Cause::kEvicted},
      {"drain-required", ran, WatchKind::kModified, "Failed", Cause::kFailed},
      {"drain-required", "", WatchKind::kDeleted, "Running", Cause::kCancelled},
      {"drain-required", evicted + ran, WatchKind::kModified, "Succeeded", Cause::kFinished},
  };
  int i = 0;
  for (const auto& end : kEnds) {
    see_gpu_node(end.upgrade);
    const std::string uid = "u" + std::to_string(++i);
    see({.uid = uid, .version = 1, .gated = false, .node = "n1", .phase = "Running"});
    told_end();
    see({.uid = uid,
         .version = 2,
         .gated = false,
         .node = "n1",
         .phase = end.phase,
         .status = end.status},
        end.kind);
    EXPECT_EQ(told_end(), end.cause) << i;
  }
}

}  // namespace
}  // namespace subak
