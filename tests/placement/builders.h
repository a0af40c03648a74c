// Short functions for placement tests: they make nodes and gangs, and start and stop jobs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "keeping_fleet.h"
#include "placement/search/search.h"

namespace subak::build {

inline const ClusterId kCluster(1);

// A fleet with its reserved nodes, and one search, whose caches live as long as the fleet.
struct Site : KeepingFleet {
  ReservedNodes reserved;
  Search search{*this};

  FleetView now() const { return FleetView(*this, reserved); }
  std::optional<Placement> find(ShapeId shape, JobId owner = JobId()) {
    return search.find(now(), shape, owner);
  }
  void check_invariants() {
    Fleet::check_invariants();
    search.check_invariants();
  }
};

inline NodeSpec node(std::uint32_t id, std::int64_t gpus, std::string clique = "") {
  NodeSpec s;
  s.name = "n" + std::to_string(id);
  s.product = gpus > 0 ? "NVIDIA-H100-80GB-HBM3" : "";
  s.gpus = gpus;
  s.clique = std::move(clique);
  return s;
}

inline void add(Fleet& fleet, std::uint32_t id, const NodeSpec& spec, TimeMs now = 0) {
  fleet.set_node(NodeId(id), kCluster, spec, false, now);
}

inline GangRequest gang(std::uint32_t pods, std::int64_t gpus, Topology topology = Topology::kAny,
                        std::uint32_t segment = 0) {
  GangRequest r;
  r.groups.emplace_back();
  r.groups[0].count = pods;
  r.groups[0].shape.kind = gpus > 0 ? GpuKind::kWhole : GpuKind::kNone;
  r.groups[0].shape.gpus = gpus;
  r.terms.topology = topology;
  r.terms.segment = segment;
  return r;
}

inline JobId job(std::uint64_t n) { return JobId(kCluster, n); }

// Finds a placement for job `id` and takes its slots. Empty: there is no placement.
inline std::vector<PodSlot> start(Site& fleet, std::uint64_t id, const GangRequest& request,
                                  TimeMs now = 0) {
  const ShapeId shape = fleet.intern(kCluster, request);
  const auto placement = fleet.find(shape, job(id));
  if (!placement) return {};
  for (std::uint32_t r = 0; r < placement->slots.size(); ++r) {
    fleet.take(shape, r, placement->slots[r], job(id), now);
  }
  return placement->slots;
}

inline void stop(Fleet& fleet, std::uint64_t id, const GangRequest& request,
                 const std::vector<PodSlot>& slots, TimeMs now = 0) {
  const ShapeId shape = fleet.shapes().find(kCluster, request);
  for (std::uint32_t r = 0; r < slots.size(); ++r) fleet.give(shape, r, slots[r], job(id), now);
}

inline std::vector<std::uint32_t> nodes_of(const std::vector<PodSlot>& slots) {
  std::vector<std::uint32_t> out;
  for (const PodSlot& s : slots) out.push_back(s.node.value);
  return out;
}

// Returns the nodes that find() would choose now, by rank; empty: there is no placement.
inline std::vector<std::uint32_t> where(Site& fleet, const GangRequest& request,
                                        JobId owner = JobId()) {
  const auto placement = fleet.find(fleet.intern(kCluster, request), owner);
  return placement ? nodes_of(placement->slots) : std::vector<std::uint32_t>{};
}

}  // namespace subak::build
