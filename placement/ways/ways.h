// The ways of looking for a gang's placement, from the complete search down to its steps. Each way
// is a function that takes a GangAttempt (placement/trial/attempt.h) and places the gang's pods on
// trial. Search::find() begins with place_gang().
// Threads: as the GangAttempt. Private to placement.
//
// A pod is on trial if the attempt has placed it, while the fleet does not know of it yet. A run is
// a sequence of equal pods of the gang, which a step places together (placement/trial/run.h). A
// segment is a group of consecutive pods that must be close together; a gang without segments is
// one segment. A balanced gang has parts instead, of nearly equal size. An area is a list of nodes
// to search; nullptr means the whole cluster. The tightest node or domain is the one with the
// smallest free amount that suffices.
// All these functions follow these rules (docs/design/0082):
//   - `bounds` say which nodes a step may use. A step passes narrower bounds to the steps that it
//     calls.
//   - If a step returns true, all pods of the runs are on trial. If it returns false, none of these
//     pods is on trial, and the trial is as before.
//   - The runs belong to the attempt's query, and their pods are not on trial yet.
//   - Of equally good placements, a step takes the placement on the node with the lowest id.
//
// The search is greedy. It is exact for one pod and for gangs of one shape, because each pod of
// such a gang uses the same amount of its node, on any GPUs. For pods that need several replicas of
// shared GPUs the search is a heuristic, and may miss a placement. In a gang of several shapes, a
// shape may not fit beside the shapes placed earlier; then the search starts again with that shape
// first. If that fails, it tries all pods one by one, within limits::kPlaceTries.
#pragma once

#include <cstdint>
#include <optional>

#include "placement/trial/attempt.h"

namespace subak {

// gang.cc: does the complete search. It tries balanced() for a balanced gang, else greedily() and
// then thoroughly(). For a gang that may mix products, it tries one product first, then any
// products. If the gang asks for RDMA, it tries each RDMA fabric by itself. If pods have affinity
// to pods of the gang, it tries each domain by itself. It prefers spare nodes that are not broken.
// If the function returns true, take the slots from the trial. Call it once for an attempt.
bool place_gang(GangAttempt& a);
// gang.cc: returns false only if the gang has no placement with a pod on the node. The gang must
// have one segment. The function looks only at the node and at the nodes near it. Do not use the
// trial after the call.
bool could_start_at(GangAttempt& a, NodeIndex node);

// gang.cc: places all segments, each as close together as its topology says. A balanced gang is
// placed in `parts` parts (0: the gang is not balanced). If the gang must be on one product, the
// function tries each product by itself.
bool greedily(GangAttempt& a, const Bounds& bounds, const Runs& all, std::uint32_t parts);
// gang.cc: places one segment, or one part. Topology is about GPUs: pods without GPUs may go to any
// node, unless all pods must be on one node.
bool segment(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// balanced.cc: places the gang in even parts in as few NVLink domains as possible.
bool balanced(GangAttempt& a, const Bounds& bounds, const Runs& all);
// evenly.cc: places pods with topology spread constraints in the domains with the fewest pods. The
// caller must check PodRules::hold() when the gang is complete. Returns false if no pod has rules.
bool evenly(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// thorough.cc: places a gang of several shapes, or with rules about the domains of other pods, pod
// by pod. If a pod does not fit, the function goes back and moves an earlier pod.
bool thoroughly(GangAttempt& a, const Bounds& bounds, const Runs& all);

// For a segment with topology kNode, segment() calls on_one_node(). For a segment with kNvlink,
// segment() calls these three functions, in this order.
// inner_domain.cc: places the segment in one of several NVLink domains inside a node: in the
// tightest domain with enough room.
bool in_inner_domain(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// one_node.cc: places the segment on one node of the area (nullptr: of the cluster): on the
// tightest node with enough room. To leave domains whole, the function looks first in the domain
// with the fewest free GPUs.
bool on_one_node(GangAttempt& a, const Bounds& bounds, const Runs& runs, Area area);
// clique.cc: places the segment in one NVLink domain of several nodes: in the tightest domain with
// enough room.
bool in_clique(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// exclusive.cc, for kNvlinkExclusive: places the segment in the smallest unused domain that has
// room for it.
bool exclusively(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// levels.cc, for kRack: places the segment in one group of the level (0: racks): in the tightest
// group with enough room.
bool in_group(GangAttempt& a, const Bounds& bounds, std::size_t level, const Runs& runs);
// anywhere.cc, for kAny: tries on_fragments(), then one node, then spread(). If the gang preferred
// a topology that the search could not meet, the function first tries one node, then compactly().
bool anywhere(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// fragments.cc: places the segment only on nodes that already have holds, so that other nodes stay
// empty. It never does this for a gang of one pod.
bool on_fragments(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// levels.cc: places the segment in the fewest blocks, and inside these in the fewest racks. It
// returns false if no node names a group. It also returns false in a snapshot without holds,
// because a search for nodes to wait for minimises the wait and ignores topology.
bool compactly(GangAttempt& a, const Bounds& bounds, const Runs& runs);
// spread.cc: places one run on as few domains, then as few nodes, of the area as possible. If some
// of the nodes have holds, it uses as few nodes without holds as possible, and fills these.
bool spread(GangAttempt& a, const Bounds& bounds, const Run& run, Area area);

// anywhere.cc: calls spread() for one run. For several runs it tries on_one_node(), and else places
// each run by itself.
bool inside(GangAttempt& a, const Bounds& bounds, const Runs& runs, Area area);

// levels.cc: returns true if no node that the pods may use has room for two of these pods. Then
// compactly() needs no more nodes than spread().
bool fills_nodes(const Query& q, const Bounds& bounds, const Runs& runs);

// one_node.cc: units_of() and cpu_ask() give lower bounds of the free units and CPU that a domain
// needs to serve the runs. Both count only the runs with the same index as the first run.
// units_of() returns the units (GPUs or slices) that these runs need in total.
std::int64_t units_of(const Runs& runs);
// cpu_ask() returns the CPU that these runs need for those units; none if CPU does not count.
CpuAsk cpu_ask(const Query& q, const Runs& runs);

}  // namespace subak
