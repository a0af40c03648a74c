#include "sim/report/fragmentation.h"

#include <gtest/gtest.h>

#include <bit>

#include "placement/search/search.h"
#include "sim/read/rng.h"
#include "sim/read/workload.h"

namespace subak::sim {
namespace {

GangRequest pod(std::int64_t gpus, MilliGpu part = 0) {
  GangRequest r;
  r.groups.resize(1);
  r.groups[0].shape.kind = part > 0 ? GpuKind::kFraction : GpuKind::kWhole;
  r.groups[0].shape.gpus = part > 0 ? 0 : gpus;
  r.groups[0].shape.milligpu = part;
  return r;
}

TEST(Fragmentation, CountsWhatTheShapesCannotUse) {
  // Half of the pods want 8 GPUs, half want one.
  Fragmentation f(*read_nodes("2x8"), {pod(8), pod(1)}, {1, 1}, 0, 1000);
  EXPECT_EQ(f.now(), 0);
  f.change("node-0", 1, 1000, 100);  // 7 free there, useless for half of the pods
  EXPECT_NEAR(f.now(), 0.5 * 7 / 15, 1e-12);
  f.change("node-0", 1, -1000, 600);
  EXPECT_NEAR(f.now(), 0, 1e-12);
  EXPECT_NEAR(f.time_mean(1000), 0.5 * 0.5 * 7 / 15, 1e-12);
}

TEST(Fragmentation, AFullFleetHasNoFigure) {
  Fragmentation f(*read_nodes("1x1"), {pod(1)}, {1}, 0, 1000);
  f.change("node-0", 1, 1000, 0);
  f.change("node-0", 1, -1000, 900);
  f.change("elsewhere", 1, 1000, 900);
  EXPECT_EQ(f.time_mean(1000), 0);
}

TEST(Fragmentation, AgreesWithTheFleetsOwnFigure) {
  Rng rng(11);
  const auto nodes = *read_nodes("6x4");
  Fleet fleet;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    fleet.set_node(NodeId(static_cast<std::uint32_t>(i + 1)), ClusterId(1), nodes[i], false, 1);
  }
  Search search(fleet);
  const std::vector<GangRequest> shapes{pod(1), pod(2), pod(4), pod(0, 300)};
  const std::vector<std::uint64_t> counts{4, 3, 2, 1};
  std::vector<ShapeUse> uses;
  std::vector<std::pair<ShapeId, double>> mix;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    uses.push_back(fleet.use(ClusterId(1), shapes[i]));
    mix.emplace_back(uses.back().id(), double(counts[i]) / 10);
  }
  Fragmentation f(nodes, shapes, counts, 1, 1'000'000);
  struct Held {
    ShapeId shape;
    PodSlot slot;
    JobId job;
  };
  std::vector<Held> held;
  for (int step = 2; step < 600; ++step) {
    const auto count = [](const PodSlot& s) { return std::popcount(s.gpu_mask); };
    if (held.size() > 4 && rng.percent(50)) {
      const std::size_t i = rng.below(held.size());
      fleet.give(held[i].shape, 0, held[i].slot, held[i].job, step);
      f.change(nodes[held[i].slot.node.value - 1].name, held[i].slot.gpu_mask,
               -held[i].slot.milligpu / count(held[i].slot), step);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (const ShapeId shape = mix[rng.below(mix.size())].first;
               auto p = search.find(FleetView(fleet), shape)) {
      const JobId job(ClusterId(1), static_cast<std::uint64_t>(step));
      fleet.take(shape, 0, p->slots[0], job, step);
      f.change(nodes[p->slots[0].node.value - 1].name, p->slots[0].gpu_mask,
               p->slots[0].milligpu / count(p->slots[0]), step);
      held.push_back({shape, p->slots[0], job});
    }
    EXPECT_NEAR(f.now(), search.fragmentation(mix), 1e-9) << "step " << step;
  }
}

}  // namespace
}  // namespace subak::sim
