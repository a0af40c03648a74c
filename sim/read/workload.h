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

// A team of the trace, as an account.
struct Team {
  // The name in the trace.
  std::string name;
  // The path of its account, directly below the root.
  std::string account;
  // 1 for each team, unless weights are given. Then whole numbers in the proportions of the
  // weights; a team without a weight has that of 1.
  std::int64_t shares = 1;
  // In milli-GPU of any product; 0: none.
  MilliGpu quota = 0;
};

// One job of the window, as the driver submits and ends it.
struct SimJob {
  // The job_id of its row.
  std::string name;
  // Empty: none.
  std::string user;
  // An index into Workload::teams.
  std::uint32_t team = 0;
  // Engine time. Of a warm job: when the window opens.
  TimeMs submit_ms = 0;
  // How long it runs from its start. For a warm job: what is left at `submit_ms`.
  DurationMs duration_ms = 0;
  // The GPUs of the complete gang.
  MilliGpu milligpu = 0;
  // An index into Workload::requests.
  std::uint32_t request = 0;
  // 0: the policy's default.
  DurationMs time_limit_ms = 0;
  // It ran already when the window opened, and is not in the statistics.
  bool warm = false;
  // The empty fleet could hold it.
  bool placeable = true;
};

// Everything that a replay needs beside the policy.
struct Workload {
  std::vector<NodeSpec> nodes;
  // By account.
  std::vector<Team> teams;
  // The distinct requests, in order of first use.
  std::vector<GangRequest> requests;
  // Warm jobs first (oldest first), then by submit time.
  std::vector<SimJob> jobs;
  // The window [from, to) as engine times.
  TimeMs from_ms = 0, to_ms = 0;
  // All GPUs of `nodes`.
  MilliGpu capacity = 0;
};

// How a trace becomes a workload.
struct WorkloadOptions {
  // The window in days of the trace. Without `to_day` it ends when the last job of the trace has
  // ended.
  std::optional<double> from_day, to_day;
  // Submissions come X times as fast: submit times, counted from the window's start, and the
  // window's length are divided by X. Durations stay.
  double load = 1;
  // Above 0: spreads the rows over so many teams, by `seed`.
  std::uint32_t random_teams = 0;
  // Gives each job a time limit, by `seed`.
  bool limits = false;
  // With `limits`: the percentage of kinds of jobs whose limits are too short. A kind is a team, a
  // user and a number of GPUs.
  std::uint64_t short_limits = 0;
  // Of the random teams and limits.
  std::uint64_t seed = 1;
  // Shares by team, in thousandths.
  std::vector<std::pair<std::string, std::int64_t>> weights;
  // Quotas by team, in milli-GPU.
  std::vector<std::pair<std::string, std::int64_t>> quotas;
};

// Makes the workload. Errors: weights or quotas of which none is of a team of the window, a window
// without jobs, and one that ends before it begins. Weights and quotas of other teams are ignored.
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
