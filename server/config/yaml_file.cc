#include <algorithm>

#include "core/printable.h"
#include "server/config/settings.h"
#include "server/yaml/document.h"

namespace subak {
namespace config {
namespace {

constexpr std::string_view kApiVersion = "subak.gpu/v1";
constexpr std::string_view kKind = "Configuration";

// A mistake and the node with it.
struct Mistake {
  std::size_t line;
  Error error;
};
using MaybeBad = std::optional<Mistake>;

std::string describe(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a map";
  return "nothing";
}

Mistake mistake(const YAML::Node& node, std::string key, std::string got, const std::string& want) {
  return {line_of(node), {ErrorCode::kInvalid, std::move(key), std::move(got), "want " + want}};
}

Mistake named(const YAML::Node& node, std::string key, Error error) {
  error.field = std::move(key);
  return {line_of(node), std::move(error)};
}

// Calls `each(key, key node, value)` for the entries of a map.
template <class Each>
MaybeBad for_each_entry(const YAML::Node& map, const std::string& path, const Each& each) {
  if (!map.IsMap()) return mistake(map, path, describe(map), "a map");
  for (const auto& entry : map) {
    const std::string key = entry.first.Scalar();
    const std::string here = path.empty() ? key : path + "." + key;
    if (entry.second.IsNull()) return mistake(entry.first, here, "nothing", "a value");
    if (MaybeBad found = each(key, entry.first, entry.second)) return found;
  }
  return std::nullopt;
}

MaybeBad need_text(const YAML::Node& node, const std::string& path, std::string_view want) {
  if (node.IsScalar()) return std::nullopt;
  return mistake(node, path, describe(node), std::string(want));
}

MaybeBad read_namespaces(const YAML::Node& node, const std::string& path, ClusterConfig& cluster) {
  return for_each_entry(
      node, path,
      [&](const std::string& ns, const YAML::Node&, const YAML::Node& value) -> MaybeBad {
        const std::string here = path + "." + ns;
        if (auto found = need_text(value, here, choices<Mode>())) return found;
        if (auto error = add_namespace(cluster, ns, value.Scalar()))
          return named(value, here, *error);
        return std::nullopt;
      });
}

MaybeBad read_cluster_entry(const std::string& path, const std::string& key, const YAML::Node& name,
                            const YAML::Node& value, ClusterConfig& cluster) {
  const std::string here = path + "." + key;
  if (key == "namespaces") return read_namespaces(value, here, cluster);
  if (key == "kubeconfig" || key == "context") {
    if (!value.IsScalar() || value.Scalar().empty()) return mistake(value, here, "", "a text");
    if (auto error = check_text(value.Scalar())) return named(value, here, *error);
    (key == "context" ? cluster.context : cluster.kubeconfig) = value.Scalar();
    return std::nullopt;
  }
  if (key == "inCluster") {
    const std::string text = value.IsScalar() ? value.Scalar() : describe(value);
    if (text != "true" && text != "false") return mistake(value, here, text, "true or false");
    cluster.in_cluster = text == "true";
    return std::nullopt;
  }
  if (key != "name" && key != "mode") {
    return mistake(name, here, key,
                   "one of name, mode, namespaces, kubeconfig, context, inCluster");
  }
  if (auto found = need_text(value, here, key == "name" ? "a name" : choices<Mode>())) return found;
  if (key == "name") {
    cluster.name = value.Scalar();
    if (auto error = check_name(cluster.name)) return named(value, here, *error);
    return std::nullopt;
  }
  const Result<Mode> mode = read_enum<Mode>(value.Scalar());
  if (!mode) return named(value, here, mode.error());
  cluster.mode = *mode;
  return std::nullopt;
}

MaybeBad read_cluster_map(const YAML::Node& node, const std::string& path, Config& config) {
  ClusterConfig cluster;
  MaybeBad found = for_each_entry(
      node, path, [&](const std::string& key, const YAML::Node& name, const YAML::Node& value) {
        return read_cluster_entry(path, key, name, value, cluster);
      });
  if (found) return found;
  if (cluster.name.empty()) return mistake(node, path + ".name", "", "the cluster's name");
  config.clusters.push_back(std::move(cluster));
  return std::nullopt;
}

MaybeBad read_accounts(const YAML::Node& node, const std::string& path, PriorityClass& one) {
  if (!node.IsSequence()) return mistake(node, path, describe(node), "a list");
  for (std::size_t i = 0; i < node.size(); ++i) {
    const std::string here = path + "[" + std::to_string(i) + "]";
    if (auto found = need_text(node[i], here, "an account")) return found;
    if (auto error = check_text(node[i].Scalar())) return named(node[i], here, *error);
    one.accounts.push_back(node[i].Scalar());
  }
  return std::nullopt;
}

MaybeBad read_class_map(const YAML::Node& node, const std::string& path, Config& config) {
  PriorityClass one;
  bool has_value = false;
  const auto read = [&](const std::string& key, const YAML::Node& name,
                        const YAML::Node& value) -> MaybeBad {
    const std::string here = path + "." + key;
    if (key == "accounts") return read_accounts(value, here, one);
    if (key != "name" && key != "value" && key != "preempts")
      return mistake(name, here, key, "one of name, value, preempts, accounts");
    const std::string text = value.IsScalar() ? value.Scalar() : describe(value);
    if (key == "name") {
      one.name = text;
    } else if (key == "preempts") {
      if (text != "true" && text != "false") return mistake(value, here, text, "true or false");
      one.preempts = text == "true";
    } else {
      const Result<std::int32_t> number = read_class_value(text);
      if (!number) return named(value, here, number.error());
      one.priority = *number;
      has_value = true;
    }
    return std::nullopt;
  };
  if (auto found = for_each_entry(node, path, read)) return found;
  if (!has_value) return mistake(node, path + ".value", "", "the class's value, a whole number");
  if (auto error = add_class(config, std::move(one))) return named(node, path, *error);
  return std::nullopt;
}

MaybeBad read_pool_map(const YAML::Node& node, const std::string& path, Config& config) {
  NodePool pool;
  const auto read_one = [&](const std::string& key, const std::string& here,
                            const YAML::Node& value) -> MaybeBad {
    if (auto found = need_text(value, here, "a text")) return found;
    if (auto error = check_text(value.Scalar())) return named(value, here, *error);
    if (auto error = set_pool_field(pool, key, value.Scalar())) return named(value, here, *error);
    return std::nullopt;
  };
  const auto read = [&](const std::string& key, const YAML::Node& /*name*/,
                        const YAML::Node& value) -> MaybeBad {
    const std::string here = path + "." + key;
    const bool list = key == "labels" || key == "taints" || key == "resources";
    if (!list) return read_one(key, here, value);
    if (!value.IsSequence()) return mistake(value, here, describe(value), "a list");
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (auto found = read_one(key, here + "[" + std::to_string(i) + "]", value[i])) return found;
    }
    return std::nullopt;
  };
  if (auto found = for_each_entry(node, path, read)) return found;
  if (auto error = add_pool(config, std::move(pool))) return named(node, path, *error);
  return std::nullopt;
}

MaybeBad read_list(const Setting& setting, const YAML::Node& value, Config& config) {
  const std::string key(setting.key);
  if (!value.IsSequence()) return mistake(value, key, describe(value), "a list");
  setting.clear(config);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string path = key + "[" + std::to_string(i) + "]";
    if (key == "clusters") {
      if (MaybeBad found = read_cluster_map(value[i], path, config)) return found;
      continue;
    }
    if (key == "priorityClasses") {
      if (MaybeBad found = read_class_map(value[i], path, config)) return found;
      continue;
    }
    if (key == "nodePools") {
      if (MaybeBad found = read_pool_map(value[i], path, config)) return found;
      continue;
    }
    if (MaybeBad found = need_text(value[i], path, setting.value)) return found;
    if (auto error = set(setting, config, value[i].Scalar())) return named(value[i], path, *error);
  }
  return std::nullopt;
}

MaybeBad read_setting(const std::string& key, const YAML::Node& name, const YAML::Node& value,
                      Config& config) {
  const auto all = settings();
  const auto setting =
      std::find_if(all.begin(), all.end(), [&](const Setting& s) { return s.key == key; });
  if (setting == all.end()) {
    std::string want = "one of apiVersion, kind";
    for (const Setting& s : all) want += ", " + std::string(s.key);
    return mistake(name, key, key, want);
  }
  if (setting->list) return read_list(*setting, value, config);
  const std::string_view want = setting->toggle ? "true or false" : setting->value;
  if (MaybeBad found = need_text(value, key, want)) return found;
  if (auto error = set(*setting, config, value.Scalar())) return named(value, key, *error);
  return std::nullopt;
}

MaybeBad read_header(const YAML::Node& root, const char* key, std::string_view want) {
  const YAML::Node value = root[key];
  if (!value) return mistake(root, key, "", std::string(want));
  if (value.IsScalar() && value.Scalar() == want) return std::nullopt;
  return mistake(value, key, describe(value), std::string(want));
}

std::string at(std::string_view file, std::size_t line) {
  return std::string(file) + ":" + std::to_string(line);
}

}  // namespace
}  // namespace config

std::optional<std::string> apply_yaml(const std::string& text, std::string_view file,
                                      Config& config, std::vector<Origin>& origins) {
  using namespace config;
  const YamlDocument read = read_yaml(text);
  if (read.mistake) return at(file, read.mistake->line) + ": " + printable(read.mistake->what);
  const YAML::Node& root = read.root;
  const auto say = [&](const Mistake& m) {
    return at(file, m.line) + ": " + printable(m.error.message());
  };
  if (!root.IsMap()) {
    return std::string(file) + ":1: was " + printable(describe(root)) +
           ", want a map with apiVersion and kind";
  }
  if (auto found = read_header(root, "apiVersion", kApiVersion)) return say(*found);
  if (auto found = read_header(root, "kind", kKind)) return say(*found);
  const auto found = for_each_entry(
      root, "",
      [&](const std::string& key, const YAML::Node& name, const YAML::Node& value) -> MaybeBad {
        if (key == "apiVersion" || key == "kind") return std::nullopt;
        if (MaybeBad bad = read_setting(key, name, value, config)) return bad;
        origins.push_back({key, at(file, line_of(name))});
        return std::nullopt;
      });
  if (found) return say(*found);
  return std::nullopt;
}

}  // namespace subak
