// Finds changes of a waiting job's request with which the job would start sooner, for `subak why
// --alternatives`. A forecast tests each change.
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/forecast/forecast.h"

namespace subak {

// One change of the request, and the forecast start of the job with this change.
struct Alternative {
  // The change in words: "prefer:nvlink instead of nvlink".
  std::string change;
  // The forecast start with the change.
  TimeMs start_ms = 0;
  // The value of Forecast::Start::assumed.
  bool assumed = false;
};

// Returns changes of the job's request and time limit with which the job would start sooner. Each
// test assumes that the job is submitted again now with the change. A change counts only if the job
// starts sooner by at least a minute, and by at least a tenth of its wait. The result has at most
// limits::kMaxAlternatives changes. The change with the soonest start comes first. The function
// tests these changes:
//   - the topology as a preference instead of a requirement, or a wider topology
//   - segments of half the size
//   - no spare nodes
//   - any GPU product
//   - a MIG slice instead of one whole GPU: each of the two largest kinds that the cluster has
//   - shorter time limits
// The result is empty if the job does not wait, or has no request yet. The cost is one forecast for
// each change plus one more. Each forecast runs until the job starts.
std::vector<Alternative> alternatives(const ForecastBasis& basis, JobId job);

}  // namespace subak
