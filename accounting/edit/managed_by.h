// The mark `managed-by` of accounts. It names the only caller who may edit an account without an
// override, such as a pipeline that applies a file of accounts. The mark counts for its account and
// for all accounts and users below it, up to an account with a mark of its own. The mark "anyone"
// ends the mark of an account above.
//
// Errors: none.
// Threads: any; pure functions.
#pragma once

#include <string_view>

#include "accounting/tree.h"

namespace subak {

// The mark that allows edits by every caller.
inline constexpr std::string_view kAnyone = "anyone";

// Returns the account whose mark counts for this path, which need not exist. nullptr: every caller
// may edit the path. O(depth).
const AccountNode* managed_account(const AccountTree& tree, std::string_view path);

// True if `mark` names the caller. `actor` is the caller's name in the audit log, such as
// "token:ci". The mark is this name, or for a token its part after "token:".
bool is_manager(std::string_view mark, std::string_view actor);

}  // namespace subak
