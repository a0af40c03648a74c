// Divides a bound that all accounts share, such as the most waiting jobs, so that one tenant cannot
// lock out the others (docs/design/0079). The bound counts items, such as jobs, and has two parts.
// Any account may use the first part, `most`, and one account alone may fill it. The second part,
// the *reserve*, is only for accounts that have few items.
//
// When the first part is full, two rules decide:
//   - A subtree of accounts is *heavy* if it has at least 1/16 as many items as `most` says. A
//     heavy subtree without a heavy child fills the bound: for example, a team with all its users
//     and sub-accounts, or a department of many small teams. No account in it may use the reserve.
//   - Any other account may use the reserve while its count is below 1/8 of the free reserve, or
//     below kFewest. The items of a user count for the user's account.
//
// Example: at most 1,000,000 jobs wait, and 100,000 more in the reserve. The team ml has filled the
// first part. An account without jobs may still add 11,111 jobs: 88,889 of the reserve are then
// free, and 1/8 of them is 11,111. The account ml may add none.
//
// Units: counts. Errors: none.
// Threads: any; pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "accounting/tree.h"
#include "core/ids.h"
#include "core/must.h"

namespace subak {

// The bound in its two parts. Callers take both from core/limits.h.
struct SharedBound {
  // The number of items that any account may fill.
  std::size_t most = 0;
  // The number of items beyond `most`, only for accounts that have few items.
  std::size_t reserve = 0;

  // An account with fewer than kFewest items counts as having few, even if little of the reserve is
  // left.
  static constexpr std::size_t kFewest = 16;
  // A subtree with at least 1/kHeavyPart of `most` is heavy.
  static constexpr std::size_t kHeavyPart = 16;
  // An account also has few items if its count is below 1/kFewPart of the free reserve.
  static constexpr std::size_t kFewPart = 8;
  // Returns the count from which a subtree is heavy; at least 1.
  std::size_t heavy() const { return std::max<std::size_t>(most / kHeavyPart, 1); }
};

// True if a child of the account is heavy: its count is at least heavy(). An account with a heavy
// child does not itself fill the bound.
template <class Count>
bool has_heavy_child(const SharedBound& bound, const AccountTree& tree, AccountId id,
                     const Count& count) {
  const auto& children = tree.node(id).children;
  return std::any_of(children.begin(), children.end(),
                     [&](AccountId child) { return count(child) >= bound.heavy(); });
}

// Returns the count at or below the account, without the counts of its heavy children. A heavy
// child is judged on its own.
template <class Count>
std::size_t count_beside_heavy(const SharedBound& bound, const AccountTree& tree, AccountId id,
                               const Count& count) {
  std::size_t out = count(id);
  for (const AccountId child : tree.node(id).children) {
    const std::size_t of_child = count(child);
    if (of_child < bound.heavy()) continue;
    must(of_child <= out, "an account counts what its children count");
    out -= of_child;
  }
  return out;
}

// True if `account`, which is in the tree or kUnassigned, may have one more item. `count(id)`
// returns the count at or below that account, and for kUnassigned the count that belongs to no
// account. `all` is the count of all items. O(depth + children of one account).
template <class Count>
bool may_take(const SharedBound& bound, const AccountTree& tree, AccountId account, std::size_t all,
              const Count& count) {
  if (all < bound.most) return true;
  if (all >= bound.most + bound.reserve) return false;
  const std::size_t left = bound.most + bound.reserve - all;
  const auto has_few = [left](std::size_t has) {
    return has < SharedBound::kFewest || has * SharedBound::kFewPart < left;
  };
  // a caller who may add to the root manages all accounts
  if (account == kRootAccount) return true;
  if (account == kUnassigned) return has_few(count(account));
  for (AccountId id = account; id && id != kRootAccount; id = tree.node(id).parent) {
    if (count(id) < bound.heavy()) continue;
    if (!has_heavy_child(bound, tree, id, count)) return false;
    break;
  }
  const bool user = tree.node(account).spec.user;
  const AccountId counted = user ? tree.node(account).parent : account;
  return has_few(count_beside_heavy(bound, tree, counted, count));
}

// Returns the account that fills the bound, for the message of a refusal. The search starts at the
// root. It goes down as long as some child that is not a user has more than half of its parent's
// count.
template <class Count>
AccountId who_fills(const AccountTree& tree, const Count& count) {
  AccountId id = kRootAccount;
  for (;;) {
    const auto& children = tree.node(id).children;
    const auto largest =
        std::max_element(children.begin(), children.end(),
                         [&](AccountId a, AccountId b) { return count(a) < count(b); });
    if (largest == children.end()) return id;
    must(count(*largest) <= count(id), "an account counts what its children count");
    if (2 * count(*largest) <= count(id)) return id;
    if (tree.node(*largest).spec.user) return id;
    id = *largest;
  }
}

// Returns a text such as "ml.vision has 999990 of them" or "no account has half of them".
template <class Count>
std::string who_fills_text(const AccountTree& tree, const Count& count) {
  const AccountId id = who_fills(tree, count);
  if (id == kRootAccount) return "no account has half of them";
  return tree.node(id).spec.path + " has " + std::to_string(count(id)) + " of them";
}

}  // namespace subak
