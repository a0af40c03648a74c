// The input of a simulation: the jobs of a trace window made ready for a fleet, its teams with
// shares and quotas, and the fleet. Made once, replayed under any number of policies.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "model/node.h"
#include "model/request.h"
#include "sim/read/trace.h"

namespace subak::sim {

// Second 0 of a trace: 2026-01-01T00:00:00Z, so that days of the trace are days of the ledger.
inline constexpr TimeMs kTraceEpochMs = 1'767'225'600'000;

struct Team {
  std::string name;     // as in the trace
  std::string account;  // its path, directly below the root
  std::int64_t shares = 1;
  MilliGpu quota = 0;
};

struct SimJob {
  std::string name;
  std::string user;        // empty: none
  std::uint32_t team = 0;  // index into Workload::teams
  TimeMs submit_ms = 0;
  DurationMs duration_ms = 0;  // the rest of it at `submit_ms`
  MilliGpu milligpu = 0;
  std::uint32_t request = 0;     // index into Workload::requests
  DurationMs time_limit_ms = 0;  // 0: the default
  bool warm = false;             // ran already when the window opened; not in the statistics
  bool placeable = true;         // the empty fleet could hold it
};

struct Workload {
  std::vector<NodeSpec> nodes;
  std::vector<Team> teams;            // by account
  std::vector<GangRequest> requests;  // the distinct ones, in order of first use
  std::vector<SimJob> jobs;           // warm ones first (oldest first), then by submit time
  TimeMs from_ms = 0, to_ms = 0;      // the window [A, B) as engine times
  MilliGpu capacity = 0;
};

struct WorkloadOptions {
  // The window in days of the trace. Without `to_day` it ends when the last job of the trace has
  // ended.
  std::optional<double> from_day, to_day;
  // Submissions come X times as fast: submit times, counted from the window's start, and the
  // window's length are divided by X. Durations stay.
  double load = 1;
  std::uint32_t random_teams = 0;  // > 0: spreads the rows over this many teams by `seed`
  bool limits = false;             // give each job a time limit by `seed`
  std::uint64_t short_limits = 0;  // with `limits`: percent of what is asked for (team, user,
                                   // GPUs) whose limits are too short
  std::uint64_t seed = 1;
  std::vector<std::pair<std::string, std::int64_t>> weights;  // team, thousandths
  std::vector<std::pair<std::string, std::int64_t>> quotas;   // team, milli-GPU
};

// Makes the workload. Errors: a weight or quota of a team that the trace does not have, a window
// without jobs.
Result<Workload> make_workload(std::vector<TraceJob> trace, std::vector<NodeSpec> nodes,
                               const WorkloadOptions& options);

// The gang of a trace row on this fleet: `gang_pods` equal pods, or as few pods as fit the nodes
// (the last one may be smaller). `placeable` says whether the empty fleet could hold it.
struct PlannedGang {
  GangRequest request;
  bool placeable = false;
};
PlannedGang plan_gang(const TraceJob& job, const std::vector<NodeSpec>& nodes);

}  // namespace subak::sim
