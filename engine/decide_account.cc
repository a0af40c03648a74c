// Decisions about accounts.
#include <algorithm>

#include "core/decimal.h"
#include "core/limits.h"
#include "engine/impl.h"

namespace subak {
namespace {

Error conflict(std::int64_t given, std::int64_t current) {
  return {ErrorCode::kConflict, "revision", std::to_string(given),
          "the current revision is " + std::to_string(current) + "; read the account again"};
}

bool amounts_differ(const AccountSpec& a, const AccountSpec& b) {
  return a.shares != b.shares || a.quota != b.quota || a.limit != b.limit;
}

void sort_amounts(ProductAmounts& amounts) {
  std::sort(amounts.begin(), amounts.end(),
            [](const auto& a, const auto& b) { return a.product < b.product; });
}

}  // namespace

void Turn::on(const in::SetAccount& i) {
  AccountSpec spec = i.spec;
  sort_amounts(spec.quota);
  sort_amounts(spec.limit);
  std::sort(spec.namespaces.begin(), spec.namespaces.end());
  if (auto error = s_.tree.check(spec)) return refuse(*error, spec.path);
  std::set<std::string_view> products;
  for (const ProductAmount& a : spec.quota) products.insert(a.product);
  for (const ProductAmount& a : spec.limit) products.insert(a.product);
  if (auto error = s_.check_products(products)) return refuse(*error, spec.path);
  const AccountId old = s_.tree.find(spec.path);
  if (old && i.must_create) {
    return refuse({ErrorCode::kExists, "path", spec.path, "this account exists"}, spec.path);
  }
  if (!old && i.must_exist) {
    return refuse({ErrorCode::kNotFound, "path", spec.path, "there is no such account"}, spec.path);
  }
  const std::int64_t revision = old ? s_.tree.node(old).revision : 0;
  if (i.revision != 0 && i.revision != revision) {
    return refuse(conflict(i.revision, revision), spec.path);
  }
  if (!old && s_.tree.preorder().size() >= limits::kMaxAccounts) {
    return refuse({ErrorCode::kExhausted, "path", spec.path,
                   "at most " + std::to_string(limits::kMaxAccounts) + " accounts and users"},
                  spec.path);
  }
  out_.reply.account = old ? old : s_.tree.next_id();
  if (old) out_.reply.before = s_.tree.node(old).spec;
  out_.reply.after = spec;
  out_.reply.revision = revision;
  if (old && s_.tree.node(old).spec == spec) return;  // nothing to change, nothing to record
  out_.reply.revision = revision + 1;
  if (!old || amounts_differ(s_.tree.node(old).spec, spec)) warn_of(spec);
  if (i.validate_only) return;
  emit(fact::AccountSet{out_.reply.account, spec, revision + 1, stamp(i.reason)});
}

void Turn::on(const in::DeleteAccount& i) {
  const AccountId id = s_.tree.find(i.path);
  if (!id) {
    return refuse({ErrorCode::kNotFound, "path", i.path, "there is no such account"}, i.path);
  }
  const AccountNode& node = s_.tree.node(id);
  if (i.revision != 0 && i.revision != node.revision) {
    return refuse(conflict(i.revision, node.revision), i.path);
  }
  const std::size_t queued = s_.ready.queued_jobs(id);
  // any order: any one is enough.
  const bool has_jobs = std::any_of(s_.jobs.begin(), s_.jobs.end(), [&](const auto& entry) {
    return entry.second.leaf == id && entry.second.state != JobState::kDone;
  });
  std::string why;
  if (id == kRootAccount) why = "the root account cannot be deleted";
  if (!node.children.empty()) why = "it has accounts or users below it; delete those first";
  if (node.alloc() > 0) why = "it holds " + format_milligpu(node.alloc()) + " GPUs; drain it first";
  if (queued > 0 || has_jobs) why = "it has jobs; drain it first";
  if (!why.empty()) return refuse({ErrorCode::kPrecondition, "path", i.path, why}, i.path);
  out_.reply.account = id;
  out_.reply.before = node.spec;
  if (!i.validate_only) {
    fact::AccountDeleted deleted;
    deleted.id = id;
    deleted.edit = stamp(i.reason);
    emit(std::move(deleted));
  }
}

}  // namespace subak
