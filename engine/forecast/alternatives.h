// Finds changes of its request with which a waiting job would start sooner. A forecast tests each
// change.
#pragma once

#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/forecast/forecast.h"

namespace subak {

// One change, and the forecast start of the job with it.
struct Alternative {
  // The change in words: "prefer:nvlink instead of nvlink".
  std::string change;
  // The forecast start with the change.
  TimeMs start_ms = 0;
  // The value of Forecast::Start::assumed.
  bool assumed = false;
};

// Returns changes of the job's request and time limit with which it would start sooner. Each is
// tested as if the job were submitted again now with that change. It must start sooner by at least
// a minute and a tenth of its wait. The soonest come first, at most limits::kMaxAlternatives. The
// changes are:
//   - the topology as a preference, or a wider one
//   - segments of half the size
//   - no spare nodes
//   - any GPU product
//   - the two largest MIG slices that the cluster has, for one whole GPU
//   - shorter time limits
// Empty if the job does not wait, or has no request yet. Costs one forecast for each change and one
// more, each until the job starts.
// Threads: any.
std::vector<Alternative> alternatives(const ForecastBasis& basis, JobId job);

}  // namespace subak
