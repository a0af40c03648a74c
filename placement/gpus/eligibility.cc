#include "placement/gpus/eligibility.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "model/mig.h"
#include "model/product.h"

namespace subak::eligibility {
namespace {

constexpr std::string_view kNameField = "metadata.name";

// Parses as Go's strconv.ParseInt in base 10: an optional sign, then digits only.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool compares(const Requirement& r, const std::string* value) {
  if (value == nullptr || r.values.size() != 1) return false;
  const auto have = parse_integer(*value);
  const auto want = parse_integer(r.values.front());
  if (!have || !want) return false;
  return r.op == "Gt" ? *have > *want : *have < *want;
}

}  // namespace

const std::string* label(const NodeSpec& node, std::string_view key) {
  for (const Label& l : node.labels) {
    if (l.key == key) return &l.value;
  }
  return nullptr;
}

bool tolerates(const Toleration& t, const Taint& taint) {
  if (!t.effect.empty() && t.effect != taint.effect) return false;
  if (!t.key.empty() && t.key != taint.key) return false;
  if (t.op.empty() || t.op == "Equal") return t.value == taint.value;
  return t.op == "Exists";
}

bool tolerates_all(std::span<const Toleration> tolerations, std::span<const Taint> taints) {
  return std::all_of(taints.begin(), taints.end(), [&](const Taint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
    return std::any_of(tolerations.begin(), tolerations.end(),
                       [&](const Toleration& t) { return tolerates(t, taint); });
  });
}

bool tolerates_cordon(std::span<const Toleration> tolerations) {
  const Taint cordon{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  return tolerates_all(tolerations, std::span(&cordon, 1));
}

bool matches(const Requirement& r, const NodeSpec& node) {
  const std::string* value = r.key == kNameField ? &node.name : label(node, r.key);
  if (r.op == "In") return value != nullptr && contains(r.values, *value);
  if (r.op == "NotIn") return value == nullptr || !contains(r.values, *value);
  if (r.op == "Exists") return value != nullptr;
  if (r.op == "DoesNotExist") return value == nullptr;
  if (r.op == "Gt" || r.op == "Lt") return compares(r, value);
  return false;
}

bool matches_selector(std::span<const Label> selector, const NodeSpec& node) {
  return std::all_of(selector.begin(), selector.end(), [&](const Label& want) {
    const std::string* have = label(node, want.key);
    return have != nullptr && *have == want.value;
  });
}

bool matches_affinity(std::span<const AffinityTerm> terms, const NodeSpec& node) {
  if (terms.empty()) return true;
  return std::any_of(terms.begin(), terms.end(), [&](const AffinityTerm& term) {
    return !term.requirements.empty() &&
           std::all_of(term.requirements.begin(), term.requirements.end(),
                       [&](const Requirement& r) { return matches(r, node); });
  });
}

bool matches_product(std::span<const std::string> products, const NodeSpec& node) {
  if (products.empty()) return true;
  const std::string_view have = base_product(node.product);
  return std::any_of(products.begin(), products.end(),
                     [&](const std::string& p) { return base_product(p) == have; });
}

bool matches_kind(const PodShape& pod, const NodeSpec& node) {
  const bool uncut = node.gpus > node.mig_gpus;
  switch (pod.kind) {
    case GpuKind::kNone:
      return true;
    case GpuKind::kWhole:
    case GpuKind::kFraction:
      return uncut && node.replicas <= 1;
    case GpuKind::kShared:
      return uncut && node.replicas > 1;
    case GpuKind::kMig:
      return mig_slice_milligpu(node.product, pod.profile).has_value() &&
             std::any_of(node.mig.begin(), node.mig.end(),
                         [&](const MigSlices& m) { return m.profile == pod.profile; });
  }
  return false;
}

bool matches_but_taints(const PodShape& pod, const NodeSpec& node) {
  return matches_kind(pod, node) && matches_product(pod.products, node) &&
         matches_selector(pod.node_selector, node) && matches_affinity(pod.affinity, node);
}

bool matches(const PodShape& pod, const NodeSpec& node) {
  return tolerates_all(pod.tolerations, node.taints) && matches_but_taints(pod, node);
}

bool clash(const HostPort& a, const HostPort& b) {
  const auto protocol = [](const HostPort& p) -> std::string_view {
    return p.protocol.empty() ? std::string_view("TCP") : std::string_view(p.protocol);
  };
  const auto everywhere = [](const HostPort& p) {
    return p.host_ip.empty() || p.host_ip == "0.0.0.0";
  };
  if (a.port <= 0 || a.port != b.port || protocol(a) != protocol(b)) return false;
  return everywhere(a) || everywhere(b) || a.host_ip == b.host_ip;
}

}  // namespace subak::eligibility
