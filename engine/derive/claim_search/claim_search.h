// Finds which jobs give GPUs so that a queued job can start, and which GPUs it then gets
// (docs/design/0084, 0085).
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
  ClaimRight right = ClaimRight::kReclaim;
};

// The search of one pass. Several claimants share what it collects: the jobs that may give, and
// their order. A new search finds the same claims.
class ClaimSearch {
 public:
  // O(1). While it is there, the state may change only by claims, and each is passed to follow().
  ClaimSearch(const State& s, Search& search);
  ~ClaimSearch();

  // Finds a claim for a queued job that finds no placement in its turn: first by its quota, then by
  // its priority class. nullopt: the job has neither right, or no placement exists even without all
  // that may give. A gang that needs free nodes for replacements claims nothing: a claim does not
  // hold these nodes until it starts.
  //
  // Who gives by quota: jobs of accounts beyond their quota, below the account up to which the
  // claimant is entitled (reach_of()), that can be preempted. Every account between such a job and
  // the first one that it has in common with the claimant is beyond its quota on that product. At
  // each account the child with the most allocation for its shares gives first; within an account
  // the job with the lowest priority, then the latest start. A job whose account would fall below
  // its quota comes last.
  //
  // Who gives by class: jobs of the claimant's own account and its users that can be preempted and
  // have a lower priority. The lowest priority comes first, then the latest start. A claimant that
  // cannot be preempted itself claims by class only within its quota: it could not give back what
  // it would borrow. The fewest first of these givers that are enough give.
  //
  // Where, by quota: for a job that one node could hold, the fewest first givers that are enough
  // give. For a larger gang, one group of nodes, or as few of the first groups as are enough, with
  // all that gives there (Units::in_order()). The groups are NVLink domains, racks or nodes. If
  // these are not enough, the fewest first givers. Who is not needed is left out, the largest loss
  // first.
  //
  // The first call for a cluster and a product: O(nodes and their holds). Then O(1) searches for
  // each victim, and a search for each binary digit of the number of givers or units.
  std::optional<ClaimFound> find(const state::Job& job);
  // Call it after each claim that was made.
  void follow(const state::Claim& claim);

 private:
  struct Pool;
  Pool& pool(ClusterId cluster, ProductId product);
  // The nodes that are reserved for jobs within quota until the job would have ended.
  const ReservedNodes& firm(const state::Job& job);
  std::optional<ClaimFound> by_quota(const state::Job& job, AccountId reach, ProductId product);
  std::optional<ClaimFound> by_class(const state::Job& job, ProductId product);

  const State& s_;
  Search& search_;
  // Made for the first claimant.
  std::optional<ReservedUntil> firm_;
  std::map<std::pair<ClusterId, ProductId>, std::unique_ptr<Pool>> pools_;
};

}  // namespace subak::derive
