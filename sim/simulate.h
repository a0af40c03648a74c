// Replays a workload once under one policy on a new engine, and measures the result.
// Threads: none.
#pragma once

#include <functional>

#include "core/error.h"
#include "engine/engine.h"
#include "sim/engine_port.h"
#include "sim/read/workload.h"
#include "sim/report/eta.h"
#include "sim/report/stats.h"

namespace subak::sim {

// What a replay reports or does beside its result.
struct SimulateOptions {
  // The replay calls it now and then with the part that is done, 0 to 1. It may be empty.
  // The part counts all jobs, with the warm ones.
  std::function<void(double)> progress;
  // Gets every input with its outcome. It may be empty.
  EnginePort::Observer observer;
  // Which jobs get a start estimate at submission.
  EtaOptions eta;
  // Runs Engine::check_invariants() at the end, which is slow.
  bool check_invariants = false;
};

// Runs the replay. Errors: those of the engine at set-up. SimResult::wall_s covers the replay from
// the empty engine to the last end, with the statistics during the replay. It excludes reading the
// trace and the start estimates.
Result<SimResult> simulate(const Workload& workload, const Policy& policy,
                           const SimulateOptions& options = {});

}  // namespace subak::sim
