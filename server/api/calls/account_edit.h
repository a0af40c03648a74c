// Edits of accounts. The engine puts the named fields over the account as it is, so that two edits of
// different fields never undo each other.
#pragma once

#include "server/api/calls/shared.h"

namespace subak::api {

// Checks that the caller may make this edit, posts it and finishes the call. A team admin's edit must
// not reach beyond the caller's subtree.
Call::Reactor* edit_account(const Call& call, in::SetAccount edit,
                            const RequestFingerprint& fingerprint, v1::EditAccountResponse* out);

// Fills in the answer to an edit. A repeated request gets the account in its present state.
void finish_account_edit(const Call& call, const Reply& reply, v1::EditAccountResponse* out);

}  // namespace subak::api
