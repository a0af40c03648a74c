// Moves an account, with all accounts and users below it, to another path: a new name, another
// parent, or both. The account keeps its id, its usage, its quota and its holds.
//
// The accounts above the old place lose, and those above the new place gain, exactly what the
// account has: GPUs, sums of jobs, claims, usage. Usage without decay is exact. Decayed usage has
// the error of two meters (accounting/decay.h). The surplus of an account above changes by the
// surplus of the account that moves, but does not fall below 0.
//
// The callers move what the tree does not have: the holds in the books of budgets, and the waiting
// jobs.
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

// Returns why the account cannot get the path `to`, with the field `path` or `to`. nullopt: it can.
// kInvalid: the account is the root, the form of the path is wrong, or the new place is below the
// account. kInvalid also if a path or level below it would be beyond its bound. kExists: an account
// has the path, or had it before it was deleted. kNotFound: the new parent does not exist. A user
// can only get another name below its account. O(accounts).
std::optional<Error> check_move(const AccountTree& tree, AccountId id, const std::string& to);

// Returns the live accounts at or below the account, parents first, by id. O(result).
std::vector<AccountId> accounts_below(const AccountTree& tree, AccountId id);

// Returns all accounts, removed ones too, in an order in which each comes after its parent. If no
// account was ever moved, this is the order of ids. O(accounts).
std::vector<AccountId> parents_first(const AccountTree& tree);

class AccountMove {
 public:
  // The most moves of one account that the tree remembers.
  static constexpr std::size_t kMostKept = 32;

  // Moves the account at `now`. check_move() must have passed. Second meters move too. Removed
  // accounts below the account move with it. O(accounts).
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
  static void refresh_quotas(AccountTree& tree, AccountId from, AccountId to, TimeMs now);
};

}  // namespace subak
