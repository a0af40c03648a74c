// The timeline of the fleet: running jobs and their ends, idle reserved nodes, and forecast starts.
// It begins at one instant. Holds and reservations come from the state; their lengths and later
// starts are predictions (docs/design/0055). The timeline only informs. All types are plain values.
// Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// What a caller asks of a timeline.
struct PlanAsked {
  // The cluster. None: all clusters.
  ClusterId cluster;
  // Shows only the domain, rack or node of this name; empty: all.
  std::string domain;
  // The end of the timeline. 0: when nine of ten jobs have ended, at most limits::kPlanAheadMs
  // ahead.
  TimeMs until_ms = 0;
  // The largest numbers, each at least 1: of rows, of columns, of lanes of each kind in a row, and
  // of jobs of each kind.
  std::size_t rows = 1, columns = 1, lanes = 1, jobs = 1;
};

// What a lane or job of the timeline stands for.
enum class PlanKind {
  // A job holds GPUs now, until its predicted end.
  kRuns,
  // GPUs are reserved for a job until its forecast start, and no job holds them.
  kIdle,
  // A job waits, and is forecast to hold GPUs at that time.
  kForecast,
};

// The part of a row that belongs to one job, or to all other jobs of one kind together.
struct PlanLane {
  PlanKind kind = PlanKind::kRuns;
  // The job. If the lane has several jobs: the one that has the most.
  JobId job;
  // How many jobs the lane stands for.
  std::size_t jobs = 1;
  // For each column, the mean amount over the column's time.
  std::vector<MilliGpu> milligpu;
};

// One domain (an NVLink clique, else a node). Domains with the same content share a row. If the
// rows are still too many, one row stands for a whole rack or product. At each column lanes + free
// + closed = installed.
struct PlanRow {
  // The cluster of all its domains.
  ClusterId cluster;
  // The GPU product of the row. All its domains have it.
  std::string product;
  // "node", "clique" or "rack"; "product" if the row has all domains of its product.
  std::string kind;
  // The name of the first domain, and that of the last one if there are several.
  std::string name;
  std::string last;
  // How many domains and nodes the row stands for.
  std::size_t domains = 1, nodes = 0;
  // The installed milli-GPU of the row's nodes.
  MilliGpu installed = 0;
  // The lanes, by kind, then by first appearance. A lane of several jobs is last.
  std::vector<PlanLane> lanes;
  // The free and closed amounts of each column. Closed GPUs are unhealthy, stranded, or on nodes
  // that take no pods.
  std::vector<MilliGpu> free, closed;
};

// A job that holds GPUs in the shown rows, is forecast to hold GPUs there, or has reserved nodes
// there.
struct PlanJob {
  // kIdle: the job waits and has reserved nodes.
  PlanKind kind = PlanKind::kRuns;
  JobId job;
  // For a waiting job: the forecast start, else the start promised by its reservation; 0: not
  // known.
  TimeMs start_ms = 0;
  // The predicted end; 0: not known.
  TimeMs end_ms = 0;
  // True: the time rests on an assumed run time, as in Forecast::Start. For the end, the job's own
  // run time counts too.
  bool start_assumed = false, end_assumed = false;
  // The nodes where the job is, or is forecast to be. Empty: not known.
  std::vector<NodeId> nodes;
  // The milli-GPU that are idle now for this job.
  MilliGpu idle = 0;
};

// The timeline of the fleet.
struct FleetPlan {
  // The first and the last instant of the timeline.
  TimeMs from_ms = 0, until_ms = 0;
  // The time of one column: until = from + columns x step.
  DurationMs step_ms = 0;
  // The rows, by cluster, product and name. The next member counts rows beyond PlanAsked::rows.
  std::vector<PlanRow> rows;
  std::size_t rows_left_out = 0;
  // The jobs: kIdle by start, then kRuns with the largest first, then kForecast by start.
  std::vector<PlanJob> jobs;
  // The number of jobs beyond PlanAsked::jobs, of all kinds together.
  std::size_t jobs_left_out = 0;
};

}  // namespace subak
