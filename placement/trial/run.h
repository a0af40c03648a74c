// Runs: the units in which a search places a gang. Pods of one kind have consecutive ranks and are
// alike. So a search places many pods at once, not one by one.
// Threads: as the Search. Private to placement.
#pragma once

#include <cstdint>
#include <vector>

#include "core/must.h"
#include "placement/fleet/fleet_impl.h"
#include "placement/trial/index.h"

namespace subak {

// A run: `count` ranks from `rank` on, all of the same Pods. `index` has the nodes for these ranks,
// in the query's snapshot. A search may split a run and place its first ranks as a run of their
// own.
struct Run {
  // The group of the shape to which the ranks belong.
  const Pods* pods = nullptr;
  Index index;
  std::uint32_t rank = 0, count = 0;
};
// Runs of one gang. No rank is in two of them.
using Runs = std::vector<Run>;

// Where to search: some nodes, ascending; nullptr means the whole cluster.
using Area = const std::vector<NodeIndex>*;

// without_gpu() is true if the run's pods use no GPU. of_slices() is true if they use MIG slices.
inline bool without_gpu(const Run& run) { return run.pods->shape->kind == GpuKind::kNone; }
inline bool of_slices(const Run& run) { return run.pods->shape->kind == GpuKind::kMig; }

// Returns the number of pods of all runs.
inline std::size_t pods_of(const Runs& runs) {
  std::size_t pods = 0;
  for (const Run& r : runs) pods += r.count;
  return pods;
}

// Removes the first `pods` ranks from the run; `pods` <= run.count.
inline void drop_first(Run& run, std::uint32_t pods) {
  must(pods <= run.count, "no more pods are placed than a run has");
  run.rank += pods;
  run.count -= pods;
}

}  // namespace subak
