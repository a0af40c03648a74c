// The account file of `account apply` and `account diff`:
//
//   accounts:
//     - path: ml.vision
//       shares: 3
//       quota: gpu=16            # as --quota
//       limit: none
//       borrow: unlimited
//       lend: 8                  # kept, but has no effect yet
//       namespaces: [team-a, prod/team-b]
//       held: false
//       time-limits: enforced
//       draining: false
//
// or the bare list. Parents before children or not.
// A field that is left out stays as it is. Threads: none.
#pragma once

#include <string>
#include <vector>

#include "cli/account_fields.h"

namespace subak::cli {

// Parents before children. Throws Failure (usage) with file and line: not YAML, an unknown field, a
// path missing or twice.
std::vector<AccountWish> parse_account_file(const std::string& text, const std::string& name);

}  // namespace subak::cli
