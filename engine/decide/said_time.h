// Times that somebody else's clock has read, by ours (docs/design/0078). A launcher, a node or an edge says when a pod
// was bound, ran and ended. Its clock may be behind or ahead, and may be set while the pod runs.
//
// Pure functions of the input and the state. Threads: none.
#pragma once

#include "accounting/ledger.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/decide/decision.h"

namespace subak::decide {

// `said`, of the input at hand, by our clock: put right where the input says what that clock shows now
// (Input::said_at_ms). Not later than now; 0: now.
TimeMs our_time(const Decision& d, TimeMs said);

// How our_time() came to it.
RowClock clock_of(const Decision& d, TimeMs said);

// That a pod is there, as a fact says it: fact::PodBound::seen_ms and behind_ms.
struct Sign {
  TimeMs seen_ms = 0;
  DurationMs behind_ms = 0;
};

// A launcher says at `said` by its clock that the pod is there. Where nobody knows that clock, the news is taken to have
// come as it happened, and shows how far the clock is behind; but not while the cluster is listed, as that is of before.
Sign sign_of(const Decision& d, ClusterId cluster, TimeMs said);

// The same of a pod that the cluster's objects show to run. Where nobody knows the node's clock, a start before the
// scheduler bound the pod shows how far it is behind at least.
Sign sign_of(const Decision& d, const PodRecord& pod);

// When a pod ended, and by which clock.
struct End {
  TimeMs at_ms = 0;
  RowClock clock = RowClock::kService;
};

// The pod, which is bound, ended at `said`; 0: nobody says when. An end before the last sign of the pod cannot be: then
// that clock was set meanwhile, and the pod ends now.
End end_of(const Decision& d, const state::Pod& pod, TimeMs said);

}  // namespace subak::decide
