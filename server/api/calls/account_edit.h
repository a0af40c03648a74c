// Carries out the API's edits of accounts, for the handlers of account_service.h. The engine
// changes only the fields that an edit names. So two edits of different fields never undo each
// other. Private to server/api.
#pragma once

#include "server/api/calls/shared.h"

namespace subak::api {

// Checks that the caller may make this edit, posts the edit, fills in `out` and finishes the call.
// It refuses these edits with PERMISSION_DENIED, and writes the refusal into the audit log:
// - an account that the caller may not edit (Caller::may_edit_account);
// - a team admin sets namespaces, since namespaces decide in the whole fleet which account pays for
//   a pod;
// - a team admin sets a quota, unless an account above has a quota that bounds it. That account
//   must be in the admin's subtree; it may be the top of the subtree.
// For these checks, an edit of a team admin first reads the account tree, on the thread of the
// follower (the engine that serves reads). An admin's edit is posted at once, unless it is
// retroactive. With a retroactive edit, new shares also count for past usage. The answer to it also
// has the order of the queue before and after it, which is an expensive read. Threads: any.
Call::Reactor* edit_account(const Call& call, in::SetAccount edit,
                            const RequestFingerprint& fingerprint, v1::EditAccountResponse* out);

// Does the same for an edit of several accounts. The call is refused if one of the changes is
// refused. To remove an account, a team admin needs no right except that to edit it.
Call::Reactor* apply_accounts(const Call& call, in::ApplyAccounts edit,
                              const RequestFingerprint& fingerprint,
                              v1::ApplyAccountsResponse* out);

// Does the same for a move. A team admin must be allowed to edit both paths. If the account, or an
// account below it, has a quota, an account above the new path must have a quota that bounds it.
Call::Reactor* move_account(const Call& call, in::MoveAccount edit,
                            const RequestFingerprint& fingerprint, v1::ApplyAccountsResponse* out);

// Fills in the answer to an edit and finishes the call. Call it in the callback of
// Call::post_then(), on the loop's thread. If `reply` has an error, that becomes the status of the
// call. The answer has no `before` for a new account, and no `account` for a deleted one. The
// answer to a repeated request has no `before`. Its `account` has the present values; unset: the
// account no longer exists. Only for this answer, the function makes one more read.
void finish_account_edit(const Call& call, const Reply& reply, v1::EditAccountResponse* out);

}  // namespace subak::api
