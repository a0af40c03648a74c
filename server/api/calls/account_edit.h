// Edits of accounts. The engine changes only the fields that an edit names, so that two edits of
// different fields never undo each other.
#pragma once

#include "server/api/calls/shared.h"

namespace subak::api {

// Checks that the caller may make this edit, posts it and finishes the call. finish_account_edit()
// fills in `out` before that.
// It refuses these edits with PERMISSION_DENIED, and reports them to the audit log:
// - an account that the caller may not edit (Caller::may_edit_account);
// - namespaces set by a team admin, since they decide in the whole fleet who pays for a pod;
// - a quota set by a team admin, unless an account above has a quota that bounds it. The account
//   must be within the admin's subtree, or its top.
// Only the check of the quota reads the account tree, on the follower's thread. An admin's edit is
// posted at once. Threads: any.
Call::Reactor* edit_account(const Call& call, in::SetAccount edit,
                            const RequestFingerprint& fingerprint, v1::EditAccountResponse* out);

// Fills in the answer to an edit and finishes the call. An error of `reply` becomes the status of
// the call.
// `before` is left out for a new account, `account` for a deleted one. The answer to a repeated
// request has only `account`, as it is now, if it still exists. That takes one more read.
// Call this from the reply of Call::post_then(), on the loop's thread.
void finish_account_edit(const Call& call, const Reply& reply, v1::EditAccountResponse* out);

}  // namespace subak::api
