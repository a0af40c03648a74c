// The account file of `account apply` and `account diff`:
//
//   accounts:
//     - path: ml.vision
//       shares: 3
//       quota: gpu=16
//       limit: gpu=32,jobs=20
//       user-limit: gpu=8
//       budget: 10000h/month
//       borrow: unlimited
//       lend: 8
//       namespaces: [team-a, prod/team-b]
//       held: false
//       time-limits: enforced
//       default-time-limit: 4h
//       draining: false
//       managed-by: ci
//
// A value has the form that the flag of `account set` with this name has. The file may also be the
// list alone, without `accounts:`. Parents may come before or after children. An omitted field
// stays unchanged.
// Threads: any; pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/text/account_fields.h"
#include "server/yaml/document.h"

namespace subak::cli {

// Parses the file and returns the accounts, parents before children. `name`: the file's name, for
// errors. Throws Failure (usage) with file and line if the text is not YAML, or if it has an
// unknown field, an account without a path, or a path twice.
std::vector<AccountWish> parse_account_file(const std::string& text, const std::string& name);

// Reads such a list in another file. `form`: the advice of a Failure.
std::vector<AccountWish> read_accounts(const YAML::Node& list, const std::string& name,
                                       const std::string& form);

}  // namespace subak::cli
