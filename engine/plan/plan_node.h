// Computes the timeline of one node: which job has which part of its GPUs at which time. Private to
// engine/plan: plan.cc calls it for each node, and merges the results into rows (plan_rows.h).
// Threads: any; pure functions.
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/answers/plan.h"

namespace subak::derive {

// A use of some GPUs of a node for the time [from, to).
struct PlanPiece {
  // How the GPUs are used. nullopt: the GPUs are closed, and no job has them.
  std::optional<PlanKind> kind;
  // The job that has the GPUs, or for which they are reserved.
  JobId job;
  // The time of the use: from `from_ms` up to, but not including, `to_ms`.
  TimeMs from_ms = 0, to_ms = 0;
  MilliGpu milligpu = 0;
  friend auto operator<=>(const PlanPiece&, const PlanPiece&) = default;
};

// The inputs of one node's timeline.
struct NodeTime {
  // GPUs of one job on the node for the time [from, to).
  struct Hold {
    JobId job;
    MilliGpu milligpu = 0;
    TimeMs from_ms = 0, to_ms = 0;
  };
  // All GPUs of the node, in milli-GPU.
  MilliGpu installed = 0;
  // The node takes no pods from `closed_from_ms` up to, but not including, `closed_until_ms`.
  // kNever: the end is not known.
  TimeMs closed_from_ms = 0;
  TimeMs closed_until_ms = 0;
  // Unhealthy or stranded GPUs, which no job can use.
  MilliGpu lost = 0;
  // The running jobs. A running job counts from the start of the timeline on, whatever its from_ms
  // is.
  std::vector<Hold> runs;
  // The coming jobs. The job with the earlier from_ms gets the GPUs first. If two jobs have the
  // same from_ms, the earlier entry comes first.
  std::vector<Hold> coming;
  // The job for which the node is reserved; none: the node is not reserved.
  JobId reserved_for;
  // The end of the reservation. This time is set only with `reserved_for`.
  TimeMs reserved_until_ms = 0;
  // True if the node takes no pods at `t`.
  bool is_closed(TimeMs t) const { return t >= closed_from_ms && t < closed_until_ms; }
};

// Returns the pieces from `from_ms` to `to_ms`, by kind, job and time. At no time do the pieces
// exceed the installed GPUs. GPUs that are in no piece are free. Running jobs get GPUs first, then
// closed GPUs count, then coming jobs, then the reservation.
std::vector<PlanPiece> pieces_of(NodeTime node, TimeMs from_ms, TimeMs to_ms);

}  // namespace subak::derive
