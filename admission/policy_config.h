// An operator's configuration of the webhook's pod policy (policy.h). The service reads it from its
// configuration file.
// Threads: any; plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"

namespace subak {

// What happens to a pod that requests devices by Dynamic Resource Allocation (DRA): by a
// ResourceClaim, or by a device class as an extended resource. The webhook does not know whether
// these devices are GPUs. The edge, the part of Subak that watches the cluster, finds out.
enum class DeviceClaims : std::uint8_t {
  // The pod gets the gate, with the reason device_claim. It waits until the edge knows which GPUs
  // the pod's ResourceClaims request.
  kGate,
  // Denied with 403.
  kDeny,
  // Subak counts only the pod's other requests, and a warning says so.
  kWarn,
};
template <>
struct EnumText<DeviceClaims> {
  static constexpr std::array<std::string_view, 3> names{"gate", "deny", "warn"};
};

// What happens to a GPU pod if the path of the call names an unknown cluster.
enum class UnknownCluster : std::uint8_t {
  // Allowed, with a warning.
  kWarn,
  // Denied with 403.
  kDeny,
};
template <>
struct EnumText<UnknownCluster> {
  static constexpr std::array<std::string_view, 2> names{"warn", "deny"};
};

// What happens to a pod of several GPUs whose CPUs, memory or network cards its node would not
// align with the GPUs.
enum class Alignment : std::uint8_t {
  // Nothing: the policy does not check the pod's alignment.
  kOff,
  // Allowed, with a warning for each field to change.
  kWarn,
  // Denied with 422.
  kDeny,
};
template <>
struct EnumText<Alignment> {
  static constexpr std::array<std::string_view, 3> names{"off", "warn", "deny"};
};

// True if `pattern` is the name of the namespace, or ends in a * and the name begins with the rest.
inline bool matches_namespace(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// The alignment of some namespaces.
struct NamespaceAlignment {
  // The full name of a namespace. With a * at its end, the entry counts for all namespaces whose
  // names begin with the rest.
  std::string ns;
  Alignment alignment = Alignment::kWarn;
  // True if the entry counts for this namespace.
  bool matches(std::string_view name) const { return matches_namespace(ns, name); }
  friend bool operator==(const NamespaceAlignment&, const NamespaceAlignment&) = default;
};

// Sends pods that ask for one whole GPU to MIG slices or shared GPUs instead.
struct GpuRoute {
  // The pods of these namespaces, as in NamespaceAlignment::ns. Empty: `priority_class` decides.
  std::string ns;
  // The pods whose key subak.gpu/priority names this class. Empty: `ns` decides.
  std::string priority_class;
  // The product of the nodes: "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb" or "NVIDIA-A10-SHARED". The
  // device plugins of these nodes offer a slice or a replica as one nvidia.com/gpu.
  std::string product;
  friend bool operator==(const GpuRoute&, const GpuRoute&) = default;
};

// The account of a queue of another queue manager, such as a LocalQueue of Kueue.
struct QueueAccount {
  // The namespace of the pods. Empty: all namespaces.
  std::string ns;
  std::string queue, account;
  friend bool operator==(const QueueAccount&, const QueueAccount&) = default;
};

// All settings of the pod policy.
struct AdmissionConfig {
  // Extended resources that count as whole GPUs, such as "example.com/gpu".
  std::vector<std::string> extra_gpu_resources;
  // Schedulers of other queue managers, by their names in spec.schedulerName. In mode observe, pods
  // with such a scheduler count as pods of another queue manager. In mode enforce, such pods are
  // denied.
  std::vector<std::string> other_schedulers{"kai-scheduler",   "volcano",
                                            "yunikorn",        "runai-scheduler",
                                            "koord-scheduler", "godel-scheduler"};
  // Runtime classes that let a container see GPUs without a request.
  std::vector<std::string> gpu_runtime_classes{"nvidia", "nvidia-cdi", "nvidia-legacy"};
  // A user name that the policy trusts in every cluster. In each cluster, the policy also trusts
  // the user name that Subak's edge has in that cluster (ClusterView::known_as).
  std::string own_user = "system:serviceaccount:subak-system:subak";
  // Members of this group may remove Subak's gate and change its keys.
  std::string break_glass_group = "subak:break-glass";
  // True: the webhook suspends new Jobs and other owners that can be suspended, as
  // QueueSettings::park_after says. False: it never suspends them.
  bool suspend_owners = true;
  // The alignment of each namespace is that of the first matching entry of `alignment_namespaces`.
  // Without such an entry, it is `alignment`.
  Alignment alignment = Alignment::kWarn;
  std::vector<NamespaceAlignment> alignment_namespaces;
  Alignment alignment_of(std::string_view ns) const {
    for (const NamespaceAlignment& entry : alignment_namespaces) {
      if (entry.matches(ns)) return entry.alignment;
    }
    return alignment;
  }
  // The PriorityClass that each gated pod gets instead of its own. Pods with a system PriorityClass
  // keep their own. Empty: all pods keep their own.
  std::string pod_priority_class;
  // True: pods of gangs get the annotations with which Karpenter and the cluster autoscaler do not
  // remove a pod's node.
  bool protect_gangs = false;
  // The accounts of queues. If two entries name the same queue, the one with a namespace counts. In
  // a namespace without entries, marks of other queue managers name no accounts.
  std::vector<QueueAccount> queue_accounts;
  // The routes. Of several that match a pod, the first counts.
  std::vector<GpuRoute> routes;
  DeviceClaims device_claims = DeviceClaims::kGate;
  UnknownCluster unknown_cluster = UnknownCluster::kWarn;
  // True: a gang with topology nvlink or nvlink-exclusive that needs several nodes gets a
  // ComputeDomain, although its pods do not ask for one. The nodes of the cluster must offer
  // channels of ComputeDomains.
  bool compute_domains_for_nvlink = false;
};

}  // namespace subak
