// Reads the settings and the state of NVIDIA's GPU Operator in a cluster, for `subak preflight`.
// Sources:
// - NVIDIA/gpu-operator (api/nvidia: ClusterPolicy v1, GPUCluster v1alpha1);
// - NVIDIA/k8s-device-plugin (README, api/config/v1);
// - NVIDIA/nvidia-container-toolkit (the variables of its installer);
// - k8s.io/api resource/v1 (ResourceSlice).
// Threads: one at a time; read_plugin_config() is a pure function.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/setup/kube_caller.h"
#include "kube/json.h"

namespace subak::cli {

// One configuration of NVIDIA's device plugin.
struct PluginConfig {
  // Why the text cannot be read. Empty: it was read, and the other members are set.
  std::string mistake;
  // `time_slicing`: the configuration shares some resource by time-slicing, with at least two
  // replicas. `mps`: the same for sharing by MPS.
  bool time_slicing = false, mps = false;
  // sharing.timeSlicing.failRequestsGreaterThanOne: a pod may ask for one replica only.
  bool one_replica_only = false;
  // flags.migStrategy; empty: not set.
  std::string mig_strategy;
  // flags.plugin.deviceListStrategy, as "a,b"; empty: not set.
  std::string device_lists;
};

// Reads a configuration, in the form of a value of the plugin's ConfigMap. Unknown keys are
// ignored, as the plugin may be newer.
PluginConfig read_plugin_config(const std::string& text);

// What read_gpu_operator() has read.
struct GpuOperatorFacts {
  // A ClusterPolicy or a GPUCluster.
  struct Object {
    // `state`: status.state, such as "ready", "notReady" or "ignored"; empty: none yet.
    std::string kind, name, state;
  };
  std::vector<Object> objects;
  // The values of the ClusterPolicy that counts (the first that is not ignored).
  struct Values {
    // The object's name; empty: there is no ClusterPolicy, and the other members mean nothing.
    std::string name;
    // The parts that the operator installs. Without a value, a part is installed.
    bool toolkit = true, plugin = true, discovery = true, driver = true;
    // Container Device Interface, and the plugin of the Node Resource Interface.
    bool cdi = true, nri = false;
    // mig.strategy; empty: not set.
    std::string mig_strategy;
    // The variables that the object sets for the toolkit and for the device plugin.
    std::map<std::string, std::string> toolkit_env, plugin_env;
    // The ConfigMap with the plugin's configurations, and the name of the default one.
    std::string config_map, default_config;
    // driver.upgradePolicy.
    struct Upgrades {
      // True: the operator upgrades drivers by itself.
      bool automatic = false;
      // The number of nodes that it upgrades at once; 0: all. True: maxUnavailable bounds this too.
      std::int64_t at_once = 1;
      bool is_bounded = false;
      // The label selector of pods for which an upgrade waits; empty: it waits for none.
      std::string waits_for;
    };
    Upgrades upgrades;
  };
  Values values;
  // The namespace of the operator.
  std::string ns = "gpu-operator";
  // True: the ConfigMap does not exist.
  bool no_config_map = false;
  // The configurations of the ConfigMap, by name.
  std::map<std::string, PluginConfig> configs;
  // The nodes that name a configuration (nvidia.com/device-plugin.config), by this name.
  std::map<std::string, std::vector<std::string>> nodes_by_config;
  // The nodes whose MIG configuration (nvidia.com/mig.config) divides GPUs into slices, by the name
  // of the configuration.
  std::map<std::string, std::vector<std::string>> nodes_by_mig;
  // The nodes whose device plugin offers GPUs or slices, and those whose DRA driver offers GPUs.
  std::set<std::string> plugin_nodes, dra_nodes;
};

// Adds one node of the cluster to `facts`: the configurations that its labels name, and whether its
// device plugin offers GPUs. Call it for each node.
void take_operator_node(json::Value node, GpuOperatorFacts& facts);

// Reads the other objects of the operator. A cluster without the operator's kinds has none.
// `groups`: the API groups of the server. `unread` gets the kinds that the caller may not read.
void read_gpu_operator(KubeCaller& api, const std::set<std::string>& groups,
                       GpuOperatorFacts& facts, std::vector<std::string>& unread);

}  // namespace subak::cli
