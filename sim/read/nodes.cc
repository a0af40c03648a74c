#include <charconv>

#include "core/limits.h"
#include "kube/node/node.h"
#include "model/product.h"
#include "placement/gpus/room.h"
#include "sim/read/csv.h"
#include "sim/read/json_file.h"
#include "sim/read/trace.h"

namespace subak::sim {
namespace {

// Reads "80x8" or "80x8:PRODUCT"; nullopt for other text.
std::optional<std::vector<NodeSpec>> uniform_fleet(std::string_view text) {
  std::size_t nodes = 0;
  std::int64_t gpus = 0;
  const char* const end = text.data() + text.size();
  const auto [x, bad_nodes] = std::from_chars(text.data(), end, nodes);
  if (bad_nodes != std::errc() || x == end || *x != 'x') return std::nullopt;
  const auto [rest, bad_gpus] = std::from_chars(x + 1, end, gpus);
  if (bad_gpus != std::errc() || (rest != end && *rest != ':')) return std::nullopt;
  if (nodes < 1 || nodes > limits::kMaxNodes || gpus < 1 ||
      gpus > static_cast<std::int64_t>(limits::kMaxGpusPerNode)) {
    return std::nullopt;
  }
  NodeSpec node;
  node.product = rest == end ? "GPU" : std::string(rest + 1, end);
  node.gpus = gpus;
  node.gpus_per_domain = gpus_per_nvlink_domain(node.product);
  std::vector<NodeSpec> fleet(nodes, node);
  for (std::size_t i = 0; i < nodes; ++i) fleet[i].name = "node-" + std::to_string(i);
  return fleet;
}

Result<NodeSpec> read_node(const CsvReader& csv, std::size_t name, std::size_t gpus) {
  NodeSpec node;
  node.name = csv.field(name);
  if (node.name.empty() || node.name.size() > limits::kMaxNameBytes) {
    return csv.error(name, "a node name of 1 to 253 bytes");
  }
  const auto count = csv.integer(gpus, 0, limits::kMaxGpusPerNode);
  if (!count.ok()) return count.error();
  node.gpus = *count;
  node.product = csv.field(csv.column("gpu_type"));
  if (node.product.empty() && node.gpus > 0) node.product = "GPU";
  if (node.gpus > 0) node.gpus_per_domain = gpus_per_nvlink_domain(node.product);
  if (const auto cpus = csv.column("cpus"); cpus && !csv.field(cpus).empty()) {
    const auto n = csv.integer(*cpus, 0, 1'000'000);
    if (!n.ok()) return n.error();
    node.cpu_milli = *n * 1000;
  }
  if (const auto memory = csv.column("memory_mib"); memory && !csv.field(memory).empty()) {
    const auto n = csv.integer(*memory, 0, std::int64_t{1} << 40);
    if (!n.ok()) return n.error();
    node.memory_bytes = *n << 20;
  }
  return node;
}

// Returns the part of a node for a replay: its healthy whole GPUs. Pods of a trace tolerate no
// taint, so it has none.
std::optional<NodeSpec> for_replay(NodeSpec node) {
  const std::int64_t whole = uncut_gpus(node) - node.unhealthy_gpus;
  const bool takes_work = node.ready && !node.unschedulable && node.unfit.empty();
  if (!takes_work || whole <= 0 || node.replicas > 1) return std::nullopt;
  node.gpus = whole;
  node.unhealthy_gpus = node.mig_gpus = 0;
  node.mig.clear();
  node.taints.clear();
  return node;
}

Result<std::vector<NodeSpec>> read_json(const std::string& path) {
  const Result<std::string> text = read_json_text(path, limits::kMaxInputFileBytes);
  if (!text.ok()) return text.error();
  auto fleet = nodes_to_replay(*text);
  if (fleet.ok()) return fleet;
  Error error = fleet.error();
  error.field = path + ": " + error.field;
  return error;
}

}  // namespace

Result<std::vector<NodeSpec>> nodes_to_replay(std::string_view json) {
  auto nodes = read_kube_nodes(json);
  if (!nodes.ok()) return nodes.error();
  std::vector<NodeSpec> fleet;
  for (NodeSpec& node : *nodes) {
    if (auto replayed = for_replay(std::move(node))) fleet.push_back(std::move(*replayed));
  }
  if (!fleet.empty()) return fleet;
  return Error{ErrorCode::kInvalid, "nodes", "",
               "at least one node with whole GPUs that takes work"};
}

Result<std::vector<NodeSpec>> read_nodes(const std::string& path_or_size) {
  if (auto fleet = uniform_fleet(path_or_size)) return std::move(*fleet);
  if (path_or_size.ends_with(".json")) return read_json(path_or_size);
  auto csv = CsvReader::open(path_or_size);
  if (!csv.ok()) {
    Error error = csv.error();
    error.want = "a CSV file with node,gpus,gpu_type, a nodes.json, or a size such as 80x8";
    return error;
  }
  const auto name = (*csv)->need("node");
  if (!name.ok()) return name.error();
  const auto gpus = (*csv)->need("gpus");
  if (!gpus.ok()) return gpus.error();
  std::vector<NodeSpec> fleet;
  while (true) {
    const auto more = (*csv)->next();
    if (!more.ok()) return more.error();
    if (!*more) break;
    if (fleet.size() == limits::kMaxNodes) {
      return (*csv)->error(std::nullopt, "at most " + std::to_string(limits::kMaxNodes) + " nodes");
    }
    auto node = read_node(**csv, *name, *gpus);
    if (!node.ok()) return node.error();
    fleet.push_back(std::move(*node));
  }
  if (fleet.empty()) return (*csv)->error(std::nullopt, "at least one node");
  return fleet;
}

}  // namespace subak::sim
