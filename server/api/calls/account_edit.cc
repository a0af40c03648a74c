#include "server/api/calls/account_edit.h"

#include <utility>

namespace subak::api {
namespace {

constexpr int kMaxAttempts = 4;

Error no_account(const std::string& path) {
  return {ErrorCode::kNotFound, "path", path, "there is no such account"};
}

}  // namespace

Call::Reactor* AccountEdit::run() {
  ++attempts_;
  return call_.read_then([self = shared_from_this()](const Engine& engine) { self->read(engine); });
}

void AccountEdit::read(const Engine& engine) {
  const std::string& path = order_.account->path();
  const AccountTree& tree = engine.accounts();
  const AccountId id = tree.find(path);
  // A repeated request must get its first answer, whatever happened to the account since.
  const bool may_be_repeated = !order_.fingerprint.request_id.empty() && !order_.validate_only;
  if (!id && !order_.may_create && !may_be_repeated) {
    call_.fail(no_account(path));
    return;
  }
  in::SetAccount body;
  if (id && !order_.must_create) body.spec = tree.node(id).spec;
  body.spec.path = path;
  body.spec.user = path.find('/') != std::string::npos;
  Check check;
  {
    const auto scope = check.in("account");
    get(check, *order_.account, order_.mask, &body.spec);
  }
  if (!check.ok()) {
    call_.fail(check.error());
    return;
  }
  if (const std::string beyond = beyond_subtree(engine); !beyond.empty()) {
    call_.deny(path, beyond);
    return;
  }
  body.must_create = order_.must_create || (!id && order_.may_create);
  body.must_exist = !order_.may_create;
  body.revision = order_.revision != 0 ? order_.revision : id ? tree.node(id).revision : 0;
  if (order_.must_create) body.revision = 0;
  body.reason = order_.reason;
  body.validate_only = order_.validate_only;
  call_.post_then(std::move(body), order_.fingerprint,
                  [self = shared_from_this()](const Reply& reply) { self->answered(reply); });
}

void AccountEdit::answered(const Reply& reply) {
  const bool overtaken =
      reply.error && order_.revision == 0 && !order_.must_create &&
      (reply.error->code == ErrorCode::kConflict || reply.error->code == ErrorCode::kExists);
  if (overtaken && attempts_ < kMaxAttempts) {
    run();
  } else {
    finish_account_edit(call_, reply, out_);
  }
}

// Namespaces decide in the whole fleet which account a pod belongs to. A quota below an account
// without a quota of its own raises the guarantee of that account. So it needs a quota in between
// that bounds it.
std::string AccountEdit::beyond_subtree(const Engine& engine) const {
  const Caller& caller = call_.caller();
  if (caller.is_admin()) return "";
  if (order_.mask.namespaces && order_.account->namespaces_size() > 0) {
    return "want an admin to name namespaces";
  }
  if (!order_.mask.quota || order_.account->quota_size() == 0) return "";
  const AccountTree& tree = engine.accounts();
  std::string above = order_.account->path();
  while (above != caller.subtree) {
    const auto end = above.find_last_of("./");
    above.resize(end == std::string::npos ? 0 : end);
    const AccountId id = tree.find(above);
    if (id && !tree.node(id).spec.quota.empty()) return "";
    if (above.empty()) break;
  }
  return "want an admin to set a quota here, or first a quota of " + caller.subtree;
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
