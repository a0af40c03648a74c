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
  kBlocker,  // Subak would not work there, or would do harm
  kWarning,  // something will differ from what users expect
  kNote,     // for information
};

// One finding for the operator.
struct Finding {
  Level level = Level::kNote;
  std::string what;   // in one sentence
  std::string where;  // objects by name, a few of many
  std::string todo;   // the remedy, or the meaning
  friend bool operator==(const Finding&, const Finding&) = default;
};

// The data read of a cluster. Names are "namespace/name" where there is a namespace.
struct ClusterFacts {
  int minor = 0;                     // of the API server; 0: not reported
  std::set<std::string> groups;      // of its APIs
  std::size_t gpu_nodes = 0;         // with GPUs or slices of a device plugin
  std::size_t shared_gpu_nodes = 0;  // of these: one GPU for several pods by time-slicing or MPS
  std::map<std::string, std::string> namespaces;  // with Subak's label -> its value
  struct Quota {
    std::string name, ns, key, hard;
  };
  std::vector<Quota> quotas;  // that limit GPUs or the number of pods
  struct Webhook {
    std::string configuration, name;
    bool creates = false, updates = false;  // called for pods then
    bool fails = false;                     // failurePolicy
  };
  std::vector<Webhook> mutating, validating;      // of others, about pods
  std::map<std::string, std::string> preempting;  // priority classes that preempt -> value
  struct GpuPods {                                // of one namespace, not ended
    std::size_t pods = 0, waiting = 0;            // all; without a node and without Subak's gate
    std::map<std::string, std::string> foreign_gates;  // gate -> a pod
    std::map<std::string, std::string> schedulers;     // other than the default one -> a pod
    std::map<std::string, std::string>
        owners;  // "PyTorchJob": its pods wait for a gang size -> a pod
    std::set<std::string> priority_classes;
  };
  std::map<std::string, GpuPods> gpu_pods;  // by namespace
  std::vector<std::string> device_classes;  // that give GPUs
  std::vector<std::string> denied;          // rights that the service's user lacks: "patch pods"
  bool has_rights = false;                  // it has at least one of the rights
  std::vector<std::string> unread;          // kinds that may not be read
};

// The service's data; `asked` is false if it did not answer.
struct ServiceFacts {
  bool asked = false;
  std::vector<std::string> clusters;  // all
  std::string cluster;                // the requested name
  bool knows_cluster = false;
  std::map<std::string, std::string> modes;     // by namespace, the cluster's own under ""
  std::map<std::string, std::string> accounts;  // by namespace
  std::set<std::string> paths;                  // of all accounts
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
