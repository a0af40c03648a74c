#include "kube/node/node_operator.h"

#include <algorithm>

#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/node/node_gpus.h"
#include "kube/node/node_labels.h"

namespace subak {
namespace {

constexpr std::string_view kPausedFor = "paused-for-";
constexpr std::string_view kPausedForMig = "paused-for-mig-change";  // node_mig.cc says this

// The labels by which the operator deploys a part on a node. It deletes the part's pod while the
// value is another one than "true".
constexpr std::array<std::string_view, 3> kDeployLabels{names::kLabelDeployPlugin,
                                                        "nvidia.com/gpu.deploy.operator-validator",
                                                        "nvidia.com/gpu.deploy.container-toolkit"};

constexpr std::string_view kFailed = "upgrade-failed";
// In these states the operator does nothing to the node. An empty state means that the operator
// upgrades no driver there.
constexpr std::array<std::string_view, 3> kQuiet{"", "upgrade-done", "upgrade-required"};

struct AppLabel {
  std::string_view value;
  Operand operand;
};
constexpr std::array<AppLabel, 3> kApps{{
    {"nvidia-driver-daemonset", Operand::kDriver},
    {"nvidia-device-plugin-daemonset", Operand::kDevicePlugin},
    {"nvidia-operator-validator", Operand::kValidator},
}};

std::optional<Operand> operand_of(const Pod& pod) {
  for (const auto& [key, value] : pod.labels) {
    // The driver pods of an NVIDIADriver object have another name for each object.
    if (key == "app.kubernetes.io/component" && value == "nvidia-driver") return Operand::kDriver;
    if (key != "app") continue;
    for (const AppLabel& app : kApps) {
      if (value == app.value) return app.operand;
    }
  }
  return std::nullopt;
}

bool is_ready(json::Value object) {
  const auto status = json::member(object, "status");
  const auto conditions = status ? json::member(*status, "conditions") : std::nullopt;
  if (!conditions) return false;
  bool ready = false;
  json::each_item(*conditions, [&](std::size_t, json::Value condition) {
    if (json::text(condition, "type") == "Ready") ready = json::text(condition, "status") == "True";
  });
  return ready;
}

}  // namespace

bool upgrades_driver(const NodeSpec& node) {
  const std::string state = find_label(node, kLabelDriverUpgrade);
  return std::find(kQuiet.begin(), kQuiet.end(), state) == kQuiet.end();
}

std::vector<std::string> gpu_operator_causes(const NodeSpec& node) {
  std::vector<std::string> causes;
  if (upgrades_driver(node)) {
    const std::string state = find_label(node, kLabelDriverUpgrade);
    causes.push_back(std::string(state == kFailed ? "the driver upgrade of the GPU Operator failed"
                                                  : "the GPU Operator upgrades the driver") +
                     ": " + std::string(kLabelDriverUpgrade) + " is " +
                     cut_text(state, kMostValueBytes));
  }
  for (const std::string_view key : kDeployLabels) {
    const std::string value = find_label(node, key);
    if (!value.starts_with(kPausedFor) || value == kPausedForMig) continue;
    causes.push_back(std::string(key) + " is " + cut_text(value, kMostValueBytes));
    break;  // the operator pauses all of them together
  }
  return causes;
}

std::vector<std::string> autoscaler_causes(const NodeSpec& node) {
  const Taint* const taint = leaving_taint(node);
  if (taint == nullptr) return {};
  return {"an autoscaler removes the node: taint " + taint->key};
}

void add_unfit(NodeSpec& node, const std::vector<std::string>& causes) {
  for (const std::string& cause : causes) node.unfit += (node.unfit.empty() ? "" : ", ") + cause;
  node.unfit = cut_text(node.unfit, limits::kMaxTextBytes - kCutNoteBytes);
}

std::optional<OperandPod> read_operand(const Pod& pod, json::Value object) {
  if (pod.owner.kind != "DaemonSet") return std::nullopt;
  const auto operand = operand_of(pod);
  if (!operand) return std::nullopt;
  return OperandPod{*operand, pod.deleted_at.empty() && is_ready(object)};
}

}  // namespace subak
