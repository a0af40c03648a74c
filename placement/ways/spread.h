// The steps of a spread. Private to this folder.
#pragma once

#include <optional>
#include <vector>

#include "placement/trial/attempt.h"

namespace subak {

// How sure the pods of a Cap are: they fit, or at most so many fit, by GPUs alone. A spread that
// chooses a domain checks the second kind, and fails where less fits.
// A list of Caps is of one of the two kinds.
enum class Caps { kExact, kUpperBounds };

// spread_drained.cc: spread() in a snapshot without holds. Nearly every node could serve there, so
// it uses the index's upper bounds. False: undecided, or not such a snapshot.
bool spread_drained(GangAttempt& a, const Bounds& bounds, const Run& run);
// spread_alike.cc: spread() over the cluster by the states of nodes. nullopt: states alone cannot
// decide it, and nothing is on trial. True: also sorts the ranks.
std::optional<bool> spread_alike(GangAttempt& a, const Bounds& bounds, const Run& run);

// Places the run on nodes of `caps`. It takes complete domains and nodes from the largest down, and
// puts the rest where it fits tightest. Requires that their pods are enough. Sorts `caps`.
bool spread_caps(GangAttempt& a, const Bounds& bounds, const Run& run, std::vector<Cap>& caps,
                 Caps sure = Caps::kExact);
// Places pods of `left` on the domain's nodes, until none is left or the nodes are used. It drops
// them from `left`. False if a pod did not fit after all; the caller undoes the rest. `caps`: those
// of a domain are together, most pods first.
bool fill_domain(GangAttempt& a, const Bounds& bounds, Run& left, const std::vector<Cap>& caps,
                 const CapDomain& domain);
// Puts neighbouring ranks on neighbouring nodes. All pods of the run are on trial.
void sort_ranks(GangAttempt& a, const Run& run);

}  // namespace subak
