// The steps of spread() (placement/ways/ways.h), which places a run (a sequence of equal pods of a
// gang) on several nodes.
// Threads: as the GangAttempt. Private to this folder.
#pragma once

#include <optional>
#include <vector>

#include "placement/trial/attempt.h"

namespace subak {

// A Cap says how many pods a node can take (placement/trial). kExact: exactly Cap::pods pods fit.
// kUpperBounds: at most Cap::pods pods fit, counted by GPUs alone. With upper bounds, a spread
// checks the domain that it chooses, and fails if fewer pods fit there. All Caps of one list are of
// the same kind.
enum class Caps { kExact, kUpperBounds };

// The functions follow the rules of ways.h: if one returns false, the attempt has placed no pod of
// the run.
// spread_drained.cc: places the run if the snapshot has no holds. Then nearly every node can run
// the pods, so the function uses the upper bounds of the index. It returns false if it placed no
// pods, for example because the snapshot has holds.
bool spread_drained(GangAttempt& a, const Bounds& bounds, const Run& run);
// spread_alike.cc: places the run over the whole cluster, by the GPU states of nodes. Returns
// nullopt if the states alone cannot decide. Then the attempt has placed no pod of the run. If the
// function returns true, it has also sorted the ranks.
std::optional<bool> spread_alike(GangAttempt& a, const Bounds& bounds, const Run& run);

// Places the run on nodes of `caps`. It takes complete domains and nodes from the largest down, and
// puts the remaining pods where they fit tightest. The nodes of `caps` must have room for the whole
// run. The function sorts `caps`.
bool spread_caps(GangAttempt& a, const Bounds& bounds, const Run& run, std::vector<Cap>& caps,
                 Caps sure = Caps::kExact);
// Places pods of `left` on the domain's nodes, until no pod is left or all nodes are used. It drops
// the placed pods from `left`. This function is an exception to the rule: `false` says that a pod
// did not fit after all. The caller must then undo the pods already placed. In `caps`, nodes of one
// domain are together, and nodes for the most pods come first.
bool fill_domain(GangAttempt& a, const Bounds& bounds, Run& left, const std::vector<Cap>& caps,
                 const CapDomain& domain);
// Puts neighbouring ranks on neighbouring nodes. The attempt must have placed all pods of the run.
void sort_ranks(GangAttempt& a, const Run& run);

}  // namespace subak
