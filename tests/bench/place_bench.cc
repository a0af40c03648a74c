// Placement: single-node jobs on 12,500 nodes of 8 GPUs, and a gang of a whole NVLink domain on
// 25,000 nodes of 4 in 1,388 racks, both on fleets that are partly in use and change between calls.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "placement/fleet/queries.h"
#include "placement/search/search.h"
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
  request.terms.topology = topology;
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
    auto place = search.find(FleetView(fleet), shape, job);
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
    const PodSlot slot = adopt_slot(fleet, one, 0, NodeId(1 + rack * kRackNodes));
    fleet.take(one, 0, slot, JobId(kCluster, ++jobs), 0);
  }
  std::vector<Held> held;
  constexpr int kDecisions = 20'000;
  double finding_ns = 0;
  for (int i = 0; i < kDecisions; ++i) {
    const JobId job(kCluster, ++jobs);
    const bench::Stopwatch watch;
    auto place = search.find(FleetView(fleet), domain, job);
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

// What one way to look at each node costs at the least: a byte of it.
double scan_ns(std::uint32_t nodes, std::mt19937_64& random) {
  std::vector<std::uint8_t> free(nodes);
  for (auto& f : free) f = static_cast<std::uint8_t>(random() % 9);
  constexpr int kScans = 2'000;
  const bench::Stopwatch watch;
  for (int i = 0; i < kScans; ++i) {
    std::size_t best = 0;
    for (std::size_t n = 0; n < free.size(); ++n) {
      if (free[n] >= 1 && free[n] < free[best]) best = n;
    }
    bench::keep(best);
  }
  return watch.ns() / kScans;
}

// "_1k" for 1,000 GPUs; the size that the goals name has none.
std::string sized(const std::string& name, std::uint32_t nodes) {
  if (nodes == 12'500) return name;
  return name + (nodes == 125 ? "_1k" : "_10k");
}

ShapeUse half_gpu(Fleet& fleet) {
  GangRequest request;
  request.groups.emplace_back();
  request.groups[0].shape.kind = GpuKind::kFraction;
  request.groups[0].shape.milligpu = 500;
  return fleet.use(kCluster, request);
}

// Beside usual nodes.
enum class Beside { kNothing, kSplit, kLevels };

// Nodes of 8, nine tenths full of jobs of 1 to 8 GPUs; the last one is a box of two halves if so asked, or
// all stand in racks of 16 and blocks of 16 racks.
class Filled {
 public:
  Filled(std::uint32_t nodes, Beside beside) : search(fleet), random_(7) {
    for (std::uint32_t id = 1; id <= nodes; ++id) {
      NodeSpec node;
      node.name = "node-" + std::to_string(id);
      node.product = "NVIDIA-H100-80GB-HBM3";
      node.gpus = 8;
      node.gpus_per_domain = beside == Beside::kSplit && id == nodes ? 4 : 0;
      if (beside == Beside::kLevels) {
        node.levels = {"r" + std::to_string(id / 16), "b" + std::to_string(id / 256)};
      }
      fleet.set_node(NodeId(id), kCluster, node, false, 0);
    }
    for (const std::int64_t gpus : {1, 1, 1, 2, 2, 4, 8}) {
      shapes_.push_back(gang(fleet, 1, gpus, Topology::kAny));
    }
    const std::int64_t want = nodes * std::int64_t{8} * 9 / 10;
    while (used < want * 1000) start(shapes_[random_() % shapes_.size()]);
    // Ends leave holes; what came before filled them.
    for (std::uint32_t i = 0; i < nodes; ++i) {
      end_one();
      while (used < want * 1000) start(shapes_[random_() % shapes_.size()]);
    }
  }

  bool start(ShapeId shape) {
    const JobId job(kCluster, ++jobs_);
    auto place = search.find(FleetView(fleet), shape, job);
    if (place) take(shape, job, std::move(place->slots));
    return place.has_value();
  }
  void take(ShapeId shape, JobId job, std::vector<PodSlot> slots) {
    for (std::uint32_t r = 0; r < slots.size(); ++r) {
      fleet.take(shape, r, slots[r], job, ++now_);
      used += slots[r].milligpu;
    }
    held_.push_back({shape, job, std::move(slots)});
  }
  void end_one() { end(random_() % held_.size()); }
  void end_last() { end(held_.size() - 1); }

  Fleet fleet;
  Search search;
  MilliGpu used = 0;

 private:
  void end(std::size_t i) {
    for (const PodSlot& slot : held_[i].slots) used -= slot.milligpu;
    give_back(fleet, held_[i], ++now_);
    held_[i] = std::move(held_.back());
    held_.pop_back();
  }

  std::mt19937_64 random_;
  std::vector<ShapeUse> shapes_;
  std::vector<Held> held_;
  TimeMs now_ = 0;
  std::uint64_t jobs_ = 0;
};

// Half a GPU each, on a fleet that changes between the calls.
void fractions(std::uint32_t nodes) {
  Filled world(nodes, Beside::kNothing);
  const ShapeUse half = half_gpu(world.fleet);
  const MilliGpu most = world.used + nodes * 400;
  int decided = 0;
  const int wanted = 100'000;
  const bench::Stopwatch watch;
  for (int i = 0; i < wanted; ++i) {
    while (world.used > most) world.end_one();
    decided += world.start(half);
  }
  const double ours = decided / (watch.ns() * 1e-9);
  std::mt19937_64 random(3);
  bench::row(sized("place_fraction_per_s", nodes).c_str(), ours, "decisions/s",
             1e9 / scan_ns(nodes, random), bench::Better::kMore,
             "a scan of one byte a node for the best fit, nothing else");
}

// 16 whole nodes anywhere. `nvlink`: asked of one node's worth instead, for which each split node
// is to be looked at.
void any16(std::uint32_t nodes, Beside beside) {
  Filled world(nodes, beside);
  while (world.used > nodes * std::int64_t{8'000} * 8 / 10) world.end_one();
  const ShapeUse eight = gang(world.fleet, 1, 8, Topology::kAny);
  for (int i = 0; i < 16; ++i)
    world.start(eight);  // so many whole nodes there are, or there is no gang
  for (int i = 0; i < 16; ++i) world.end_last();
  const ShapeUse wide = gang(world.fleet, 16, 8, Topology::kAny);
  const ShapeUse tight = gang(world.fleet, 4, 2, Topology::kNvlink);
  constexpr int kDecisions = 5'000;
  double wide_ns = 0, tight_ns = 0;
  int found = 0;
  for (int i = 0; i < kDecisions; ++i) {
    for (const ShapeUse* shape : {&wide, &tight}) {
      const JobId job(kCluster,
                      1'000'000'000 + static_cast<std::uint64_t>(2 * i) + (shape == &wide));
      const bench::Stopwatch watch;
      auto place = world.search.find(FleetView(world.fleet), *shape, job);
      (shape == &wide ? wide_ns : tight_ns) += watch.ns();
      found += place.has_value();
      if (!place) continue;
      world.take(*shape, job, std::move(place->slots));
      world.end_last();
    }
  }
  std::fprintf(stderr, "any16 on %u nodes: %d of %d found\n", nodes, found, 2 * kDecisions);
  std::mt19937_64 random(3);
  const double least = scan_ns(nodes, random) / 1000;
  const char* what = "a scan of one byte a node, nothing else";
  const char* const names[] = {"", "_split", "_levels"};
  const std::string name = names[static_cast<int>(beside)];
  bench::row(sized("place_any16_us" + name, nodes).c_str(), wide_ns / kDecisions / 1000, "us",
             least, bench::Better::kLess, what);
  bench::row(sized("place_nvlink_us" + name, nodes).c_str(), tight_ns / kDecisions / 1000, "us",
             least, bench::Better::kLess, what);
}

// A leader and workers on one node, of which none holds more: what it costs to learn that.
void leader_and_workers(std::uint32_t nodes) {
  Filled world(nodes, Beside::kNothing);
  GangRequest request;
  request.groups.resize(2);
  for (PodGroup& group : request.groups) {
    group.shape.kind = GpuKind::kWhole;
    group.shape.gpus = 1;
  }
  request.groups[0].shape.cpu_milli = 1'000;
  request.groups[1].count = 8;
  request.terms.topology = Topology::kNode;
  const ShapeUse shape = world.fleet.use(kCluster, request);
  constexpr int kDecisions = 60;
  double ns = 0;
  for (int i = 0; i < kDecisions; ++i) {
    world.end_one();  // else it is known to fail
    const bench::Stopwatch watch;
    bench::keep(world.search.find(FleetView(world.fleet), shape, JobId(kCluster, 1'000'000'000)));
    ns += watch.ns();
  }
  std::mt19937_64 random(3);
  bench::row(sized("place_mixed_fail_us", nodes).c_str(), ns / kDecisions / 1000, "us",
             scan_ns(nodes, random) / 1000, bench::Better::kLess,
             "a scan of one byte a node, nothing else");
}

}  // namespace
}  // namespace subak

int main() {
  subak::single_nodes();
  subak::whole_domain();
  for (const std::uint32_t nodes : {125U, 1'250U, 12'500U}) {
    subak::fractions(nodes);
    subak::any16(nodes, subak::Beside::kNothing);
    subak::any16(nodes, subak::Beside::kSplit);
    subak::any16(nodes, subak::Beside::kLevels);
    subak::leader_and_workers(nodes);
  }
}
