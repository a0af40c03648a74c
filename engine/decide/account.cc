// Decisions about accounts.
#include <algorithm>
#include <set>

#include "accounting/quota/entitlement.h"
#include "core/decimal.h"
#include "core/must.h"
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

namespace {

Error conflict(std::int64_t given, std::int64_t current) {
  must(given != current, "a conflict is of two revisions");
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

// Returns the amounts by product id. A new product name gets the id that the product table would
// assign next.
std::vector<ProductDemand> by_id(const Fleet& fleet, const ProductAmounts& amounts) {
  std::vector<ProductDemand> out;
  auto next = static_cast<std::uint16_t>(fleet.products().size() + 1);
  for (const ProductAmount& a : amounts) {
    ProductId id = a.product == kAnyProduct ? ProductId() : fleet.products().find(a.product);
    if (!id && a.product != kAnyProduct) id = ProductId(next++);
    must(a.milligpu >= 0, "the bounds of an account allow no negative amount");
    out.emplace_back(id, a.milligpu);
  }
  return out;
}

// Checks that the quotas below an account fit into its own quota.
std::optional<Error> check_promises(const Decision& d, const AccountSpec& spec) {
  const auto over = overpromised(d.s.tree(), spec.path, by_id(d.s.fleet(), spec.quota));
  if (!over) return std::nullopt;
  must(over->beyond > over->any && over->any >= 0, "a broken promise exceeds its quota");
  const bool itself = !over->parent || over->parent == d.s.tree().find(spec.path);
  const std::string parent = itself ? spec.path : d.s.tree().node(over->parent).spec.path;
  return Error{
      ErrorCode::kPrecondition, "quota", format_amounts(spec.quota),
      "the accounts below " + (parent.empty() ? "the root" : parent) + " would be promised " +
          format_milligpu(over->beyond) +
          " GPUs that its own quotas of the same products do not hold, and of its quota of "
          "any product there are " +
          format_milligpu(over->any)};
}

std::optional<Error> check_named(const Decision& d, const AccountSpec& spec) {
  std::set<std::string_view> products;
  for (const ProductAmount& a : spec.quota) products.insert(a.product);
  for (const ProductAmount& a : spec.limit) products.insert(a.product);
  const BorrowBound borrow = parse_borrow(spec.borrow, "borrow").value();
  const BorrowBound lend = parse_borrow(spec.lend, "lend").value();
  for (const ProductAmount& a : borrow.by_product) products.insert(a.product);
  for (const ProductAmount& a : lend.by_product) products.insert(a.product);
  return check_products(d.s.fleet(), products);
}

// Returns the account's spec after the edit.
AccountSpec edited(const AccountSpec& now, const in::SetAccount& i) {
  AccountSpec spec = i.spec;
  const in::UnchangedFields& same = i.unchanged;
  if (same.shares) spec.shares = now.shares;
  if (same.quota) spec.quota = now.quota;
  if (same.limit) spec.limit = now.limit;
  if (same.borrow) spec.borrow = now.borrow;
  if (same.lend) spec.lend = now.lend;
  if (same.namespaces) spec.namespaces = now.namespaces;
  if (same.held) spec.held = now.held;
  if (same.draining) spec.draining = now.draining;
  if (same.time_limits) spec.time_limits = now.time_limits;
  return spec;
}

}  // namespace

void decide(Decision& d, const in::SetAccount& i) {
  const AccountId old = d.s.tree().find(i.spec.path);
  AccountSpec spec = edited(old ? d.s.tree().node(old).spec : AccountSpec(), i);
  sort_amounts(spec.quota);
  sort_amounts(spec.limit);
  std::sort(spec.namespaces.begin(), spec.namespaces.end());
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
    return d.refuse(conflict(i.revision, revision), spec.path);
  }
  const AccountId id = d.s.tree().id_for(spec.path);
  must(id && (!old || id == old), "an account keeps its number");
  d.out.reply.account = id;
  if (old) d.out.reply.before = d.s.tree().node(old).spec;
  d.out.reply.after = spec;
  d.out.reply.revision = revision;
  if (old && d.s.tree().node(old).spec == spec) return;  // nothing to change, nothing to record
  if (auto error = check_promises(d, spec)) return d.refuse(*error, spec.path);
  d.out.reply.revision = d.s.tree().next_revision(id);
  if (!old || amounts_differ(d.s.tree().node(old).spec, spec)) warn_of(d, spec);
  if (i.validate_only) return;
  const bool resumed = old && d.s.tree().node(old).spec.draining && !spec.draining;
  must(d.out.reply.revision > revision, "an edit has a later revision");
  d.emit(fact::AccountSet{id, spec, d.out.reply.revision, d.stamp(i.reason)});
  must(d.s.tree().node(id).spec == spec, "the account is as the edit says");
  assign_jobs(d, spec);
  if (resumed) resume_jobs(d);
}

void decide(Decision& d, const in::DeleteAccount& i) {
  const AccountId id = d.s.tree().find(i.path);
  if (!id) {
    return d.refuse({ErrorCode::kNotFound, "path", i.path, "there is no such account"}, i.path);
  }
  const AccountNode& node = d.s.tree().node(id);
  if (i.revision != 0 && i.revision != node.revision) {
    return d.refuse(conflict(i.revision, node.revision), i.path);
  }
  const std::size_t queued = d.s.jobs().ready().queued_jobs(id);
  // The order does not matter, because one job is enough.
  const bool has_jobs = std::any_of(
      d.s.jobs().table().all().begin(), d.s.jobs().table().all().end(), [&](const auto& entry) {
        return entry.second.leaf == id && entry.second.state != JobState::kDone;
      });
  std::string why;
  if (id == kRootAccount) why = "the root account cannot be deleted";
  if (!node.children.empty()) why = "it has accounts or users below it; delete those first";
  if (node.alloc() > 0) why = "it holds " + format_milligpu(node.alloc()) + " GPUs; drain it first";
  if (queued > 0 || has_jobs) why = "it has jobs; drain it first";
  if (!why.empty()) return d.refuse({ErrorCode::kPrecondition, "path", i.path, why}, i.path);
  d.out.reply.account = id;
  d.out.reply.before = node.spec;
  if (!i.validate_only) {
    fact::AccountDeleted deleted;
    deleted.id = id;
    deleted.edit = d.stamp(i.reason);
    d.emit(std::move(deleted));
    must(!d.s.tree().find(i.path), "a deleted account is gone");
  }
}

}  // namespace subak::decide
