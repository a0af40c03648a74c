// A fleet from `kubectl get nodes -o json`: what a replay needs of it, whole GPUs by product. Nodes
// that take no work (cordoned, not ready) and nodes without whole GPUs are left out.
#include "sim/nodes_json.h"

#include <boost/json.hpp>
#include <charconv>

#include "core/limits.h"
#include "core/names.h"
#include "sim/json_file.h"

namespace subak::sim {
namespace {

namespace json = boost::json;

const json::value* find(const json::value* from, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) {
    const json::object* const object = from ? from->if_object() : nullptr;
    from = object ? object->if_contains(key) : nullptr;
  }
  return from;
}

std::string text(const json::value* value) {
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool takes_work(const json::value& node) {
  const json::value* const cordoned = find(&node, {"spec", "unschedulable"});
  if (cordoned && cordoned->is_bool() && cordoned->get_bool()) return false;
  const json::value* const conditions = find(&node, {"status", "conditions"});
  if (!conditions || !conditions->is_array()) return true;
  for (const json::value& condition : conditions->get_array()) {
    if (text(find(&condition, {"type"})) == "Ready") {
      return text(find(&condition, {"status"})) == "True";
    }
  }
  return true;
}

}  // namespace

Result<std::vector<NodeSpec>> read_nodes_json(const std::string& path) {
  const std::string want = "the output of kubectl get nodes -o json";
  const Result<json::value> root = read_json_file(path, limits::kMaxInputFileBytes, want);
  if (!root.ok()) return root.error();
  const json::value* const items = find(&*root, {"items"});
  if (!items || !items->is_array()) return Error{ErrorCode::kInvalid, path, "", want};
  std::vector<NodeSpec> fleet;
  for (std::size_t i = 0; i < items->get_array().size(); ++i) {
    const json::value& item = items->get_array()[i];
    const std::string where = path + ": items[" + std::to_string(i) + "]";
    NodeSpec node;
    node.name = text(find(&item, {"metadata", "name"}));
    if (node.name.empty() || node.name.size() > limits::kMaxNameBytes) {
      return Error{ErrorCode::kInvalid, where + ".metadata.name", node.name, "a node name"};
    }
    const std::string gpus = text(find(&item, {"status", "allocatable", names::kGpu}));
    const auto [end, ec] = std::from_chars(gpus.data(), gpus.data() + gpus.size(), node.gpus);
    const auto most = static_cast<std::int64_t>(limits::kMaxGpusPerNode);
    if (!gpus.empty() && (ec != std::errc() || end != gpus.data() + gpus.size() || node.gpus < 0 ||
                          node.gpus > most)) {
      return Error{ErrorCode::kInvalid, where + ".status.allocatable", gpus, "0 to 64 GPUs"};
    }
    node.product = text(find(&item, {"metadata", "labels", names::kLabelProduct}));
    if (node.product.empty()) node.product = "GPU";
    node.clique = text(find(&item, {"metadata", "labels", names::kLabelClique}));
    if (node.gpus > 0 && takes_work(item)) fleet.push_back(std::move(node));
  }
  if (fleet.empty()) return Error{ErrorCode::kInvalid, path, "", "at least one node with GPUs"};
  return fleet;
}

}  // namespace subak::sim
