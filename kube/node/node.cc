#include "kube/node/node.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "core/duration.h"
#include "core/error.h"
#include "core/limits.h"
#include "kube/json.h"
#include "kube/node/node_gpus.h"
#include "kube/node/node_mig.h"
#include "kube/node/node_operator.h"
#include "kube/pod.h"
#include "kube/quantity.h"

namespace subak {
namespace {

Error bad(const std::string& field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, field, std::move(got), std::move(want)};
}

class NodeReader {
 public:
  NodeReader(json::Value node, const KubeNodeOptions& options, const NodeDevices* devices = nullptr)
      : node_(node), options_(options), devices_(devices) {}

  Result<NodeSpec> read() {
    if (const auto metadata = json::member(node_, "metadata")) read_metadata(*metadata);
    if (spec_.name.empty() || spec_.name.size() > limits::kMaxNameBytes) {
      return bad("metadata.name", spec_.name, "want a node name of 1 to 253 bytes");
    }
    if (const auto spec = json::member(node_, "spec")) read_spec(*spec);
    if (const auto status = json::member(node_, "status")) read_status(*status);
    if (error_) {
      error_->field = "node " + spec_.name + ": " + error_->field;
      return *error_;
    }
    if (devices_ != nullptr) add_devices();
    const bool none_works = !has_gpus(allocatable_);
    if (none_works && !has_gpus(capacity_)) read_labelled_resources();
    const ResourceCounts& counts = none_works && has_gpus(capacity_) ? capacity_ : allocatable_;
    Contradictions contradictions;
    if (auto error = read_gpus(capacity_, counts, options_.extra_gpus, spec_, contradictions)) {
      return *error;
    }
    read_nvlink(spec_, contradictions);
    read_node_labels(options_.labels, spec_, contradictions);
    spec_.gpus_unknown = none_works && (spec_.gpus > 0 || names_gpus());
    if (spec_.gpus > 0 || spec_.gpus_unknown) {
      if (spec_.gpus == 0) contradictions.clear();  // no statement about a GPU is left
      read_fitness(none_works, std::move(contradictions));
    }
    return std::move(spec_);
  }

 private:
  void read_metadata(json::Value metadata) {
    spec_.name = json::text(metadata, "name");
    if (const auto labels = json::member(metadata, "labels")) {
      for (const auto& [key, value] : json::Members(*labels)) {
        if (value.is_string() && key != kClaimable) {
          spec_.labels.push_back({std::string(key), std::string(json::text(value))});
        }
      }
    }
    read_levels(options_.topology_labels, spec_);
  }

  void read_spec(json::Value spec) {
    spec_.unschedulable = json::boolean(spec, "unschedulable");
    const auto taints = json::member(spec, "taints");
    if (!taints) return;
    json::each_item(*taints, [this](std::size_t, json::Value taint) {
      if (!json::is_object(taint)) return;
      spec_.taints.push_back({std::string(json::text(taint, "key")),
                              std::string(json::text(taint, "value")),
                              std::string(json::text(taint, "effect"))});
    });
  }

  void read_status(json::Value status) {
    if (const auto conditions = json::member(status, "conditions")) {
      read_ready(*conditions);
      read_faults(*conditions);
    }
    const auto capacity = object_in(status, "capacity");
    if (capacity) read_list(*capacity, capacity_);
    auto list = object_in(status, "allocatable");
    if (!list) list = capacity;
    if (!list) return;
    read_list(*list, allocatable_);
    const auto of = [&](const char* name) { return json::member(*list, name); };
    spec_.cpu_milli = amount("cpu", of("cpu"), &KubeQuantity::milli);
    spec_.memory_bytes = amount("memory", of("memory"), &KubeQuantity::units);
    spec_.pod_slots = amount("pods", of("pods"), &KubeQuantity::units);
    for (const auto& [name, count] : allocatable_) {
      const bool gpus = gpu_kind_of(name, options_.extra_gpus) != GpuKind::kNone;
      if (!gpus && count > 0) spec_.extended.push_back({name, count});
    }
  }

