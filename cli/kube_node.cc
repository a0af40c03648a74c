#include "cli/kube_node.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "admission/quantity.h"
#include "cli/kube_gpus.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/names.h"

namespace subak::cli {
namespace {

namespace json = boost::json;

Error bad(const std::string& field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, field, std::move(got), std::move(want)};
}

// The member as an object, array or text; nullptr where it is missing or of another kind.
const json::object* object_in(const json::object& in, std::string_view name) {
  const json::value* value = in.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}
const json::array* array_in(const json::object& in, std::string_view name) {
  const json::value* value = in.if_contains(name);
  return value == nullptr ? nullptr : value->if_array();
}
std::string text_in(const json::object& in, std::string_view name) {
  const json::value* value = in.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

class NodeReader {
 public:
  NodeReader(const json::object& node, const KubeNodeOptions& options)
      : node_(node), options_(options) {}

  Result<NodeSpec> read() {
    read_metadata();
    if (spec_.name.empty() || spec_.name.size() > limits::kMaxNameBytes) {
      return bad("metadata.name", spec_.name, "want a node name of 1 to 253 bytes");
    }
    if (const json::object* spec = object_in(node_, "spec")) read_spec(*spec);
    if (const json::object* status = object_in(node_, "status")) read_status(*status);
    if (error_) {
      error_->field = "node " + spec_.name + ": " + error_->field;
      return *error_;
    }
    if (auto error = read_gpus(capacity_, allocatable_, spec_)) return *error;
    return std::move(spec_);
  }

 private:
  void read_metadata() {
    const json::object* metadata = object_in(node_, "metadata");
    if (metadata == nullptr) return;
    spec_.name = text_in(*metadata, "name");
    if (const json::object* labels = object_in(*metadata, "labels")) {
      for (const auto& [key, value] : *labels) {
        if (const json::string* text = value.if_string()) {
          spec_.labels.push_back({std::string(key), std::string(*text)});
        }
      }
    }
    std::sort(spec_.labels.begin(), spec_.labels.end(),
              [](const Label& a, const Label& b) { return a.key < b.key; });
    spec_.clique = find_label(spec_, names::kLabelClique);
    if (!options_.rack_label.empty()) spec_.rack = find_label(spec_, options_.rack_label);
  }

  void read_spec(const json::object& spec) {
    const json::value* cordoned = spec.if_contains("unschedulable");
    spec_.unschedulable = cordoned != nullptr && cordoned->is_bool() && cordoned->get_bool();
    const json::array* taints = array_in(spec, "taints");
    if (taints == nullptr) return;
    for (const json::value& value : *taints) {
      const json::object* taint = value.if_object();
      if (taint == nullptr) continue;
      spec_.taints.push_back(
          {text_in(*taint, "key"), text_in(*taint, "value"), text_in(*taint, "effect")});
    }
  }

  void read_status(const json::object& status) {
    read_ready(status);
    if (const json::object* list = object_in(status, "capacity")) read_list(*list, capacity_);
    const json::object* list = object_in(status, "allocatable");
    if (list == nullptr) list = object_in(status, "capacity");
    if (list == nullptr) return;
    read_list(*list, allocatable_);
    spec_.cpu_milli = amount(*list, "cpu", &KubeQuantity::milli);
    spec_.memory_bytes = amount(*list, "memory", &KubeQuantity::units);
    spec_.pod_slots = amount(*list, "pods", &KubeQuantity::units);
    for (const auto& [name, count] : allocatable_) {
      if (!is_gpu_kind(name) && count > 0) spec_.extended.push_back({name, count});
    }
  }

  void read_ready(const json::object& status) {
    const json::array* conditions = array_in(status, "conditions");
    if (conditions == nullptr) return;
    for (const json::value& value : *conditions) {
      const json::object* condition = value.if_object();
      if (condition == nullptr || text_in(*condition, "type") != "Ready") continue;
      spec_.ready = text_in(*condition, "status") == "True";
      if (spec_.ready) return;
      TimeMs since = std::numeric_limits<TimeMs>::max();
      for (const char* name : {"lastHeartbeatTime", "lastTransitionTime"}) {
        const auto time = parse_time(text_in(*condition, name), name);
        if (time.ok()) since = std::min(since, *time);
      }
      if (since != std::numeric_limits<TimeMs>::max()) spec_.not_ready_since_ms = since;
      return;
    }
  }

  // Extended resources: every name with a '/'; their counts are integers.
  void read_list(const json::object& list, ResourceCounts& counts) {
    for (const auto& [key, value] : list) {
      const std::string name(key);
      if (name.find('/') == std::string::npos) continue;
      counts[name] = amount(list, name, &KubeQuantity::units);
    }
  }

  std::int64_t amount(const json::object& list, const std::string& name,
                      std::int64_t (KubeQuantity::*unit)() const) {
    const json::value* value = list.if_contains(name);
    if (value == nullptr) return 0;
    std::string text =
        value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
    const auto quantity = parse_kube_quantity(text);
    if (!quantity || quantity->nano < 0) {
      if (!error_) error_ = bad(name, text, "want a quantity such as 8, 250m or 1Ki");
      return 0;
    }
    return ((*quantity).*unit)();
  }

  const json::object& node_;
  const KubeNodeOptions& options_;
  NodeSpec spec_;
  ResourceCounts capacity_, allocatable_;
  std::optional<Error> error_;
};

class ListReader {
 public:
  explicit ListReader(const KubeNodeOptions& options) : options_(options) {}

  std::optional<Error> add(const json::value& document) {
    const json::object* object = document.if_object();
    if (object == nullptr) return bad("nodes", "", "want the output of kubectl get nodes -o json");
    const json::array* items = array_in(*object, "items");
    if (items == nullptr) return add_node(*object);
    for (const json::value& item : *items) {
      const json::object* node = item.if_object();
      if (node == nullptr) return bad("items", "", "want a list of nodes");
      if (auto error = add_node(*node)) return error;
    }
    return std::nullopt;
  }
  std::vector<NodeSpec> take() { return std::move(nodes_); }

 private:
  std::optional<Error> add_node(const json::object& object) {
    const std::string kind = text_in(object, "kind");
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

std::string_view skip_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

}  // namespace

Result<std::vector<NodeSpec>> read_kube_nodes(std::string_view text,
                                              const KubeNodeOptions& options) {
  ListReader reader(options);
  const std::size_t size = text.size();
  json::stream_parser parser;
  for (text = skip_blanks(text); !text.empty(); text = skip_blanks(text)) {
    const std::string at = "byte " + std::to_string(size - text.size());
    boost::system::error_code ec;
    const std::size_t used = parser.write_some(text.data(), text.size(), ec);
    if (!ec && !parser.done()) parser.finish(ec);
    if (ec) return bad("JSON document at " + at, "", "want JSON: " + ec.message());
    if (auto error = reader.add(parser.release())) return *error;
    text.remove_prefix(used);
    parser.reset();
  }
  return reader.take();
}

}  // namespace subak::cli
