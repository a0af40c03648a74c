// The factors that people know from Slurm, for `share` and `sim share`: Fair Tree (with the tie rule
// that Slurm documents: tied sibling accounts are merged) and classic fair share. Read-only arithmetic
// over a tree given as rows. Source: SchedMD, "Fair Tree" and "Classic Fairshare" pages.
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
  std::string user;            // empty for an account
  std::string parent;          // of an account; of a user row: its account (or empty)
  std::int64_t shares = 1;
  bool parent_shares = false;  // Slurm's FairShare=parent
  double raw_usage = 0;        // of an account: all below it included
  std::int64_t order = 0;      // place among its siblings; breaks ties where the rule has none
};

struct ShareFactors {
  std::string account;
  std::string user;
  double norm_shares = 0;
  double norm_usage = 0;
  double effective_usage = 0;
  double level_fs = 0;                 // +infinity where unused
  std::optional<double> fairshare;     // Fair Tree: users only
};

enum class TieRule { kDocumented, kAsShipped };  // kAsShipped: tied accounts are not merged

// Same order of rows as given. Errors: unknown parent, no root, duplicate row.
Result<std::vector<ShareFactors>> fair_tree(const std::vector<ShareRow>& rows,
                                            TieRule ties = TieRule::kDocumented);
Result<std::vector<ShareFactors>> classic_fair_share(const std::vector<ShareRow>& rows,
                                                     double dampening = 1);

}  // namespace subak
