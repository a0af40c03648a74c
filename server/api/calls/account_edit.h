// Edits of accounts. The engine puts the named fields over the account as it is, so that two edits
// of different fields never undo each other.
#pragma once

#include "server/api/calls/shared.h"

namespace subak::api {

// Checks that the caller may make this edit, posts it and finishes the call. finish_account_edit()
// fills in `out` before that.
// Refused with PERMISSION_DENIED, and noted for the audit log:
// - an account that the caller may not edit (Caller::may_edit_account);
// - namespaces set by a team admin, since they decide in the whole fleet who pays for a pod;
// - a quota set by a team admin, unless an account between it and the subtree's top, or that top,
//   has a quota that bounds it.
// The account tree is read for the last check only, on the follower's thread. An admin's edit is
// posted at once. Threads: any.
Call::Reactor* edit_account(const Call& call, in::SetAccount edit,
                            const RequestFingerprint& fingerprint, v1::EditAccountResponse* out);

// Fills in the answer to an edit. A repeated request gets the account in its present state.
// The error of `reply` becomes the status of the call. `before` is left out for a new account,
// `account` for a
// deleted one. A repeated request gets `account` alone, if it still exists. Call it from
// the reply of Call::post_then(), on the loop's thread. It finishes the call, for a repeated
// request after one more read.
void finish_account_edit(const Call& call, const Reply& reply, v1::EditAccountResponse* out);

}  // namespace subak::api
