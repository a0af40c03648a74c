#include "server/api/calls/account_edit.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/account_path.h"
#include "server/api/calls/order_places.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

// Names the part of a team admin's edit that reaches beyond the subtree. Empty: there is none.
// Namespaces decide in the whole fleet which account a pod belongs to. A quota below an account
// without a quota of its own raises the guarantee of that account. So it needs a quota in between
// that bounds it.
// `has_quota`: true if the account of a path has a quota of its own after the edit.
std::string beyond_subtree(const Caller& caller, const AccountSpec& spec,
                           const std::function<bool(const std::string&)>& has_quota) {
  if (!spec.namespaces.empty()) return "want an admin to name namespaces";
  if (spec.quota.empty()) return "";
  std::string_view above = spec.path;
  while (above != caller.subtree) {
    above = parent_path(above);
    if (has_quota(std::string(above))) return "";
    if (above.empty()) break;
  }
  return "want an admin to set a quota here, or first a quota of " + caller.subtree;
}

bool has_own_quota(const AccountTree& tree, const std::string& path) {
  const AccountId id = tree.find(path);
  return id && !tree.node(id).spec.quota.empty();
}

// The first change of a team admin that reaches beyond the subtree, and why; nullopt: there is
// none. A quota that another change of the edit takes away bounds nothing.
std::optional<std::pair<std::string, std::string>> first_beyond(const Caller& caller,
                                                                const in::ApplyAccounts& edit,
                                                                const AccountTree& tree) {
  std::map<std::string_view, bool> quota_after;
  for (const in::AccountChange& change : edit.changes) {
    if (change.remove) quota_after[change.spec.path] = false;
    if (!change.remove && !change.unchanged.quota)
      quota_after[change.spec.path] = !change.spec.quota.empty();
  }
  const auto has_quota = [&](const std::string& path) {
    const auto changed = quota_after.find(path);
    return changed == quota_after.end() ? has_own_quota(tree, path) : changed->second;
  };
  for (const in::AccountChange& change : edit.changes) {
    if (change.remove) continue;
    std::string beyond = beyond_subtree(caller, change.spec, has_quota);
    if (!beyond.empty()) return std::pair(change.spec.path, std::move(beyond));
  }
  return std::nullopt;
}

Call::Reactor* post_now(const Call& call, in::SetAccount edit,
                        const RequestFingerprint& fingerprint, v1::EditAccountResponse* out) {
  return call.post_then(std::move(edit), fingerprint,
                        [call, out](const Reply& reply) { finish_account_edit(call, reply, out); });
}

// Writes an account before and after an edit. `revision`: the revision after the edit. An edit that
// changed nothing raised no revision.
template <class Message>
void put_edited(const std::optional<AccountSpec>& before, const std::optional<AccountSpec>& after,
                std::int64_t revision, Message* out) {
  if (after) put(*after, revision, out->mutable_account());
  const bool raised = after && before != after;
  if (before) put(*before, revision - (raised ? 1 : 0), out->mutable_before());
}

void finish(const Call& call, const Reply& reply, v1::ApplyAccountsResponse* out) {
  out->set_repeated_request(reply.repeated);
  out->set_revision(static_cast<std::uint64_t>(reply.revision));
  out->set_moved_below(static_cast<std::int64_t>(reply.moved_below));
  for (const std::string& warning : reply.warnings) out->add_warnings(warning);
  for (const Reply::Edited& edited : reply.edited) {
    put_edited(edited.before, edited.after, edited.revision, out->add_edited());
  }
  call.done();
}

// For edits of several accounts and for moves.
template <class Edit>
Call::Reactor* post_now(const Call& call, Edit edit, const RequestFingerprint& fingerprint,
                        v1::ApplyAccountsResponse* out) {
  return call.post_then(std::move(edit), fingerprint, [call, out](const Reply& reply) {
    if (reply.error) {
      call.fail(*reply.error);
    } else {
      finish(call, reply, out);
    }
  });
}

// Posts the edit. If it is retroactive, the answer first gets the order of the queue before and
// after it.
template <class Edit, class Answer>
Call::Reactor* post(const Call& call, Edit edit, const RequestFingerprint& fingerprint,
                    Answer* out) {
  if (!edit.retroactive) return post_now(call, std::move(edit), fingerprint, out);
  return call.read_expensive_then(
      [call, edit = std::move(edit), fingerprint, out](const Engine& engine) {
        const OrderAsIf as_if = shares_of(engine.accounts(), edit);
        if (!as_if.shares.empty()) put_order(engine, as_if, out->mutable_order());
        post_now(call, edit, fingerprint, out);
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
    const std::string beyond = beyond_subtree(
        call.caller(), edit.spec,
        [&engine](const std::string& path) { return has_own_quota(engine.accounts(), path); });
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
    if (const auto beyond = first_beyond(call.caller(), edit, engine.accounts())) {
      call.deny(beyond->first, beyond->second);
      return;
    }
    post(call, edit, fingerprint, out);
  });
}

Call::Reactor* move_account(const Call& call, in::MoveAccount edit,
                            const RequestFingerprint& fingerprint, v1::ApplyAccountsResponse* out) {
  for (const std::string* const path : {&edit.path, &edit.to}) {
    if (!call.caller().may_edit_account(*path))
      return call.deny(*path, "want an account below " + call.caller().subtree);
  }
  if (call.caller().is_admin()) return post_now(call, std::move(edit), fingerprint, out);
  return call.read_then([call, edit = std::move(edit), fingerprint, out](const Engine& engine) {
    const AccountTree& tree = engine.accounts();
    AccountSpec spec;  // the part of the account that the new place must bound
    spec.path = edit.to;
    if (const AccountId id = tree.find(edit.path); id && tree.node(id).quota_total > 0)
      spec.quota = {{std::string(kAnyProduct), tree.node(id).quota_total}};
    const std::string beyond =
        beyond_subtree(call.caller(), spec,
                       [&tree](const std::string& path) { return has_own_quota(tree, path); });
    if (beyond.empty()) {
      post_now(call, edit, fingerprint, out);
    } else {
      call.deny(edit.to, beyond);
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
  put_edited(reply.before, reply.after, reply.revision, out);
  call.done();
}

}  // namespace subak::api
