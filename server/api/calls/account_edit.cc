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
std::string beyond_subtree(const Caller& caller, const in::SetAccount& edit,
                           const AccountTree& tree) {
  if (!edit.spec.namespaces.empty()) return "want an admin to name namespaces";
  if (edit.spec.quota.empty()) return "";
  std::string above = edit.spec.path;
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

}  // namespace

Call::Reactor* edit_account(const Call& call, in::SetAccount edit,
                            const RequestFingerprint& fingerprint, v1::EditAccountResponse* out) {
  if (!call.caller().may_edit_account(edit.spec.path)) {
    return call.deny(edit.spec.path, "want an account below " + call.caller().subtree);
  }
  if (call.caller().is_admin()) return post(call, std::move(edit), fingerprint, out);
  return call.read_then([call, edit = std::move(edit), fingerprint, out](const Engine& engine) {
    const std::string beyond = beyond_subtree(call.caller(), edit, engine.accounts());
    if (beyond.empty()) {
      post(call, edit, fingerprint, out);
    } else {
      call.deny(edit.spec.path, beyond);
    }
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
