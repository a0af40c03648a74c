// The timeline of the fleet from one instant on: running jobs and their ends, idle reserved nodes,
// and forecast starts. Engine::plan() computes it for `subak plan` and the console. Holds and
// reservations come from the state. The ends of holds and reservations, and the jobs that start
// later, are predictions (docs/design/0055). The timeline only informs. All types are plain values.
// Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// The request for a timeline: its nodes, its end and its size.
struct PlanAsked {
  // The cluster. None: all clusters.
  ClusterId cluster;
  // The timeline shows only the domain, rack or node of this name. Empty: it shows all nodes.
  std::string domain;
  // The end of the timeline. 0: soon after nine of ten jobs have ended and all reserved starts have
  // come, but at most limits::kPlanAheadMs ahead.
  TimeMs until_ms = 0;
  // The largest numbers of rows, of columns, of lanes of each kind in a row, and of jobs of each
  // kind. Each number is at least 1.
  std::size_t rows = 1, columns = 1, lanes = 1, jobs = 1;
};

// Says why a lane or job is on the timeline.
enum class PlanKind {
  // A job holds GPUs from now until its predicted end.
  kRuns,
  // GPUs are reserved for a job until its forecast start, and no job holds them.
  kIdle,
  // A waiting job will hold GPUs from its forecast start on.
  kForecast,
};

// The part of a row that belongs to one job, or to all other jobs of one kind together.
struct PlanLane {
  PlanKind kind = PlanKind::kRuns;
  // The job. If the lane has several jobs: the job with the most GPU time.
  JobId job;
  // The number of jobs that share the lane.
  std::size_t jobs = 1;
  // The lane's milli-GPU in each column: the mean over the column's time.
  std::vector<MilliGpu> milligpu;
};

// One domain: an NVLink clique, or a node without a clique. Domains with the same content share a
// row. If there are still too many rows, one row stands for a complete rack or product. In each
// column, lanes + free + closed = installed.
struct PlanRow {
  // The cluster of all domains of the row.
  ClusterId cluster;
  // The GPU product of all domains of the row.
  std::string product;
  // "node", "clique" or "rack"; "product" if the row has all domains of its product.
  std::string kind;
  // The name of the first domain, and, if there are several domains, the name of the last domain.
  std::string name;
  std::string last;
  // How many domains and nodes the row stands for.
  std::size_t domains = 1, nodes = 0;
  // The installed milli-GPU of the row's nodes.
  MilliGpu installed = 0;
  // The lanes, by kind, then by first appearance. A lane of several jobs is last.
  std::vector<PlanLane> lanes;
  // The free and closed amounts of each column. Closed GPUs are unhealthy, on nodes that take no
  // pods, or stranded: a part of a cut GPU that is in no slice.
  std::vector<MilliGpu> free, closed;
};

// A job that holds GPUs in the shown rows, that will hold GPUs there by the forecast, or that has
// reserved nodes there.
struct PlanJob {
  // kIdle: the job waits and has reserved nodes.
  PlanKind kind = PlanKind::kRuns;
  JobId job;
  // For a waiting job: the forecast start, or else the start that its reservation promises. 0: the
  // start is not known.
  TimeMs start_ms = 0;
  // The predicted end of the job. 0: the end is not known.
  TimeMs end_ms = 0;
  // True: the time depends on an assumed run time, as in Forecast::Start. `end_assumed` is also
  // true if the job's own run time is assumed.
  bool start_assumed = false, end_assumed = false;
  // The nodes that the job holds, or will hold by the forecast. Empty: the nodes are not known.
  std::vector<NodeId> nodes;
  // The milli-GPU that are reserved for this job and idle now.
  MilliGpu idle = 0;
};

// The timeline of the fleet.
struct FleetPlan {
  // The first and the last instant of the timeline.
  TimeMs from_ms = 0, until_ms = 0;
  // The length of one column: until = from + columns x step.
  DurationMs step_ms = 0;
  // The rows, by cluster, product and name. `rows_left_out` counts the rows beyond PlanAsked::rows.
  std::vector<PlanRow> rows;
  std::size_t rows_left_out = 0;
  // The jobs: first kIdle jobs by start, then kRuns jobs with the largest first, then kForecast
  // jobs by start.
  std::vector<PlanJob> jobs;
  // The number of jobs beyond PlanAsked::jobs, of all kinds together.
  std::size_t jobs_left_out = 0;
};

}  // namespace subak
