// Measures how full a fleet becomes: tasks of whole GPUs are drawn at random until no further task
// fits. Subak's search places the tasks, and for comparison so do rules of other systems, each on a
// simple model. Method: Weng et al., "Beware of Fragmentation", USENIX ATC'23. The benchmark and
// the test of the openb trace use it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/node.h"

namespace subak::packing {

struct Task {
  std::int64_t gpus = 0, cpu_milli = 0, memory_bytes = 0;
  std::vector<std::string> products;  // that will do; empty: any
  auto operator<=>(const Task&) const = default;
};

struct World {
  std::vector<Task> tasks;
  std::vector<NodeSpec> nodes;
};

// The tasks of whole GPUs of a trace, their CPU and memory from the file `extra` beside it, and a
// fleet. Errors: those of the readers.
Result<World> read(const std::string& trace, const std::string& extra, const std::string& fleet);

// What each rule gives out of the fleet's GPUs, in percent, when the tasks of this seed come one after
// the other: 1.3 times the fleet, so that nothing fits at the end. The last one, "", is our search.
std::vector<std::pair<std::string, double>> allocated(const World& world, std::uint64_t seed);

}  // namespace subak::packing
