// The findings about NVIDIA's GPU Operator. Each names the setting, and what to set instead.
#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/setup/preflight.h"
#include "cli/setup/some.h"
#include "core/names.h"
#include "model/policy.h"
#include "placement/gpus/mig_config.h"

namespace subak::cli {
namespace {

constexpr const char* kAcceptVariable = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED";
constexpr const char* kAcceptMounts = "ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS";
constexpr const char* kDeviceLists = "DEVICE_LIST_STRATEGY";

std::string value_of(const std::map<std::string, std::string>& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

class OperatorJudge {
 public:
  OperatorJudge(const GpuOperatorFacts& facts, bool is_managed)
      : f_(facts), v_(facts.values), is_managed_(is_managed) {}

  std::vector<Finding> all() {
    states();
    both_drivers();
    if (!v_.name.empty()) {
      name_space();
      visible_devices();
      device_lists();
      mig();
      configs();
      upgrades();
      discovery();
    }
    return std::move(out_);
  }

 private:
  void say(Level level, std::string what, std::string where, std::string todo) {
    out_.push_back({level, std::move(what), std::move(where), std::move(todo)});
  }

  std::string policy() const { return "ClusterPolicy " + v_.name; }
  std::string map_name() const { return f_.ns + "/" + v_.config_map; }

  // "ClusterPolicy cluster-policy (notReady)"
  static std::string text(const GpuOperatorFacts::Object& o) {
    return o.kind + " " + o.name + " (" + (o.state.empty() ? "no state" : o.state) + ")";
  }

  // The operator serves one object. Of two kinds, it serves both or none, by its version.
  void states() {
    std::vector<std::string> ignored, unready;
    std::set<std::string> kinds;
    for (const auto& o : f_.objects) {
      if (o.state == "ignored") {
        ignored.push_back(text(o));
        continue;
      }
      kinds.insert(o.kind);
      if (o.state != "ready") unready.push_back(text(o));
    }
    if (!ignored.empty()) {
      say(Level::kNote, "objects that the GPU Operator ignores", some(ignored),
          "delete them: the operator serves the oldest object of a kind");
    }
    if (unready.empty()) return;
    if (kinds.size() > 1) {
      say(Level::kBlocker, "a ClusterPolicy and a GPUCluster exclude each other", some(unready),
          "keep the ClusterPolicy for the device plugin, or the GPUCluster for the DRA driver");
    } else {
      say(Level::kWarning, "the GPU Operator is not ready", some(unready),
          "kubectl get pods -n " + f_.ns + "; nodes with a part that is not ready get no new pods");
    }
  }

  void both_drivers() {
    std::vector<std::string> both;
    std::set_intersection(f_.plugin_nodes.begin(), f_.plugin_nodes.end(), f_.dra_nodes.begin(),
                          f_.dra_nodes.end(), std::back_inserter(both));
    if (both.empty()) return;
    say(Level::kBlocker, "the device plugin and the DRA driver give the same GPUs twice",
        some(both),
        "use one of them on each node: resources.gpus.enabled: false for the DRA driver, or the "
        "label nvidia.com/gpu.deploy.device-plugin=false");
  }

  void name_space() {
    if (!is_managed_ || is_system_namespace(Policy(), f_.ns)) return;
    say(Level::kBlocker, "Subak would gate the pods with which the GPU Operator checks its nodes",
        f_.ns,
        "systemNamespaces: [" + f_.ns + "], and kubectl label namespace " + f_.ns +
            " subak.gpu/managed-");
  }

  void visible_devices() {
    if (!v_.toolkit) {
      say(Level::kNote,
          "the operator does not install NVIDIA's toolkit, so its settings were not read",
          policy() + ": toolkit.enabled: false",
          "accept-nvidia-visible-devices-envvar-when-unprivileged = false on the nodes");
    } else if (value_of(v_.toolkit_env, kAcceptVariable) != "false") {
      say(Level::kWarning, "a container may get GPUs through the variable NVIDIA_VISIBLE_DEVICES",
          policy() + ": toolkit.env", std::string(kAcceptVariable) + ": \"false\"");
    }
    if (v_.nri) {
      say(Level::kWarning, "a pod may get GPUs through an annotation under nvidia.cdi.k8s.io/",
          policy() + ": cdi.nriPluginEnabled",
          "cdi.nriPluginEnabled: false, or a policy that refuses this annotation");
    }
  }

  std::string device_list_strategy() const {
    std::string lists = value_of(v_.plugin_env, kDeviceLists);
    const auto config = f_.configs.find(v_.default_config);
    if (lists.empty() && config != f_.configs.end()) lists = config->second.device_lists;
    return lists;
  }

  // With CDI, the operator chooses the strategy.
  void device_lists() {
    if (!v_.plugin || v_.cdi) return;
    const std::string lists = device_list_strategy();
    const std::string where = policy() + ": devicePlugin.env " + kDeviceLists;
    const bool is_cdi = lists.find("cdi") != std::string::npos;
    if (is_cdi) {
      say(Level::kBlocker, "the device plugin gives GPUs by CDI, but CDI is off",
          where + ": " + lists, "cdi.enabled: true");
    } else if (!v_.toolkit) {
      return;
    } else if (lists == "volume-mounts") {
      if (value_of(v_.toolkit_env, kAcceptMounts) == "true") return;
      say(Level::kBlocker, "the device plugin gives GPUs by mounts, which the toolkit ignores",
          where + ": " + lists, std::string("toolkit.env ") + kAcceptMounts + ": \"true\"");
    } else if (lists.find("volume-mounts") == std::string::npos &&
               value_of(v_.toolkit_env, kAcceptVariable) == "false") {
      say(Level::kBlocker, "the device plugin gives GPUs by a variable, which the toolkit ignores",
          where + ": " + (lists.empty() ? "envvar" : lists),
          std::string("cdi.enabled: true, or ") + kDeviceLists + ": volume-mounts with " +
              kAcceptMounts + ": \"true\" for the toolkit");
    }
  }

  // "n1, n2 (all-1g.10gb)"
  static std::string named(const std::string& config, const std::vector<std::string>& nodes) {
    return some(nodes) + " (" + config + ")";
  }

  void mig() {
    std::vector<std::string> cut, mixed;
    for (const auto& [config, nodes] : f_.nodes_by_mig) {
      cut.push_back(named(config, nodes));
      if (config == kMigAllMixed) mixed.push_back(named(config, nodes));
    }
    const std::string where = policy() + ": mig.strategy: " + v_.mig_strategy + "; nodes ";
    if (v_.mig_strategy == "none" && !cut.empty()) {
      say(Level::kWarning,
          "the device plugin offers GPUs with MIG slices as whole GPUs, so Subak places no pods on "
          "these nodes",
          where + some(cut), "mig.strategy: mixed, or single if all slices of a node are alike");
    }
    if (v_.mig_strategy == "single" && !mixed.empty()) {
      say(Level::kWarning, "the device plugin offers no GPUs of nodes with slices of several sizes",
          where + some(mixed), "mig.strategy: mixed");
    }
  }

  void configs() {
    if (!v_.plugin || v_.config_map.empty()) return;
    if (f_.no_config_map) {
      say(Level::kBlocker, "the device plugin has no configuration, so it does not start",
          map_name(), "create the ConfigMap that devicePlugin.config.name names");
      return;
    }
    if (f_.configs.empty()) return;  // not read
    std::map<std::string, std::string> used;
    if (!v_.default_config.empty()) used[v_.default_config] = "devicePlugin.config.default";
    for (const auto& [config, nodes] : f_.nodes_by_config) used[config] = "nodes " + some(nodes);
    for (const auto& [name, by] : used) {
      const auto config = f_.configs.find(name);
      if (config == f_.configs.end()) {
        say(Level::kBlocker, "the device plugin has no such configuration, so it does not start",
            name + ", named by " + by,
            "add it to the ConfigMap " + map_name() + ", or name one of its configurations");
      } else {
        one_config(map_name() + ": " + name, config->second);
      }
    }
  }

  void one_config(const std::string& where, const PluginConfig& config) {
    if (!config.mistake.empty()) {
      say(Level::kBlocker, "the device plugin cannot read its configuration",
          where + ": " + config.mistake, "correct this line");
      return;
    }
    if (config.time_slicing && config.mps) {
      say(Level::kBlocker, "the device plugin refuses time-slicing together with MPS", where,
          "remove sharing.mps or sharing.timeSlicing");
    } else if (config.time_slicing && !config.one_replica_only) {
      say(Level::kWarning,
          "a pod may ask for several replicas of a GPU, and pays for them, but gets no larger part",
          where, "sharing.timeSlicing.failRequestsGreaterThanOne: true");
    }
    if (!config.mig_strategy.empty() && !v_.mig_strategy.empty() &&
        config.mig_strategy != v_.mig_strategy) {
      say(Level::kNote,
          "the device plugin has two MIG strategies; the ClusterPolicy's strategy counts",
          where + ": flags.migStrategy: " + config.mig_strategy + "; " + policy() +
              ": mig.strategy: " + v_.mig_strategy,
          "flags.migStrategy: " + v_.mig_strategy);
    }
  }

  void upgrades() {
    if (!v_.driver || !v_.upgrades.automatic) return;
    const std::string where = policy() + ": driver.upgradePolicy";
    if (v_.upgrades.waits_for.empty()) {
      say(Level::kWarning, "a driver upgrade evicts running jobs", where,
          "waitForCompletion.podSelector: " + std::string(names::kAccount) +
              "; then an upgrade waits for the jobs of Subak");
    }
    if (v_.upgrades.at_once == 0 && !v_.upgrades.is_bounded) {
      say(Level::kWarning, "a driver upgrade closes all GPU nodes at once", where,
          "maxParallelUpgrades: 1 or more, or maxUnavailable: 25%");
    }
  }

  void discovery() {
    if (v_.discovery) return;
    say(Level::kWarning, "without feature discovery, Subak sees no products and no shared GPUs",
        policy() + ": gfd.enabled: false", "gfd.enabled: true");
  }

  const GpuOperatorFacts& f_;
  const GpuOperatorFacts::Values& v_;
  const bool is_managed_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> judge_gpu_operator(const GpuOperatorFacts& facts, bool is_managed) {
  return OperatorJudge(facts, is_managed).all();
}

}  // namespace subak::cli
