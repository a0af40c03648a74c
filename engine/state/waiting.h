// How many jobs wait, and how many pods wait behind gates in each cluster, by account: what the bounds of these are
// judged by (accounting/shared_bound.h). Counts are at or below each account.
//
// Threads: none; Jobs owns it.
#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>

#include "accounting/tree.h"
#include "core/ids.h"

namespace subak::state {

class WaitingCount {
 public:
  // `leaf`: where they sit; kUnassigned: of no account. More of them, or (negative) fewer. O(depth).
  void jobs(const AccountTree& tree, AccountId leaf, std::ptrdiff_t more) {
    jobs_.add(tree, leaf, more);
  }
  void pods(const AccountTree& tree, ClusterId cluster, AccountId leaf, std::ptrdiff_t more);

  std::size_t jobs() const { return jobs_.all; }
  std::size_t jobs(AccountId account) const { return jobs_.of(account); }
  std::size_t pods(ClusterId cluster) const;
  std::size_t pods(ClusterId cluster, AccountId account) const;

  friend bool operator==(const WaitingCount&, const WaitingCount&) = default;

 private:
  struct Counts {
    std::size_t all = 0;
    std::unordered_map<AccountId, std::size_t> by_account;  // looked up alone; none is 0
    void add(const AccountTree& tree, AccountId leaf, std::ptrdiff_t more);
    std::size_t of(AccountId account) const;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  Counts jobs_;
  std::map<ClusterId, Counts> pods_;  // none is 0
};

}  // namespace subak::state
