// Makes bound pods and DCGM samples of their GPUs, for tests of server/activity.
#pragma once

#include <string>

#include "server/activity/holders.h"

namespace subak {

inline constexpr TimeMs kNoon = 1'767'225'600'000;  // the start of a UTC day

inline HeldGpus::Node node(std::uint32_t id, const std::string& name,
                           const std::string& cluster = "east", std::uint16_t cluster_id = 1) {
  return {NodeId(id), ClusterId(cluster_id), name, cluster};
}

// Returns a bound pod with whole GPUs, of the cluster with id 1.
inline OpenUsage pod(std::uint64_t job, std::uint32_t on, std::uint32_t gpus,
                     const std::string& name, TimeMs since_ms = kNoon) {
  OpenUsage out;
  out.payer = AccountId(1);
  out.product = "H100";
  out.since_ms = since_ms;
  out.milligpu = gpus * kMilliPerGpu;
  out.job = JobId(ClusterId(1), job);
  out.node = NodeId(on);
  out.gpus = gpus;
  out.pod = name;
  out.uid = "uid of " + name;
  return out;
}

inline DeviceSample device(const std::string& on, int gpu, double activity,
                           const std::string& of_pod = "") {
  DeviceSample out;
  out.node = on;
  out.gpu = std::to_string(gpu);
  out.uuid = "GPU-" + on + "-" + out.gpu;
  out.activity = activity;
  out.pod = of_pod;
  return out;
}

}  // namespace subak
