// Makes a GangAttempt on a small fleet, so that a test can call one of the search's ways to place a
// gang alone (placement/ways).
#pragma once

#include "builders.h"
#include "placement/search/search_impl.h"
#include "placement/ways/ways.h"

namespace subak::build {

struct AttemptOn {
  AttemptOn(Site& site, const GangRequest& r, AlikeNodes alike = AlikeNodes::kJudgedOnce,
            JobId owner = JobId())
      : AttemptOn(site, site.now(), r, alike, owner) {}
  AttemptOn(Site& site, FleetView seen, const GangRequest& r,
            AlikeNodes alike = AlikeNodes::kJudgedOnce, JobId owner = JobId())
      : view(std::move(seen)),
        memory(site, alike),
        shape(site.intern(kCluster, r)),
        attempt(memory.attempt(
            site.impl().shape(shape), memory.ask(shape), Scene(view),
            {.topology = r.terms.topology, .segment = r.terms.segment, .owner = owner})) {}

  // The complete gang, as one segment.
  Runs all() const { return attempt.query().runs(0, attempt.query().pods()); }
  // The nodes of the pods on trial, by rank; 0: not on trial.
  std::vector<std::uint32_t> nodes() { return nodes_of(attempt.trial().slots()); }
  std::size_t on_trial() { return attempt.trial().mark(); }

  FleetView view;
  Search::Impl memory;
  ShapeId shape;
  GangAttempt attempt;
};

inline constexpr AlikeNodes kBothWays[] = {AlikeNodes::kJudgedOnce, AlikeNodes::kJudgedEach};

}  // namespace subak::build
