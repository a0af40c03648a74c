// Decisions about accounts.
#include <algorithm>
#include <set>
#include <utility>

#include "accounting/edit/managed_by.h"
#include "accounting/quota/entitlement.h"
#include "core/decimal.h"
#include "core/must.h"
#include "engine/decide/account_edit.h"
#include "engine/decide/decide.h"

namespace subak::decide {
std::optional<Error> check_products(const Fleet& fleet, const std::set<std::string_view>& names) {
  const auto fresh = std::count_if(names.begin(), names.end(), [&](std::string_view name) {
    return !name.empty() && name != kAnyProduct && !fleet.products().find(name);
  });
  const std::size_t all = fleet.products().size() + static_cast<std::size_t>(fresh);
  if (fresh == 0 || all <= limits::kMaxProducts) return std::nullopt;
  return Error{ErrorCode::kExhausted, "products", std::to_string(all),
               "want at most " + std::to_string(limits::kMaxProducts) + " names of GPU products"};
}

Error revision_conflict(std::int64_t given, std::int64_t current) {
  must(given != current, "a conflict is of two revisions");
  return {ErrorCode::kConflict, "revision", std::to_string(given),
          "the current revision is " + std::to_string(current) + "; read the account again"};
}

std::set<std::string> products_named(const AccountSpec& spec) {
  std::set<std::string> names;
  const auto add = [&names](const ProductAmounts& amounts) {
    for (const ProductAmount& a : amounts) names.insert(a.product);
  };
  add(spec.quota);
  add(spec.limit);
  add(parse_borrow(spec.borrow, "borrow").value().by_product);
  add(parse_borrow(spec.lend, "lend").value().by_product);
  add(parse_user_limits(spec.user_limits, "user_limits").value().gpus);
  for (const Budget& budget : budgets_of(spec.budgets)) {
    if (!budget.product.empty()) names.insert(budget.product);
  }
  return names;
}

ProductId ProductIds::operator()(const std::string& name) {
  if (name == kAnyProduct) return ProductId();
  if (const ProductId known = fleet_.products().find(name)) return known;
  const auto next = static_cast<std::uint16_t>(fleet_.products().size() + 1 + fresh_.size());
  return fresh_.try_emplace(name, ProductId(next)).first->second;
}

std::vector<ProductDemand> ProductIds::of(const ProductAmounts& amounts) {
  std::vector<ProductDemand> out;
  for (const ProductAmount& a : amounts) {
    must(a.milligpu >= 0, "the bounds of an account allow no negative amount");
    out.emplace_back((*this)(a.product), a.milligpu);
  }
  return out;
}

std::optional<Error> check_promises(const AccountTree& tree, const AccountSpec& spec,
                                    const std::vector<ProductDemand>& quota) {
  const auto over = overpromised(tree, spec.path, quota);
  if (!over) return std::nullopt;
  must(over->beyond > over->any && over->any >= 0, "a broken promise exceeds its quota");
  const bool itself = !over->parent || over->parent == tree.find(spec.path);
  const std::string parent = itself ? spec.path : tree.node(over->parent).spec.path;
  return Error{
      ErrorCode::kPrecondition, "quota", format_amounts(spec.quota),
      "the accounts below " + (parent.empty() ? "the root" : parent) + " would be promised " +
          format_milligpu(over->beyond) +
          " GPUs that its own quotas of the same products do not hold, and of its quota of "
          "any product there are " +
          format_milligpu(over->any)};
}

// Writes the lists of limits and budgets in their usual order, so that equal lists have equal texts.
// The function leaves a list that it cannot read, and AccountTree::check() refuses it.
static void write_limits_one_way(AccountSpec& spec) {
  if (const auto limits = parse_job_limits(spec.job_limits, "job_limits"))
    spec.job_limits = job_limits_text(*limits);
  if (const auto limits = parse_user_limits(spec.user_limits, "user_limits"))
    spec.user_limits = user_limits_text(*limits);
  if (const auto budgets = parse_budgets(spec.budgets, "budgets"))
    spec.budgets = budgets_text(*budgets);
}

bool may_accept_more(const AccountSpec& before, const AccountSpec& after) {
  return (before.draining && !after.draining) || before.job_limits != after.job_limits ||
         before.user_limits != after.user_limits;
}

AccountSpec edited_spec(const AccountSpec& now, AccountSpec spec, const in::UnchangedFields& same) {
  if (same.shares) spec.shares = now.shares;
  if (same.quota) spec.quota = now.quota;
  if (same.limit) spec.limit = now.limit;
  if (same.borrow) spec.borrow = now.borrow;
  if (same.lend) spec.lend = now.lend;
  if (same.namespaces) spec.namespaces = now.namespaces;
  if (same.held) spec.held = now.held;
  if (same.draining) spec.draining = now.draining;
  if (same.time_limits) spec.time_limits = now.time_limits;
  if (same.job_limits) spec.job_limits = now.job_limits;
  if (same.user_limits) spec.user_limits = now.user_limits;
  if (same.budgets) spec.budgets = now.budgets;
  if (same.default_time_limit) spec.default_time_limit_ms = now.default_time_limit_ms;
  if (same.managed_by) spec.managed_by = now.managed_by;
  const auto by_product = [](const auto& a, const auto& b) { return a.product < b.product; };
  std::sort(spec.quota.begin(), spec.quota.end(), by_product);
  std::sort(spec.limit.begin(), spec.limit.end(), by_product);
  std::sort(spec.namespaces.begin(), spec.namespaces.end());
  write_limits_one_way(spec);
  return spec;
}

std::optional<Error> check_manager(const AccountTree& tree, std::string_view path,
                                   const ManagedEdit& edit, std::string& overrides) {
  const AccountNode* const managed = managed_account(tree, path);
  if (managed == nullptr || is_manager(managed->spec.managed_by, edit.actor)) return std::nullopt;
  if (edit.override_managed) {
    overrides = managed->spec.managed_by;
    return std::nullopt;
  }
  const std::string& account = managed->spec.path;
  return Error{ErrorCode::kPrecondition, "path", std::string(path),
               (account.empty() ? "the root" : "account " + account) + " is managed by " +
                   managed->spec.managed_by +
                   "; make the edit there, or override this (override_managed, --override)"};
}

std::string why_not_removed(const AccountNode& node, JobId job) {
  if (job) return "it has jobs, such as " + text::job_id_text(job) + "; drain it first";
  if (node.alloc() > 0)
    return "it holds " + format_milligpu(node.alloc()) + " GPUs; drain it first";
  if (!node.children.empty()) return "it has accounts or users below it; delete those first";
  return node.id == kRootAccount ? "the root account cannot be deleted" : "";
}

namespace {

bool amounts_differ(const AccountSpec& a, const AccountSpec& b) {
  return a.shares != b.shares || a.quota != b.quota || a.limit != b.limit ||
         a.user_limits != b.user_limits;
}

std::optional<Error> check_named(const Decision& d, const AccountSpec& spec) {
  const std::set<std::string> names = products_named(spec);
  return check_products(d.s.fleet(), {names.begin(), names.end()});
}

}  // namespace

void decide(Decision& d, const in::SetAccount& i) {
  const AccountId old = d.s.tree().find(i.spec.path);
  const AccountSpec spec =
      edited_spec(old ? d.s.tree().node(old).spec : AccountSpec(), i.spec, i.unchanged);
  if (auto error = d.s.tree().check(spec)) return d.refuse(*error, spec.path);
  if (auto error = check_named(d, spec)) return d.refuse(*error, spec.path);
  if (old && i.must_create) {
    return d.refuse({ErrorCode::kExists, "path", spec.path, "this account exists"}, spec.path);
  }
  if (!old && i.must_exist) {
    return d.refuse({ErrorCode::kNotFound, "path", spec.path, "there is no such account"},
                    spec.path);
  }
  const std::int64_t revision = old ? d.s.tree().node(old).revision : 0;
  if (i.revision != 0 && i.revision != revision) {
    return d.refuse(revision_conflict(i.revision, revision), spec.path);
  }
  if (i.retroactive && (!old || i.unchanged.shares)) {
    return d.refuse({ErrorCode::kInvalid, "retroactive", "true",
                     old ? "want shares in the same edit" : "want an account that exists"},
                    spec.path);
  }
  const AccountId id = old ? old : d.s.tree().id_for(spec.path);
  must(static_cast<bool>(id), "an account has a number");
  d.out.reply.account = id;
  if (old) d.out.reply.before = d.s.tree().node(old).spec;
  d.out.reply.after = spec;
  d.out.reply.revision = revision;
  if (old && d.s.tree().node(old).spec == spec) return;  // nothing to change, nothing to record
  ProductIds ids(d.s.fleet());
  if (auto error = check_promises(d.s.tree(), spec, ids.of(spec.quota))) {
    return d.refuse(*error, spec.path);
  }
  if (auto error = check_budgets(d.s, spec)) return d.refuse(*error, spec.path);
  EditStamp stamp = d.stamp(i.reason);
  const ManagedEdit managed{d.input.actor, i.override_managed};
  if (auto error = check_manager(d.s.tree(), spec.path, managed, stamp.overrides)) {
    return d.refuse(*error, spec.path);
  }
  if (old && !spec.quota.empty()) warn_of_borrowers(d, old, ids.of(spec.quota));
  d.out.reply.revision = next_revision(d.s.tree(), id);
  if (!old || amounts_differ(d.s.tree().node(old).spec, spec)) warn_of(d, d.s.tree(), spec);
  fact::AccountSet set{id, spec, d.out.reply.revision, std::move(stamp)};
  set.retroactive = i.retroactive && d.s.tree().node(old).spec.shares != spec.shares;
  if (old) warn_of_promises(d, {set});
  if (i.validate_only) return;
  const bool accepts_more = old && may_accept_more(d.s.tree().node(old).spec, spec);
  const bool changes_budgets = old && d.s.tree().node(old).spec.budgets != spec.budgets;
  const bool moves_ends =
      old && d.s.tree().node(old).spec.default_time_limit_ms != spec.default_time_limit_ms;
  must(d.out.reply.revision > revision, "an edit has a later revision");
  d.emit(std::move(set));
  must(d.s.tree().node(id).spec == spec, "the account is as the edit says");
  if (changes_budgets) budgets_changed(d);
  if (moves_ends) keep_within_budgets(d);
  assign_jobs(d, spec);
  if (accepts_more) resume_jobs(d);
}

void decide(Decision& d, const in::DeleteAccount& i) {
  const AccountId id = d.s.tree().find(i.path);
  if (!id) {
    return d.refuse({ErrorCode::kNotFound, "path", i.path, "there is no such account"}, i.path);
  }
  const AccountNode& node = d.s.tree().node(id);
  if (i.revision != 0 && i.revision != node.revision) {
    return d.refuse(revision_conflict(i.revision, node.revision), i.path);
  }
  JobId job;  // the first by id
  for (const auto& [each, of] : d.s.jobs().table().all()) {
    if (of.leaf != id || of.state == JobState::kDone) continue;
    if (!job || each < job) job = each;
  }
  const std::string why = why_not_removed(node, job);
  if (!why.empty()) return d.refuse({ErrorCode::kPrecondition, "path", i.path, why}, i.path);
  fact::AccountDeleted deleted;
  deleted.id = id;
  deleted.spec = node.spec;
  deleted.edit = d.stamp(i.reason);
  const ManagedEdit managed{d.input.actor, i.override_managed};
  if (auto error = check_manager(d.s.tree(), i.path, managed, deleted.edit.overrides)) {
    return d.refuse(*error, i.path);
  }
  d.out.reply.account = id;
  d.out.reply.before = node.spec;
  if (!i.validate_only) {
    d.emit(std::move(deleted));
    must(!d.s.tree().find(i.path), "a deleted account is gone");
  }
}

}  // namespace subak::decide
