#include "kube/node/node_gpus.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/limits.h"
#include "core/names.h"
#include "kube/node/node_labels.h"
#include "kube/pod.h"
#include "model/mig.h"
#include "model/product.h"
#include "placement/gpus/mig_cut.h"

namespace subak {
namespace {

constexpr std::string_view kUnknownProduct = "GPU";  // devices without feature discovery
constexpr std::string_view kSharedMark = "-SHARED";
constexpr std::string_view kInvalid = "INVALID";
constexpr auto kMostGpus = static_cast<std::int64_t>(limits::kMaxGpusPerNode);
constexpr std::int64_t kMostUnits = kMostGpus * kMilliPerGpu;  // slices or replicas of a node

std::int64_t count_in(const ResourceCounts& counts, std::string_view name) {
  const auto it = counts.find(std::string(name));
  return it == counts.end() ? 0 : it->second;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// A number with the label that states it.
struct Statement {
  std::string words;
  std::int64_t n = 0;
};
using MaybeStated = std::optional<Statement>;

// Returns the statement with the smaller number.
MaybeStated smaller(MaybeStated a, MaybeStated b) {
  if (!a || !b) return a ? a : b;
  return a->n <= b->n ? a : b;
}

// Units of one kind that the device plugin offers: GPUs, replicas of shared GPUs, or MIG slices.
struct Units {
  std::string words;  // "nvidia.com/gpu 8"
  std::int64_t works = 0, installed = 0;
  bool shared_name = false;  // the resource's name ends in .shared
};

class GpuReader {
 public:
  GpuReader(const ResourceCounts& capacity, const ResourceCounts& allocatable, NodeSpec& node,
            Contradictions& out)
      : capacity_(capacity), allocatable_(allocatable), node_(node), out_(out) {}

  void read() {
    product_ = find_label(node_, names::kLabelProduct);
    if (product_.empty()) product_ = node_.product;
    node_.product = base_product(product_);
    if (product_.empty()) node_.product = gke_product(find_label(node_, names::kGkeAccelerator));
    const std::string partition = find_label(node_, names::kGkePartition);
    std::string profile(product_profile(product_));
    const MaybeStated count = stated(names::kLabelCount);
    cards_ = stated(names::kGkeCount);
    if (profile.empty()) cards_ = smaller(cards_, count);
    if (!profile.empty() && !partition.empty() && profile != partition) {
      contradict(label_text(names::kLabelProduct, product_),
                 label_text(names::kGkePartition, partition));
    }
    if (cards_ && cards_->n > kMostGpus) {
      refuse_number(*cards_, kMostGpus);
      cards_.reset();
    }
    if (profile == kInvalid) {
      put_invalid();
    } else if (!profile.empty()) {
      put_single(profile, count);
    } else if (!partition.empty()) {
      put_single(partition, std::nullopt);
    } else {
      put_whole_and_mixed();
    }
  }

 private:
  void contradict(const std::string& one, const std::string& other) {
    out_.push_back(one + " contradicts " + other);
  }
  void refuse_number(Statement& of, std::int64_t most) {
    out_.push_back(of.words + " is more than " + std::to_string(most));
    of.n = most;
  }

  // Returns the label's number, at most kMostUnits; none if it is absent or not a number.
  MaybeStated stated(std::string_view key) {
    const std::string value = find_label(node_, key);
    if (value.empty()) return std::nullopt;
    const auto n = label_number(value);
    if (!n) out_.push_back(label_text(key, value) + " is no number");
    if (!n) return std::nullopt;
    return Statement{label_text(key, value), std::min(*n, kMostUnits)};
  }

  // Returns nvidia.com/gpu, or its name for shared GPUs. A name with nothing allocatable may remain
  // from another configuration.
  Units offered() {
    const std::int64_t gpu = count_in(allocatable_, names::kGpu);
    const std::int64_t shared = count_in(allocatable_, names::kGpuShared);
    const std::string words = resource_text(names::kGpu, gpu);
    const std::string shared_words = resource_text(names::kGpuShared, shared);
    if (gpu > 0 && shared > 0) contradict(words, shared_words);
    if (shared > 0) {
      return {shared_words, shared, std::max(shared, count_in(capacity_, names::kGpuShared)), true};
    }
    return {words, gpu, std::max(gpu, count_in(capacity_, names::kGpu)), false};
  }

  // Returns how many replicas the device plugin offers for one GPU or slice; nullopt: not known.
  // The label `said` states a number above 1. Without the label, the number follows from `whole`,
  // the number of GPUs or slices, if the node says that they are shared (`marked`, or the name of
  // the resource).
  std::optional<std::int64_t> sharing(const Units& units, const MaybeStated& said,
                                      const MaybeStated& whole, bool marked) {
    if (said && said->n > 1) {
      Statement most = *said;
      if (most.n > kMilliPerGpu) refuse_number(most, kMilliPerGpu);
      return most.n;
    }
    if (!marked && !units.shared_name) return 1;
    if (units.installed == 0) return 1;
    if (whole && whole->n > 0 && units.installed > whole->n && units.installed % whole->n == 0) {
      return std::min(units.installed / whole->n, kMilliPerGpu);
    }
    if (whole) {
      contradict(units.words + " shared", whole->words);
    } else {
      out_.push_back(units.words + " shared without a replica count");
    }
    return std::nullopt;
  }

  // Returns the replica count of GPUs, by feature discovery or by GKE.
  MaybeStated gpu_replicas() {
    const MaybeStated said = stated(names::kLabelReplicas);
    const MaybeStated clients = stated(names::kGkeClients);
    if (said && clients && said->n > 1 && said->n != clients->n) {
      contradict(said->words, clients->words);
    }
    const std::string strategy = find_label(node_, names::kLabelSharing);
    if (said && said->n > 1 && strategy == "none") {
      contradict(said->words, label_text(names::kLabelSharing, strategy));
    }
    return said && said->n > 1 ? said : clients;
  }

  bool is_marked_shared() const {
    const std::string strategy = find_label(node_, names::kLabelSharing);
    return product_.ends_with(kSharedMark) || strategy == "time-slicing" || strategy == "mps" ||
           !find_label(node_, names::kGkeSharing).empty();
  }

  std::string shared_words(const Units& units, std::int64_t replicas) const {
    return units.words + (replicas > 1 ? " shared by " + std::to_string(replicas) : "");
  }

  // Returns the replica count with which a node counts if none is known.
  static std::int64_t assumed_replicas(const Units& units, const MaybeStated& whole) {
    const std::int64_t among = whole ? std::max<std::int64_t>(1, whole->n) : 1;
    return std::clamp<std::int64_t>(ceil_div(units.installed, among), 1, kMilliPerGpu);
  }

  // Records a contradiction if the node also offers slices with names of their own (strategy
  // mixed).
  void refuse_mixed(const std::string& instead) {
    for (const auto& [name, count] : allocatable_) {
      if (name.starts_with(names::kMigPrefix) && count > 0) {
        contradict(instead, resource_text(name, count));
      }
    }
  }

  void put_invalid() {
    const Units units = offered();
    const std::string product = label_text(names::kLabelProduct, product_);
    if (units.works > 0) contradict(units.words, product);
    refuse_mixed(product);
    if (!out_.empty()) node_.gpus = 1;
  }

  // Reads a node with strategy single: every card is cut into the same slices, with the resource
  // nvidia.com/gpu. `devices`: the number of slices by feature discovery.
  void put_single(const std::string& profile, MaybeStated devices) {
    const Units units = offered();
    const MaybeStated said = gpu_replicas();
    const auto known = sharing(units, said, devices, devices && is_marked_shared());
    const std::int64_t replicas = known.value_or(assumed_replicas(units, devices));
    std::int64_t works = units.works / replicas, installed = ceil_div(units.installed, replicas);
    if (devices && ceil_div(units.works, replicas) > devices->n) {
      contradict(shared_words(units, replicas), devices->words);
      works = installed = devices->n;
    }
    refuse_mixed(units.words + " of " + profile);
    if (cards_ && mig_cut(node_.product, {{profile, works}}, cards_->n) == MigCut::kTooMany) {
      contradict(shared_words(units, replicas) + " of " + profile, cards_->words);
      works = installed = 0;
    }
    node_.mig = {{profile, works}};
    node_.gpus = mig_least_cards(node_.product, {{profile, installed}});
    if (cards_) node_.gpus = std::max(node_.gpus, cards_->n);
    if (!out_.empty()) node_.gpus = std::clamp<std::int64_t>(node_.gpus, 1, kMostGpus);
    const bool fits = can_be_cut(node_.mig, node_.gpus) &&
                      mig_least_cards(node_.product, node_.mig) <= node_.gpus;
    if (!out_.empty() && !fits) node_.mig[0].count = 0;
    node_.mig_gpus = node_.gpus;
  }

  // Returns the allocatable slices of strategy mixed, one entry for each profile.
  std::vector<MigSlices> mixed_slices() {
    std::map<std::string, std::int64_t> by_profile;
    for (const auto& [name, count] : allocatable_) {
      if (!name.starts_with(names::kMigPrefix) || count == 0) continue;
      const std::string profile(mig_profile_of(name));
      const std::string label = std::string(names::kMigPrefix) + profile;
      const Units units{resource_text(name, count), count,
                        std::max(count, count_in(capacity_, name)),
                        name.ends_with(names::kSharedSuffix)};
      const MaybeStated devices = stated(label + ".count");
      const auto known = sharing(units, stated(label + ".replicas"), devices, false);
      const std::int64_t replicas = known.value_or(assumed_replicas(units, devices));
      std::int64_t works = count / replicas;
      if (devices && ceil_div(count, replicas) > devices->n) {
        contradict(shared_words(units, replicas), devices->words);
        works = devices->n;
      }
      const auto [line, is_new] = by_profile.emplace(profile, works);
      if (!is_new) contradict(units.words, resource_text(label, count_in(allocatable_, label)));
      if (!is_new) line->second = std::min(line->second, works);
    }
    std::vector<MigSlices> slices;
    slices.reserve(by_profile.size());
    for (const auto& [profile, count] : by_profile) slices.push_back({profile, count});
    return slices;
  }

  // Returns slices in labels of feature discovery whose profile no resource has.
  std::vector<MigSlices> labelled_slices(const std::vector<MigSlices>& offered) {
    constexpr std::string_view kCount = ".count";
    std::vector<MigSlices> slices;
    const MigGeometry* geometry = mig_geometry(node_.product);
    for (const Label& label : node_.labels) {
      if (geometry == nullptr || !label.key.starts_with(names::kMigPrefix)) continue;
      if (!label.key.ends_with(kCount)) continue;
      const std::string_view name = std::string_view(label.key).substr(
          names::kMigPrefix.size(), label.key.size() - names::kMigPrefix.size() - kCount.size());
      const bool known = find_mig_profile(*geometry, name) != nullptr;
      const bool is_offered = std::any_of(offered.begin(), offered.end(),
                                          [&](const MigSlices& s) { return s.profile == name; });
      if (!known || is_offered) continue;
      if (const auto n = stated(label.key); n && n->n > 0) {
        slices.push_back({std::string(name), n->n});
      }
    }
    return slices;
  }

  bool can_be_cut(const std::vector<MigSlices>& slices, std::int64_t cards) const {
    if (slices.empty()) return true;
    return cards > 0 && mig_cut(node_.product, slices, cards) != MigCut::kTooMany;
  }

  // Checks that the number of cards suffices for the whole GPUs and the slices that the node
  // states.
  void check_cards(const Units& units, std::int64_t replicas,
                   const std::vector<MigSlices>& slices) {
    if (!cards_) return;
    const std::int64_t whole = ceil_div(units.works, replicas);
    if (whole > cards_->n) return contradict(shared_words(units, replicas), cards_->words);
    std::vector<MigSlices> cut = slices;
    const std::vector<MigSlices> labelled = labelled_slices(slices);
    if (whole > 0) cut.insert(cut.end(), labelled.begin(), labelled.end());
    if (can_be_cut(cut, cards_->n - whole)) return;
    const std::string words = "slices " + mig_slices_text(cut);
    contradict(whole > 0 ? shared_words(units, replicas) + " and " + words : words, cards_->words);
  }

  void put_whole_and_mixed() {
    const Units units = offered();
    const auto known = sharing(units, gpu_replicas(), cards_, is_marked_shared());
    const std::int64_t replicas = known.value_or(assumed_replicas(units, cards_));
    std::vector<MigSlices> slices = mixed_slices();
    check_cards(units, replicas, slices);
    std::int64_t works = units.works / replicas, whole = ceil_div(units.installed, replicas);
    std::int64_t least = mig_least_cards(node_.product, slices);
    if (!out_.empty()) {
      if (cards_) cards_->n = std::max<std::int64_t>(1, cards_->n);
      const std::int64_t most = cards_ ? cards_->n : kMostGpus;
      if (least > most || !can_be_cut(slices, most)) {
        slices.clear();
        least = 0;
      }
      whole = works = std::min(whole, most - least);
    }
    // A part of the installed but not allocatable GPUs may be left from before the cards were cut
    // into slices.
    if (cards_)
      whole = std::min(whole, std::max(ceil_div(units.works, replicas), cards_->n - least));
    node_.mig = std::move(slices);
    if (!node_.mig.empty()) node_.mig_gpus = cards_ ? cards_->n - whole : least;
    node_.gpus = std::max(whole + node_.mig_gpus, cards_ ? cards_->n : 0);
    node_.unhealthy_gpus = node_.gpus - node_.mig_gpus - works;
    node_.replicas = replicas > 1 ? replicas : 0;
  }

  const ResourceCounts& capacity_;
  const ResourceCounts& allocatable_;
  NodeSpec& node_;
  Contradictions& out_;
  std::string product_;  // from the label
  MaybeStated cards_;    // the smallest count of cards
};

// Adds the devices of another maker. As far as known, they are never cut into slices or shared.
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

void read_levels(const std::vector<std::string>& topology_labels, NodeSpec& node) {
  std::vector<std::string> levels;
  for (const std::string& key : topology_labels) {
    if (levels.size() < limits::kTopologyLevels) levels.push_back(find_label(node, key));
  }
  node.set_levels(std::move(levels));
}

std::optional<Error> read_gpus(const ResourceCounts& capacity, const ResourceCounts& allocatable,
                               const ExtraGpuResources& extra, NodeSpec& node,
                               Contradictions& out) {
  for (const auto* counts : {&capacity, &allocatable}) {
    for (const auto& [name, count] : *counts) {
      if (gpu_kind_of(name, extra) == GpuKind::kNone || count <= kMostUnits) continue;
      return Error{ErrorCode::kInvalid, "node " + node.name + ": " + name, std::to_string(count),
                   "want at most " + std::to_string(kMostUnits)};
    }
  }
  GpuReader(capacity, allocatable, node, out).read();
  add_extra(capacity, allocatable, extra, node);
  if (node.gpus == 0) node.product.clear();
  if (node.gpus > 0 && node.product.empty()) node.product = kUnknownProduct;
  if (node.gpus <= kMostGpus) return std::nullopt;
  return Error{ErrorCode::kInvalid, "node " + node.name + ": GPUs", std::to_string(node.gpus),
               "want at most " + std::to_string(limits::kMaxGpusPerNode)};
}

}  // namespace subak
