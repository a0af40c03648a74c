// Converts times of another clock to our clock (docs/design/0078). A launcher, a node or an edge
// reports when a pod was bound, ran and ended. Its clock may be behind or ahead, and may be set
// while the pod runs.
//
// Pure functions of the input and the state. Threads: none.
#pragma once

#include "accounting/ledger.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/decide/decision.h"

namespace subak::decide {

// Converts `said`, a time of this input, to our clock. The correction applies if the input says
// what the other clock shows now (Input::said_at_ms). The result is never later than now. 0: now.
TimeMs our_time(const Decision& d, TimeMs said);

// How our_time() computes its result.
RowClock clock_of(const Decision& d, TimeMs said);

// The evidence that a pod exists, for a fact: fact::PodBound::seen_ms and behind_ms.
struct Sign {
  // By our clock. 0: at the time of the fact.
  TimeMs seen_ms = 0;
  // 0: the clock is not behind, or a better source is known.
  DurationMs behind_ms = 0;
};

// The evidence of a launcher that says at `said`, by its clock, that the pod exists. If that clock
// is not known, the report counts as immediate and shows how far the clock is behind. While the
// cluster is listed this does not hold, since the report may be old.
Sign sign_of(const Decision& d, ClusterId cluster, TimeMs said);

// The same for a pod that the cluster's objects show as running. If the node's clock is not known,
// a start before the scheduler's binding shows the least that the clock is behind.
Sign sign_of(const Decision& d, const PodRecord& pod);

// When a pod ended, and by which clock.
struct End {
  // By our clock, never later than now.
  TimeMs at_ms = 0;
  // The clock that the time was read from.
  RowClock clock = RowClock::kService;
};

// The end of a bound pod that ended at `said`; 0: no time was reported. An end before the last sign
// of the pod is impossible: its clock was set meanwhile, and the pod ends now.
End end_of(const Decision& d, const state::Pod& pod, TimeMs said);

}  // namespace subak::decide
