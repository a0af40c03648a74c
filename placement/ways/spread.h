// The steps of a spread. Private to this folder.
#pragma once

#include <optional>
#include <vector>

#include "placement/trial/attempt.h"

namespace subak {

// How sure Cap::pods is. kExact: so many pods fit. kUpperBounds: at most so many fit, counted by
// GPUs alone. With upper bounds, a spread checks the domain that it chooses, and fails if fewer
// pods fit there.
// All Caps of one list are of the same kind.
enum class Caps { kExact, kUpperBounds };

// spread_drained.cc: does spread() in a snapshot without holds. Nearly every node could serve
// there, so it uses the index's upper bounds. Returns false if it did not decide, or if the
// snapshot has holds.
bool spread_drained(GangAttempt& a, const Bounds& bounds, const Run& run);
// spread_alike.cc: does spread() over the whole cluster, by the GPU states of nodes. Returns
// nullopt if states alone cannot decide; then no pod of the run is on trial. If it returns true, it
// has also sorted the ranks.
std::optional<bool> spread_alike(GangAttempt& a, const Bounds& bounds, const Run& run);

// Places the run on nodes of `caps`. It takes complete domains and nodes from the largest down, and
// puts the remaining pods where they fit tightest. The nodes of `caps` must have room for the whole
// run. The function sorts `caps`.
bool spread_caps(GangAttempt& a, const Bounds& bounds, const Run& run, std::vector<Cap>& caps,
                 Caps sure = Caps::kExact);
// Places pods of `left` on the domain's nodes, until none is left or the nodes are used. It drops
// the placed pods from `left`. If a pod does not fit after all, it returns false, and the caller
// undoes the pods already placed. In `caps`, nodes of one domain are together, those for most pods
// first.
bool fill_domain(GangAttempt& a, const Bounds& bounds, Run& left, const std::vector<Cap>& caps,
                 const CapDomain& domain);
// Puts neighbouring ranks on neighbouring nodes. All pods of the run must be on trial.
void sort_ranks(GangAttempt& a, const Run& run);

}  // namespace subak
