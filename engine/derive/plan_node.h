// One node by time: who has which part of it when. Threads: none; pure functions.
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/plan.h"

namespace subak::derive {

// Some GPUs of a node for some time: [from, to).
struct PlanPiece {
  std::optional<PlanKind> kind;  // nullopt: closed
  JobId job;                     // none: closed
  TimeMs from_ms = 0, to_ms = 0;
  MilliGpu milligpu = 0;
  friend auto operator<=>(const PlanPiece&, const PlanPiece&) = default;
};

// What is known of one node.
struct NodeTime {
  struct Hold {
    JobId job;
    MilliGpu milligpu = 0;
    TimeMs from_ms = 0, to_ms = 0;
  };
  MilliGpu installed = 0;
  TimeMs closed_from_ms = 0;   // it takes no pods from then on, until:
  TimeMs closed_until_ms = 0;  // kNever: nobody knows for how long
  MilliGpu lost = 0;           // unhealthy or stranded: of no use to anybody
  std::vector<Hold> runs;      // from now on, whatever they say
  std::vector<Hold> coming;  // who comes first has it; of those at the same time, who stands first
  JobId kept_for;            // none: for nobody
  TimeMs kept_until_ms = 0;
  bool is_closed(TimeMs t) const { return t >= closed_from_ms && t < closed_until_ms; }
};

// From `from` to `to`, by kind, job and time. At no time they are more than what is installed, and what is
// missing then is free: what runs comes first, then what is to come, then what is closed, then what is kept.
std::vector<PlanPiece> pieces_of(NodeTime node, TimeMs from_ms, TimeMs to_ms);

}  // namespace subak::derive
