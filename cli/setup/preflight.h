// Finds objects in a cluster that conflict with Subak or prevent its work. read_cluster() reads the
// cluster. judge() makes the findings, as a pure function.
//
// Sources:
// - kubernetes/kubernetes pkg/quota/v1/evaluator/core/pods.go (a quota counts pods that wait),
// - k8s.io/api admissionregistration/v1 (webhooks are called by configuration name),
// - k8s.io/api scheduling/v1 (preemption), resource/v1 (device classes),
// - kubernetes-sigs/kueue, kubernetes-sigs/karpenter, NVIDIA/KAI-Scheduler, volcano-sh/volcano,
//   kubeflow, ray-project (their API groups).
//
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/setup/kube_caller.h"
#include "core/error.h"
#include "core/text.h"

namespace subak {
namespace cli {

// The severity of a finding.
enum class Level : std::uint8_t {
  // Subak would not work there, or would do harm.
  kBlocker,
  // Something will differ from what users expect.
  kWarning,
  // For information.
  kNote,
};

// One finding for the operator.
struct Finding {
  // How serious it is.
  Level level = Level::kNote;
  // One sentence.
  std::string what;
  // Objects by name, a few of many.
  std::string where;
  // The remedy, or the meaning.
  std::string todo;
  friend bool operator==(const Finding&, const Finding&) = default;
};

// The data read of a cluster. Names are "namespace/name" where there is a namespace.
struct ClusterFacts {
  // The minor version of the API server; 0: not reported.
  int minor = 0;
  // The groups of its APIs.
  std::set<std::string> groups;
  // Nodes with GPUs or slices of a device plugin.
  std::size_t gpu_nodes = 0;
  // Of these: one GPU for several pods by time-slicing or MPS.
  std::size_t shared_gpu_nodes = 0;
  // Namespaces with Subak's label, and its value.
  std::map<std::string, std::string> namespaces;
  // One bound of a ResourceQuota: its key and its hard value, as text.
  struct Quota {
    // The quota's name and namespace, the key, and the hard value.
    std::string name, ns, key, hard;
  };
  // Bounds on GPUs or on the number of pods.
  std::vector<Quota> quotas;
  // One webhook of another program that is called for pods.
  struct Webhook {
    // The name of the configuration that has it, and its own.
    std::string configuration, name;
    // It is called when a pod is created, or updated.
    bool creates = false, updates = false;
    // failurePolicy: Fail.
    bool fails = false;
  };
  // Webhooks of others, about pods.
  std::vector<Webhook> mutating, validating;
  // Priority classes that preempt, and their value.
  std::map<std::string, std::string> preempting;
  // The GPU pods of one namespace that have not ended.
  struct GpuPods {
    // All of them, and those without a node and without Subak's gate.
    std::size_t pods = 0, waiting = 0;
    // Each gate of others, and a pod that has it.
    std::map<std::string, std::string> foreign_gates;
    // Each scheduler other than the default one, and a pod of it.
    std::map<std::string, std::string> schedulers;
    // Each kind of owner whose pods would wait for a gang size ("PyTorchJob"), and a pod of it.
    std::map<std::string, std::string> owners;
    // The classes that these pods name.
    std::set<std::string> priority_classes;
  };
  // By namespace.
  std::map<std::string, GpuPods> gpu_pods;
  // Device classes of DRA that give GPUs.
  std::vector<std::string> device_classes;
  // Rights that the service's user lacks: "patch pods".
  std::vector<std::string> denied;
  // The user has at least one of the rights.
  bool has_rights = false;
  // Kinds that the caller may not read.
  std::vector<std::string> unread;
};

// The service's data; `asked` is false if it did not answer.
struct ServiceFacts {
  bool asked = false;
  // The names of all clusters, and the requested one.
  std::vector<std::string> clusters;
  std::string cluster;
  // The requested cluster is one of them.
  bool knows_cluster = false;
  // By namespace; the cluster's own mode is under "".
  std::map<std::string, std::string> modes;
  // The account of each namespace that has one.
  std::map<std::string, std::string> accounts;
  // The paths of all accounts.
  std::set<std::string> paths;
};

// Reads the cluster. `user`: user name of the service's writes. Unreadable kinds are listed in
// `unread`. An error: the server is unreachable, or nothing is readable.
Result<ClusterFacts> read_cluster(KubeCaller& api, const std::string& user);

// Returns the findings, blockers first, then in their order.
std::vector<Finding> judge(const ClusterFacts& cluster, const ServiceFacts& service);

}  // namespace cli

template <>
struct EnumText<cli::Level> {
  static constexpr std::array<std::string_view, 3> names{"blocker", "warning", "note"};
};

}  // namespace subak
