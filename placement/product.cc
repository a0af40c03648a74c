#include "placement/product.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/names.h"

namespace subak {
namespace {

constexpr std::string_view kMigMark = "-MIG-";
constexpr std::string_view kSharedMark = "-SHARED";

constexpr std::array<std::string_view, 20> kWithoutNvlink = {
    "A2",   "A10", "A10G", "A10M", "A16", "L2",  "L4", "L20", "L40", "L40G",
    "L40S", "T4",  "T4G",  "P4",   "P6",  "P40", "M4", "M6",  "M10", "M60"};

// Cards of these are joined by bridges, if at all.
constexpr std::array<std::string_view, 7> kBridgedChips = {"A30",    "A30X",  "A40",    "RTX",
                                                           "Quadro", "TITAN", "GeForce"};
// The same, said by the form of the card.
constexpr std::array<std::string_view, 3> kBridgedForms = {"PCIE", "PCIe", "NVL"};

std::string_view without_maker(std::string_view product) {
  for (const std::string_view maker : {"NVIDIA-", "Tesla-"}) {
    if (product.starts_with(maker)) product.remove_prefix(maker.size());
  }
  return product;
}

// The products that the pod names, as written; none: it leaves them open.
std::vector<std::string> named_products(const PodShape& pod) {
  for (const Label& l : pod.node_selector) {
    if (l.key == names::kLabelProduct) return {l.value};
  }
  std::vector<std::string> named;
  for (const AffinityTerm& term : pod.affinity) {
    const auto r = std::find_if(
        term.requirements.begin(), term.requirements.end(),
        [](const Requirement& q) { return q.key == names::kLabelProduct && q.op == "In"; });
    if (r == term.requirements.end()) return pod.products;
    named.insert(named.end(), r->values.begin(), r->values.end());
  }
  return named.empty() ? pod.products : named;
}

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
  if (std::find(kWithoutNvlink.begin(), kWithoutNvlink.end(), chip) != kWithoutNvlink.end()) {
    return false;
  }
  return !card.starts_with("RTX-PRO-") && card.find("-Ada-Generation") == std::string_view::npos;
}

std::int64_t gpus_per_nvlink_domain(std::string_view product) {
  if (!has_nvlink(product)) return 1;
  std::string_view card = without_maker(base_product(product));
  const auto is_in = [](const auto& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
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
  if (named.empty()) return pod;
  const std::string profile(product_profile(named.front()));
  const bool one_form = std::all_of(named.begin(), named.end(), [&](const std::string& product) {
    return product_profile(product) == profile && base_product(product) != product;
  });
  if (!one_form) return pod;
  pod.kind = profile.empty() ? GpuKind::kShared : GpuKind::kMig;
  pod.profile = profile;
  return pod;
}

}  // namespace subak
