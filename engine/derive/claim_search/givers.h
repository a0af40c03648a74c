// The givers for one claimant, in their order (docs/design/0049). A claimant is a waiting job for
// which a claim sets GPUs aside. A giver is a job that may have to give its GPUs to the claimant.
// Threads: one at a time; refers to state and candidates. Private to engine/derive/claim_search.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "accounting/quota/without.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/derive/claim_search/candidates.h"
#include "engine/state/state.h"

namespace subak::derive {

// Yields the givers one after the other. Each result of next() depends on the earlier ones: an
// account that is no longer beyond its quota gives no more GPUs. Example: bio is 4 GPUs beyond its
// quota. Once two jobs of bio with 2 GPUs each have given, next() goes on with other accounts. Only
// when no account is beyond its quota by a whole job, next() also returns jobs whose account then
// falls below its quota.
class Givers {
 public:
  // `reach` is the highest account up to which the claimant is within quota (reach_of()). Only jobs
  // below this account give GPUs. next() returns jobs of candidates.tree() until offer() is called.
  Givers(const State& s, const Candidates& candidates, const state::Job& claimant, AccountId reach);

  // From now on, next() returns jobs of this tree. None of them may have been returned before.
  void offer(const GiverTree& tree);
  // Returns the next job that gives; nullopt: no giver is left.
  std::optional<Giver> next();
  // Makes this job give next, regardless of the order. next() may return the job again.
  void take(const Giver& giver);
  // True if next() or take() has made some job give.
  bool any_gave() const { return !changed_.empty(); }

  // True if the account is on the claimant's own path.
  bool is_common(AccountId id) const { return is_below(s_.tree(), claimant_.leaf, id); }
  // True if the jobs of the account `leaf` give: each account on its path that is not on the
  // claimant's path is beyond its quota. Jobs that have already given count as ended.
  bool is_willing(AccountId leaf) const;
  // Returns how many milli-GPU of the product the account may give: those beyond its quota.
  // nullopt: it has no quota, so accounts above it decide. Exception: if no account from this one
  // up to the root has a quota of its own, the highest one beside the claimant's path gives all its
  // GPUs.
  std::optional<MilliGpu> beyond_quota(AccountId id) const;

 private:
  // Returns beyond_quota() without the exception for the highest account.
  std::optional<MilliGpu> excess(AccountId id) const;
  // Returns the next giver at or below the account. `most`: the milli-GPU that the accounts above
  // may give.
  std::optional<Giver> next_at(AccountId id, std::optional<MilliGpu> most);
  // Returns the next giver among the account's own jobs. `most` bounds the milli-GPU that the job
  // holds.
  std::optional<Giver> next_of(AccountId id, MilliGpu most);
  // Returns the child that gives next; none: no child of the account has a giver left.
  AccountId next_child(AccountId id) const;
  bool is_exhausted(AccountId id) const;
  void exhaust(AccountId id);

  const State& s_;
  const Candidates& candidates_;
  const state::Job& claimant_;
  const AccountId reach_;
  const GiverTree* offered_;
  WithoutHoldings left_;
  // For each account, the index in its list of givers of the first job that has not given.
  std::map<AccountId, std::size_t> first_;
  // Jobs that have given, although a job of their account that comes earlier in the order has not.
  std::set<JobId> gave_;
  // The accounts with a job at or below them that has given, by their parent account.
  std::map<AccountId, std::set<AccountId>> changed_;
  std::set<AccountId> exhausted_;
  // The milli-GPU that quotas of any product cover now, although named quotas guarantee these GPUs.
  MilliGpu taken_by_any_ = 0;
  // True: next() may return a job whose account then falls below its quota.
  bool may_fall_below_ = false;
};

}  // namespace subak::derive
