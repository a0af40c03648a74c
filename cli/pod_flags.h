// What a pod asks of its node beside GPUs, from flags in the forms of kubectl. Threads: none.
#pragma once

#include <string>
#include <vector>

#include "subak/v1/request.pb.h"

namespace subak::cli {

// As written, one entry per flag.
struct PodFlags {
  std::vector<std::string> selectors;  // "KEY=VALUE", all must be labels of the node
  std::vector<std::string> affinity;   // "gen in (h100,h200),zone!=b": one term each; any will do
  // "KEY", "KEY=VALUE", "KEY:EFFECT", "KEY=VALUE:EFFECT"; "*".
  std::vector<std::string> tolerations;
  std::vector<std::string> resources;   // "rdma/hca=1"
  std::vector<std::string> host_ports;  // "8080", "53/UDP", "10.0.0.1:8080", "[::1]:53/UDP"

  bool empty() const {
    return selectors.empty() && affinity.empty() && tolerations.empty() && resources.empty() &&
           host_ports.empty();
  }
};

// Adds them to `shape`. Throws Failure (usage) that names the flag, the value and the form.
void put_pod_flags(const PodFlags& flags, v1::PodShape* shape);

}  // namespace subak::cli
