// The fleet by time: what runs where until when, what stands idle for whom, what is forecast to come. It
// is of one instant: what is held and kept as the state says, how long it lasts and what comes as predicted
// (docs/design/0055). It informs and decides nothing. Values. Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

struct PlanAsked {
  ClusterId cluster;    // none: all of them
  std::string domain;   // only the domain, rack or node of this name; empty: all of them
  TimeMs until_ms = 0;  // 0: until nine of ten have ended, limits::kPlanAheadMs at most
  // At most so many, each at least 1: rows, columns of each, lanes of each kind in a row, jobs of each kind.
  std::size_t rows = 1, columns = 1, lanes = 1, jobs = 1;
};

enum class PlanKind {
  kRuns,      // holds GPUs now, until it is predicted to end
  kIdle,      // kept for a job until it is forecast to start, and held by nobody
  kForecast,  // waits, and is forecast to hold GPUs then
};

// What one job, or all others of one kind, have of a row.
struct PlanLane {
  PlanKind kind = PlanKind::kRuns;
  JobId job;                       // of several: the one that has the most
  std::size_t jobs = 1;            // how many
  std::vector<MilliGpu> milligpu;  // by column: the mean over its time
};

// One domain (an NVLink clique, else a node); or several that do the same, or, where these are too many, all
// of a rack or product. At each column lanes + free + closed = installed.
struct PlanRow {
  ClusterId cluster;
  std::string product;
  std::string kind;  // "node", "clique", "rack"; "product": all of it
  std::string name;  // of the first one
  std::string last;  // of the last one by name, where there are several of a kind
  std::size_t domains = 1, nodes = 0;
  MilliGpu installed = 0;
  std::vector<PlanLane> lanes;         // by kind, as they come, what is several last
  std::vector<MilliGpu> free, closed;  // by column; closed: unhealthy, stranded, or takes no pods
};

// A job that holds GPUs in the rows that are shown, or will, or has nodes kept for it there.
struct PlanJob {
  PlanKind kind = PlanKind::kRuns;  // kIdle: it waits and nodes are kept for it
  JobId job;
  TimeMs start_ms = 0;  // of one that waits: forecast, else as its nodes are promised; 0: not known
  TimeMs end_ms = 0;    // as predicted; 0: not known
  // They rest on a run time that is assumed: as Forecast::Start, and so does its own.
  bool start_assumed = false, end_assumed = false;
  std::vector<NodeId> nodes;  // where it is, or is forecast to be; empty: not known
  MilliGpu idle = 0;          // stands idle for it now
};

struct FleetPlan {
  TimeMs from_ms = 0, until_ms = 0;
  DurationMs step_ms = 0;         // of a column: until = from + columns x step
  std::vector<PlanRow> rows;      // by cluster, product, name
  std::size_t rows_left_out = 0;  // beyond PlanAsked::rows
  std::vector<PlanJob> jobs;      // kIdle by start, kRuns the largest first, kForecast by start
  std::size_t jobs_left_out = 0;
};

}  // namespace subak
