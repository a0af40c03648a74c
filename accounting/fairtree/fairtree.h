// Slurm's fair-share factors, for `share` and `sim share`: Fair Tree and classic fair share, over a
// tree given as rows.
// Sources: the pages "Fair Tree Fairshare Algorithm" and "Classic Fairshare Algorithm" of SchedMD's
// Slurm documentation.
//
// S is a row's part of its siblings' shares, U its part of its parent's usage.
//
// Fair Tree    level_fs = S / U. The tree is walked from the root, siblings by level_fs, the
//              highest first. Users get the ranks N, N-1, ... 1 in the order in which the walk
//              meets them, and fairshare = rank / N. Users that tie share a rank. Accounts that tie
//              have their children merged into one list, which is ordered as siblings are. A user
//              that ties with an account shares the rank of its first user.
// classic      fairshare = 2^-((E / P) / dampening). P is the product of S over the path. E is the
//              effective usage: directly below the root the row's part V of the root's usage, else
//              V + (E of the parent - V) x S.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

namespace subak {

// One row of the tree: an account (user empty) or a user in it.
struct ShareRow {
  std::string account;
  std::string user;    // empty for an account
  std::string parent;  // of an account; of a user row: its account (or empty)
  std::int64_t shares = 1;
  bool parent_shares = false;  // Slurm's FairShare=parent
  double raw_usage = 0;        // in any unit; of an account: all below it included
  std::int64_t order = 0;      // position among its siblings; breaks ties that the rule leaves
};

struct ShareFactors {
  std::string account;
  std::string user;
  double norm_shares = 0;           // Fair Tree: among its siblings; classic: of the whole
  double norm_usage = 0;            // as part of the root's
  double effective_usage = 0;       // Fair Tree: as part of its parent's
  double level_fs = 0;              // +infinity where unused, and for parent_shares
  std::optional<double> fairshare;  // under Fair Tree users have one, accounts none
};

// kDocumented: as above. kAsShipped: as Slurm's program does it, without the merge of tied
// accounts.
enum class TieRule { kDocumented, kAsShipped };

// Returns one result for each row, in the order of the rows. Errors name the row. kNotFound:
// unknown parent. kExists: a row that comes twice. kInvalid: not exactly one root, a cycle, a
// negative number, or more than limits::kMaxShareTreeDepth levels.
Result<std::vector<ShareFactors>> fair_tree(const std::vector<ShareRow>& rows,
                                            TieRule ties = TieRule::kDocumented);
// The same for classic fair share. `dampening` is Slurm's FairShareDampeningFactor; kInvalid if it
// is not in 1 to 65535.
Result<std::vector<ShareFactors>> classic_fair_share(const std::vector<ShareRow>& rows,
                                                     double dampening = 1);

}  // namespace subak
