// Placement: single-node jobs on 12,500 nodes of 8 GPUs, and a gang of a whole NVLink domain on
// 25,000 nodes of 4 in 1,388 racks, both on fleets that are partly in use and change between calls.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "placement/search.h"
#include "row.h"

namespace subak {
namespace {

const ClusterId kCluster(1);

void add_node(Fleet& fleet, std::uint32_t id, std::int64_t gpus, const std::string& clique) {
  NodeSpec node;
  node.name = "node-" + std::to_string(id);
  node.product = "NVIDIA-H100-80GB-HBM3";
  node.gpus = gpus;
  node.clique = clique;
  fleet.set_node(NodeId(id), kCluster, node, false, 0);
}

ShapeUse gang(Fleet& fleet, std::uint32_t pods, std::int64_t gpus, Topology topology) {
  GangRequest request;
  request.groups.emplace_back();
  request.groups[0].count = pods;
  request.groups[0].shape.kind = GpuKind::kWhole;
  request.groups[0].shape.gpus = gpus;
  request.topology = topology;
  return fleet.use(kCluster, request);
}

struct Held {
  ShapeId shape;
  JobId job;
  std::vector<PodSlot> slots;
};

void give_back(Fleet& fleet, const Held& held, TimeMs now) {
  for (std::uint32_t r = 0; r < held.slots.size(); ++r) {
    fleet.give(held.shape, r, held.slots[r], held.job, now);
  }
}

// Jobs of 1 to 8 GPUs come and go on a fleet that stays nine tenths full.
void single_nodes() {
  constexpr std::uint32_t kNodes = 12'500;
  Fleet fleet;
  for (std::uint32_t id = 1; id <= kNodes; ++id) add_node(fleet, id, 8, "");
  Search search(fleet);
  std::vector<ShapeUse> shapes;
  for (const std::int64_t gpus : {1, 1, 1, 2, 2, 4, 8}) {
    shapes.push_back(gang(fleet, 1, gpus, Topology::kAny));
  }
  std::mt19937_64 random(7);
  std::vector<Held> held;
  TimeMs now = 0;
  std::uint64_t jobs = 0;
  std::int64_t used = 0;
  const auto start = [&](ShapeId shape) {
    const JobId job(kCluster, ++jobs);
    auto place = search.find(Picture(fleet), shape, job);
    if (!place) return false;
    for (std::uint32_t r = 0; r < place->slots.size(); ++r) {
      fleet.take(shape, r, place->slots[r], job, now);
      used += place->slots[r].milligpu / 1000;
    }
    held.push_back({shape, job, std::move(place->slots)});
    return true;
  };
  const auto end_one = [&] {
    const std::size_t i = random() % held.size();
    used -= held[i].slots[0].milligpu / 1000;
    give_back(fleet, held[i], now);
    held[i] = std::move(held.back());
    held.pop_back();
  };
  while (used < 90'000) start(shapes[random() % shapes.size()]);
  constexpr int kDecisions = 300'000;
  int decided = 0;
  const bench::Stopwatch watch;
  for (int i = 0; i < kDecisions; ++i) {
    ++now;
    while (used > 90'000) end_one();
    decided += start(shapes[random() % shapes.size()]);
  }
  const double ours = decided / (watch.ns() * 1e-9);

  // What a scheduler without summaries does at the least: look at one byte of every node for the
  // tightest one that fits.
  std::vector<std::uint8_t> free(kNodes);
  for (auto& f : free) f = static_cast<std::uint8_t>(random() % 9);
  const bench::Stopwatch scanning;
  constexpr int kScans = 20'000;
  for (int i = 0; i < kScans; ++i) {
    const auto want = static_cast<std::uint8_t>(1 + random() % 8);
    std::size_t best = 0;
    std::uint8_t best_free = 255;
    for (std::size_t n = 0; n < free.size(); ++n) {
      if (free[n] >= want && free[n] < best_free) {
        best_free = free[n];
        best = n;
      }
    }
    bench::keep(best);
  }
  bench::row("place_node_per_s", ours, "decisions/s", kScans / (scanning.ns() * 1e-9),
             bench::Better::kMore, "a scan of one byte a node for the best fit, nothing else");
}

// Racks of 18 nodes of 4; half of them broken into by small jobs, the others empty or taken.
void whole_domain() {
  constexpr std::uint32_t kNodes = 25'000, kRackNodes = 18;
  Fleet fleet;
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    add_node(fleet, id, 4, "rack-" + std::to_string((id - 1) / kRackNodes));
  }
  Search search(fleet);
  const ShapeUse one = gang(fleet, 1, 1, Topology::kAny);
  const ShapeUse domain = gang(fleet, kRackNodes, 4, Topology::kNvlink);
  std::mt19937_64 random(11);
  std::uint64_t jobs = 0;
  for (std::uint32_t rack = 0; rack < kNodes / kRackNodes; rack += 2) {
    const PodSlot slot = fleet.adopt_slot(one, 0, NodeId(1 + rack * kRackNodes));
    fleet.take(one, 0, slot, JobId(kCluster, ++jobs), 0);
  }
  std::vector<Held> held;
  constexpr int kDecisions = 20'000;
  double finding_ns = 0;
  for (int i = 0; i < kDecisions; ++i) {
    const JobId job(kCluster, ++jobs);
    const bench::Stopwatch watch;
    auto place = search.find(Picture(fleet), domain, job);
    finding_ns += watch.ns();
    for (std::uint32_t r = 0; r < place->slots.size(); ++r) {
      fleet.take(domain, r, place->slots[r], job, i);
    }
    held.push_back({domain, job, std::move(place->slots)});
    if (held.size() < 500) continue;
    const std::size_t gone = random() % held.size();
    give_back(fleet, held[gone], i);
    held[gone] = std::move(held.back());
    held.pop_back();
  }

  // The least that any way must do: read each rack's free count, write down 18 slots.
  std::vector<std::int64_t> racks(kNodes / kRackNodes);
  for (auto& r : racks) r = static_cast<std::int64_t>(random() % 73);
  const bench::Stopwatch scanning;
  for (int i = 0; i < kDecisions; ++i) {
    std::uint32_t best = 0;
    for (std::uint32_t r = 0; r < racks.size(); ++r) {
      if (racks[r] == 72) best = r;
    }
    std::vector<PodSlot> slots(kRackNodes);
    for (std::uint32_t r = 0; r < kRackNodes; ++r) {
      slots[r] = {NodeId(best * kRackNodes + r), 15, 4000};
    }
    bench::keep(slots.data());
  }
  bench::row("place_domain72_us", finding_ns / kDecisions / 1000, "us",
             scanning.ns() / kDecisions / 1000, bench::Better::kLess,
             "one counter read per rack and 18 slots written");
}

}  // namespace
}  // namespace subak

int main() {
  subak::single_nodes();
  subak::whole_domain();
}
