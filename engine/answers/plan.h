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
  ClusterId cluster;    // none: all clusters
  std::string domain;   // only the domain, rack or node of this name; empty: all
  TimeMs until_ms = 0;  // 0: until nine of ten jobs have ended, limits::kPlanAheadMs at most
  // The largest numbers, each at least 1: rows, columns of each, lanes of each kind in a row, jobs
  // of each kind.
  std::size_t rows = 1, columns = 1, lanes = 1, jobs = 1;
};

// What a lane or job of the timeline does.
enum class PlanKind {
  kRuns,      // holds GPUs now, until it is predicted to end
  kIdle,      // reserved for a job until its forecast start, and held by no job
  kForecast,  // waits, and is forecast to hold GPUs then
};

// The part of a row that one job, or all other jobs of one kind, have.
struct PlanLane {
  PlanKind kind = PlanKind::kRuns;
  JobId job;                       // of several: the one that has the most
  std::size_t jobs = 1;            // the number of jobs
  std::vector<MilliGpu> milligpu;  // by column: the mean over its time
};

// One domain (an NVLink clique, else a node). Several domains that do the same share a row. If
// these are still too many, one row has a whole rack or product. At each column lanes + free +
// closed = installed.
struct PlanRow {
  ClusterId cluster;
  std::string product;
  std::string kind;  // "node", "clique", "rack"; "product": all of it
  std::string name;  // of the first domain
  std::string last;  // of the last domain by name, if there are several of a kind
  std::size_t domains = 1, nodes = 0;
  MilliGpu installed = 0;
  std::vector<PlanLane> lanes;  // by kind, then by first appearance; a lane of several jobs is last
  std::vector<MilliGpu> free, closed;  // by column; closed: unhealthy, stranded, or takes no pods
};

// A job that holds GPUs in the shown rows, or is forecast to, or has reserved nodes there.
struct PlanJob {
  PlanKind kind = PlanKind::kRuns;  // kIdle: it waits and has reserved nodes
  JobId job;
  // Of a waiting job: forecast, else promised by its reservation; 0: not known.
  TimeMs start_ms = 0;
  TimeMs end_ms = 0;  // as predicted; 0: not known
  // The time rests on an assumed run time, as in Forecast::Start. The end also counts the job's own
  // run time.
  bool start_assumed = false, end_assumed = false;
  std::vector<NodeId> nodes;  // where it is, or is forecast to be; empty: not known
  MilliGpu idle = 0;          // stands idle for it now
};

// The timeline of the fleet.
struct FleetPlan {
  TimeMs from_ms = 0, until_ms = 0;
  DurationMs step_ms = 0;         // of a column: until = from + columns x step
  std::vector<PlanRow> rows;      // by cluster, product, name
  std::size_t rows_left_out = 0;  // beyond PlanAsked::rows
  std::vector<PlanJob> jobs;  // kIdle by start, kRuns by size (largest first), kForecast by start
  std::size_t jobs_left_out = 0;
};

}  // namespace subak
