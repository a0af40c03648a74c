// What a job that waits could ask for instead, to start sooner: each change is put to a forecast.
#pragma once

#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/forecast.h"

namespace subak {

struct Alternative {
  std::string change;  // "prefer:nvlink instead of nvlink"
  TimeMs start_ms = 0;
  bool assumed = false;  // as Forecast::Start::assumed
};

// Changes of the job's request and time limit with which it would start sooner, by at least a minute and
// a tenth of its wait, if it were submitted anew with that change now: the soonest first, at most
// limits::kMaxAlternatives. They are: its topology as a wish, or a wider one; segments of half the size;
// any GPU product; the two largest MIG slices that the cluster has, for one whole GPU; shorter time limits.
// Empty if it does not wait, or has no request yet. So many forecasts and one, each until the job starts.
// Threads: any.
std::vector<Alternative> alternatives(const ForecastBasis& basis, JobId job);

}  // namespace subak
