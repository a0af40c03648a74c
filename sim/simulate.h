// One replay of a workload under one policy on a fresh engine, measured. Threads: none.
#pragma once

#include <functional>

#include "core/error.h"
#include "engine/engine.h"
#include "sim/engine_port.h"
#include "sim/read/workload.h"
#include "sim/report/eta.h"
#include "sim/report/stats.h"

namespace subak::sim {

// What a replay reports beside its result.
struct SimulateOptions {
  // Called now and then with the part that is done, 0 to 1. May be empty.
  // The part is of all jobs, warm ones included.
  std::function<void(double)> progress;
  // Gets every input with its outcome. May be empty.
  EnginePort::Observer observer;
  // Which jobs get a start estimate at submission.
  EtaOptions eta;
  // Runs Engine::check_invariants() at the end, which is slow.
  bool check_invariants = false;
};

// Runs the replay. Errors: those of the engine at set-up. `wall_s` covers the replay from the empty
// engine to the last end, with the statistics made on the way. It excludes reading the trace and
// the start estimates.
Result<SimResult> simulate(const Workload& workload, const Policy& policy,
                           const SimulateOptions& options = {});

}  // namespace subak::sim
