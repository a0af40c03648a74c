// The units in which a gang is placed. Pods of one kind have consecutive ranks and are alike, so a
// search places them by number, not one by one. Private to placement.
#pragma once

#include <cstdint>
#include <vector>

#include "core/must.h"
#include "placement/fleet/fleet_impl.h"
#include "placement/trial/index.h"

namespace subak {

// `count` ranks from `rank` on, all of the same Pods. `index`: the nodes for them, in the query's
// snapshot. The first `count` ranks of a run may be placed apart from the rest, as a run of theirs.
struct Run {
  // The group of the shape that the ranks belong to.
  const Pods* pods = nullptr;
  Index index;
  std::uint32_t rank = 0, count = 0;
};
// Ranks of one gang, no rank twice.
using Runs = std::vector<Run>;

// Where to search: some nodes, ascending, or (nullptr) the whole cluster.
using Area = const std::vector<NodeIndex>*;

// What the run's pods take: nothing of a GPU; MIG slices.
inline bool without_gpu(const Run& run) { return run.pods->shape->kind == GpuKind::kNone; }
inline bool of_slices(const Run& run) { return run.pods->shape->kind == GpuKind::kMig; }

// Returns the pods of all runs.
inline std::size_t pods_of(const Runs& runs) {
  std::size_t pods = 0;
  for (const Run& r : runs) pods += r.count;
  return pods;
}

// Takes the first `pods` ranks off the run; `pods` <= run.count.
inline void drop_first(Run& run, std::uint32_t pods) {
  must(pods <= run.count, "no more pods are placed than a run has");
  run.rank += pods;
  run.count -= pods;
}

}  // namespace subak
