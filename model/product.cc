#include "model/product.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/names.h"

namespace subak {
namespace {

constexpr std::string_view kMigMark = "-MIG-";
constexpr std::string_view kSharedMark = "-SHARED";

constexpr std::array<std::string_view, 23> kWithoutNvlink = {
    "A2",  "A10", "A10G", "A10M", "A16", "L2", "L4",  "L20", "L40", "L40G", "L40S", "T4",
    "T4G", "P4",  "P6",   "P40",  "M4",  "M6", "M10", "M60", "K80", "M40",  "GB10"};

// Chips on boards whose NVLink ends inside the node.
constexpr std::array<std::string_view, 13> kJoinedInNode = {
    "P100", "V100", "V100S", "A100", "A800", "PG506", "H100",
    "H800", "H200", "H20",   "B100", "B200", "B300"};

// Chips of cards that NVLink bridges join, if anything joins them.
constexpr std::array<std::string_view, 7> kBridgedChips = {"A30",    "A30X",  "A40",    "RTX",
                                                           "Quadro", "TITAN", "GeForce"};
// Forms of cards that NVLink bridges join, if anything joins them.
constexpr std::array<std::string_view, 3> kBridgedForms = {"PCIE", "PCIe", "NVL"};

template <class List>
bool is_in(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string_view without_maker(std::string_view product) {
  for (const std::string_view maker : {"NVIDIA-", "Tesla-"}) {
    if (product.starts_with(maker)) product.remove_prefix(maker.size());
  }
  return product;
}

// Returns the values of the label `key` that the pod allows, as written. Empty: the pod allows any
// value.
std::vector<std::string> named_values(const PodShape& pod, std::string_view key) {
  for (const Label& l : pod.node_selector) {
    if (l.key == key) return {l.value};
  }
  std::vector<std::string> named;
  for (const AffinityTerm& term : pod.affinity) {
    const auto r = std::find_if(term.requirements.begin(), term.requirements.end(),
                                [&](const Requirement& q) { return q.key == key && q.op == "In"; });
    if (r == term.requirements.end()) return {};
    named.insert(named.end(), r->values.begin(), r->values.end());
  }
  return named;
}

std::vector<std::string> named_products(const PodShape& pod) {
  std::vector<std::string> named = named_values(pod, names::kLabelProduct);
  return named.empty() ? pod.products : named;
}

// Does what as_offered() does, for pods that name GKE's node pools.
PodShape as_pooled(PodShape pod) {
  const std::vector<std::string> sizes = named_values(pod, names::kGkePartition);
  if (!sizes.empty()) {
    const bool one_size = std::all_of(sizes.begin(), sizes.end(),
                                      [&](const std::string& size) { return size == sizes[0]; });
    if (!one_size || sizes[0].empty()) return pod;
    pod.kind = GpuKind::kMig;
    pod.profile = sizes[0];
    return pod;
  }
  const std::vector<std::string> clients = named_values(pod, names::kGkeClients);
  const bool many =
      !clients.empty() && std::all_of(clients.begin(), clients.end(),
                                      [](const std::string& n) { return n != "0" && n != "1"; });
  if (many || !named_values(pod, names::kGkeSharing).empty()) pod.kind = GpuKind::kShared;
  return pod;
}

struct GkeProduct {
  std::string_view accelerator, product;
};
constexpr std::array<GkeProduct, 15> kGkeProducts = {{
    {"nvidia-tesla-k80", "Tesla-K80"},
    {"nvidia-tesla-p4", "Tesla-P4"},
    {"nvidia-tesla-p100", "Tesla-P100-PCIE-16GB"},
    {"nvidia-tesla-v100", "Tesla-V100-SXM2-16GB"},
    {"nvidia-tesla-t4", "Tesla-T4"},
    {"nvidia-tesla-a100", "NVIDIA-A100-SXM4-40GB"},
    {"nvidia-a100-80gb", "NVIDIA-A100-SXM4-80GB"},
    {"nvidia-l4", "NVIDIA-L4"},
    {"nvidia-h100-80gb", "NVIDIA-H100-80GB-HBM3"},
    {"nvidia-h100-mega-80gb", "NVIDIA-H100-80GB-HBM3"},
    {"nvidia-h200-141gb", "NVIDIA-H200"},
    {"nvidia-b200", "NVIDIA-B200"},
    {"nvidia-gb200", "NVIDIA-GB200"},
    {"nvidia-gb300", "NVIDIA-GB300"},
    {"nvidia-rtx-pro-6000", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"},
}};

}  // namespace

std::string_view base_product(std::string_view product) {
  if (product.ends_with(kSharedMark)) product.remove_suffix(kSharedMark.size());
  return product.substr(0, product.find(kMigMark));
}

std::string_view product_profile(std::string_view product) {
  if (product.ends_with(kSharedMark)) product.remove_suffix(kSharedMark.size());
  const std::size_t mark = product.rfind(kMigMark);
  return mark == std::string_view::npos ? std::string_view()
                                        : product.substr(mark + kMigMark.size());
}

bool has_nvlink(std::string_view product) {
  const std::string_view card = without_maker(base_product(product));
  const std::string_view chip = card.substr(0, card.find('-'));
  if (is_in(kWithoutNvlink, chip)) return false;
  return !card.starts_with("RTX-PRO-") && card.find("-Ada-Generation") == std::string_view::npos;
}

bool nvlink_joins_nodes(std::string_view product) {
  if (gpus_per_nvlink_domain(product) == 1) return false;
  const std::string_view card = without_maker(base_product(product));
  return !is_in(kJoinedInNode, card.substr(0, card.find('-')));
}

std::string_view gke_product(std::string_view accelerator) {
  const auto* const known =
      std::find_if(kGkeProducts.begin(), kGkeProducts.end(),
                   [&](const GkeProduct& p) { return p.accelerator == accelerator; });
  return known == kGkeProducts.end() ? accelerator : known->product;
}

std::int64_t gpus_per_nvlink_domain(std::string_view product) {
  if (!has_nvlink(product)) return 1;
  std::string_view card = without_maker(base_product(product));
  if (is_in(kBridgedChips, card.substr(0, card.find('-')))) return 1;
  while (true) {
    const std::size_t word = card.find('-');
    if (is_in(kBridgedForms, card.substr(0, word))) return 1;
    if (word == std::string_view::npos) return 0;
    card.remove_prefix(word + 1);
  }
}

PodShape as_offered(PodShape pod) {
  if (pod.kind != GpuKind::kWhole) return pod;
  const std::vector<std::string> named = named_products(pod);
  if (named.empty()) return as_pooled(std::move(pod));
  const std::string profile(product_profile(named.front()));
  const bool one_form = std::all_of(named.begin(), named.end(), [&](const std::string& product) {
    return product_profile(product) == profile && base_product(product) != product;
  });
  if (!one_form) return as_pooled(std::move(pod));
  pod.kind = profile.empty() ? GpuKind::kShared : GpuKind::kMig;
  pod.profile = profile;
  return pod;
}

}  // namespace subak
