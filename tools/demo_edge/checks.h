// The checks at the end of the demo. They compare with the edge's own records, never with earlier
// answers of the service.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/demo_edge/edge.h"
#include "tools/demo_edge/load.h"

namespace subak::demo {

// One check with its result.
// A failed check fails the demo. `found` is what the table shows.
struct Check {
  // What is checked, in a few words.
  std::string what;
  bool ok = false;
  std::string found;
};
using Checks = std::vector<Check>;

// The demo's own records.
// A snapshot, taken once all pods have ended.
struct Story {
  // The fleet, as reported with each list.
  std::vector<v1::NodeSpec> nodes;
  // In the order of their keys.
  std::vector<Pod> pods;
  // In the order of demo_jobs(), then the jobs of the script.
  std::vector<JobPlan> jobs;
  // The edge's own counts.
  Edge::Counts counts;
  // Job ids; empty: there is none.
  std::string rack_job, cancelled_job;
  // Faults of edge and load: each fails the demo.
  std::vector<std::string> complaints;

  // Returns the plan by job id; null for pods of the webhook.
  const JobPlan* plan_of(const Pod& pod) const;
  // As an index in teams(), for pods of the webhook by their namespace; 0 if
  // no team has it.
  std::size_t team_of(const Pod& pod) const;
  // Of an API job that of its plan.
  const v1::PodShape& shape_of(const Pod& pod) const;
  // Call it once after `jobs` is complete, before plan_of(), team_of() and shape_of().
  void index();

 private:
  // By job id: the index in `jobs`.
  std::map<std::string, std::size_t> by_id_;
};

// sweep.cc: replays the edge's history, one opening and one end at a time.
// Checks at each instant that no GPU is used twice, and that no node, slice or limit of a team is
// exceeded. It also checks that the rack job
// is inside one clique, and that each whole-GPU pod has as many GPUs as it asked for.
void check_placement(const Story& story, Checks& out);

// Figures from the service's ledger.
// `drift` and `residual`: "0", an amount in mGPU-ms, or the error of the call.
struct Books {
  // Attempts with a charge.
  std::int64_t charged_pods = 0;
  // What the ledger charges for them, in milli-GPU x ms.
  std::int64_t used_milligpu_ms = 0;
  std::string drift, residual;
};
// checks.cc: reads them from the service.
// It compares counts, ended jobs and charges with the edge's records, to the millisecond. Then it
// lets the service verify its ledger. A call that fails leaves its figures empty, which fails the
// checks.
Books check_books(const Story& story, Door& door, Checks& out);

// shares.cc
// One per team. The parts are from 0 to 1.
struct ShareLine {
  // Index in teams().
  std::size_t team = 0;
  // Parts of all usage while every team had work waiting.
  double entitled = 0, received = 0;
  // Time in which each team had an ordinary job waiting, in seconds.
  // The length of that time.
  double window_s = 0;
  // Of all pods of the team, at any time.
  double gpu_hours = 0;
  // Jobs that the team submitted by gRPC.
  int jobs = 0;
};
// Entitled parts are max-min fair by the teams' shares, with no team above its limit.
std::vector<ShareLine> share_lines(const Story& story);
// `stalled_ms`: how long the machine stood still; after a stall the shares are not judged.
// Holds if each team is within 10 points of its part.
void check_shares(const std::vector<ShareLine>& lines, std::int64_t stalled_ms, Checks& out);

}  // namespace subak::demo
