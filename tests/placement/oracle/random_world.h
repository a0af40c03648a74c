// Random fleets and requests from a seed, for tests of placement; equal in every build.
#pragma once

#include <cstdint>
#include <random>

#include "placement/fleet/fleet.h"

namespace subak::naive {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  bool chance(int percent) { return below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

// Returns node `id` of a mixed fleet: HGX, 2x4 PCIe, NVL racks, MIG, time-sliced and CPU nodes. The
// kind depends on the id alone, so a new spec of a node changes sizes and conditions, but not the
// kind of its GPUs. `depth`: how many levels, such as rack and block, the node may name.
NodeSpec random_node(Dice& dice, std::uint32_t id, std::size_t depth = 1);

// A gang of one shape (or, with `mixed`, perhaps of two).
GangRequest random_request(Dice& dice, bool mixed);

}  // namespace subak::naive
