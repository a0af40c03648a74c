// What pods without GPUs take of a node: those that somebody holds for, and those of nobody. Private to placement.
#pragma once

#include <cstdint>

#include "placement/fleet_impl.h"

namespace subak {

struct LightUse {
  std::int64_t pods = 0, cpu_milli = 0, memory_bytes = 0;
};
// `load` is one of the fleet, or of a picture of it. O(holds).
LightUse light_use(const Fleet::Impl& fleet, const Load& load);

}  // namespace subak
