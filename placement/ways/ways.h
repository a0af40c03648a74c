// The ways of looking for a gang's placement, in the order in which they are tried. Each is a
// function over a GangAttempt, in a file of its name. Private to placement.
//
// What they have in common (docs/design/0082):
//   - `bounds` say which nodes the step may use. A step hands narrower ones to the steps below.
//   - True: all pods of the runs are on trial. False: none of them is, and the trial holds what it
//     held before.
//   - The runs are of one attempt's query, and their pods are not on trial yet.
//   - Of placements that are equally good, the one on the lower node is taken.
//
// The search is greedy. It is exact for one pod and for gangs of one shape, as each such pod uses
// the same amount of its node, on whichever GPUs. It is a heuristic for pods of several replicas of
// shared GPUs, and may miss a placement for them. In a gang of several shapes, the pods that do not
// fit beside the others are tried before them. If that fails, all pods are tried one by one, within
// limits::kPlaceTries.
#pragma once

#include <cstdint>
#include <optional>

#include "placement/trial/attempt.h"

namespace subak {

// gang.cc: the whole search. It tries balanced() for a balanced gang, else greedily() and then
// thoroughly(): first with one product, then with any, if the gang may mix them. A gang that wants
// nodes to spare gets working ones if it can. True: take the slots from the trial. Call it once for
// an attempt.
bool place_gang(GangAttempt& a);
// gang.cc: false only if the gang, of one segment, has no placement with a pod on the node. It
// looks on the node and around it, whatever is free elsewhere. The trial is of no use then.
bool could_start_at(GangAttempt& a, NodeIndex node);

// gang.cc: all segments, each as near together as its topology says, or a balanced gang in `parts`
// (0: not balanced). It places the gang on one product, if it must, by trying each by itself.
bool greedily(GangAttempt& a, const Bounds& bounds, const Runs& all, std::uint32_t parts);
// gang.cc: one segment, or one part. Topology is about GPUs: its pods without GPU go anywhere,
// unless all must be on one node.
bool segment(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// balanced.cc: the gang over the fewest NVLink domains that hold it in even parts.
bool balanced(GangAttempt& a, const Bounds& bounds, const Runs& all);
// thorough.cc: a gang of several shapes, pod by pod. It goes back where a pod leads nowhere.
bool thoroughly(GangAttempt& a, const Bounds& bounds, const Runs& all);

// A segment with topology kNode: on_one_node(). With kNvlink these three, in this order:
// inner_domain.cc: in one of several NVLink domains inside a node, the tightest that holds it.
bool in_inner_domain(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// one_node.cc: on one node of the area, the tightest that holds it. It leaves domains whole: it
// takes the domain with the least free first.
bool on_one_node(GangAttempt& a, const Bounds& bounds, const Runs& runs, Area area);
// clique.cc: over the nodes of one NVLink domain of several nodes, the tightest that holds it.
bool in_clique(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// With kNvlinkExclusive. exclusive.cc: in the smallest unused domain that could hold it when empty.
bool exclusively(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// With kRack. levels.cc: in one group of the level (0: racks), the tightest that holds it.
bool in_group(GangAttempt& a, const Bounds& bounds, std::size_t level, const Runs& runs);
// With kAny. anywhere.cc: close together if a wish failed; else on fragments; else on one node;
// else spread.
bool anywhere(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// fragments.cc: on nodes with holds alone, so that it breaks into no other node. Never for one pod.
bool on_fragments(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// levels.cc: over the fewest blocks, within them the fewest racks. False if no node names a group,
// and with nothing held: a search for nodes to wait for goes by time, not topology.
bool compactly(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// spread.cc: one run over as few domains, then as few nodes, of the area as possible. It takes
// nodes with holds first.
bool spread(GangAttempt& a, const Bounds& bounds, const Run& run, Area area);

// anywhere.cc: spread() for one run; for several, on_one_node() and else each run by itself.
bool inside(GangAttempt& a, const Bounds& bounds, const Runs& runs, Area area);

// levels.cc: true if no node that the pods may use holds two of them. Such gangs lose nothing if
// they are placed compactly().
bool fills_nodes(const Query& q, const Bounds& bounds, const Runs& runs);

// one_node.cc. Lower bounds for the domains of the first run's index.
// Returns the units, GPUs or slices, that runs of that index need in total.
std::int64_t units_of(const Runs& runs);
// Returns the CPU that these need, for those units; none if CPU does not count.
CpuAsk cpu_ask(const Query& q, const Runs& runs);

}  // namespace subak