  // Adds the devices of DRA to the resources. The product of the devices counts only if no label of
  // the node names a product.
  void add_devices() {
    std::int64_t claimable = 0;
    const bool plugin = has_gpus(allocatable_);
    for (const auto& [name, count] : devices_->allocatable) {
      claimable += count;
      allocatable_[name] = std::max(allocatable_[name], count);
    }
    for (const auto& [name, count] : devices_->capacity) {
      capacity_[name] = std::max(capacity_[name], count);
    }
    if (claimable > 0) spec_.labels.push_back({std::string(kClaimable), "true"});
    if (!plugin && devices_->only_by_claim) {
      spec_.taints.push_back({std::string(kOnlyByClaim), "", "NoSchedule"});
    }
    spec_.product = devices_->product;
  }

  // Reads the resources from labels, because the kubelet reports 0 of each resource of a device
  // plugin that has stopped.
  void read_labelled_resources() {
    for (const auto& [name, count] : labelled_resources(spec_)) capacity_[name] = count;
  }

  bool has_gpus(const ResourceCounts& counts) const {
    return std::any_of(counts.begin(), counts.end(), [this](const auto& entry) {
      return entry.second > 0 && gpu_kind_of(entry.first, options_.extra_gpus) != GpuKind::kNone;
    });
  }

  // True if the capacity names a GPU resource, even with the count 0. The node then has had GPUs: a
  // kubelet reports 0 of a resource whose device plugin has stopped.
  bool names_gpus() const {
    return std::any_of(capacity_.begin(), capacity_.end(), [this](const auto& entry) {
      return gpu_kind_of(entry.first, options_.extra_gpus) != GpuKind::kNone;
    });
  }

  void read_fitness(bool none_works, std::vector<std::string> why) {
    spec_.contradicts = !why.empty();
    std::vector<std::string> causes = mig_manager_causes(spec_, none_works);
    std::move(causes.begin(), causes.end(), std::back_inserter(why));
    causes = gpu_operator_causes(spec_);
    std::move(causes.begin(), causes.end(), std::back_inserter(why));
    causes = autoscaler_causes(spec_);
    std::move(causes.begin(), causes.end(), std::back_inserter(why));
    for (const std::string& type : faults_) why.push_back("condition " + type);
    if (none_works) {
      spec_.unhealthy_gpus = 0;
      const std::string all = spec_.gpus > 0 ? std::to_string(spec_.gpus) + " " : "";
      why.push_back("none of its " + all + "GPUs is allocatable");
    }
    add_unfit(spec_, why);
  }

  static std::optional<json::Value> object_in(json::Value in, std::string_view name) {
    const auto found = json::member(in, name);
    return found && json::is_object(*found) ? found : std::nullopt;
  }

  // Stores the faults in the order of KubeNodeOptions::fatal_conditions, so that the same faults
  // give the same text.
  void read_faults(json::Value conditions) {
    std::vector<std::string_view> are_true;
    json::each_item(conditions, [&](std::size_t, json::Value condition) {
      if (json::text(condition, "status") == "True") {
        are_true.push_back(json::text(condition, "type"));
      }
    });
    std::copy_if(options_.fatal_conditions.begin(), options_.fatal_conditions.end(),
                 std::back_inserter(faults_), [&](const std::string& type) {
                   return std::find(are_true.begin(), are_true.end(), type) != are_true.end();
                 });
  }

  void read_ready(json::Value conditions) {
    bool found = false;
    json::each_item(conditions, [&](std::size_t, json::Value condition) {
      if (found || json::text(condition, "type") != "Ready") return;
      found = true;
      spec_.ready = json::text(condition, "status") == "True";
      if (spec_.ready) return;
      TimeMs since = std::numeric_limits<TimeMs>::max();
      for (const char* name : {"lastHeartbeatTime", "lastTransitionTime"}) {
        const auto time = parse_time(json::text(condition, name), name);
        if (time.ok()) since = std::min(since, *time);
      }
      if (since != std::numeric_limits<TimeMs>::max()) spec_.not_ready_since_ms = since;
    });
  }

  // Reads the extended resources (every name with a '/') and the huge pages. Their counts are
  // integers.
  void read_list(json::Value list, ResourceCounts& counts) {
    for (const auto& [name, value] : json::Members(list)) {
      if (!is_counted_resource(name)) continue;
      counts[std::string(name)] = amount(name, value, &KubeQuantity::units);
    }
  }

