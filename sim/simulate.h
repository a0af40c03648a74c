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

struct SimulateOptions {
  std::function<void(double)> progress;  // part done, now and then
  EnginePort::Observer observer;         // every input with its outcome
  EtaOptions eta;                        // the jobs with a start estimate at submission
  bool check_invariants = false;         // of the engine, at the end
};

// Runs the replay. Errors: those of the engine at set-up. `wall_s` covers the replay from the empty
// engine to the last end, with the statistics made on the way. It excludes reading the trace and
// the start estimates.
Result<SimResult> simulate(const Workload& workload, const Policy& policy,
                           const SimulateOptions& options = {});

}  // namespace subak::sim
