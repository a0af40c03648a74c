// The caches of a Search: which nodes each kind of pod may use (a Filter, placement/trial/index.h),
// and which searches failed. No answer depends on the caches: without them a search finds the same
// placement, only slower. So a new Search gives the same answers as an old one.
// Threads: as Search: one at a time. Private to placement.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "placement/fleet/fleet_impl.h"
#include "placement/search/grown_fleet.h"
#include "placement/search/search.h"
#include "placement/trial/attempt.h"
#include "placement/trial/index.h"

namespace subak {

// The cached results for one shape. A failed search in the live fleet is cached too: in a full
// cluster most jobs wait, and each pass searches for them again.
struct Sought {
  // The serial of the shape. If the ShapeId now belongs to another shape, this entry is void.
  std::uint64_t serial = 0;
  // One filter for each of the shape's Pods, made at the first query. Search::Impl owns the
  // filters.
  std::vector<Filter*> filters;
  // True: the last search in the live fleet failed at position `failed_at` of the fleet's change
  // log, and reserved nodes were not the reason. Only nodes that have changed since then can make a
  // search succeed.
  bool failed = false;
  std::uint64_t failed_at = 0;
  // The result of fits_empty_fleet(), and the version of descriptions for which it is valid.
  std::uint64_t fits_version = 0;
  bool fits_empty = false;
  // The result of pools_for(), and the number of the grown fleet for which it is valid.
  std::uint64_t grown_version = 0;
  std::vector<std::string> pools;
};

// The caches of one Search, and the functions that keep them up to date.
struct Search::Impl {
  Impl(const Fleet& of, AlikeNodes alike)
      : fleet(of), state(of.impl()), by_state(alike == AlikeNodes::kJudgedOnce) {}

  // The fleet in which the search looks, and its state. The fleet changes between questions.
  const Fleet& fleet;
  const Fleet::Impl& state;
  // True: the search judges nodes that are alike once.
  const bool by_state;
  // The filters, by the fields of pods that they read. Each filter has at least one user.
  std::map<std::string, std::unique_ptr<Filter>> filters;
  // The cached results, by ShapeId::value.
  std::vector<Sought> sought;
  // The memory for one attempt at a time.
  Workspace memory;
  // The search has read the fleet's list of dropped shapes up to this position.
  std::uint64_t gone_seen = 0;
  // The GPUs of the largest node, and the version of descriptions for which this is valid. Version
  // 0: not computed yet.
  std::int64_t largest_gpus = 0;
  std::uint64_t largest_version = 0;
  // The fleet with all nodes of its pools, and how many such fleets there were.
  std::unique_ptr<GrownFleet> grown;
  std::uint64_t grown_version = 0;

  // Drops the entries of shapes that the fleet has dropped since the last call. The number of a
  // dropped shape may belong to another shape by now. O(shapes dropped).
  void forget();
  // Drops one entry, and each of its filters that no other entry uses.
  void forget(Sought& sought);
  // at() and ask() return the cached results for the shape, which are valid until the next shape is
  // queried. ask() also brings the shape's filters up to date.
  Sought& at(ShapeId shape);
  Sought& ask(ShapeId shape);
  // Returns the filter that selects the nodes for these pods, and counts one more user. Shapes
  // whose pods may use the same nodes share one filter. The filter is not up to date yet.
  Filter* filter_of(const Shape& shape, const PodShape& pod);
  // Begins an attempt to place the gang. The attempt must end before the next attempt begins.
  // `known` is the entry of the shape, with filters up to date. All arguments must outlive the
  // attempt.
  GangAttempt attempt(const Shape& shape, const Sought& known, const Scene& scene,
                      const Terms& terms) {
    return GangAttempt(memory, shape, known.filters, scene, terms, by_state);
  }
};

}  // namespace subak
