// The input of a simulation: the jobs of a window of a trace, made ready for a fleet; the teams of
// these jobs, with shares and quotas; and the fleet. A workload is made once, and any number of
// policies can replay it.
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "model/input.h"
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
  // The path of the team's account, directly below the root.
  std::string account;
  // The team's shares. Without weights, each team has 1. With weights, shares are whole numbers in
  // proportion to the weights. A team without a weight counts with weight 1.
  std::int64_t shares = 1;
  // The quota in milli-GPU of any product; 0: the team has no quota.
  MilliGpu quota = 0;
};

// One job of the window, as the driver submits and ends it.
struct SimJob {
  // The job_id of the job's row, or the name of the job in the history of a store.
  std::string name;
  // The user. Empty: the job has no user.
  std::string user;
  // The team of the job, as an index into Workload::teams.
  std::uint32_t team = 0;
  // The submit time by the engine's clock. For a warm job: the start of the window. For a job that
  // waits at the start of the window (`known`): the time since which it waits.
  TimeMs submit_ms = 0;
  // The run time of the job from its start. For a warm job: the run time that is left at
  // `submit_ms`.
  DurationMs duration_ms = 0;
  // For a warm job: how long it has run at `submit_ms`. 0 for every other job.
  DurationMs before_ms = 0;
  // The GPUs of the complete gang.
  MilliGpu milligpu = 0;
  // The request of the job, as an index into Workload::requests.
  std::uint32_t request = 0;
  // The time limit. 0: the policy's default.
  DurationMs time_limit_ms = 0;
  // True: the job already ran at the start of the window, so it is not in the statistics.
  bool warm = false;
  // True: the empty fleet could hold the job.
  bool placeable = true;
  // Fields that only jobs of a past window of a store have (sim/history).
  struct Past {
    // The job's id, if the engine has the job at the start of the window. Such a job comes before
    // all others. It runs if it is warm, and waits otherwise. None: the driver submits the job.
    JobId known{};
    // The cluster, as an index into Workload::clusters.
    std::uint32_t cluster = 0;
    // The priority, as in in::SubmitJob.
    std::int32_t priority = 0;
    std::string priority_class{};
    // How long the job's pods may take to end. 0: the grace of the driver's VictimModel.
    DurationMs grace_ms = 0;
    // True: a person must release the job before it may start.
    bool held = false;
    // True: a pass comes before the submission, even if the job before it comes at the same time.
    bool after_pass = false;
    // True: the job is not in the statistics of jobs, because only one of two compared workloads
    // has it.
    bool extra = false;
  };
  Past past{};
  // True: if no job ever waited, the team's running GPUs at `submit_ms`, including the GPUs of this
  // job, would be at most its quota. The value does not depend on the policy.
  bool within_quota = false;
};

// No job of the workload.
inline constexpr std::uint32_t kNoJob = 0xffff'ffff;

// An input of the history of a store that is not a submission: an edit, a change of a node, or a
// pod that Subak did not place. The engine may refuse an edit.
struct Edit {
  TimeMs at_ms = 0;
  in::Body body;
  // For in::CancelJob and in::HoldJob: the index of the job, whose id the driver fills in.
  std::uint32_t job = kNoJob;
};

// The only cluster of the simulation of a trace.
inline constexpr char kClusterName[] = "sim";

// Everything that a replay needs, except the policy.
struct Workload {
  // The fleet of a trace. Empty: the edits have the nodes, or the engine has them at the start.
  std::vector<NodeSpec> nodes;
  // The names of the clusters.
  std::vector<std::string> clusters{kClusterName};
  // The edits, by time. An edit comes before the submissions of its time.
  std::vector<Edit> edits;
  // The teams, by account.
  std::vector<Team> teams;
  // The distinct requests, in order of first use.
  std::vector<GangRequest> requests;
  // The jobs: first the known jobs by id, then the warm jobs (the oldest first), then all other
  // jobs by submit time.
  std::vector<SimJob> jobs;
  // The window [from, to), in times of the engine's clock.
  TimeMs from_ms = 0, to_ms = 0;
  // The milli-GPU of all `nodes`.
  MilliGpu capacity = 0;
};

// The options for making a workload from a trace.
struct WorkloadOptions {
  // The window in days of the trace. Without `to_day`, the window ends when the last job of the
  // trace has ended.
  std::optional<double> from_day, to_day;
  // The factor by which the replay speeds up submissions. The factor divides the window's length
  // and the submit times, counted from the window's start. Run times do not change.
  double load = 1;
  // If above 0: the rows are spread at random over this many teams.
  std::uint32_t random_teams = 0;
  // True: each job gets a random time limit.
  bool limits = false;
  // With `limits`: the percentage of kinds of jobs whose limits are too short. A kind is a team, a
  // user and a number of GPUs.
  std::uint64_t short_limits = 0;
  // The seed for random teams and time limits.
  std::uint64_t seed = 1;
  // Shares by team, in thousandths.
  std::vector<std::pair<std::string, std::int64_t>> weights;
  // Quotas by team, in milli-GPU.
  std::vector<std::pair<std::string, std::int64_t>> quotas;
  // If above 0, `quotas` is not used, and this percentage of the fleet is the sum of all quotas.
  // Each team gets a part as large as its part of the demand: the GPU time of its jobs that fit the
  // fleet. Quotas are whole GPUs. Teams with the largest remainders are rounded up.
  std::uint64_t quota_percent = 0;
};

// Makes the workload. Errors: no team of the window is in the given weights or quotas, the window
// has no jobs, or the window ends before it begins. Weights and quotas of teams outside the window
// are ignored.
Result<Workload> make_workload(std::vector<TraceJob> trace, std::vector<NodeSpec> nodes,
                               const WorkloadOptions& options);

// The gang that the simulation makes of a trace row for this fleet. The gang has `gang_pods` equal
// pods, or as few pods as fit the nodes (the last pod may be smaller). `placeable` says whether the
// empty fleet could hold the gang.
struct PlannedGang {
  GangRequest request;
  bool placeable = false;
};
PlannedGang plan_gang(const TraceJob& job, const std::vector<NodeSpec>& nodes);

}  // namespace subak::sim
