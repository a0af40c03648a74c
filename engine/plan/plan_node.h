// The timeline of one node: which job has which part of it when. Threads: none; pure functions.
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/answers/plan.h"

namespace subak::derive {

// Some GPUs of a node for the time [from, to).
struct PlanPiece {
  // nullopt: closed. Then there is no job either.
  std::optional<PlanKind> kind;
  // The job that has them, or that they are reserved for.
  JobId job;
  // The second is excluded.
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
  // The node takes no pods in [from, until). `until` is kNever if the end is not known.
  TimeMs closed_from_ms = 0;
  TimeMs closed_until_ms = 0;
  // Unhealthy or stranded GPUs, which no job can use.
  MilliGpu lost = 0;
  // Running jobs, from now on whatever their from_ms.
  std::vector<Hold> runs;
  // The earlier from_ms has the GPUs first; at the same time, the earlier entry.
  std::vector<Hold> coming;
  // The job that the node is reserved for; none: it is not reserved.
  JobId reserved_for;
  // Only with `reserved_for`.
  TimeMs reserved_until_ms = 0;
  // True if the node takes no pods at `t`.
  bool is_closed(TimeMs t) const { return t >= closed_from_ms && t < closed_until_ms; }
};

// The pieces from `from` to `to`, by kind, job and time. At no time they exceed the installed GPUs,
// and the rest is free. Running jobs come first, then closed GPUs, then coming jobs, then the
// reservation.
std::vector<PlanPiece> pieces_of(NodeTime node, TimeMs from_ms, TimeMs to_ms);

}  // namespace subak::derive
