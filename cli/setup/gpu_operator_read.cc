#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "cli/setup/gpu_operator_facts.h"
#include "core/names.h"
#include "kube/node/node_mig.h"
#include "kube/pod.h"
#include "placement/gpus/mig_config.h"
#include "server/yaml/document.h"

namespace subak::cli {
namespace {

constexpr std::string_view kLabelPluginConfig = "nvidia.com/device-plugin.config";
constexpr std::string_view kDraDriver = "gpu.nvidia.com";

// --- a configuration of the device plugin -----------------------------------------------------

YAML::Node below(const YAML::Node& map, const char* key) {
  return map.IsDefined() && map.IsMap() ? map[key] : YAML::Node(YAML::NodeType::Undefined);
}

std::string scalar(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() ? node.Scalar() : std::string();
}

// True if some resource of the section has at least two replicas.
bool has_replicas(const YAML::Node& section) {
  const YAML::Node resources = below(section, "resources");
  if (!resources.IsDefined() || !resources.IsSequence()) return false;
  return std::any_of(resources.begin(), resources.end(), [](const YAML::Node& resource) {
    const std::string replicas = scalar(below(resource, "replicas"));
    return !replicas.empty() && replicas != "0" && replicas != "1";
  });
}

std::string joined(const YAML::Node& node) {
  if (!node.IsDefined() || !node.IsSequence()) return scalar(node);
  std::string out;
  for (const YAML::Node& one : node) out += (out.empty() ? "" : ",") + scalar(one);
  return out;
}

// --- a ClusterPolicy ----------------------------------------------------------------------------

std::optional<json::Value> at(json::Value object, std::initializer_list<std::string_view> path) {
  std::optional<json::Value> found = object;
  for (const std::string_view key : path) {
    if (found) found = json::member(*found, key);
  }
  return found;
}

// Returns the flag; `otherwise` if the object does not have it.
bool flag(json::Value spec, std::initializer_list<std::string_view> path, bool otherwise) {
  const auto found = at(spec, path);
  return found && found->is_bool() ? json::boolean(*found) : otherwise;
}

std::string text_at(json::Value spec, std::initializer_list<std::string_view> path) {
  const auto found = at(spec, path);
  return found ? std::string(json::text(*found)) : std::string();
}

std::map<std::string, std::string> variables(json::Value spec, std::string_view part) {
  std::map<std::string, std::string> out;
  const auto list = at(spec, {part, "env"});
  if (!list) return out;
  json::each_item(*list, [&](std::size_t, json::Value variable) {
    out[std::string(json::text(variable, "name"))] = json::text(variable, "value");
  });
  return out;
}

void read_upgrades(json::Value spec, GpuOperatorFacts::Values::Upgrades& out) {
  const auto policy = at(spec, {"driver", "upgradePolicy"});
  if (!policy) return;
  out.automatic = flag(*policy, {"autoUpgrade"}, false);
  const auto parallel = json::member(*policy, "maxParallelUpgrades");
  if (parallel) out.at_once = json::integer(*parallel);
  out.is_bounded = json::member(*policy, "maxUnavailable").has_value();
  out.waits_for = text_at(*policy, {"waitForCompletion", "podSelector"});
}

GpuOperatorFacts::Values read_values(json::Value policy) {
  GpuOperatorFacts::Values out;
  out.name = json::text_in(policy, "metadata", "name");
  const auto spec = json::member(policy, "spec");
  if (!spec) return out;
  out.toolkit = flag(*spec, {"toolkit", "enabled"}, true);
  out.plugin = flag(*spec, {"devicePlugin", "enabled"}, true);
  out.discovery = flag(*spec, {"gfd", "enabled"}, true);
  out.driver = flag(*spec, {"driver", "enabled"}, true);
  out.cdi = flag(*spec, {"cdi", "enabled"}, true);
  out.nri = flag(*spec, {"cdi", "nriPluginEnabled"}, false);
  out.mig_strategy = text_at(*spec, {"mig", "strategy"});
  out.toolkit_env = variables(*spec, "toolkit");
  out.plugin_env = variables(*spec, "devicePlugin");
  out.config_map = text_at(*spec, {"devicePlugin", "config", "name"});
  out.default_config = text_at(*spec, {"devicePlugin", "config", "default"});
  read_upgrades(*spec, out.upgrades);
  return out;
}

void take_object(json::Value object, std::string_view kind, GpuOperatorFacts& facts) {
  const std::string state(json::text_in(object, "status", "state"));
  facts.objects.push_back(
      {std::string(kind), std::string(json::text_in(object, "metadata", "name")), state});
  if (state == "ignored") return;
  const std::string_view ns = json::text_in(object, "status", "namespace");
  if (!ns.empty()) facts.ns = ns;
  if (kind == "ClusterPolicy" && facts.values.name.empty()) facts.values = read_values(object);
}

void take_slice(json::Value slice, GpuOperatorFacts& facts) {
  const auto spec = json::member(slice, "spec");
  if (!spec || json::text(*spec, "driver") != kDraDriver) return;
  const std::string_view node = json::text(*spec, "nodeName");
  const auto devices = json::member(*spec, "devices");
  if (node.empty() || !devices) return;
  json::each_item(*devices, [&](std::size_t, json::Value) { facts.dra_nodes.emplace(node); });
}

void read_configs(KubeCaller& api, GpuOperatorFacts& facts, std::vector<std::string>& unread) {
  if (facts.values.config_map.empty()) return;
  const auto reply =
      api.get("/api/v1/namespaces/" + facts.ns + "/configmaps/" + facts.values.config_map);
  if (reply.answer.outcome == Outcome::kNotFound) facts.no_config_map = true;
  if (facts.no_config_map) return;
  json::Parser parser;
  json::Value root;
  if (!reply.done() || parser.parse(reply.body).get(root) != simdjson::SUCCESS) {
    unread.emplace_back("configmaps");
    return;
  }
  const auto data = json::member(root, "data");
  if (!data) return;
  json::each_member(*data, [&](std::string_view name, json::Value text) {
    facts.configs[std::string(name)] = read_plugin_config(std::string(json::text(text)));
  });
}

}  // namespace

PluginConfig read_plugin_config(const std::string& text) {
  PluginConfig out;
  const YamlDocument document = read_yaml(text);
  if (document.mistake) {
    out.mistake = "line " + std::to_string(document.mistake->line) + ": " + document.mistake->what;
    return out;
  }
  const YAML::Node sharing = below(document.root, "sharing");
  const YAML::Node slicing = below(sharing, "timeSlicing");
  out.time_slicing = has_replicas(slicing);
  out.mps = has_replicas(below(sharing, "mps"));
  out.one_replica_only = scalar(below(slicing, "failRequestsGreaterThanOne")) == "true";
  const YAML::Node flags = below(document.root, "flags");
  out.mig_strategy = scalar(below(flags, "migStrategy"));
  out.device_lists = joined(below(below(flags, "plugin"), "deviceListStrategy"));
  return out;
}

void take_operator_node(json::Value node, GpuOperatorFacts& facts) {
  const std::string name(json::text_in(node, "metadata", "name"));
  const auto labels = at(node, {"metadata", "labels"});
  if (labels) {
    const std::string config(json::text(*labels, kLabelPluginConfig));
    if (!config.empty()) facts.nodes_by_config[config].push_back(name);
    const std::string mig(json::text(*labels, kLabelMigConfig));
    if (!mig.empty() && mig != kMigAllDisabled) facts.nodes_by_mig[mig].push_back(name);
  }
  const auto allocatable = at(node, {"status", "allocatable"});
  if (!allocatable) return;
  json::each_member(*allocatable, [&](std::string_view resource, json::Value amount) {
    const bool gpus = gpu_kind_of(resource, {}) != GpuKind::kNone;
    if (gpus && json::text(amount) != "0") facts.plugin_nodes.insert(name);
  });
}

void read_gpu_operator(KubeCaller& api, const std::set<std::string>& groups,
                       GpuOperatorFacts& facts, std::vector<std::string>& unread) {
  const auto list = [&](const std::string& collection, auto&& each) {
    const auto error = api.list(collection, "", each);
    if (!error || error->code == ErrorCode::kNotFound) return;
    unread.push_back(collection.substr(collection.rfind('/') + 1));
  };
  if (groups.contains("nvidia.com")) {
    list("/apis/nvidia.com/v1/clusterpolicies",
         [&](json::Value v) { take_object(v, "ClusterPolicy", facts); });
    list("/apis/nvidia.com/v1alpha1/gpuclusters",
         [&](json::Value v) { take_object(v, "GPUCluster", facts); });
    read_configs(api, facts, unread);
  }
  if (groups.contains("resource.k8s.io")) {
    list("/apis/resource.k8s.io/v1/resourceslices", [&](json::Value v) { take_slice(v, facts); });
  }
}

}  // namespace subak::cli
