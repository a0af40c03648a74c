// The caches of a Search. No answer depends on them: without them a search finds the same, later.
// So a Search that has just been made answers as an old one does. Private to placement.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "placement/fleet/fleet_impl.h"
#include "placement/search/search.h"
#include "placement/trial/attempt.h"
#include "placement/trial/index.h"

namespace subak {

// The cached results for one shape. A search of the live fleet that fails is remembered, as most
// jobs of a full cluster wait, and each pass asks for them again.
struct Sought {
  // Of the shape; the entry is void if the number belongs to another shape now.
  std::uint64_t serial = 0;
  // One for each of the shape's Pods, made at the first question. Search::Impl owns them.
  std::vector<Filter*> filters;
  // The last search in the live fleet failed at this position of the change log, and not because of
  // reserved nodes. Only nodes that changed since can make it succeed.
  bool failed = false;
  std::uint64_t failed_at = 0;
  // fits_empty_fleet() as of this static version.
  std::uint64_t fits_version = 0;
  bool fits_empty = false;
};

struct Search::Impl {
  Impl(const Fleet& of, AlikeNodes alike)
      : fleet(of), state(of.impl()), by_state(alike == AlikeNodes::kJudgedOnce) {}

  // The fleet that the search is about, and what it consists of. It changes between questions.
  const Fleet& fleet;
  const Fleet::Impl& state;
  // Nodes that are alike are judged once.
  const bool by_state;
  // By what they read. None is without users.
  std::map<std::string, std::unique_ptr<Filter>> filters;
  // By ShapeId::value.
  std::vector<Sought> sought;
  // Of the attempt that runs.
  Workspace memory;
  // The position up to which the fleet's dropped shapes were read.
  std::uint64_t gone_seen = 0;
  // GPUs of the largest node, as of that static version. Version 0: not computed yet.
  std::int64_t largest_gpus = 0;
  std::uint64_t largest_version = 0;

  // Drops the entries of shapes that the fleet has dropped since the last call. A dropped number
  // may belong to another shape by now. O(shapes dropped).
  void forget();
  // Drops one entry, and those of its filters that no other entry uses.
  void forget(Sought& sought);
  // Returns the cached results for the shape; valid until the next shape is queried. ask() also
  // brings its filters up to date.
  Sought& at(ShapeId shape);
  Sought& ask(ShapeId shape);
  // Returns the filter of the nodes for these pods, and counts one user more. Shapes whose pods may
  // use the same nodes share one. It is not up to date yet.
  Filter* filter_of(const Shape& shape, const PodShape& pod);
  // Begins an attempt at placing the gang; it must end before the next one begins. `known`: of the
  // shape, its filters up to date. The caller keeps all arguments meanwhile.
  GangAttempt attempt(const Shape& shape, const Sought& known, const Scene& scene,
                      const Terms& terms) {
    return GangAttempt(memory, shape, known.filters, scene, terms, by_state);
  }
};

}  // namespace subak
