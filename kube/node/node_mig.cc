#include "kube/node/node_mig.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/node/node_labels.h"
#include "model/mig.h"
#include "model/product.h"
#include "placement/gpus/mig_config.h"
#include "placement/gpus/mig_cut.h"

namespace subak {
namespace {

constexpr std::string_view kPaused = "paused-for-mig-change";
constexpr std::string_view kDone = "success";
constexpr std::string_view kCountSuffix = ".count";
constexpr std::int64_t kMostSlices = std::int64_t{limits::kMaxGpusPerNode} * kMilliPerGpu;

// Skips digits and then `word`. Returns false if either is missing.
bool skip(std::string_view& text, std::string_view word) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  if (digits == 0 || !text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// True for a name such as "1g.10gb" or "1g.10gb.me".
bool is_profile_name(std::string_view name) { return skip(name, "g.") && skip(name, "gb"); }

// True if slices of the two profiles take equal parts of a card. Drivers disagree on the names of
// some profiles, and old device plugins offer slices with media engines under the plain name.
bool is_same_size(const std::string& product, std::string_view one, std::string_view other) {
  if (one == other) return true;
  const MigGeometry* const geometry = mig_geometry(product);
  if (geometry == nullptr) return false;
  const MigProfile* const a = find_mig_profile(*geometry, one);
  const MigProfile* const b = find_mig_profile(*geometry, other);
  return a != nullptr && b != nullptr && a->units == b->units && a->compute == b->compute;
}

// Returns the slices of the node. A profile whose count is 0 is not in the result.
std::vector<MigSlices> existing(const NodeSpec& node) {
  std::vector<MigSlices> slices;
  std::copy_if(node.mig.begin(), node.mig.end(), std::back_inserter(slices),
               [](const MigSlices& s) { return s.count > 0; });
  return slices;
}

// True if the node offers what a configuration of this name makes, or if the name says nothing.
bool offers(const NodeSpec& node, std::string_view config, std::int64_t whole,
            const std::vector<MigSlices>& slices) {
  if (config == kMigAllDisabled) return slices.empty();
  if (config == kMigAllEnabled) return whole == 0;
  if (config == kMigAllMixed) return whole == 0 && !slices.empty();
  if (!config.starts_with(kMigAll)) return true;
  config.remove_prefix(kMigAll.size());
  if (!is_profile_name(config)) return true;
  return whole == 0 && std::all_of(slices.begin(), slices.end(), [&](const MigSlices& s) {
           return is_same_size(node.product, s.profile, config);
         });
}

// Returns what the node offers, for people: "8 whole GPUs", "slices 1g.10gb=7".
std::string offer_text(std::int64_t whole, const std::vector<MigSlices>& slices) {
  std::string text;
  if (whole > 0) text = std::to_string(whole) + (whole == 1 ? " whole GPU" : " whole GPUs");
  if (!slices.empty())
    text += (text.empty() ? "slices " : " and slices ") + mig_slices_text(slices);
  return text.empty() ? "no slices" : text;
}

// Returns the number of the label; none if it is absent, 0, or more than a node can have.
std::optional<std::int64_t> count_of(const NodeSpec& node, std::string_view key) {
  const auto n = label_number(find_label(node, key));
  return n && *n > 0 && *n <= kMostSlices ? n : std::nullopt;
}

// Adds slices to `out` under their resource name. All replicas of a slice count.
void add_slices(const NodeSpec& node, const std::string& resource, std::int64_t slices,
                std::string_view replicas_key, ResourceCounts& out) {
  const std::int64_t replicas = count_of(node, replicas_key).value_or(1);
  if (slices <= kMostSlices / replicas) out[resource] = slices * replicas;
}

// Returns the slices of strategy mixed, one entry for each profile, and adds them to `out`.
std::vector<MigSlices> mixed_slices(const NodeSpec& node, ResourceCounts& out) {
  std::vector<MigSlices> slices;
  for (const Label& label : node.labels) {
    if (!label.key.starts_with(names::kMigPrefix) || !label.key.ends_with(kCountSuffix)) continue;
    const std::string resource = label.key.substr(0, label.key.size() - kCountSuffix.size());
    if (resource.size() <= names::kMigPrefix.size()) continue;
    const auto n = count_of(node, label.key);
    if (!n || resource.ends_with(names::kSharedSuffix)) continue;
    slices.push_back({resource.substr(names::kMigPrefix.size()), *n});
    add_slices(node, resource, *n, resource + ".replicas", out);
  }
  return slices;
}

}  // namespace

std::vector<std::string> mig_manager_causes(const NodeSpec& node, bool none_works) {
  std::vector<std::string> causes;
  const std::string state = find_label(node, names::kLabelMigState);
  if (!state.empty() && state != kDone) {
    causes.push_back(std::string(names::kLabelMigState) + " is " +
                     cut_text(state, kMostValueBytes));
  }
  if (find_label(node, names::kLabelDeployPlugin) == kPaused) {
    causes.push_back(std::string(names::kLabelDeployPlugin) + " is " + std::string(kPaused));
  }
  const std::string config = find_label(node, kLabelMigConfig);
  const std::int64_t whole = node.gpus - node.mig_gpus - node.unhealthy_gpus;
  const std::vector<MigSlices> slices = existing(node);
  if (!none_works && !offers(node, config, whole, slices)) {
    causes.push_back(std::string(kLabelMigConfig) + " is " + cut_text(config, kMostValueBytes) +
                     " but the node offers " + offer_text(whole, slices));
  }
  return causes;
}

ResourceCounts labelled_resources(const NodeSpec& node) {
  ResourceCounts out;
  const std::string product = find_label(node, names::kLabelProduct);
  const std::string_view profile = product_profile(product);
  const auto count = count_of(node, names::kLabelCount);
  if (!profile.empty()) {
    if (count && is_profile_name(profile)) {
      add_slices(node, std::string(names::kGpu), *count, names::kLabelReplicas, out);
    }
    return out;
  }
  const std::vector<MigSlices> slices = mixed_slices(node, out);
  if (slices.empty() || !count) return out;
  const std::int64_t whole = *count - mig_least_cards(base_product(product), slices);
  if (whole > 0) add_slices(node, std::string(names::kGpu), whole, names::kLabelReplicas, out);
  return out;
}

}  // namespace subak
