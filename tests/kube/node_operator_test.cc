// What the GPU Operator's labels and pods say about a node: each state of a driver upgrade, its
// pauses, and what is unknown while the device plugin is away.
#include "kube/node/node_operator.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/node/node.h"
#include "kube/node/operand_pods.h"

namespace subak {
namespace {

std::string object_text(const std::string& key, const std::string& value) {
  return value.empty() ? "{}" : "{\"" + key + "\":\"" + value + "\"}";
}

// A node with 8 GPUs of which `works` are allocatable. `installed` empty: no such resource.
NodeSpec node_with(const std::string& label, const std::string& value,
                   const std::string& works = "8", const std::string& installed = "8") {
  const auto nodes =
      read_kube_nodes(R"({"metadata":{"name":"n","labels":)" + object_text(label, value) +
                      R"(},"status":{"capacity":)" + object_text("nvidia.com/gpu", installed) +
                      R"(,"allocatable":)" + object_text("nvidia.com/gpu", works) + "}}");
  EXPECT_TRUE(nodes.ok()) << nodes.error().message();
  return nodes.ok() ? nodes->front() : NodeSpec();
}

TEST(NodeOperator, EachStateOfADriverUpgrade) {
  const std::string key(kLabelDriverUpgrade);
  for (const char* quiet : {"", "upgrade-done", "upgrade-required"}) {
    const NodeSpec node = node_with(key, quiet);
    EXPECT_EQ(node.unfit, "") << quiet;
    EXPECT_FALSE(upgrades_driver(node)) << quiet;
  }
  for (const std::string state :
       {"cordon-required", "wait-for-jobs-required", "pod-deletion-required", "drain-required",
        "node-maintenance-required", "post-maintenance-required", "pod-restart-required",
        "validation-required", "uncordon-required", "a-new-one"}) {
    const NodeSpec node = node_with(key, state);
    EXPECT_EQ(node.unfit, "the GPU Operator upgrades the driver: " + key + " is " + state);
    EXPECT_TRUE(upgrades_driver(node)) << state;
    EXPECT_EQ(node.gpus, 8);
    EXPECT_FALSE(node.gpus_unknown);
  }
  const NodeSpec failed = node_with(key, "upgrade-failed");
  EXPECT_EQ(failed.unfit,
            "the driver upgrade of the GPU Operator failed: " + key + " is upgrade-failed");
  EXPECT_TRUE(upgrades_driver(failed));
}

TEST(NodeOperator, APausedPartClosesTheNode) {
  const std::string plugin = "nvidia.com/gpu.deploy.device-plugin";
  EXPECT_EQ(node_with(plugin, "true").unfit, "");
  EXPECT_EQ(node_with(plugin, "false").unfit, "") << "another plugin may serve the node";
  EXPECT_EQ(node_with(plugin, "paused-for-driver-upgrade").unfit,
            plugin + " is paused-for-driver-upgrade");
  EXPECT_EQ(node_with(plugin, "paused-for-mig-change").unfit, plugin + " is paused-for-mig-change")
      << "once";
  const std::string validator = "nvidia.com/gpu.deploy.operator-validator";
  EXPECT_EQ(node_with(validator, "paused-for-driver-upgrade").unfit,
            validator + " is paused-for-driver-upgrade");
}

TEST(NodeOperator, WithoutAllocatableGpusTheirNumberIsUnknown) {
  EXPECT_FALSE(node_with("a", "b").gpus_unknown);
  EXPECT_FALSE(node_with("a", "b", "7").gpus_unknown);
  const NodeSpec away = node_with("a", "b", "0");
  EXPECT_TRUE(away.gpus_unknown);
  EXPECT_EQ(away.unfit, "none of its 8 GPUs is allocatable");
  const NodeSpec later = node_with(std::string(kLabelDriverUpgrade), "drain-required", "0", "0");
  EXPECT_TRUE(later.gpus_unknown);
  EXPECT_EQ(later.gpus, 0);
  EXPECT_EQ(later.unfit,
            "the GPU Operator upgrades the driver: nvidia.com/gpu-driver-upgrade-state is "
            "drain-required, none of its GPUs is allocatable");
  const NodeSpec none = node_with(std::string(kLabelDriverUpgrade), "drain-required", "", "");
  EXPECT_FALSE(none.gpus_unknown) << "a node without GPUs";
  EXPECT_EQ(none.unfit, "");
}

std::optional<OperandPod> operand(const std::string& labels, const std::string& ready = "True",
                                  const std::string& owner = "DaemonSet",
                                  const std::string& meta = "") {
  static simdjson::dom::parser parser;
  const simdjson::padded_string text(
      R"({"metadata":{"uid":"u","namespace":"gpu-operator","name":"p","labels":)" + labels + meta +
      R"(,"ownerReferences":[{"controller":true,"apiVersion":"apps/v1","kind":")" + owner +
      R"(","name":"d","uid":"d"}]},"spec":{"nodeName":"n"},"status":{"phase":"Running",)" +
      R"("conditions":[{"type":"Initialized","status":"True"},{"type":"Ready","status":")" + ready +
      R"("}]}})");
  const json::Value object = parser.parse(text);
  return read_operand(read_pod(object, {}), object);
}

