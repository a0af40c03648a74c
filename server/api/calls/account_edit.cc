#include "server/api/calls/account_edit.h"

#include <string>
#include <utility>

#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

// Names the part of a team admin's edit that reaches beyond the subtree. Empty: there is none.
// Namespaces decide in the whole fleet which account a pod belongs to. A quota below an account
// without a quota of its own raises the guarantee of that account. So it needs a quota in between
// that bounds it.
std::string beyond_subtree(const Caller& caller, const AccountSpec& spec, const AccountTree& tree) {
  if (!spec.namespaces.empty()) return "want an admin to name namespaces";
  if (spec.quota.empty()) return "";
  std::string above = spec.path;
  while (above != caller.subtree) {
    const auto end = above.find_last_of("./");
    above.resize(end == std::string::npos ? 0 : end);
    const AccountId id = tree.find(above);
    if (id && !tree.node(id).spec.quota.empty()) return "";
    if (above.empty()) break;
  }
  return "want an admin to set a quota here, or first a quota of " + caller.subtree;
}

Call::Reactor* post(const Call& call, in::SetAccount edit, const RequestFingerprint& fingerprint,
                    v1::EditAccountResponse* out) {
  return call.post_then(std::move(edit), fingerprint,
                        [call, out](const Reply& reply) { finish_account_edit(call, reply, out); });
}

void finish(const Call& call, const Reply& reply, v1::ApplyAccountsResponse* out) {
  out->set_repeated_request(reply.repeated);
  out->set_revision(static_cast<std::uint64_t>(reply.revision));
  for (const std::string& warning : reply.warnings) out->add_warnings(warning);
  for (const Reply::Edited& edited : reply.edited) {
    v1::ApplyAccountsResponse::Edited* const one = out->add_edited();
    const bool changed = edited.before != edited.after;
    if (edited.after) put(*edited.after, edited.revision, one->mutable_account());
    if (!edited.before) continue;
    const bool raised = changed && edited.after;
    put(*edited.before, edited.revision - (raised ? 1 : 0), one->mutable_before());
  }
  call.done();
}

Call::Reactor* post(const Call& call, in::ApplyAccounts edit, const RequestFingerprint& fingerprint,
                    v1::ApplyAccountsResponse* out) {
  return call.post_then(std::move(edit), fingerprint, [call, out](const Reply& reply) {
    if (reply.error) {
      call.fail(*reply.error);
    } else {
      finish(call, reply, out);
    }
  });
}

}  // namespace

Call::Reactor* edit_account(const Call& call, in::SetAccount edit,
                            const RequestFingerprint& fingerprint, v1::EditAccountResponse* out) {
  if (!call.caller().may_edit_account(edit.spec.path)) {
    return call.deny(edit.spec.path, "want an account below " + call.caller().subtree);
  }
  if (call.caller().is_admin()) return post(call, std::move(edit), fingerprint, out);
  return call.read_then([call, edit = std::move(edit), fingerprint, out](const Engine& engine) {
    const std::string beyond = beyond_subtree(call.caller(), edit.spec, engine.accounts());
    if (beyond.empty()) {
      post(call, edit, fingerprint, out);
    } else {
      call.deny(edit.spec.path, beyond);
    }
  });
}

Call::Reactor* apply_accounts(const Call& call, in::ApplyAccounts edit,
                              const RequestFingerprint& fingerprint,
                              v1::ApplyAccountsResponse* out) {
  for (const in::AccountChange& change : edit.changes) {
    if (call.caller().may_edit_account(change.spec.path)) continue;
    return call.deny(change.spec.path, "want an account below " + call.caller().subtree);
  }
  if (call.caller().is_admin()) return post(call, std::move(edit), fingerprint, out);
  return call.read_then([call, edit = std::move(edit), fingerprint, out](const Engine& engine) {
    for (const in::AccountChange& change : edit.changes) {
      const std::string beyond = beyond_subtree(call.caller(), change.spec, engine.accounts());
      if (change.remove || beyond.empty()) continue;
      call.deny(change.spec.path, beyond);
      return;
    }
    post(call, edit, fingerprint, out);
  });
}

void finish_account_edit(const Call& call, const Reply& reply, v1::EditAccountResponse* out) {
  if (reply.error) {
    call.fail(*reply.error);
    return;
  }
  out->set_repeated_request(reply.repeated);
  for (const std::string& warning : reply.warnings) out->add_warnings(warning);
  if (reply.repeated) {
    call.read([out, id = reply.account](const Engine& engine) -> std::optional<Error> {
      const AccountTree& tree = engine.accounts();
      if (tree.exists(id) && !tree.node(id).removed) {
        put(tree.node(id).spec, tree.node(id).revision, out->mutable_account());
      }
      return std::nullopt;
    });
    return;
  }
  if (reply.after) put(*reply.after, reply.revision, out->mutable_account());
  if (reply.before) {
    const bool changed = !reply.after || !(*reply.before == *reply.after);
    const std::int64_t before = changed && reply.after ? reply.revision - 1 : reply.revision;
    put(*reply.before, before, out->mutable_before());
  }
  call.done();
}

}  // namespace subak::api