  // Reads a quantity. It is a string, or a number in a file that a person wrote.
  std::int64_t amount(std::string_view name, std::optional<json::Value> value,
                      std::int64_t (KubeQuantity::*unit)() const) {
    if (!value) return 0;
    const std::string text =
        value->is_string() ? std::string(json::text(*value)) : simdjson::minify(*value);
    const auto quantity = parse_kube_quantity(text);
    if (!quantity || quantity->nano < 0) {
      if (!error_) {
        error_ = bad(std::string(name), text, "want a quantity such as 8, 250m or 1Ki");
      }
      return 0;
    }
    return ((*quantity).*unit)();
  }

  json::Value node_;
  const KubeNodeOptions& options_;
  const NodeDevices* const devices_;
  NodeSpec spec_;
  ResourceCounts capacity_, allocatable_;
  std::vector<std::string> faults_;  // conditions under which GPU work would fail
  std::optional<Error> error_;
};

class ListReader {
 public:
  explicit ListReader(const KubeNodeOptions& options) : options_(options) {}

  std::optional<Error> add(json::Value document) {
    if (!json::is_object(document)) {
      return bad("nodes", "", "want the output of kubectl get nodes -o json");
    }
    const auto items = json::member(document, "items");
    if (!items || !items->is_array()) return add_node(document);
    std::optional<Error> error;
    json::each_item(*items, [&](std::size_t, json::Value node) {
      if (error) return;
      error = json::is_object(node) ? add_node(node) : bad("items", "", "want a list of nodes");
    });
    return error;
  }
  std::vector<NodeSpec> take() { return std::move(nodes_); }

 private:
  std::optional<Error> add_node(json::Value object) {
    const std::string kind(json::text(object, "kind"));
    if (!kind.empty() && kind != "Node") return bad("kind", kind, "want Node, NodeList or List");
    if (nodes_.size() >= limits::kMaxNodes) {
      return Error{ErrorCode::kExhausted, "nodes", "",
                   "at most " + std::to_string(limits::kMaxNodes) + " nodes"};
    }
    auto node = NodeReader(object, options_).read();
    if (!node.ok()) return node.error();
    if (!names_.insert(node->name).second) {
      return bad("metadata.name", node->name, "want each node once");
    }
    nodes_.push_back(std::move(node).value());
    return std::nullopt;
  }

  const KubeNodeOptions& options_;
  std::vector<NodeSpec> nodes_;
  std::set<std::string> names_;
};

Error no_json(std::size_t at, const char* why) {
  return bad("JSON document at byte " + std::to_string(at), "", std::string("want JSON: ") + why);
}

}  // namespace

std::vector<std::string> default_fatal_conditions() {
  return {"GpuMemWatch",           "GpuThermalWatch",     "GpuPcieWatch",
          "GpuPowerWatch",         "GpuInforomWatch",     "GpuSmWatch",
          "GpuNvlinkWatch",        "GpuMcuWatch",         "GpuPmuWatch",
          "GpuDriverWatch",        "GpuCpusetWatch",      "SysLogsXIDError",
          "SysLogsSXIDError",      "SysLogsGPUFallenOff", "NVSwitchFatalError",
          "NVSwitchDown",          "DCGMError",           "CSPMaintenance",
          "KernelDeadlock",        "ReadonlyFilesystem",  "XfsShutdown",
          "CperHardwareErrorFatal"};
}

Result<NodeSpec> read_kube_node(json::Value node, const KubeNodeOptions& options,
                                const NodeDevices* devices) {
  return NodeReader(node, options, devices).read();
}

Result<std::vector<NodeSpec>> read_kube_nodes(std::string_view text,
                                              const KubeNodeOptions& options) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return std::vector<NodeSpec>();
  const simdjson::padded_string padded(text.substr(0, end + 1));
  simdjson::dom::parser parser;
  simdjson::dom::document_stream documents;
  // One batch, so no document is cut.
  const auto failed = parser.parse_many(padded, padded.size()).get(documents);
  if (failed != simdjson::SUCCESS) return no_json(0, simdjson::error_message(failed));
  ListReader reader(options);
  std::size_t read_to = 0;
  for (auto it = documents.begin(); it != documents.end(); ++it) {
    json::Value document;
    const auto error = (*it).get(document);
    if (error != simdjson::SUCCESS) {
      return no_json(it.current_index(), simdjson::error_message(error));
    }
    if (auto wrong = reader.add(document)) return *wrong;
    read_to = it.current_index() + it.source().size();
  }
  if (documents.truncated_bytes() > 0) return no_json(read_to, "incomplete JSON");
  return reader.take();
}

}  // namespace subak
