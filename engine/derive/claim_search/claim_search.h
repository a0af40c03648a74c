// Finds which jobs give GPUs back so that a job within its quota can start, and which GPUs it then
// gets (docs/design/0084).
//
// Threads: none; borrows state and search. The memory of both decides nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "engine/derive/reservations.h"
#include "engine/state/state.h"
#include "placement/search/search.h"

namespace subak::derive {

// What a claim would be.
struct ClaimFound {
  // By rank.
  std::vector<PodSlot> slots;
  // Ascending by job. Some may be ending already.
  std::vector<fact::Claimed::Victim> victims;
};

// The search of one pass. Several claimants share what it collects: the jobs that may give, and
// their order. A new search finds the same claims.
class ClaimSearch {
 public:
  // O(1). While it is there, the state may change only by claims, and each is passed to follow().
  ClaimSearch(const State& s, Search& search);
  ~ClaimSearch();

  // Finds a claim for a queued job that finds no placement in its turn. nullopt: its accounts have
  // a right to nothing that others borrow, or ending all of that would not help. A gang that needs
  // free nodes for replacements claims nothing: a claim does not hold these nodes until it starts.
  //
  // Who gives: jobs of accounts beyond their quota, below the account up to which the claimant is
  // entitled (reach_of()), that can be preempted. Every account between such a job and the first
  // one that it has in common with the claimant is beyond its quota on that product. At each
  // account the child with the most allocation for its shares gives first; within an account the
  // job with the lowest priority, then the latest start. A job whose account would fall below its
  // quota comes last.
  //
  // Where: for a job that one node could hold, the fewest first of these givers that are enough.
  // For a larger gang, one group of nodes, or as few of the first groups as are enough, with all
  // that gives there (Units::in_order()). The groups are NVLink domains, racks or nodes. If these
  // are not enough, the fewest first givers. Who is not needed is left out, the largest loss first.
  //
  // The first call for a cluster and a product: O(nodes and their holds). Then O(1) searches for
  // each victim, and a search for each binary digit of the number of givers or units.
  std::optional<ClaimFound> find(const state::Job& job);
  // Call it after each claim that was made.
  void follow(const state::Claim& claim);

 private:
  struct Pool;
  Pool& pool(ClusterId cluster, ProductId product);
  std::optional<ClaimFound> find_on(const state::Job& job, AccountId reach, ProductId product);

  const State& s_;
  Search& search_;
  // Made for the first claimant.
  std::optional<ReservedUntil> firm_;
  std::map<std::pair<ClusterId, ProductId>, std::unique_ptr<Pool>> pools_;
};

}  // namespace subak::derive
