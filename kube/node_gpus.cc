#include "kube/node_gpus.h"

#include <algorithm>
#include <charconv>

#include "core/limits.h"
#include "core/names.h"
#include "kube/pod.h"
#include "placement/mig_cut.h"
#include "placement/product.h"

namespace subak {
namespace {

constexpr std::string_view kUnknownProduct = "GPU";  // devices without feature discovery
constexpr std::string_view kSharedMark = "-SHARED";
constexpr std::string_view kInvalid = "INVALID";

std::int64_t count_in(const ResourceCounts& counts, std::string_view name) {
  const auto it = counts.find(std::string(name));
  return it == counts.end() ? 0 : it->second;
}

std::int64_t number_label(const NodeSpec& node, std::string_view key) {
  const std::string text = find_label(node, key);
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  return ec == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Slices of the strategy mixed, one line per profile, those that work.
std::vector<MigSlices> mixed_slices(const ResourceCounts& allocatable, const NodeSpec& node) {
  std::map<std::string, std::int64_t> by_profile;
  for (const auto& [name, count] : allocatable) {
    if (name.rfind(names::kMigPrefix, 0) != 0 || count == 0) continue;
    const std::string profile(mig_profile_of(name));
    const std::int64_t replicas =
        number_label(node, std::string(names::kMigPrefix) + profile + ".replicas");
    by_profile[profile] += count / std::max<std::int64_t>(1, replicas);
  }
  std::vector<MigSlices> slices;
  slices.reserve(by_profile.size());
  for (const auto& [profile, count] : by_profile) slices.push_back({profile, count});
  return slices;
}

struct Gpus {
  std::int64_t capacity = 0;  // as nvidia.com/gpu counts them
  std::int64_t allocatable = 0;
  std::int64_t cards = 0;  // by label; 0: unknown
  std::int64_t replicas = 1;
};

std::int64_t sharing_factor(const NodeSpec& node, const Gpus& gpus, bool shared_name,
                            std::string_view product) {
  if (const std::int64_t label = number_label(node, names::kLabelReplicas); label > 1) return label;
  const bool shared = shared_name || product.ends_with(kSharedMark);
  if (shared && gpus.cards > 0 && gpus.capacity > gpus.cards) return gpus.capacity / gpus.cards;
  return 1;
}

Gpus read_counts(const ResourceCounts& capacity, const ResourceCounts& allocatable,
                 const NodeSpec& node, std::string_view product) {
  Gpus gpus;
  gpus.allocatable = count_in(allocatable, names::kGpu) + count_in(allocatable, names::kGpuShared);
  gpus.capacity = std::max(gpus.allocatable,
                           count_in(capacity, names::kGpu) + count_in(capacity, names::kGpuShared));
  gpus.cards = number_label(node, names::kLabelCount);
  gpus.replicas = sharing_factor(node, gpus, count_in(capacity, names::kGpuShared) > 0, product);
  return gpus;
}

// Every card is cut into the same slices, which are called nvidia.com/gpu.
void put_single(const Gpus& gpus, const std::string& profile, NodeSpec& node) {
  if (profile == kInvalid) return;
  const std::int64_t installed = gpus.capacity / gpus.replicas;
  node.mig = {{profile, gpus.allocatable / gpus.replicas}};
  node.mig_gpus = node.gpus = mig_least_cards(node.product, {{profile, installed}});
}

std::optional<Error> contradiction_of(const NodeSpec& node, std::int64_t cards,
                                      std::int64_t whole) {
  const std::int64_t cut = std::max<std::int64_t>(0, cards - whole);
  if (cards == 0 || mig_cut(node.product, node.mig, cut) != MigCut::kTooMany) return std::nullopt;
  return Error{ErrorCode::kInvalid,
               "node " + node.name + ": " + std::string(names::kMigPrefix) + "*",
               mig_slices_text(node.mig),
               "want what can be cut from its cards (" + std::to_string(cut) + ": " +
                   std::string(names::kLabelCount) + " says " + std::to_string(cards) + ", and " +
                   std::to_string(whole) + " are whole)"};
}

void put_whole_and_mixed(const Gpus& gpus, NodeSpec& node, std::optional<Error>& contradiction) {
  const std::int64_t whole = ceil_div(gpus.capacity, gpus.replicas);
  const std::int64_t working = ceil_div(gpus.allocatable, gpus.replicas);
  contradiction = contradiction_of(node, gpus.cards, whole);
  if (contradiction) node.mig.clear();
  if (!node.mig.empty()) {
    node.mig_gpus = std::max(mig_least_cards(node.product, node.mig), gpus.cards - whole);
    node.gpus = whole + node.mig_gpus;
  } else {
    node.gpus = std::max(whole, gpus.cards);
  }
  node.unhealthy_gpus = node.gpus - node.mig_gpus - working;
  node.replicas = gpus.replicas > 1 ? gpus.replicas : 0;
}

// By the product, unless a label says it. The members of a clique are joined, whatever is said.
std::optional<Error> read_nvlink(NodeSpec& node) {
  node.gpus_per_domain = node.clique.empty() ? gpus_per_nvlink_domain(node.product) : 0;
  const std::string said = find_label(node, names::kLabelGpusPerDomain);
  if (said.empty()) return std::nullopt;
  const std::int64_t joined = number_label(node, names::kLabelGpusPerDomain);
  const auto refused = [&](std::string want) {
    return Error{ErrorCode::kInvalid,
                 "node " + node.name + ": " + std::string(names::kLabelGpusPerDomain), said,
                 std::move(want)};
  };
  constexpr auto kMost = static_cast<std::int64_t>(limits::kMaxGpusPerNode);
  if (joined == 0 || joined > kMost) {
    if (node.clique.empty()) node.gpus_per_domain = 1;
    return refused("want how many of its GPUs NVLink joins: 1 (none) to " + std::to_string(kMost));
  }
  if (joined > 1 && !has_nvlink(node.product)) {
    return refused("want 1: " + node.product + " has no NVLink");
  }
  if (!node.clique.empty()) {
    if (joined >= node.gpus) return std::nullopt;
    return refused("want no label, or " + std::to_string(node.gpus) + ": " +
                   std::string(names::kLabelClique) + " says that all are joined");
  }
  node.gpus_per_domain = joined > 1 && joined >= node.gpus ? 0 : joined;
  return std::nullopt;
}

// Another maker's devices: nobody slices or shares them as far as we know.
void add_extra(const ResourceCounts& capacity, const ResourceCounts& allocatable,
               const ExtraGpuResources& extra, NodeSpec& node) {
  for (const std::string& name : extra) {
    if (gpu_kind_of(name, {}) != GpuKind::kNone) continue;  // counted already
    const std::int64_t working = count_in(allocatable, name);
    const std::int64_t installed = std::max(working, count_in(capacity, name));
    node.gpus += installed;
    node.unhealthy_gpus += installed - working;
  }
}

}  // namespace

std::string find_label(const NodeSpec& node, std::string_view key) {
  for (const Label& label : node.labels) {
    if (label.key == key) return label.value;
  }
  return "";
}

std::optional<Error> read_gpus(const ResourceCounts& capacity, const ResourceCounts& allocatable,
                               const ExtraGpuResources& extra, NodeSpec& node,
                               std::optional<Error>& contradiction) {
  const std::string product = find_label(node, names::kLabelProduct);
  node.product = base_product(product);
  constexpr auto kMost = static_cast<std::int64_t>(limits::kMaxGpusPerNode) * 1000;
  for (const auto* counts : {&capacity, &allocatable}) {
    for (const auto& [name, count] : *counts) {
      if (gpu_kind_of(name, extra) == GpuKind::kNone || count <= kMost) continue;
      return Error{ErrorCode::kInvalid, "node " + node.name + ": " + name, std::to_string(count),
                   "want at most " + std::to_string(kMost)};
    }
  }
  const Gpus gpus = read_counts(capacity, allocatable, node, product);
  if (const std::string profile(product_profile(product)); !profile.empty()) {
    put_single(gpus, profile, node);
  } else {
    node.mig = mixed_slices(allocatable, node);
    put_whole_and_mixed(gpus, node, contradiction);
  }
  add_extra(capacity, allocatable, extra, node);
  if (node.gpus == 0) node.product.clear();
  if (node.gpus > 0 && node.product.empty()) node.product = kUnknownProduct;
  if (node.gpus > 0) {
    auto wrong = read_nvlink(node);
    if (!contradiction) contradiction = std::move(wrong);
  }
  if (node.gpus <= static_cast<std::int64_t>(limits::kMaxGpusPerNode)) return std::nullopt;
  return Error{ErrorCode::kInvalid, "node " + node.name + ": GPUs", std::to_string(node.gpus),
               "want at most " + std::to_string(limits::kMaxGpusPerNode)};
}

}  // namespace subak