TEST(NodeOperator, ThePodsOfTheOperator) {
  EXPECT_EQ(operand(R"({"app":"nvidia-driver-daemonset"})")->operand, Operand::kDriver);
  EXPECT_EQ(operand(R"({"app":"nvidia-gpu-driver-ubuntu22.04-7c6d",)"
                    R"("app.kubernetes.io/component":"nvidia-driver"})")
                ->operand,
            Operand::kDriver);
  EXPECT_EQ(operand(R"({"app":"nvidia-device-plugin-daemonset"})")->operand,
            Operand::kDevicePlugin);
  const auto validator = operand(R"({"app":"nvidia-operator-validator"})");
  EXPECT_EQ(validator->operand, Operand::kValidator);
  EXPECT_TRUE(validator->ready);
  EXPECT_FALSE(operand(R"({"app":"nvidia-operator-validator"})", "False")->ready);
  EXPECT_FALSE(operand(R"({"app":"nvidia-operator-validator"})", "True", "DaemonSet",
                       R"(,"deletionTimestamp":"2026-11-01T00:00:00Z")")
                   ->ready);
  EXPECT_EQ(operand(R"({"app":"nvidia-dcgm-exporter"})"), std::nullopt);
  EXPECT_EQ(operand(R"({"app":"nvidia-operator-validator"})", "True", "ReplicaSet"), std::nullopt);
}

TEST(OperandPods, APartIsReadyWhileOneOfItsPodsIs) {
  OperandPods pods;
  EXPECT_FALSE(pods.see("v1", "n", {Operand::kValidator, true}));
  EXPECT_TRUE(pods.see("v1", "n", {Operand::kValidator, false}));
  EXPECT_FALSE(pods.see("v1", "n", {Operand::kValidator, false}));
  EXPECT_TRUE(pods.see("v2", "n", {Operand::kValidator, true})) << "the next of a rolling update";
  EXPECT_TRUE(pods.see("p", "n", {Operand::kDevicePlugin, false}));
  EXPECT_TRUE(pods.see("d", "n", {Operand::kDriver, false}));
  NodeSpec node;
  node.name = "n";
  pods.add_to(node);
  EXPECT_EQ(
      node.unfit,
      "the GPU Operator's driver is not ready, the GPU Operator's device plugin is not ready");
  EXPECT_TRUE(node.gpus_unknown);
  EXPECT_EQ(pods.forget("v1"), "");
  EXPECT_EQ(pods.forget("p"), "n");
  EXPECT_EQ(pods.forget("p"), "");
  NodeSpec other;
  other.name = "other";
  other.unfit = "condition GpuMemWatch";
  pods.add_to(other);
  EXPECT_EQ(other.unfit, "condition GpuMemWatch");
  EXPECT_FALSE(other.gpus_unknown);
  pods.clear();
  NodeSpec cleared;
  cleared.name = "n";
  pods.add_to(cleared);
  EXPECT_EQ(cleared.unfit, "");
}

}  // namespace
}  // namespace subak
