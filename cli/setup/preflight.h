// Finds objects in a cluster that conflict with Subak or prevent Subak's work (`subak preflight`).
// read_cluster() reads the cluster. judge() is a pure function that makes the findings.
//
// Sources:
// - kubernetes/kubernetes pkg/quota/v1/evaluator/core/pods.go (a quota counts pods that wait),
// - k8s.io/api admissionregistration/v1 (webhooks are called by configuration name),
// - k8s.io/api scheduling/v1 (preemption), resource/v1 (device classes),
// - kubernetes-sigs/kueue, kubernetes-sigs/karpenter, NVIDIA/KAI-Scheduler, volcano-sh/volcano,
//   kubeflow, ray-project (their API groups),
// - those of gpu_operator_facts.h.
//
// Threads: one at a time; judge() is a pure function.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/setup/gpu_operator_facts.h"
#include "cli/setup/kube_caller.h"
#include "core/error.h"
#include "core/text.h"

namespace subak {
namespace cli {

// The severity of a finding.
enum class Level : std::uint8_t {
  // Subak does not work in this cluster, or does harm.
  kBlocker,
  // Subak works, but something differs from what users expect.
  kWarning,
  // For information.
  kNote,
};

// One finding for the operator.
struct Finding {
  // The severity.
  Level level = Level::kNote;
  // What was found, in one sentence.
  std::string what;
  // The names of the objects. If there are many objects, only a few are named.
  std::string where;
  // What to do about the finding, or what the finding means.
  std::string todo;
  friend bool operator==(const Finding&, const Finding&) = default;
};

// What read_cluster() has read. The name of an object in a namespace is "namespace/name".
struct ClusterFacts {
  // The minor version of the API server; 0: not reported.
  int minor = 0;
  // The API groups of the server.
  std::set<std::string> groups;
  // The number of nodes with GPUs or slices of a device plugin.
  std::size_t gpu_nodes = 0;
  // The number of these nodes on which several pods share a GPU by time-slicing or MPS.
  std::size_t shared_gpu_nodes = 0;
  // The GPU nodes that offer an RDMA resource, and the GPU nodes that offer none.
  std::vector<std::string> rdma_nodes, nodes_without_rdma;
  // Each namespace with Subak's label, and the value of the label.
  std::map<std::string, std::string> namespaces;
  // One bound of a ResourceQuota.
  struct Quota {
    // The name and namespace of the ResourceQuota, the key of the bound, and its hard value as
    // text.
    std::string name, ns, key, hard;
  };
  // The bounds on GPUs or on the number of pods.
  std::vector<Quota> quotas;
  // One webhook of another program that the API server calls for pods.
  struct Webhook {
    // The name of the webhook's configuration object, and the name of the webhook itself.
    std::string configuration, name;
    // `creates`: the API server calls the webhook when a pod is created. `updates`: it calls the
    // webhook when a pod is updated.
    bool creates = false, updates = false;
    // True: the webhook's failurePolicy is Fail.
    bool fails = false;
  };
  // The webhooks of other programs that the API server calls for pods.
  std::vector<Webhook> mutating, validating;
  // Each priority class that preempts, and its value.
  std::map<std::string, std::string> preempting;
  // The GPU pods of one namespace that have not ended.
  struct GpuPods {
    // `pods`: the number of all these pods. `waiting`: the number of pods without a node and
    // without Subak's gate.
    std::size_t pods = 0, waiting = 0;
    // Each gate of another program, and a pod that has it.
    std::map<std::string, std::string> foreign_gates;
    // Each scheduler other than the default one, and a pod that names it.
    std::map<std::string, std::string> schedulers;
    // Each kind of owner ("PyTorchJob") whose pods would wait until a user sets the gang size, and
    // one pod of that kind.
    std::map<std::string, std::string> owners;
    // The priority classes that these pods name.
    std::set<std::string> priority_classes;
  };
  // The GPU pods of each namespace.
  std::map<std::string, GpuPods> gpu_pods;
  // Device classes of Dynamic Resource Allocation that give GPUs.
  std::vector<std::string> device_classes;
  // The settings of NVIDIA's GPU Operator, and the nodes of device plugin and DRA driver.
  GpuOperatorFacts gpu_operator;
  // Subak's own rights and webhooks in the cluster.
  struct Own {
    // Rights that the service's user lacks: "patch pods".
    std::vector<std::string> denied;
    // True: the user has at least one of the rights.
    bool has_rights = false;
    // Subak's webhooks without a caBundle, by name. The value is true if cert-manager should write
    // the caBundle.
    std::map<std::string, bool> without_ca;
  };
  Own own;
  // Kinds of objects that the caller may not read.
  std::vector<std::string> unread;
};

// What the service answered. `asked` is false if the service did not answer.
struct ServiceFacts {
  bool asked = false;
  // The names of all clusters, and the name of the cluster that preflight checks.
  std::vector<std::string> clusters;
  std::string cluster;
  // True: `cluster` is one of `clusters`.
  bool knows_cluster = false;
  // The mode of each namespace that has a mode of its own. The cluster's own mode is under "".
  std::map<std::string, std::string> modes;
  // The account of each namespace that has an account.
  std::map<std::string, std::string> accounts;
  // The paths of all accounts.
  std::set<std::string> paths;
};

// Reads the cluster. `user`: the user name with which the service writes. The result lists
// unreadable kinds in `unread`. An error means that the API server is unreachable, or that nothing
// is readable.
Result<ClusterFacts> read_cluster(KubeCaller& api, const std::string& user);

// Returns the findings about the GPU Operator: settings that clash with Subak or with each other
// (gpu_operator.cc). `is_managed`: true if Subak manages the operator's namespace.
std::vector<Finding> judge_gpu_operator(const GpuOperatorFacts& facts, bool is_managed);

// Returns the findings: blockers first, then warnings, then notes.
std::vector<Finding> judge(const ClusterFacts& cluster, const ServiceFacts& service);

}  // namespace cli

template <>
struct EnumText<cli::Level> {
  static constexpr std::array<std::string_view, 3> names{"blocker", "warning", "note"};
};

}  // namespace subak
