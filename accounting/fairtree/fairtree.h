// Slurm's fair-share factors, Fair Tree and classic fair share, for the commands `subak share` and
// `subak sim share`. No decision of Subak uses them. The input is an account tree as a list of
// rows.
// Sources: the pages "Fair Tree Fairshare Algorithm" and "Classic Fairshare Algorithm" of SchedMD's
// Slurm documentation.
//
// S is a row's part of the sum of shares of the row and its siblings. U is the row's part of its
// parent's usage.
//
// Fair Tree    level_fs = S / U. A walk visits the tree from the root. Of siblings, the one with
//              the highest level_fs comes first. Users get the ranks N, N-1, ... 1 in the order of
//              the walk, and fairshare = rank / N. Users that tie share a rank. If accounts tie,
//              the walk merges their children into one list and orders this list as siblings. A
//              user that ties with an account shares the rank of that account's first user.
// classic      fairshare = 2^-((E / P) / dampening). P is the product of S over the path. V is the
//              row's part of the root's usage. E is the effective usage: V for a row directly below
//              the root, and V + (E of the parent - V) x S for every other row.
//
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/account_limits.h"
#include "core/error.h"

namespace subak {

// One row of the tree: an account (user empty) or a user in it.
struct ShareRow {
  // The name of the account, unique among accounts.
  std::string account;
  // The name of the user; empty for an account.
  std::string user;
  // The account above this row. The row of a user has the user's account here, or an empty text.
  std::string parent;
  // The row's shares, from 0. S follows from the shares of the row and of its siblings.
  std::int64_t shares = 1;
  // True: Slurm's FairShare=parent.
  bool parent_shares = false;
  // Usage in any unit. An account has the sum of all rows below it.
  double raw_usage = 0;
  // The row's position among its siblings. This position decides between rows that are otherwise
  // equal.
  std::int64_t order = 0;
};

// The result for one row, in Slurm's terms. Parts are numbers from 0 to 1.
struct ShareFactors {
  // The names of the account and the user, as in the row.
  std::string account;
  std::string user;
  // The row's part of the shares: S for Fair Tree, and P for classic fair share.
  double norm_shares = 0;
  // The row's usage as a part of the root's usage.
  double norm_usage = 0;
  // Fair Tree: the row's usage as a part of its parent's usage. Classic: E.
  double effective_usage = 0;
  // Fair Tree: S / U; +infinity without usage and for parent_shares, and 0 for a row without
  // shares. The row with the highest value comes first.
  double level_fs = 0;
  // The factor, 0 to 1. In Fair Tree only users have a factor.
  std::optional<double> fairshare;
};

// kDocumented: the rule as described above. kAsShipped: the rule of Slurm's program, which does not
// merge tied accounts.
enum class TieRule { kDocumented, kAsShipped };

// Returns one result for each row, in the order of the rows. Errors name the row. kNotFound: a
// parent is unknown. kExists: a row comes twice. kInvalid: there is not exactly one root, or there
// is a cycle, a negative number, or more than limits::kMaxShareTreeDepth levels.
Result<std::vector<ShareFactors>> fair_tree(const std::vector<ShareRow>& rows,
                                            TieRule ties = TieRule::kDocumented);
// Returns one result for each row, by the rule of classic fair share. `dampening` is Slurm's
// FairShareDampeningFactor. The error is kInvalid if `dampening` is not in 1 to 65535.
Result<std::vector<ShareFactors>> classic_fair_share(const std::vector<ShareRow>& rows,
                                                     double dampening = 1);

}  // namespace subak
