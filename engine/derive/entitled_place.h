// A place and what is paid for it, judged together: the same for a pass and for reasons.
// Threads: none; pure functions, but for the memory of the search, which decides nothing.
#pragma once

#include <optional>
#include <vector>

#include "accounting/entitlement.h"
#include "engine/state/state.h"
#include "placement/kept_nodes.h"
#include "placement/search.h"

namespace subak::derive {

struct EntitledPlace {
  std::optional<Placement> placement;
  std::optional<Binding> barred;  // there was a place, and this rule against it: the first of them
  bool refused = false;  // there was a place, on nodes that the cluster's scheduler refused lately
};

// The best place that the job may have in the fleet as it is, beside what is kept for others. Where the best of
// all is on a product that a rule of its accounts bars, the next best product is tried. Nodes on which the
// cluster's scheduler refused the job, or others with such pods, are tried last (docs/design/0072).
EntitledPlace find_entitled(const State& s, Search& search, const KeptNodes& kept,
                            const state::Job& job);
// What stops the queued job whatever place it may find: judged by the least that it can cost.
std::optional<Binding> stopped(const State& s, const state::Job& job, Asking asking);
// Would the queued job be within quota if it started now? Likewise.
bool is_within_quota(const State& s, const state::Job& job);
// What the place takes, by product.
std::vector<ProductDemand> amounts_of(const State& s, const Placement& placement);

}  // namespace subak::derive
