// Reads what NVIDIA's GPU Operator does on a Kubernetes node, from two sources: the labels that it
// writes while it upgrades the driver, and its pods there. It is a part of kube/node/node.h.
// Sources: documentation of the GPU Operator ("GPU Driver Upgrades"), NVIDIA/k8s-operator-libs
// (pkg/upgrade, the states), NVIDIA/k8s-driver-manager (the paused labels), NVIDIA/gpu-operator
// (assets, the labels of its pods).
// Threads: any; pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "kube/json.h"
#include "kube/pod.h"
#include "model/node.h"

namespace subak {

// The label with the state of the driver's upgrade on the node: "drain-required".
inline constexpr std::string_view kLabelDriverUpgrade = "nvidia.com/gpu-driver-upgrade-state";

// True while the GPU Operator upgrades the driver of the node, or if the upgrade failed. False for
// a node that only waits for its upgrade (upgrade-required): the operator does nothing there yet.
// An unknown state counts as an upgrade.
bool upgrades_driver(const NodeSpec& node);

// Returns the causes in the operator's labels why no new pod may be placed on the node, as text for
// people.
std::vector<std::string> gpu_operator_causes(const NodeSpec& node);

// Returns the cause if an autoscaler has tainted the node because it will remove the node. A pod
// that tolerates every taint would go there too. Sources: karpenter.sh v1 (disrupted) and v1beta1
// (disruption); kubernetes/autoscaler cluster-autoscaler/utils/taints.
std::vector<std::string> autoscaler_causes(const NodeSpec& node);
// Adds causes to NodeSpec::unfit, and cuts a text that is too long.
void add_unfit(NodeSpec& node, const std::vector<std::string>& causes);

// The parts of the GPU Operator without which GPU pods fail on a node. Each has a pod on the node.
enum class Operand : std::uint8_t { kDriver, kDevicePlugin, kValidator };
template <>
struct EnumText<Operand> {
  static constexpr std::array<std::string_view, 3> names{"driver", "device plugin", "validator"};
};

// A pod of the GPU Operator.
struct OperandPod {
  Operand operand = Operand::kDriver;
  // True: the pod's condition Ready is True, and the pod is not being deleted. The validator gets
  // ready when driver, toolkit, CUDA and device plugin have passed their checks.
  bool ready = false;
};

// Returns nullopt if the pod is no operand. `object` is the pod from which `pod` was read. The
// caller must check the namespace, because users may write the same labels.
std::optional<OperandPod> read_operand(const Pod& pod, json::Value object);

}  // namespace subak
