// Moves an account, with all accounts and users below it, to another path: a new name, another
// parent, or both. The account keeps its id, its usage, its quota and its holds.
//
// At the old parent and above it, the move subtracts the account's GPUs, sums of jobs, claims and
// usage. At the new parent and above it, the move adds them. Accounts at or above both parents do
// not change. A claim is an amount of GPUs that Subak sets aside for a waiting job. Usage without
// decay is exact. Decayed usage has the error of two meters (accounting/decay.h). The surplus of
// these accounts changes by the surplus of the moved account, but does not fall below 0.
//
// The engine calls these functions. It must also move the data outside the tree: the holds in the
// books of budgets (accounting/budget/budget_book.h), and the waiting jobs (ReadyQueue::moved()).
//
// Units: as in accounting/tree.h.
// Errors: only check_move() returns an error. Broken preconditions are asserted.
// Threads: one at a time; the owner of the tree calls the functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accounting/tree.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// Returns why the account cannot get the path `to`, with the field `path` or `to`; nullopt if it
// can. kInvalid: the account is the root, the path has a wrong form, or the path is below the
// account. kInvalid: an account that moves would have too long a path or too many levels above it.
// kInvalid: a user would move to another account. kExists: an account, live or deleted, has the
// path. kNotFound: the new parent does not exist. O(accounts).
std::optional<Error> check_move(const AccountTree& tree, AccountId id, const std::string& to);

// Returns the live accounts at or below the account: first the account, then its children by id,
// then their children, and so on. O(result).
std::vector<AccountId> accounts_below(const AccountTree& tree, AccountId id);

// Returns all accounts, removed ones too, in an order in which each comes after its parent. If no
// account was ever moved, this is the order of ids. O(accounts).
std::vector<AccountId> parents_first(const AccountTree& tree);

// The functions that change the tree. They are members of a class only because AccountTree names
// this class as a friend.
class AccountMove {
 public:
  // The most moves of one account that the tree remembers.
  static constexpr std::size_t kMostKept = 32;

  // Moves the account at `now`, with the second meters if a change of the half-life is under way
  // (accounting/second_meters.h). Removed accounts below the account move with it. check_move()
  // must have passed. O(accounts).
  static void make(AccountTree& tree, AccountId id, const std::string& to, TimeMs now);
  // Sets the revision of an account that make() gave another path.
  static void set_revision(AccountTree& tree, AccountId id, std::int64_t revision);
  // Restores JobCounts::moves from a checkpoint.
  static void restore(AccountTree& tree, AccountId id, std::vector<PastMove> moves);

 private:
  static void rename(AccountTree& tree, const std::vector<AccountId>& moving,
                     const std::string& to);
  static void link(AccountTree& tree, AccountNode& node, AccountId to);
  static void add(AccountTree& tree, AccountNode& above, const AccountNode& node, int sign,
                  const DecayInstant& at);
  static void refresh_quotas(AccountTree& tree, AccountId from, AccountId to, AccountId both,
                             TimeMs now);
};

}  // namespace subak
