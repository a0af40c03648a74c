// The ways of looking for a gang's placement, in the order in which they are tried. Each is a
// function over a GangAttempt, in a file of its name. Private to placement.
//
// All these functions have in common (docs/design/0082):
//   - `bounds` say which nodes a step may use. A step passes narrower bounds to the steps below.
//   - If a step returns true, all pods of the runs are on trial. If it returns false, none of them
//     is, and the trial is as before.
//   - The runs belong to the attempt's query, and their pods are not on trial yet.
//   - Of placements that are equally good, a step takes the one on the node with the lowest id.
//
// The search is greedy. It is exact for one pod and for gangs of one shape, since each such pod
// uses the same amount of its node, on any GPUs. For pods that need several replicas of shared GPUs
// it is a heuristic, and may miss a placement. In a gang of several shapes, the search tries shapes
// that do not fit beside the others before them. If that fails, it tries all pods one by one,
// within limits::kPlaceTries.
#pragma once

#include <cstdint>
#include <optional>

#include "placement/trial/attempt.h"

namespace subak {

// gang.cc: does the complete search. It tries balanced() for a balanced gang, else greedily() and
// then thoroughly(). A gang that may mix products is tried with one product first, then with any.
// Nodes to spare are working nodes if possible. If it returns true, take the slots from the trial.
// Call it once for an attempt.
bool place_gang(GangAttempt& a);
// gang.cc: returns false only if the gang has no placement with a pod on the node. The gang must
// have one segment. It looks on the node and around it only. Do not use the trial after the call.
bool could_start_at(GangAttempt& a, NodeIndex node);

// gang.cc: places all segments, each as close together as its topology says, or a balanced gang in
// `parts` (0: not balanced). If the gang must be on one product, it tries each product by itself.
bool greedily(GangAttempt& a, const Bounds& bounds, const Runs& all, std::uint32_t parts);
// gang.cc: places one segment, or one part. Topology is about GPUs: pods without GPUs go anywhere,
// unless all pods must be on one node.
bool segment(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// balanced.cc: places the gang in even parts in as few NVLink domains as possible.
bool balanced(GangAttempt& a, const Bounds& bounds, const Runs& all);
// thorough.cc: places a gang of several shapes pod by pod. If a pod does not fit, it goes back and
// moves an earlier pod.
bool thoroughly(GangAttempt& a, const Bounds& bounds, const Runs& all);

// For a segment with topology kNode, segment() calls on_one_node(). With kNvlink it calls these
// three functions, in this order.
// inner_domain.cc: places it in one of several NVLink domains inside a node, the tightest with
// enough room.
bool in_inner_domain(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// one_node.cc: places it on one node of the area, the tightest with enough room. To leave domains
// whole, it looks in the domain with the least free GPUs first.
bool on_one_node(GangAttempt& a, const Bounds& bounds, const Runs& runs, Area area);
// clique.cc: places it on the nodes of one NVLink domain of several nodes, the tightest with enough
// room.
bool in_clique(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// With kNvlinkExclusive. exclusive.cc: places it in the smallest unused domain that has room for
// it.
bool exclusively(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// With kRack. levels.cc: places it in one group of the level (0: racks), the tightest with enough
// room.
bool in_group(GangAttempt& a, const Bounds& bounds, std::size_t level, const Runs& runs);
// With kAny. anywhere.cc: places it close together if a wish failed. Else it tries fragments, then
// one node, then spread().
bool anywhere(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// fragments.cc: places it only on nodes that already have holds, so that other nodes stay empty.
// Never for one pod.
bool on_fragments(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// levels.cc: places it in the fewest blocks, and there in the fewest racks. Returns false if no
// node names a group. It also returns false in a snapshot without holds: a search for nodes to wait
// for goes by time, not topology.
bool compactly(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// spread.cc: places one run on as few domains, then as few nodes, of the area as possible. It takes
// nodes with holds first.
bool spread(GangAttempt& a, const Bounds& bounds, const Run& run, Area area);

// anywhere.cc: calls spread() for one run. For several runs it tries on_one_node(), and else places
// each run by itself.
bool inside(GangAttempt& a, const Bounds& bounds, const Runs& runs, Area area);

// levels.cc: returns true if no node that the pods may use has room for two of them. Such a gang
// needs no more nodes if it is placed compactly().
bool fills_nodes(const Query& q, const Bounds& bounds, const Runs& runs);

// one_node.cc: lower bounds for the domains of the first run's index.
// Returns the units (GPUs or slices) that runs with that index need in total.
std::int64_t units_of(const Runs& runs);
// Returns the CPU that these runs need for those units; none if CPU does not count.
CpuAsk cpu_ask(const Query& q, const Runs& runs);

}  // namespace subak
