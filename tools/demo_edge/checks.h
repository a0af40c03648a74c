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
struct Check {
  std::string what;
  bool ok = false;
  std::string found;
};
using Checks = std::vector<Check>;

// The demo's own records.
struct Story {
  std::vector<v1::NodeSpec> nodes;
  std::vector<Pod> pods;
  std::vector<JobPlan> jobs;
  Edge::Counts counts;
  std::string rack_job, cancelled_job;  // empty: there is none
  std::vector<std::string> complaints;

  // Returns the plan by job id; null for pods of the webhook.
  const JobPlan* plan_of(const Pod& pod) const;
  std::size_t team_of(const Pod& pod) const;
  const v1::PodShape& shape_of(const Pod& pod) const;
  void index();

 private:
  std::map<std::string, std::size_t> by_id_;
};

// sweep.cc: replays the edge's history, one opening and one end at a time.
void check_placement(const Story& story, Checks& out);

// Figures from the service's ledger.
struct Books {
  std::int64_t charged_pods = 0;
  std::int64_t used_milligpu_ms = 0;
  std::string drift, residual;
};
// checks.cc: reads them from the service.
Books check_books(const Story& story, Door& door, Checks& out);

// shares.cc
struct ShareLine {
  std::size_t team = 0;
  double entitled = 0, received = 0;  // parts of all usage while every team had work waiting
  double window_s = 0;                // length of that time
  double gpu_hours = 0;               // in all
  int jobs = 0;
};
std::vector<ShareLine> share_lines(const Story& story);
// `stalled_ms`: how long the machine stood still; after a stall the shares are not judged.
void check_shares(const std::vector<ShareLine>& lines, std::int64_t stalled_ms, Checks& out);

}  // namespace subak::demo
