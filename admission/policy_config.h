// What an operator may configure about the pod policy. Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"

namespace subak {

// A pod that asks for devices by DRA (a claim, or a device class as a resource): nobody counts them
// yet, and they may be GPUs.
enum class DeviceClaims : std::uint8_t {
  kGate,  // gated with that reason; without GPUs beside it, it waits until somebody decides
  kDeny,
  kWarn,  // counts as what it asks for beside; a warning says so
};
template <>
struct EnumText<DeviceClaims> {
  static constexpr std::array<std::string_view, 3> names{"gate", "deny", "warn"};
};

// A GPU pod from a cluster that the path of the call names and nobody knows.
enum class UnknownCluster : std::uint8_t {
  kWarn,  // allowed, with a warning
  kDeny,
};
template <>
struct EnumText<UnknownCluster> {
  static constexpr std::array<std::string_view, 2> names{"warn", "deny"};
};

struct AdmissionConfig {
  std::vector<std::string> extra_gpu_resources;  // counted as whole GPUs
  // Whose pods are known as another manager's where Subak observes.
  std::vector<std::string> other_schedulers{"kai-scheduler",   "volcano",
                                            "yunikorn",        "runai-scheduler",
                                            "koord-scheduler", "godel-scheduler"};
  std::vector<std::string> gpu_runtime_classes{"nvidia", "nvidia-cdi", "nvidia-legacy"};
  // Trusted in every cluster, beside the user as whom its own edge is known (ClusterView::known_as).
  std::string own_user = "system:serviceaccount:subak-system:subak";
  std::string break_glass_group = "subak:break-glass";
  bool suspend_owners = true;   // create Jobs and their like suspended
  bool deny_unaligned = false;  // deny what would only be warned about (QoS, CPU, RDMA)
  DeviceClaims device_claims = DeviceClaims::kGate;
  UnknownCluster unknown_cluster = UnknownCluster::kWarn;
};

}  // namespace subak
