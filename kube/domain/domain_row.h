// A ComputeDomain that Subak made for a gang, as its cluster's edge last saw it. A ComputeDomain is
// multi-node NVLink that NVIDIA's DRA driver sets up. The edge, which watches a cluster, publishes
// these records, and the API shows them. No decision depends on them, so no fact has them.
// Threads: any; plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/text.h"

namespace subak {

// The state of a gang's ComputeDomain.
enum class ComputeDomainState : std::uint8_t {
  // The ComputeDomain exists. NVIDIA's controller has not yet made the ResourceClaimTemplate of the
  // domain, so no gate of the gang opens.
  kWaiting,
  // The template exists, and no node has joined yet. A node joins when a pod starts on it.
  kJoining,
  // At least one node has joined, and all joined nodes are ready. More nodes may still join.
  kReady,
  // At least one node that has joined is not ready.
  kNotReady,
  // Its deletion was requested, but the object still exists, because finalizers remain.
  kEnding,
};
template <>
struct EnumText<ComputeDomainState> {
  static constexpr std::array<std::string_view, 5> names{"waiting", "joining", "ready", "not_ready",
                                                         "ending"};
};

// One ComputeDomain.
struct ComputeDomainRow {
  // "namespace/name".
  std::string name;
  // The job and the attempt for which Subak made the ComputeDomain, such as "1-42" and 3.
  std::string job;
  std::uint32_t attempt = 0;
  ComputeDomainState state = ComputeDomainState::kWaiting;
  // The number of nodes that have joined, and how many of them are ready.
  std::uint32_t nodes = 0, ready = 0;
  // The joined nodes that are not ready, by name; at most limits::kMaxNodesShown.
  std::vector<std::string> not_ready;
};

}  // namespace subak
