// Replays a workload once under one policy on a new engine, and measures the result.
// Threads: one at a time.
#pragma once

#include <functional>

#include "core/error.h"
#include "engine/engine.h"
#include "sim/driver.h"
#include "sim/engine_port.h"
#include "sim/read/workload.h"
#include "sim/report/eta.h"
#include "sim/report/stats.h"

namespace subak::sim {

// Options of a replay: functions that it calls, start estimates, preemptions and checks.
struct SimulateOptions {
  // The replay calls this function from time to time with the part that is done, 0 to 1. The
  // function may be empty. The part counts all jobs, including warm jobs.
  std::function<void(double)> progress;
  // This function gets every input with its outcome. The function may be empty.
  EnginePort::Observer observer;
  // Which jobs get a start estimate at submission.
  EtaOptions eta;
  // How much run time preempted jobs lose, and how long their pods stay.
  VictimModel victims;
  // True: the replay runs Engine::check_invariants() at the end, which is slow.
  bool check_invariants = false;
};

// Runs the replay. Errors: the errors of the engine at set-up. SimResult::wall_s covers the replay
// from the empty engine to the last end, including the statistics during the replay.
// SimResult::wall_s does not cover the read of the trace and the start estimates.
Result<SimResult> simulate(const Workload& workload, const Policy& policy,
                           const SimulateOptions& options = {});

}  // namespace subak::sim
