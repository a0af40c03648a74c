// One replay of a workload under one policy on a fresh engine, measured. Threads: none.
#pragma once

#include <functional>

#include "core/error.h"
#include "engine/engine.h"
#include "sim/engine_port.h"
#include "sim/eta.h"
#include "sim/stats.h"
#include "sim/workload.h"

namespace subak::sim {

struct SimulateOptions {
  std::function<void(double)> progress;  // part done, now and then
  EnginePort::Observer observer;         // every input with its outcome
  EtaOptions eta;                        // whose starts are told at submission
  bool check_invariants = false;         // of the engine, at the end
};

// Errors: what the engine refused at set-up. `wall_s` covers the replay from the empty engine to
// the last end, with the statistics that are kept on the way; reading the trace is not in it, nor what
// telling starts takes.
Result<SimResult> simulate(const Workload& workload, const Policy& policy,
                           const SimulateOptions& options = {});

}  // namespace subak::sim
