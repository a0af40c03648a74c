// Finds the jobs that must give GPUs back so that a queued job can start, and the slots that this
// job then gets (docs/design/0049, 0084, 0085).
//
// Threads: one at a time; the object refers to state and search. Cached results do not influence
// what is found.
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

// A claim that the search found and that is not made yet.
struct ClaimFound {
  // The slots that the claimant will take, by rank.
  std::vector<PodSlot> slots;
  // The jobs that must end for the claim, ascending by job id. Some of these jobs may already be
  // ending.
  std::vector<fact::Claimed::Victim> victims;
  ClaimRight right = ClaimRight::kReclaim;
};

// The search for claims in one pass. Several claimants share the collected data: the givers and
// their order. A new search would find the same claims.
class ClaimSearch {
 public:
  // While the object exists, the state may change only by claims, and each claim must be passed to
  // follow(). O(products x log products).
  ClaimSearch(const State& s, Search& search);
  ~ClaimSearch();

  // Finds a claim for a queued job that found no placement in its turn: first by its quota, then by
  // its priority class. nullopt: the job has neither right, or it would have no placement even if
  // all givers had ended. A gang that needs spare nodes claims nothing, because a claim cannot set
  // spare nodes aside until the gang starts.
  //
  // Givers by quota: jobs that can be preempted, below the claimant's reach (reach_of()). Every
  // account on the job's path, up to the first account that is also on the claimant's path, is
  // beyond its quota on the product. At each account, the child with the most allocation for each
  // share gives first. Within an account, the job with the lowest priority gives first, then the
  // job with the latest start. A job whose account would fall below its quota comes last.
  //
  // Givers by class: jobs of the claimant's account and its users that can be preempted and have a
  // lower priority than the claimant. The lowest priority comes first, then the latest start. A
  // claimant that cannot be preempted claims by class only within its quota, because it could not
  // give back borrowed GPUs. The claim takes givers from the front of this order, as few as are
  // enough.
  //
  // A claim by quota for a job that fits on one node takes givers from the front of the order, as
  // few as are enough. A claim for a larger gang takes all givers in a group of nodes, or in as few
  // groups as are enough, in the order of Units::in_order(). The groups are NVLink domains, racks
  // or nodes. If the groups are not enough, the claim takes givers from the front of the order.
  // In the end, the search leaves out givers that the claim does not need, the largest loss first
  // (loss_of() of units.h).
  //
  // The first call for a cluster and a product costs O(nodes + holds). Each call also costs
  // O(victims + log(givers + groups)) placement searches. A gang that needs a single group costs
  // one search for each group that is tried. If sets of givers are tried, there are at most 2 x
  // limits::kMaxClaimSets more searches.
  std::optional<ClaimFound> find(const state::Job& job);
  // Updates the collected data. Call follow() after each claim that was made.
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
  // All GPU products by name. A restored engine may have other numbers for them.
  std::vector<ProductId> products_;
  // The reserved nodes by end of the job; made for the first claimant.
  std::optional<ReservedUntil> firm_;
  std::map<std::pair<ClusterId, ProductId>, std::unique_ptr<Pool>> pools_;
};

}  // namespace subak::derive
