#include "cli/migrate/kueue_reader.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "cli/migrate/amounts.h"
#include "cli/migrate/classes.h"
#include "cli/migrate/kueue_fields.h"
#include "core/edge_limits.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/quantity.h"
#include "model/product.h"
#include "server/yaml/document.h"

namespace subak::cli {
namespace {

constexpr std::string_view kGroup = "kueue.x-k8s.io/";
constexpr std::string_view kWantKind =
    "want a Kubernetes object with apiVersion, kind and metadata";

bool is_empty(const YAML::Node& node) {
  return !node.IsDefined() || node.IsNull() || (node.IsScalar() && node.Scalar().empty()) ||
         (!node.IsScalar() && node.size() == 0);
}

bool is_dns_name(std::string_view name) {
  return !name.empty() && name.size() <= limits::kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

// Returns the value for the report: a scalar, the scalars of a list, or the keys of a map.
std::string shown(const YAML::Node& node) {
  constexpr std::size_t kMost = 8;
  if (node.IsScalar()) return node.Scalar();
  std::string out;
  std::size_t count = 0;
  for (const auto& item : node) {
    if (++count > kMost) return out + ", ...";
    const YAML::Node& part = node.IsMap() ? item.first : static_cast<const YAML::Node&>(item);
    out += (out.empty() ? "" : ", ") + (part.IsScalar() ? part.Scalar() : std::string("{...}"));
  }
  return out;
}

class KueueReader {
 public:
  KueueReader(const SourceFile& file, std::size_t index, const MigrateOptions& options,
              KueueObjects& objects, Migration& out)
      : file_(file), index_(index), options_(options), objects_(objects), out_(out) {}

  void read() {
    check_lines();
    const YamlDocuments documents = read_yaml_documents(file_.text);
    if (documents.mistake) {
      refuse(file_, documents.mistake->line, "", "", documents.mistake->what);
    }
    bool any = false;
    for (const YAML::Node& root : documents.roots) {
      if (is_empty(root)) continue;
      any = true;
      read_root(root);
    }
    if (!any) {
      refuse(file_, 1, "", "", "want a dump of `sacctmgr dump`, or YAML of Kueue: it is empty");
    }
  }

 private:
  void check_lines() const {
    const auto lines =
        static_cast<std::size_t>(std::count(file_.text.begin(), file_.text.end(), '\n'));
    if (lines <= limits::kMaxMigratedLines) return;
    refuse(file_, limits::kMaxMigratedLines + 1, "", "",
           "want at most " + std::to_string(limits::kMaxMigratedLines) + " lines");
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& field, std::string got,
                         std::string want) const {
    refuse(file_, line_of(node), field, std::move(got), std::move(want));
  }
  SourceLine at(const YAML::Node& node) const { return {index_, line_of(node)}; }

  YAML::Node member(const YAML::Node& map, const std::string& key) const {
    const YAML::Node value = map.IsMap() ? map[key] : YAML::Node();
    return value.IsDefined() ? value : YAML::Node();
  }
  // Returns the scalar; empty if it is absent.
  std::string text(const YAML::Node& map, const std::string& key) const {
    const YAML::Node value = member(map, key);
    if (value.IsNull()) return "";
    if (!value.IsScalar()) fail(value, key, "", "want one value");
    return value.Scalar();
  }
  std::string required(const YAML::Node& map, const std::string& key) const {
    const std::string value = text(map, key);
    if (value.empty()) fail(map, key, "", "want a value");
    return value;
  }
  std::string name_in(const YAML::Node& map, const std::string& key) const {
    const std::string value = text(map, key);
    if (value.empty() || is_dns_name(value)) return value;
    fail(map[key], key, value, "want a name of a-z, 0-9, - and .");
  }

  // Reads one object, or the list that `kubectl get` writes.
  void read_root(const YAML::Node& root) {
    if (!root.IsMap()) fail(root, "", shown(root), std::string(kWantKind));
    const std::string kind = text(root, "kind");
    const YAML::Node items = member(root, "items");
    if (!kind.ends_with("List") || !items.IsDefined()) return read_object(root);
    if (is_empty(items)) return;
    if (!items.IsSequence()) fail(items, "items", "", "want a list");
    for (const YAML::Node& item : items) {
      if (!item.IsMap()) fail(item, "items", shown(item), std::string(kWantKind));
      read_object(item);
    }
  }

  void read_object(const YAML::Node& object) {
    const std::string version = text(object, "apiVersion");
    kind_ = text(object, "kind");
    name_ = text(member(object, "metadata"), "name");
    if (version.empty() || kind_.empty() || name_.empty()) {
      fail(object, "", kind_, std::string(kWantKind));
    }
    if (name_.size() > limits::kMaxNameBytes) {
      fail(object, "metadata.name", name_,
           "want at most " + std::to_string(limits::kMaxNameBytes) + " bytes");
    }
    if (!version.starts_with(kGroup) || !is_read()) {
      unmatched(object, kind_, "", "Such an object is no part of the account tree.");
      return;
    }
    if (version != "kueue.x-k8s.io/v1beta1" && version != "kueue.x-k8s.io/v1beta2") {
      fail(object["apiVersion"], "apiVersion", version,
           "want kueue.x-k8s.io/v1beta1 or kueue.x-k8s.io/v1beta2");
    }
    if (kind_ == "WorkloadPriorityClass") return read_class(object);
    const YAML::Node spec = member(object, "spec");
    if (!is_empty(spec)) check_fields(spec, "");
    if (kind_ == "ClusterQueue") {
      read_node(object, spec, objects_.queues);
    } else if (kind_ == "Cohort") {
      read_node(object, spec, objects_.cohorts);
    } else if (kind_ == "LocalQueue") {
      read_local_queue(object, spec);
    } else {
      read_flavor(object, spec);
    }
  }

  bool is_read() const {
    return kind_ == "ClusterQueue" || kind_ == "Cohort" || kind_ == "LocalQueue" ||
           kind_ == "ResourceFlavor" || kind_ == "WorkloadPriorityClass";
  }

  void unmatched(const YAML::Node& node, const std::string& field, const std::string& value,
                 std::string_view todo) {
    const std::string what = value.empty() ? "" : ": " + field + "=" + value;
    out_.unmatched.push_back(
        {at(node), field, kind_ + " '" + name_ + "'" + what, std::string(todo)});
  }

  // Checks the names of all fields of the spec, and reports those without an equivalent.
  void check_fields(const YAML::Node& map, const std::string& above) {
    if (!map.IsMap()) fail(map, above.empty() ? "spec" : above, shown(map), "want a map");
    for (const auto& entry : map) {
      const std::string path = above + entry.first.Scalar();
      const KueueField* const field = find_kueue_field(kind_, path);
      if (field == nullptr) {
        fail(entry.first, path, shown(entry.second),
             "want a field that a " + kind_ + " of v1beta1 or v1beta2 has");
      }
      if (is_empty(entry.second)) continue;
      if (field->use == KueueUse::kMap) check_fields(entry.second, path + ".");
      const std::string value = shown(entry.second);
      if (field->use == KueueUse::kNone && !needs_no_equivalent(*field, value)) {
        unmatched(entry.first, path, value, field->todo);
      }
    }
  }

  void read_class(const YAML::Node& object) {
    const std::string text_value = required(object, "value");
    std::int64_t value = 0;
    const char* const end = text_value.data() + text_value.size();
    const auto [stop, error] = std::from_chars(text_value.data(), end, value);
    if (error != std::errc() || stop != end) {
      fail(object["value"], "value", text_value, "want a whole number");
    }
    add_class({at(object), kind_, name_, value}, out_);
  }

  void read_node(const YAML::Node& object, const YAML::Node& spec,
                 std::map<std::string, KueueNode>& nodes) {
    KueueNode node;
    node.at = at(object);
    node.name = name_;
    for (const char* const key : {"cohort", "cohortName", "parent", "parentName"}) {
      const std::string cohort = name_in(spec, key);
      if (!cohort.empty()) node.cohort = cohort;
    }
    if (const YAML::Node weight = member(member(spec, "fairSharing"), "weight");
        !is_empty(weight)) {
      node.weight_milli = amount_of(weight, "fairSharing.weight", 1'000'000).milli();
    }
    const std::string stop = text(spec, "stopPolicy");
    if (stop != "" && stop != "None" && stop != "Hold" && stop != "HoldAndDrain") {
      fail(spec["stopPolicy"], "stopPolicy", stop, "want None, Hold or HoldAndDrain");
    }
    node.held = stop == "Hold" || stop == "HoldAndDrain";
    if (stop == "HoldAndDrain") {
      unmatched(spec["stopPolicy"], "stopPolicy", stop,
                "The account is held. Its running jobs run on: subak job cancel ends them.");
    }
    const YAML::Node preemption = member(spec, "preemption");
    read_word(preemption, "reclaimWithinCohort", {"Never", "LowerPriority", "Any"}, node.reclaim);
    read_word(preemption, "withinClusterQueue",
              {"Never", "LowerPriority", "LowerOrNewerEqualPriority"}, node.within_queue);
    read_groups(spec, node);
    if (!nodes.emplace(name_, std::move(node)).second) refuse_twice(object);
  }

  // Returns "want Never, LowerPriority, Any".
  static std::string want_one_of(const std::vector<std::string>& words) {
    std::string want;
    for (const std::string& one : words) want += (want.empty() ? "want " : ", ") + one;
    return want;
  }
  static bool contains(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }

  [[noreturn]] void refuse_twice(const YAML::Node& object) const {
    fail(object, "metadata.name", name_, "want each " + kind_ + " once in all files");
  }

  void read_word(const YAML::Node& map, const std::string& key,
                 const std::vector<std::string>& words, std::string& out) const {
    const std::string word = text(map, key);
    if (word.empty()) return;
    if (!contains(words, word)) fail(map[key], "preemption." + key, word, want_one_of(words));
    out = word;
  }

  // Checks that the map has only these keys.
  void check_keys(const YAML::Node& map, const std::string& field,
                  const std::vector<std::string>& keys) const {
    if (!map.IsMap()) fail(map, field, shown(map), "want a map");
    for (const auto& entry : map) {
      const std::string& key = entry.first.Scalar();
      if (contains(keys, key)) continue;
      fail(entry.first, field + "." + key, shown(entry.second), want_one_of(keys));
    }
  }
  YAML::Node list_in(const YAML::Node& map, const std::string& key) const {
    const YAML::Node list = member(map, key);
    if (is_empty(list)) return {};
    if (!list.IsSequence()) fail(list, key, shown(list), "want a list");
    return list;
  }

  void read_groups(const YAML::Node& spec, KueueNode& node) {
    for (const YAML::Node& group : list_in(spec, "resourceGroups")) {
      check_keys(group, "resourceGroups", {"coveredResources", "flavors"});
      for (const YAML::Node& flavor : list_in(group, "flavors")) {
        check_keys(flavor, "flavors", {"name", "resources"});
        required(flavor, "name");
        const std::string name = name_in(flavor, "name");
        for (const YAML::Node& resource : list_in(flavor, "resources")) {
          read_quota(resource, name, node);
        }
      }
    }
  }

  void read_quota(const YAML::Node& resource, const std::string& flavor, KueueNode& node) {
    // An alias may repeat a list, so the number of lines does not limit the number of quotas.
    if (++objects_.quotas > limits::kMaxMigratedQuotas) {
      fail(resource, "resources", "",
           "want at most " + std::to_string(limits::kMaxMigratedQuotas) + " quotas");
    }
    check_keys(resource, "resources", {"name", "nominalQuota", "borrowingLimit", "lendingLimit"});
    const std::string name = required(resource, "name");
    const GpuKind kind = gpu_kind_of(name, options_.gpu_kinds);
    const std::string nominal = required(resource, "nominalQuota");
    if (kind != GpuKind::kWhole) {
      const std::string todo =
          kind == GpuKind::kNone
              ? "Subak shares GPUs alone; CPU and memory only decide what fits on a node."
              : "Kueue counts slices or replicas here. Subak counts their part of a GPU: give the "
                "account a quota of whole GPUs.";
      return unmatched(resource, "nominalQuota of " + name, nominal + " of flavor " + flavor, todo);
    }
    KueueQuota quota{at(resource), flavor, *gpus_in(resource, "nominalQuota"),
                     gpus_in(resource, "borrowingLimit"), gpus_in(resource, "lendingLimit")};
    node.quotas.push_back(std::move(quota));
  }

  // Reads a quantity from 0 to `most`.
  KubeQuantity amount_of(const YAML::Node& node, const std::string& field,
                         std::int64_t most) const {
    const auto amount = node.IsScalar() ? parse_kube_quantity(node.Scalar()) : std::nullopt;
    if (!amount || amount->nano < 0 || amount->units() > most) {
      fail(node, field, shown(node), "want a number from 0 to " + std::to_string(most));
    }
    return *amount;
  }
  std::optional<std::int64_t> gpus_in(const YAML::Node& map, const std::string& key) const {
    const YAML::Node value = member(map, key);
    if (is_empty(value)) return std::nullopt;
    const KubeQuantity amount = amount_of(value, key, limits::kMaxMilliGpu / kMilliPerGpu);
    if (!amount.is_integer()) fail(value, key, shown(value), "want whole GPUs");
    return amount.units();
  }

  void read_local_queue(const YAML::Node& object, const YAML::Node& spec) {
    KueueLocalQueue queue{at(object), name_, name_in(member(object, "metadata"), "namespace"),
                          name_in(spec, "clusterQueue")};
    if (queue.ns.empty()) fail(object, "metadata.namespace", "", "want the namespace's name");
    if (!objects_.local_queues.emplace(queue.ns + "/" + name_, queue).second) refuse_twice(object);
  }

  // The product of the flavor's nodes, under the name that Subak gives it.
  void read_flavor(const YAML::Node& object, const YAML::Node& spec) {
    std::string product = kAnyProduct;
    const YAML::Node labels = member(spec, "nodeLabels");
    if (!is_empty(labels) && !labels.IsMap()) fail(labels, "nodeLabels", "", "want a map");
    const std::string named = text(labels, std::string(names::kLabelProduct));
    const std::string gke = text(labels, std::string(names::kGkeAccelerator));
    if (!named.empty()) {
      product = base_product(named);
    } else if (!gke.empty()) {
      product = gke_product(gke);
    } else if (!is_empty(labels)) {
      unmatched(labels, "nodeLabels", shown(labels),
                "No label names a GPU product, so quotas of this flavor are for any product. "
                "Change `gpu` in these accounts if the flavor means one product.");
    }
    if (!is_product_name(product)) {
      fail(labels, "nodeLabels", product, "want a product of letters, digits and . _ -");
    }
    if (!objects_.flavors.emplace(name_, product).second) refuse_twice(object);
  }

  const SourceFile& file_;
  const std::size_t index_;
  const MigrateOptions& options_;
  KueueObjects& objects_;
  Migration& out_;
  // The object that is read now.
  std::string kind_, name_;
};

}  // namespace

void read_kueue(const SourceFile& file, std::size_t index, const MigrateOptions& options,
                KueueObjects& objects, Migration& out) {
  KueueReader(file, index, options, objects, out).read();
}

}  // namespace subak::cli
