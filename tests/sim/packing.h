// Measures how full a fleet becomes if tasks of whole GPUs are drawn at random until no further
// task fits. It compares Subak's search with rules of other systems, each on a simple model.
// Method: Weng et al., "Beware of Fragmentation", USENIX ATC'23. The benchmark and the test of the
// openb trace use it. Threads: one at a time.
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
  std::vector<std::string> products;  // the allowed products; empty: any
  auto operator<=>(const Task&) const = default;
};

struct World {
  std::vector<Task> tasks;
  std::vector<NodeSpec> nodes;
};

// Reads the tasks of whole GPUs of a trace, their CPU and memory from the file `extra`, and a
// fleet. Errors: those of the readers.
Result<World> read(const std::string& trace, const std::string& extra, const std::string& fleet);

// Returns the percentage of the fleet's GPUs that each rule gives out, by its name; "" is Subak's
// search. The tasks of this seed come one by one, 1.3 times the fleet, so that it becomes full.
std::vector<std::pair<std::string, double>> allocated(const World& world, std::uint64_t seed);

}  // namespace subak::packing
