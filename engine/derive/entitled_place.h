// A placement that is checked together with the rules of the job's accounts ("entitled place"). A
// pass and the reasons use the same check. Threads: none; pure functions except for the search's
// cache, which decides nothing.
#pragma once

#include <optional>
#include <vector>

#include "accounting/quota/entitlement.h"
#include "engine/state/state.h"
#include "placement/fleet/reserved_nodes.h"
#include "placement/search/search.h"

namespace subak::derive {

// The result of find_entitled().
struct EntitledPlace {
  std::optional<Placement> placement;
  std::optional<Binding> blocked_by_rule;  // the first rule that refused a placement that was found
  // The only placement is on nodes that are backed off for the job, which its scheduler refused
  // there.
  bool refused = false;
};

// Finds the best placement for the job in the present fleet, without nodes reserved for others. If
// a rule of its accounts refuses the product of the best one, the next best product is tried. Nodes
// on which the cluster's scheduler refused the job, or others with the same pods, are tried last
// (docs/design/0072).
EntitledPlace find_entitled(const State& s, Search& search, const ReservedNodes& reserved,
                            const state::Job& job);
// The rule that stops the queued job on any placement, checked for the least that it can cost.
// nullopt: none.
std::optional<Binding> stopped(const State& s, const state::Job& job, Asking asking);
// True if the queued job would be within quota if it started now, for the least that it can cost.
bool is_within_quota(const State& s, const state::Job& job);
// The GPUs of the placement, by product.
std::vector<ProductDemand> amounts_of(const State& s, const Placement& placement);

}  // namespace subak::derive
