// Where a gang would go, or every reason why not: questions asked of a picture of the fleet.
//
// A Search is the memory that makes asking cheap: which nodes each kind of pod may use, in best-fit
// order, brought up to date by the fleet's change log at each question; what failed, and since
// when; and rooms to fill on trial. It is the caller's: the fleet is only read. Several searches
// may stand side by side on one fleet; each gives the same answers, as no answer depends on what
// was asked before.
//
// Lifetime: the fleet must outlive it. Threads: a Search belongs to one; searches of several
// threads may read one fleet as long as nobody changes it.
// Errors: find() returns nothing when a gang does not fit; explain() then says every reason why.
// Order: wherever two places are equally good the lower NodeId wins, so decisions are reproducible.
//
// What a gang may be put together on (docs/design/0027), in every picture:
//   NVLink     hard kNvlink and kNvlinkExclusive, and segments of kAny: inside one half of a split
//              node, one node, or one clique, and only of products that have it
//   fragments  a gang of several pods goes where something is held already, if all of it can; else
//              as few other nodes as possible are broken into, and those are filled
//   products   one for all GPUs of the gang, unless its pods name ones that exclude each other; of a
//              gang that may have several, one where that will do
//   balanced   in even parts, each in an NVLink domain of its own, as few as will do; the larger parts have
//              the lower ranks
//   spare      of a clique that it is in as many whole nodes are left as it asks for, which nobody gets while it is there
//   bars       never a node that turned such a pod away (Fleet::bar)
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/reason.h"
#include "placement/fleet.h"
#include "placement/picture.h"

namespace subak {

// A whole gang, one slot per rank.
struct Placement {
  std::vector<PodSlot> slots;
  friend bool operator==(const Placement&, const Placement&) = default;
};

// How a search judges nodes that are alike: once for all of them, or each by itself. The answers are the
// same. The second is slow: tests compare the first with it.
enum class AlikeNodes { kJudgedOnce, kJudgedEach };

class Search {
 public:
  explicit Search(const Fleet& fleet, AlikeNodes alike = AlikeNodes::kJudgedOnce);
  ~Search();
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Pictures are of this search's fleet and current; both are asserted.

  // The best place for the whole gang, each pod on exactly one node, in rank order; best fit that
  // keeps whole domains whole: the clique (or lone node) with the least free that still fits, then
  // its node with the least free, then id. Pods that use part of a GPU go to the tightest GPU; pods
  // without GPU to nodes without GPUs, then to the fullest. Honours selectors, affinity, taints,
  // host ports, CPU, memory, pod slots, extended resources, topology, segments. Topology is about
  // GPUs: except for kNode, pods without GPU may be anywhere. Nodes that the picture keeps for
  // another than `owner` are skipped. Exact for one pod and for gangs of one shape: nothing is
  // returned only if there is no place. Gangs of several shapes are placed shape by shape, and where
  // that finds nothing pod by pod, within limits::kPlaceTries: exact for small ones. Pods of several
  // replicas of shared GPUs take them one after the other, which may miss a place.
  // Of the fleet as it is, a failing call is cheap: summaries first, and after a failure only nodes
  // that changed since are looked at.
  // kNvlinkExclusive takes the smallest domain that could hold the pods when empty, unused by
  // anybody, and keeps it until all its slots are given back; with `prefer` it keeps nobody out.
  // `without`: GPU products that it may not have, whatever its request says.
  std::optional<Placement> find(const Picture& picture, ShapeId shape, JobId owner = JobId(),
                                std::span<const ProductId> without = {});
  // Every reason why find() fails, structural ones first. Empty if it would succeed. Asserts that
  // the picture is neither empty() nor drained().
  std::vector<Reason> explain(const Picture& picture, ShapeId shape, JobId owner = JobId());
  // Could the fleet hold it if nothing were held and every node were open and healthy? What turned
  // its pods away does not count. Remembered until a node's description changes.
  bool fits_empty_fleet(ShapeId shape);
  // The GPUs of the largest node of all. Remembered likewise.
  std::int64_t largest_node_gpus();
  // The nodes, ascending, on which the gang would sit if all that is held were given back, choosing
  // those with the least to wait for: a place in picture.drained(). Only nodes that could serve it
  // now: open, with working GPUs, and none that turned its pods away. Nodes kept for anybody are
  // skipped. With them the nodes that it is to leave to spare (GangRequest::spare). Empty if there is no such
  // place.
  std::vector<NodeId> drain_set(const Picture& picture, ShapeId shape);

  // FGD's fragmentation of a cluster's free GPUs over the given shapes (all of that cluster) and
  // their popularity: sum over nodes of F_n / sum of free (Weng et al., ATC'23). Of the fleet as it
  // is. 0 when nothing is free.
  double fragmentation(std::span<const std::pair<ShapeId, double>> mix);

  // How many kinds of pods it remembers nodes for: those of shapes that it was asked for and that
  // are still in use.
  std::size_t filters();

  // Asserts that what is remembered agrees with the fleet; for tests and simulation.
  void check_invariants();

  struct Impl;  // placement/search_impl.h, for this folder alone

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
