// The order in which jobs give GPUs back for one claimant (docs/design/0084).
// Threads: none; borrows the state and the candidates.
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

// Each next() depends on those before: an account that is no longer beyond its quota gives nothing
// more.
class Givers {
 public:
  // `reach`: the account up to which the claimant is entitled. Only jobs below it give. All of them
  // are offered until offer() is called.
  Givers(const State& s, const Candidates& candidates, const state::Job& claimant, AccountId reach);

  // From now on next() returns jobs of this tree, none of which was returned before.
  void offer(const GiverTree& tree);
  // Returns the next that gives; nullopt: none is left.
  std::optional<Giver> next();
  // The job gives next, whatever the order. next() may return it again.
  void take(const Giver& giver);
  // True if some job gave.
  bool any_gave() const { return !changed_.empty(); }

  // True if the account is on the claimant's own path.
  bool is_common(AccountId id) const { return is_below(s_.tree(), claimant_.leaf, id); }
  // True if the jobs of the account give: each account up to the first one in common is beyond its
  // quota. Those that gave already count as gone.
  bool is_willing(AccountId leaf) const;
  // How much the account holds beyond its quota. nullopt: it has none, so those above decide. The
  // highest account below the common ones is beyond quota with all that it holds, if no account
  // from it up has a quota.
  std::optional<MilliGpu> beyond_quota(AccountId id) const;

 private:
  // The same, without what holds for the highest account.
  std::optional<MilliGpu> excess(AccountId id) const;
  // The next giver at or below the account. `most`: what the accounts above may give.
  std::optional<Giver> next_at(AccountId id, std::optional<MilliGpu> most);
  // The next of the account's own jobs.
  std::optional<Giver> next_of(AccountId id, MilliGpu most);
  // The child that gives next; none: no child of the account has a giver left.
  AccountId next_child(AccountId id) const;
  bool is_exhausted(AccountId id) const;
  void exhaust(AccountId id);

  const State& s_;
  const Candidates& candidates_;
  const state::Job& claimant_;
  const AccountId reach_;
  const GiverTree* offered_;
  WithoutHoldings left_;
  // For each account the index of its first job that has not given.
  std::map<AccountId, std::size_t> first_;
  // Jobs behind that which gave.
  std::set<JobId> gave_;
  // Accounts of which some job gave, by parent.
  std::map<AccountId, std::set<AccountId>> changed_;
  std::set<AccountId> exhausted_;
  // What quotas of any product hold that others own by name.
  MilliGpu taken_by_any_ = 0;
  bool may_fall_below_ = false;
};

}  // namespace subak::derive
