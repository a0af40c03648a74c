// Finds a claim for a queued job, the claimant (docs/design/0049, 0084, 0085). A claim has the jobs
// that must end so that the claimant can start, its victims, and the slots that it then takes. A
// slot is a node and the GPUs there that one pod takes. Example: a job within the quota of ml needs
// 8 GPUs, and bio holds 8 beyond its quota. The victims are jobs of bio. A *giver* is a job that
// may have to give GPUs to the claimant, by quota or by priority class.
// The pass uses this search (engine/decide/claims.h).
// Threads: one at a time; the object refers to state and search. The caches do not change results.
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

// A claim that the search found. The caller has not made it yet.
struct ClaimFound {
  // The slots that the claimant will take, by rank.
  std::vector<PodSlot> slots;
  // The jobs that must end for the claim, ascending by job id. Some of these jobs may already be
  // ending.
  std::vector<fact::Claimed::Victim> victims;
  ClaimRight right = ClaimRight::kReclaim;
};

// The search for claims in one pass. All claimants share the collected data: the givers and their
// order. A new object for each claimant would find the same claims, but more slowly.
class ClaimSearch {
 public:
  // Both arguments must outlive the object. While the object exists, only new claims may change the
  // state, and each must be passed to follow(). O(products x log products).
  ClaimSearch(const State& s, Search& search);
  ~ClaimSearch();

  // Finds a claim for a queued job that found no placement in its turn: first by its quota, then by
  // its priority class. nullopt: the job has neither right, or it would have no placement even if
  // all givers had ended. A gang that needs spare nodes claims nothing, because a claim cannot set
  // spare nodes aside until the gang starts.
  //
  // By quota: the givers are preemptible jobs below the claimant's reach (reach_of()). The reach is
  // the highest account up to which the claimant is within the quotas on its path. A job gives only
  // while each account on its path is beyond its quota on the product. Accounts that are also on
  // the claimant's path do not count. Example: ml has a quota of 8 and holds nothing; bio has a
  // quota of 4 and holds 12. A job of ml claims 8 GPUs of bio. Then bio is at its quota, and gives
  // no more. The order of these givers:
  //   - among the children of an account, the child with the most GPUs for each of its shares first
  //   - among the jobs of an account, the job with the lowest priority first, then the latest
  //     start; jobs that take long to end (is_slow()) come after all others
  //   - last, jobs whose end would bring their account below its quota
  //
  // By class: the givers are preemptible jobs of the claimant's account and its users, with a lower
  // priority than the claimant. The lowest priority comes first, then the latest start. A claimant
  // that cannot be preempted claims by class only within its quota, because it could not give back
  // borrowed GPUs.
  //
  // A claim takes as few givers as are enough, from the front of the order. There is one exception:
  // a claim by quota for a gang that is larger than a node. It first tries groups of nodes (NVLink
  // domains, racks or nodes) in the order of Units::in_order(), and takes all givers in as few
  // groups as are enough. In the end, the search leaves out givers that the claim does not need,
  // the largest loss first (loss_of() of units.h).
  //
  // Cost: the first call for a cluster and a product costs O(nodes + holds). Each call also costs
  // O(victims + log(givers + groups)) placement searches. A gang that needs a single group costs
  // one search for each group that the function tries. If no givers from the front of the order are
  // enough, the function tries other sets of givers, with at most 2 x limits::kMaxClaimSets more
  // searches.
  std::optional<ClaimFound> find(const state::Job& job);
  // Updates the collected data. Call follow() after each claim that was made.
  void follow(const state::Claim& claim);

 private:
  struct Pool;
  Pool& pool(ClusterId cluster, ProductId product);
  // Returns the nodes that the job may not use, because they are reserved for jobs within quota
  // (ReservedUntil::Part::kFirm) until the job would end.
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
