// Converts times of another clock to the service's own clock, "our clock" (docs/design/0078). A
// launcher, a node or an edge reports when a pod was bound, ran and ended. The reporter's clock may
// be behind or ahead, and may be set while the pod runs.
//
// Threads: one at a time; pure functions of the input and the state.
#pragma once

#include "accounting/ledger.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/decide/decision.h"

namespace subak::decide {

// Converts `said`, a time of this input, to our clock. The function corrects the time if the input
// says what the other clock shows now (Input::said_at_ms). The result is never later than the
// present time. If `said` is 0, the result is the present time.
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

// Returns the evidence of a launcher that says at `said`, by its clock, that the pod exists. If the
// error of that clock is not known, the report counts as immediate, so it shows how far the clock
// is behind. While an edge lists the cluster, the report does not count as immediate, because it
// may be old.
Sign sign_of(const Decision& d, ClusterId cluster, TimeMs said);

// Returns the evidence for a pod that the cluster's objects show as running. If the error of the
// node's clock is not known, a start before the scheduler's binding shows by how much the clock is
// behind at least.
Sign sign_of(const Decision& d, const PodRecord& pod);

// The end of a pod, and the clock that measured it.
struct End {
  // The time by our clock, never later than now.
  TimeMs at_ms = 0;
  // The clock from which the time was read.
  RowClock clock = RowClock::kService;
};

// Returns the end of a bound pod that ended at `said` by the reporter's clock. If `said` is 0, no
// time was reported. An end before the last sign of the pod is impossible. The result is then the
// present time, because the reporter's clock was set meanwhile. But if `cause` is kVanished, the
// result is the last sign: for such a pod, `said` is only when the reporter was last up to date.
End end_of(const Decision& d, const state::Pod& pod, TimeMs said, Cause cause);

}  // namespace subak::decide
