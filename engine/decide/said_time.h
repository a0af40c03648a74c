// Converts times that another clock measured to the service's own clock, called "our clock" here
// (docs/design/0078). The edge of a cluster, one of its nodes, or the launcher of an API job
// reports when a pod was bound, ran and ended. The reporter's clock may be wrong, and may be set
// while the pod runs. Example: a node's clock is 5 minutes behind. It reports an end at 10:00,
// which is 10:05 by our clock. The decisions on reports about pods use this.
// Threads: one at a time; pure functions of the input and the state.
#pragma once

#include "accounting/ledger.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/decide/decision.h"

namespace subak::decide {

// Converts `said`, a time in this input by the reporter's clock, to our clock. The function
// corrects the time if the input says what the other clock shows now (Input::said_at_ms). The
// result is never later than the present time. If `said` is 0, the result is the present time.
TimeMs our_time(const Decision& d, TimeMs said);

// Returns the clock from which our_time() got its result.
RowClock clock_of(const Decision& d, TimeMs said);

// Evidence that a pod exists, as a fact stores it: fact::PodBound::seen_ms and behind_ms.
struct Sign {
  // The time of the evidence, by our clock. 0: the time of the fact that stores the evidence.
  TimeMs seen_ms = 0;
  // How far the reporter's clock is behind. 0: the clock is not behind, or a better source for the
  // difference is known.
  DurationMs behind_ms = 0;
};

// Returns the evidence from a launcher's report that the pod existed at `said`, by the launcher's
// clock. If the input does not say what that clock shows now, the function assumes that the
// launcher reports at once. The delay of the report is then the error of the clock. While an edge
// lists the cluster, the function does not assume this, because the report may be old.
Sign sign_of(const Decision& d, ClusterId cluster, TimeMs said);

// Returns the evidence from a PodRecord that shows the pod as running. The node's clock gives the
// time at which the pod started, and may be wrong. If that time is before the scheduler's binding
// of the pod, the node's clock is behind by at least the difference.
Sign sign_of(const Decision& d, const PodRecord& pod);

// The end of a pod, and the clock that measured it.
struct End {
  // The time by our clock, never later than now.
  TimeMs at_ms = 0;
  // The clock from which the time was read.
  RowClock clock = RowClock::kService;
};

// Returns the end of a bound pod that ended at `said` by the reporter's clock. If `said` is 0, no
// time was reported, and the result is the present time. A pod cannot end before the last evidence
// that it exists (Pod::seen_ms). If `said` is before that time, the reporter's clock was set
// meanwhile, and the result is the present time. For the cause kVanished, the result is then
// Pod::seen_ms, because `said` is only the time when the reporter was last up to date.
End end_of(const Decision& d, const state::Pod& pod, TimeMs said, Cause cause);

}  // namespace subak::decide
