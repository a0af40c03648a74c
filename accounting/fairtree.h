// The factors that people know from Slurm, for `share` and `sim share`: Fair Tree (with the tie
// rule that Slurm documents: tied sibling accounts are merged) and classic fair share. Read-only
// arithmetic over a tree given as rows. Source: SchedMD, "Fair Tree" and "Classic Fairshare" pages.
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
  double raw_usage = 0;        // of an account: all below it included
  std::int64_t order = 0;      // place among its siblings; breaks ties where the rule has none
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

enum class TieRule { kDocumented, kAsShipped };  // kAsShipped: tied accounts are not merged

// Same order of rows as given. Errors name the row: unknown parent, not one root, a row twice, a
// circle, more than limits::kMaxShareTreeDepth levels, a negative number.
Result<std::vector<ShareFactors>> fair_tree(const std::vector<ShareRow>& rows,
                                            TieRule ties = TieRule::kDocumented);
Result<std::vector<ShareFactors>> classic_fair_share(const std::vector<ShareRow>& rows,
                                                     double dampening = 1);

}  // namespace subak
