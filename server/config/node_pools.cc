// Readers of node pools, as maps of the file and as flags.
#include <algorithm>
#include <charconv>
#include <utility>

#include "core/limits.h"
#include "kube/node/node_gpus.h"
#include "kube/quantity.h"
#include "server/config/settings.h"

namespace subak::config {
namespace {

using Found = std::optional<Error>;

Found set_count(std::string_view text, std::int64_t most, std::string_view what, auto& out) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) {
    return bad_value(text, std::string(what) + ", at most " + std::to_string(most));
  }
  out = static_cast<std::remove_reference_t<decltype(out)>>(value);
  return std::nullopt;
}

Found set_amount(std::string_view text, std::int64_t (KubeQuantity::*unit)() const,
                 std::int64_t most, const char* want, std::int64_t& out) {
  const auto amount = parse_kube_quantity(text);
  if (!amount || amount->nano < 0 || ((*amount).*unit)() > most) return bad_value(text, want);
  out = ((*amount).*unit)();
  return std::nullopt;
}

// Reads "KEY=VALUE".
Found read_label(std::string_view text, Label& out) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return bad_value(text, "KEY=VALUE, such as pool=h100");
  if (auto error = check_label_key(text.substr(0, equals))) return error;
  out = {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  return std::nullopt;
}

Found add_label(std::string_view text, NodeSpec& node) {
  Label label;
  if (auto error = read_label(text, label)) return error;
  const auto same = [&](const Label& other) { return other.key == label.key; };
  if (std::any_of(node.labels.begin(), node.labels.end(), same))
    return bad_value(text, "each label once");
  node.labels.push_back(std::move(label));
  std::sort(node.labels.begin(), node.labels.end());
  return std::nullopt;
}

// Reads "KEY[=VALUE]:EFFECT".
Found add_taint(std::string_view text, NodeSpec& node) {
  const std::size_t colon = std::min(text.rfind(':'), text.size());
  const std::string_view effect = text.substr(std::min(colon + 1, text.size()));
  const std::string_view left = text.substr(0, colon);
  const std::size_t equals = std::min(left.find('='), left.size());
  const bool good = effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
  if (!good || check_label_key(left.substr(0, equals)))
    return bad_value(text, "KEY[=VALUE]:EFFECT, such as nvidia.com/gpu:NoSchedule");
  node.taints.push_back({std::string(left.substr(0, equals)),
                         std::string(left.substr(std::min(equals + 1, left.size()))),
                         std::string(effect)});
  return std::nullopt;
}

// Reads "NAME=COUNT".
Found add_resource(std::string_view text, NodeSpec& node) {
  const std::size_t equals = std::min(text.find('='), text.size());
  ResourceCount resource{std::string(text.substr(0, equals)), 0};
  if (resource.name.find('/') == std::string::npos)
    return bad_value(text, "NAME=COUNT of an extended resource, such as rdma/hca=8");
  const std::string_view count = text.substr(std::min(equals + 1, text.size()));
  if (auto error = set_count(count, limits::kMaxResourceCount, "a count", resource.count))
    return error;
  node.extended.push_back(std::move(resource));
  std::sort(node.extended.begin(), node.extended.end(),
            [](const ResourceCount& a, const ResourceCount& b) { return a.name < b.name; });
  return std::nullopt;
}

}  // namespace

std::optional<Error> set_pool_field(NodePool& pool, std::string_view key, std::string_view text) {
  NodeSpec& node = pool.node;
  if (key == "name") return pool.name = text, std::nullopt;
  if (key == "cluster") return pool.cluster = text, check_name(text);
  if (key == "label") return read_label(text, pool.label);
  if (key == "min") return set_count(text, limits::kMaxPoolNodes, "a number of nodes", pool.least);
  if (key == "max") return set_count(text, limits::kMaxPoolNodes, "a number of nodes", pool.most);
  if (key == "provisioningClass") return pool.provisioning_class = text, std::nullopt;
  if (key == "product") return node.product = text, std::nullopt;
  if (key == "gpus") return set_count(text, limits::kMaxGpusPerNode, "a number of GPUs", node.gpus);
  if (key == "cpu") {
    return set_amount(text, &KubeQuantity::milli, limits::kMaxCpuMilli, "CPUs such as 96 or 95500m",
                      node.cpu_milli);
  }
  if (key == "memory") {
    return set_amount(text, &KubeQuantity::units, limits::kMaxMemoryBytes, "memory such as 1024Gi",
                      node.memory_bytes);
  }
  if (key == "pods")
    return set_count(text, limits::kMaxResourceCount, "a number of pods", node.pod_slots);
  if (key == "labels") return add_label(text, node);
  if (key == "taints") return add_taint(text, node);
  if (key == "resources") return add_resource(text, node);
  return bad_value(key,
                   "one of name, cluster, label, min, max, provisioningClass, product, gpus, cpu, "
                   "memory, pods, labels, taints, resources");
}

std::optional<Error> add_pool(Config& config, NodePool pool) {
  if (!pool.label.key.empty()) {
    const std::string label = pool.label.key + "=" + pool.label.value;
    if (auto error = add_label(label, pool.node)) return error;
  }
  if (auto error = check_pool(pool)) {
    error->field.clear();
    return error;
  }
  for (const NodePool& other : config.queue.node_pools) {
    if (other.name == pool.name) return bad_value(pool.name, "each pool once");
  }
  if (config.queue.node_pools.size() >= limits::kMaxNodePools)
    return bad_value(pool.name, "at most " + std::to_string(limits::kMaxNodePools) + " pools");
  config.queue.node_pools.push_back(std::move(pool));
  return std::nullopt;
}

std::optional<Error> read_pool(Config& config, std::string_view text) {
  NodePool pool;
  const std::size_t colon = std::min(text.find(':'), text.size());
  pool.name = text.substr(0, colon);
  std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return bad_value(item, "KEY=VALUE, such as max=8");
    if (auto error = set_pool_field(pool, item.substr(0, equals), item.substr(equals + 1)))
      return error;
  }
  return add_pool(config, std::move(pool));
}

std::vector<NodePool> placed_pools(const Config& config) {
  std::vector<NodePool> out = config.queue.node_pools;
  for (NodePool& pool : out) {
    read_levels(config.topology_labels, pool.node);
    if (!config.node_labels.fabric.empty())
      pool.node.fabric = find_label(pool.node, config.node_labels.fabric);
  }
  return out;
}

}  // namespace subak::config
