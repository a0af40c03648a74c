// The timeline of the fleet: running jobs and their ends, idle reserved nodes, and forecast starts.
// It starts from one instant. The state gives holds and reservations; predictions give their length
// and the later starts (docs/design/0055). It informs and decides nothing. Values. Threads: any.
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
  // None: all clusters.
  ClusterId cluster;
  // Only the domain, rack or node of this name; empty: all.
  std::string domain;
  // 0: until nine of ten jobs have ended, limits::kPlanAheadMs at most.
  TimeMs until_ms = 0;
  // The largest numbers, each at least 1: rows, columns of each, lanes of each kind in a row, jobs
  // of each kind.
  std::size_t rows = 1, columns = 1, lanes = 1, jobs = 1;
};

// What a lane or job of the timeline does.
enum class PlanKind {
  // Holds GPUs now, until it is predicted to end.
  kRuns,
  // Reserved for a job until its forecast start, and held by no job.
  kIdle,
  // Waits, and is forecast to hold GPUs then.
  kForecast,
};

// The part of a row that one job, or all other jobs of one kind, have.
struct PlanLane {
  PlanKind kind = PlanKind::kRuns;
  // Of several jobs: the one that has the most.
  JobId job;
  // How many jobs the lane stands for.
  std::size_t jobs = 1;
  // By column: the mean over the column's time.
  std::vector<MilliGpu> milligpu;
};

// One domain (an NVLink clique, else a node). Several domains that do the same share a row. If
// these are still too many, one row has a whole rack or product. At each column lanes + free +
// closed = installed.
struct PlanRow {
  // Of all its domains.
  ClusterId cluster;
  // The GPU product of the row. All its domains have it.
  std::string product;
  // "node", "clique" or "rack"; "product" if the row has all of it.
  std::string kind;
  // The name of the first domain, and that of the last one if there are several.
  std::string name;
  std::string last;
  // How many the row stands for.
  std::size_t domains = 1, nodes = 0;
  // Sum over the nodes of the row.
  MilliGpu installed = 0;
  // By kind, then by first appearance. A lane of several jobs is last.
  std::vector<PlanLane> lanes;
  // By column. Closed GPUs are unhealthy, stranded, or on nodes that take no pods.
  std::vector<MilliGpu> free, closed;
};

// A job that holds GPUs in the shown rows, or is forecast to, or has reserved nodes there.
struct PlanJob {
  // kIdle: the job waits and has reserved nodes.
  PlanKind kind = PlanKind::kRuns;
  JobId job;
  // Of a waiting job: forecast, else promised by its reservation; 0: not known.
  TimeMs start_ms = 0;
  // The predicted end; 0: not known.
  TimeMs end_ms = 0;
  // The time rests on an assumed run time, as in Forecast::Start. The end also counts the job's own
  // run time.
  bool start_assumed = false, end_assumed = false;
  // Where it is, or is forecast to be. Empty: not known.
  std::vector<NodeId> nodes;
  // GPUs that stand idle for it now.
  MilliGpu idle = 0;
};

// The timeline of the fleet.
struct FleetPlan {
  // The first and the last instant of the timeline.
  TimeMs from_ms = 0, until_ms = 0;
  // The time of one column: until = from + columns x step.
  DurationMs step_ms = 0;
  // By cluster, product and name. The second figure counts rows beyond PlanAsked::rows.
  std::vector<PlanRow> rows;
  std::size_t rows_left_out = 0;
  // kIdle by start, then kRuns with the largest first, then kForecast by start.
  std::vector<PlanJob> jobs;
  // Jobs beyond PlanAsked::jobs, of all kinds together.
  std::size_t jobs_left_out = 0;
};

}  // namespace subak
