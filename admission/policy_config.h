// An operator's configuration of the pod policy.
// Threads: any; plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"

namespace subak {

// What happens to a pod that requests devices by DRA (a resource claim, or a device class as a
// resource). The webhook does not know whether these devices are GPUs; the edge finds out.
enum class DeviceClaims : std::uint8_t {
  // The pod gets the gate, with the reason device_claim. It waits until the edge knows which GPUs
  // the pod's claims request.
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
  // True: Jobs and other owners that can be suspended are created suspended.
  bool suspend_owners = true;
  // True: pods whose QoS, CPUs or RDMA devices are not aligned are denied. False: such pods get a
  // warning.
  bool deny_unaligned = false;
  DeviceClaims device_claims = DeviceClaims::kGate;
  UnknownCluster unknown_cluster = UnknownCluster::kWarn;
};

}  // namespace subak
