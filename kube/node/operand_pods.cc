#include "kube/node/operand_pods.h"

#include <array>
#include <utility>

namespace subak {

bool OperandPods::see(const std::string& uid, const std::string& node, const OperandPod& pod) {
  const std::vector<Operand> before = missing(node);
  pods_.insert_or_assign(uid, OfPod{node, pod});
  by_node_[node].insert_or_assign(uid, pod);
  return missing(node) != before;
}

std::string OperandPods::forget(const std::string& uid) {
  auto found = pods_.extract(uid);
  if (found.empty()) return {};
  std::string node = std::move(found.mapped().node);
  const std::vector<Operand> before = missing(node);
  const auto at = by_node_.find(node);
  at->second.erase(uid);
  if (at->second.empty()) by_node_.erase(at);
  return missing(node) != before ? node : std::string();
}

void OperandPods::clear() {
  pods_.clear();
  by_node_.clear();
}

std::vector<Operand> OperandPods::missing(const std::string& node) const {
  const auto here = by_node_.find(node);
  if (here == by_node_.end()) return {};
  std::array<bool, EnumText<Operand>::names.size()> known{}, ready{};
  for (const auto& [uid, pod] : here->second) {
    const auto part = static_cast<std::size_t>(pod.operand);
    known[part] = true;
    ready[part] = ready[part] || pod.ready;
  }
  std::vector<Operand> out;
  for (std::size_t part = 0; part < known.size(); ++part) {
    if (known[part] && !ready[part]) out.push_back(static_cast<Operand>(part));
  }
  return out;
}

void OperandPods::add_to(NodeSpec& node) const {
  std::vector<std::string> causes;
  for (const Operand part : missing(node.name)) {
    causes.push_back("the GPU Operator's " + std::string(enum_name(part)) + " is not ready");
    node.gpus_unknown = node.gpus_unknown || part == Operand::kDevicePlugin;
  }
  add_unfit(node, causes);
}

}  // namespace subak
