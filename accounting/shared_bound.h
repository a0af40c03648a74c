// A bound that all accounts share, such as how many jobs may wait, and who may still take of it. It
// has two parts. `most` is for all alike, first come first served: one account alone may fill it.
// The reserve beyond it is for accounts that have few, so that one tenant cannot shut out the
// others (docs/design/0079).
//
// Who fills the bound is a subtree that has at least a sixteenth of `most` and no child that has: a
// team with all its users and sub-accounts, or a department of many such teams. Nobody at or below
// it takes of the reserve. Another account takes of it as long as it has less than an eighth of
// what is left of it, or kFewest.
//
// Pure functions. Units: counts. Threads: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "accounting/tree.h"
#include "core/ids.h"

namespace subak {

struct SharedBound {
  std::size_t most = 0;     // for all alike
  std::size_t reserve = 0;  // beyond it

  static constexpr std::size_t kFewest = 16;
  static constexpr std::size_t kHeavyPart = 16;  // of `most`
  static constexpr std::size_t kFewPart = 8;     // of what is left of the reserve
  std::size_t heavy() const { return std::max<std::size_t>(most / kHeavyPart, 1); }
};

// Whether a child of the account has so much that the account itself is not to blame.
template <class Count>
bool has_heavy_child(const SharedBound& bound, const AccountTree& tree, AccountId id,
                     const Count& count) {
  const auto& children = tree.node(id).children;
  return std::any_of(children.begin(), children.end(),
                     [&](AccountId child) { return count(child) >= bound.heavy(); });
}

// How many there are at or below the account, without its heavy children: those are to blame for
// themselves.
template <class Count>
std::size_t count_beside_heavy(const SharedBound& bound, const AccountTree& tree, AccountId id,
                               const Count& count) {
  std::size_t out = count(id);
  for (const AccountId child : tree.node(id).children) {
    if (count(child) >= bound.heavy()) out -= count(child);
  }
  return out;
}

// One more for `account`, which is in the tree or kUnassigned. `count(id)`: how many there are at
// or below that account, of kUnassigned those of no account; `all`: in all. O(depth + children of
// one account).
template <class Count>
bool may_take(const SharedBound& bound, const AccountTree& tree, AccountId account, std::size_t all,
              const Count& count) {
  if (all < bound.most) return true;
  if (all >= bound.most + bound.reserve) return false;
  const std::size_t left = bound.most + bound.reserve - all;
  const auto has_few = [left](std::size_t has) {
    return has < SharedBound::kFewest || has * SharedBound::kFewPart < left;
  };
  if (account == kRootAccount) return true;  // whoever may add to the root looks after all
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

// Who has most of what there is, below all that have it only by way of one child: for the words of
// a refusal.
template <class Count>
AccountId who_fills(const AccountTree& tree, const Count& count) {
  AccountId id = kRootAccount;
  for (;;) {
    const auto& children = tree.node(id).children;
    const auto largest =
        std::max_element(children.begin(), children.end(),
                         [&](AccountId a, AccountId b) { return count(a) < count(b); });
    if (largest == children.end() || 2 * count(*largest) <= count(id)) return id;
    if (tree.node(*largest).spec.user) return id;
    id = *largest;
  }
}

// "ml.vision has 999990 of them"; "no account has half of them".
template <class Count>
std::string who_fills_text(const AccountTree& tree, const Count& count) {
  const AccountId id = who_fills(tree, count);
  if (id == kRootAccount) return "no account has half of them";
  return tree.node(id).spec.path + " has " + std::to_string(count(id)) + " of them";
}

}  // namespace subak
