// The checks at the end of the demo (`make demo`), which plays a cluster and kills the service
// several times. They compare the service's answers with the records of the simulated cluster
// (tools/demo_edge/edge.h), never with earlier answers of the service.
// Threads: one; the demo's main thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/demo_edge/claims.h"
#include "tools/demo_edge/edge.h"
#include "tools/demo_edge/load.h"

namespace subak::demo {

// One check with its result.
// If a check fails, the demo fails. The table shows `found`.
struct Check {
  // The subject of the check, in a few words.
  std::string what;
  bool ok = false;
  std::string found;
};
using Checks = std::vector<Check>;

// The demo's own records.
// They are a snapshot, taken once all pods have ended.
struct Story {
  // The fleet, as reported with each list.
  std::vector<v1::NodeSpec> nodes;
  // The pods, in the order of their keys.
  std::vector<Pod> pods;
  // The jobs of demo_jobs(), then those of the script.
  std::vector<JobPlan> jobs;
  // The edge's own counts.
  Edge::Counts counts;
  // By pod key (Pod::key): the job that gets the GPUs which the pod was asked to give back.
  std::map<std::string, std::string> told;
  // Job ids; empty: there is none.
  std::string rack_job, cancelled_job;
  // Faults that the edge and the load (tools/demo_edge/load.h) found. If there is one, the demo
  // fails.
  std::vector<std::string> complaints;

  // Returns the plan of the pod's job; nullptr for pods that came through the webhook.
  const JobPlan* plan_of(const Pod& pod) const;
  // Returns the pod's team, as an index in teams(). For pods that came through the webhook, the
  // namespace names the team. 0 if no team matches.
  std::size_t team_of(const Pod& pod) const;
  // Returns the resource request of the pod. For an API job, it is that of the plan.
  const v1::PodShape& shape_of(const Pod& pod) const;
  // Call it once after `jobs` is complete, before plan_of(), team_of() and shape_of().
  void index();

 private:
  // By job id: the job's index in `jobs`.
  std::map<std::string, std::size_t> by_id_;
};

// sweep.cc: replays the edge's records, one opened gate and one ended pod at a time. It checks at
// each instant that no GPU is used twice, and that no node, slice or limit of a team is exceeded.
// Each whole-GPU pod must have as many GPUs as it asked for. The rack job, which needs a whole
// NVLink rack, must be inside one clique.
void check_placement(const Story& story, Checks& out);

// Figures from the service's ledger.
// `drift` and `residual`: "0", an amount in mGPU-ms, or the error of the call.
struct Books {
  // The number of attempts with a charge.
  std::int64_t charged_pods = 0;
  // The ledger's charge for them, in milli-GPU x ms.
  std::int64_t used_milligpu_ms = 0;
  // The amounts that accounts got back for lost work, and the amounts that the platform pays for
  // lost work, in milli-GPU x ms.
  std::int64_t refunded_milligpu_ms = 0, taken_over_milligpu_ms = 0;
  std::string drift, residual;
};
// checks.cc: reads these figures from the service.
// It compares counts, ended jobs and charges with the edge's records, to the millisecond. Then it
// makes the service verify its ledger. If a call fails, its figures stay empty, so the checks fail.
Books check_books(const Story& story, Door& door, Checks& out);

// claims.cc: checks the claims, by which a job within its quota gets GPUs of other jobs, the
// victims. Each claim must have survived the kills of the service, and each victim must know for
// which job it ends. It reads the victims from the service, after all jobs have ended.
void check_claims(const Story& story, const ClaimStory& claims, Door& door, Checks& out);

// shares.cc
// The usage of one team, from share_lines(). The parts are from 0 to 1.
struct ShareLine {
  // The team's index in teams().
  std::size_t team = 0;
  // The team's part of all usage, in the time in which every team had a waiting job: `entitled` by
  // the shares, `received` in fact.
  double entitled = 0, received = 0;
  // The length of that time in seconds. Only ordinary jobs count for it.
  double window_s = 0;
  // The GPU-hours of all pods of the team, at any time.
  double gpu_hours = 0;
  // The number of jobs that the team submitted by gRPC.
  int jobs = 0;
};
// Returns one line for each team. The entitled parts are max-min fair by the teams' shares, and no
// team is above its limit.
std::vector<ShareLine> share_lines(const Story& story);
// Checks that each team received its part, with a tolerance of 10 percentage points.
// `stalled_ms`: how long the machine stood still. After a stall, it does not check the parts.
void check_shares(const std::vector<ShareLine>& lines, std::int64_t stalled_ms, Checks& out);

}  // namespace subak::demo
