// The numbers of waiting jobs, and of gated pods that wait in each cluster, by account. A gated pod
// has Subak's scheduling gate, so kube-scheduler ignores it. The bounds of waiting jobs and pods
// use these numbers (accounting/shared_bound.h). The count of an account includes all accounts
// below it.
//
// Threads: one at a time; Jobs owns the object.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"

namespace subak::state {

// The counts of waiting jobs and pods.
class WaitingCount {
 public:
  // Adds `more`, which may be negative, to the counts of waiting jobs. `leaf` is kUnassigned for
  // jobs without an account. O(depth).
  void jobs(const AccountTree& tree, AccountId leaf, std::ptrdiff_t more) {
    jobs_.add(tree, leaf, more);
  }
  // Adds `more` to the counts of waiting jobs that their accounts have not accepted yet
  // (Job::awaits_resume).
  void not_accepted(const AccountTree& tree, AccountId leaf, std::ptrdiff_t more) {
    not_accepted_.add(tree, leaf, more);
  }
  // Adds `more` to the counts of gated pods that wait in a cluster.
  void pods(const AccountTree& tree, ClusterId cluster, AccountId leaf, std::ptrdiff_t more);
  // Moves the counts of an account that the tree has just moved from the parent `from`. O(depth)
  // for each cluster.
  void moved(const AccountTree& tree, AccountId account, AccountId from);

  // jobs() and pods() return the count of all accounts, or the count at or below one account. For
  // kUnassigned, they return the count of those without an account. O(log accounts).
  std::size_t jobs() const { return jobs_.all; }
  std::size_t jobs(AccountId account) const { return jobs_.of(account); }
  // Returns how many waiting jobs at or below the account were accepted by their own accounts.
  std::size_t accepted(AccountId account) const {
    return jobs_.of(account) - not_accepted_.of(account);
  }
  std::size_t pods(ClusterId cluster) const;
  std::size_t pods(ClusterId cluster, AccountId account) const;

  // Returns the accounts with at least `least` gated pods that wait in a cluster, by id. The root
  // and kUnassigned are not among them. `least` is at least 1. O(accounts with waiting pods), or
  // O(1) if the whole cluster has fewer than `least` such pods.
  std::vector<AccountId> crowded(ClusterId cluster, std::size_t least) const;

  friend bool operator==(const WaitingCount&, const WaitingCount&) = default;

 private:
  struct Counts {
    std::size_t all = 0;
    // The count of each account except the root. No count is 0.
    std::map<AccountId, std::size_t> by_account;
    void add(const AccountTree& tree, AccountId leaf, std::ptrdiff_t more);
    std::size_t of(AccountId account) const;
    void moved(const AccountTree& tree, AccountId account, AccountId from);
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  Counts jobs_, not_accepted_;
  // The counts of pods of each cluster. No entry is empty.
  std::map<ClusterId, Counts> pods_;
};

}  // namespace subak::state
