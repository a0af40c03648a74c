#include <algorithm>

#include "core/account_limits.h"
#include "core/decimal.h"
#include "core/limits.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

// Reads `borrow` or `lend` of a message in the core's form. `total`: nullopt is unlimited.
std::string get_bound(Check& check, const char* name, std::optional<std::int64_t> total,
                      const char* list_name, const Amounts& by_product) {
  BorrowBound bound;
  if (total) bound.total = check.number(name, *total, 0, limits::kMaxMilliGpu);
  bound.by_product = get_amounts(check, list_name, by_product);
  for (const ProductAmount& amount : bound.by_product) {
    if (amount.product == kAnyProduct)
      check.fail(list_name, amount.product, "want a product; " + std::string(name) + " is for all");
  }
  return borrow_text(bound);
}

struct MaskField {
  const char* name;
  bool in::UnchangedFields::*flag;
};
constexpr MaskField kMaskFields[] = {
    {"shares", &in::UnchangedFields::shares},
    {"quota", &in::UnchangedFields::quota},
    {"limit", &in::UnchangedFields::limit},
    {"borrow_milligpu", &in::UnchangedFields::borrow},
    {"borrow_by_product", &in::UnchangedFields::borrow},
    {"lend_milligpu", &in::UnchangedFields::lend},
    {"lend_by_product", &in::UnchangedFields::lend},
    {"namespaces", &in::UnchangedFields::namespaces},
    {"held", &in::UnchangedFields::held},
    {"draining", &in::UnchangedFields::draining},
    {"time_limits", &in::UnchangedFields::time_limits},
    {"job_limits", &in::UnchangedFields::job_limits},
    {"user_limits", &in::UnchangedFields::user_limits},
    {"budgets", &in::UnchangedFields::budgets},
    {"default_time_limit", &in::UnchangedFields::default_time_limit},
    {"managed_by", &in::UnchangedFields::managed_by},
};

// Without a mask the fields that are set count as named.
in::UnchangedFields unset_fields(const v1::Account& in) {
  in::UnchangedFields unchanged;
  unchanged.shares = !in.has_shares();
  unchanged.quota = in.quota_size() == 0;
  unchanged.limit = in.limit_size() == 0;
  unchanged.borrow = !in.has_borrow_milligpu() && in.borrow_by_product_size() == 0;
  unchanged.lend = !in.has_lend_milligpu() && in.lend_by_product_size() == 0;
  unchanged.namespaces = in.namespaces_size() == 0;
  unchanged.held = !in.held();
  unchanged.draining = !in.draining();
  unchanged.time_limits = in.time_limits() == v1::TIME_LIMITS_UNSPECIFIED;
  unchanged.job_limits = in.job_limits().empty();
  unchanged.user_limits = in.user_limits().empty();
  unchanged.budgets = in.budgets().empty();
  unchanged.default_time_limit = !in.has_default_time_limit();
  unchanged.managed_by = in.managed_by().empty();
  return unchanged;
}

std::vector<std::string> get_namespaces(Check& check, const v1::Account& in) {
  check.number("namespaces", in.namespaces_size(), 0,
               static_cast<std::int64_t>(limits::kMaxNamespacesPerAccount));
  std::vector<std::string> out;
  for (int i = 0; i < in.namespaces_size() && check.ok(); ++i) {
    const auto scope = check.in("namespaces", i);
    out.push_back(check.name("", in.namespaces(i), true));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

void put(const AccountSpec& spec, std::int64_t revision, v1::Account* out) {
  out->set_path(spec.path);
  out->set_user(spec.user);
  out->set_shares(spec.shares);
  put(spec.quota, out->mutable_quota());
  put(spec.limit, out->mutable_limit());
  const BorrowBound borrow = parse_borrow(spec.borrow, "borrow").value();
  if (borrow.total) out->set_borrow_milligpu(*borrow.total);
  put(borrow.by_product, out->mutable_borrow_by_product());
  const BorrowBound lend = parse_borrow(spec.lend, "lend").value();
  if (lend.total) out->set_lend_milligpu(*lend.total);
  put(lend.by_product, out->mutable_lend_by_product());
  for (const std::string& ns : spec.namespaces) out->add_namespaces(ns);
  out->set_held(spec.held);
  out->set_draining(spec.draining);
  out->set_time_limits(static_cast<v1::TimeLimits>(spec.time_limits));
  out->set_job_limits(spec.job_limits);
  out->set_user_limits(spec.user_limits);
  out->set_budgets(spec.budgets);
  if (spec.default_time_limit_ms != 0)
    put_duration(spec.default_time_limit_ms, out->mutable_default_time_limit());
  out->set_managed_by(spec.managed_by);
  out->set_revision(revision);
}

in::UnchangedFields get_unchanged(Check& check, const v1::Account& account,
                                  const google::protobuf::FieldMask& mask) {
  if (mask.paths_size() == 0) return unset_fields(account);
  in::UnchangedFields unchanged;
  for (const MaskField& field : kMaskFields) unchanged.*field.flag = true;
  for (int i = 0; i < mask.paths_size(); ++i) {
    const std::string& path = mask.paths(i);
    if (path == "*") return {};
    const auto* field = std::find_if(std::begin(kMaskFields), std::end(kMaskFields),
                                     [&](const MaskField& f) { return path == f.name; });
    if (field == std::end(kMaskFields)) {
      const auto scope = check.in("paths", i);
      check.fail("", path, "is not a field of an account that can be changed");
      return unchanged;
    }
    unchanged.*field->flag = false;
  }
  return unchanged;
}

AccountSpec get(Check& check, const v1::Account& in, const in::UnchangedFields& unchanged) {
  AccountSpec spec;
  spec.path = in.path();
  spec.user = in.path().find('/') != std::string::npos;
  if (!unchanged.shares && in.has_shares()) {
    spec.shares = check.number("shares", in.shares(), 0, limits::kMaxShares);
  }
  if (!unchanged.quota) spec.quota = get_amounts(check, "quota", in.quota());
  if (!unchanged.limit) spec.limit = get_amounts(check, "limit", in.limit());
  const auto total_of = [](bool is_set, std::int64_t milligpu) {
    return is_set ? std::optional(milligpu) : std::nullopt;
  };
  if (!unchanged.borrow) {
    spec.borrow = get_bound(check, "borrow_milligpu",
                            total_of(in.has_borrow_milligpu(), in.borrow_milligpu()),
                            "borrow_by_product", in.borrow_by_product());
  }
  if (!unchanged.lend) {
    spec.lend =
        get_bound(check, "lend_milligpu", total_of(in.has_lend_milligpu(), in.lend_milligpu()),
                  "lend_by_product", in.lend_by_product());
  }
  if (!unchanged.namespaces) spec.namespaces = get_namespaces(check, in);
  if (!unchanged.held) spec.held = in.held();
  if (!unchanged.draining) spec.draining = in.draining();
  if (!unchanged.time_limits) {
    spec.time_limits = static_cast<TimeLimits>(
        check.number("time_limits", in.time_limits(), 0,
                     static_cast<std::int64_t>(EnumText<TimeLimits>::names.size()) - 1));
  }
  constexpr auto kMostBytes = static_cast<std::size_t>(limits::kMaxLimitsBytes);
  if (!unchanged.job_limits)
    spec.job_limits = check.text("job_limits", in.job_limits(), kMostBytes);
  if (!unchanged.user_limits)
    spec.user_limits = check.text("user_limits", in.user_limits(), kMostBytes);
  if (!unchanged.budgets) spec.budgets = check.text("budgets", in.budgets(), kMostBytes);
  if (!unchanged.default_time_limit && in.has_default_time_limit()) {
    spec.default_time_limit_ms =
        check.duration("default_time_limit", in.default_time_limit(), limits::kMaxTimeLimitMs);
  }
  if (!unchanged.managed_by) spec.managed_by = check.name("managed_by", in.managed_by(), false);
  return spec;
}

namespace {

in::AccountChange get_change(Check& check, const v1::AccountChange& in) {
  in::AccountChange change;
  {
    const auto scope = check.in("update_mask");
    change.unchanged = get_unchanged(check, in.account(), in.update_mask());
  }
  change.revision = check.number("revision", in.revision(), 0, INT64_MAX);
  change.remove = in.delete_();
  const auto scope = check.in("account");
  check.name("path", in.account().path(), false);
  if (!check.ok()) return change;
  if (change.remove) {
    change.spec.path = in.account().path();
  } else {
    change.spec = get(check, in.account(), change.unchanged);
  }
  return change;
}

}  // namespace

in::ApplyAccounts get(Check& check, const v1::ApplyAccountsRequest& in) {
  in::ApplyAccounts edit;
  edit.revision = in.revision();
  edit.reason = get_reason(check, in.reason(), true);
  edit.validate_only = in.validate_only();
  edit.override_managed = in.override_managed();
  edit.retroactive = in.retroactive();
  check.number("changes", in.changes_size(), 0, static_cast<std::int64_t>(limits::kMaxAccounts));
  for (int i = 0; i < in.changes_size() && check.ok(); ++i) {
    const auto scope = check.in("changes", i);
    edit.changes.push_back(get_change(check, in.changes(i)));
  }
  return edit;
}

in::MoveAccount get(Check& check, const v1::MoveAccountRequest& in) {
  in::MoveAccount edit;
  edit.path = check.name("path", in.path(), true);
  edit.to = check.name("to", in.to(), true);
  edit.revision = check.number("revision", in.revision(), 0, INT64_MAX);
  edit.reason = get_reason(check, in.reason(), true);
  edit.validate_only = in.validate_only();
  edit.override_managed = in.override_managed();
  return edit;
}

void put(const AccountRow& row, double root_usage_gpu_seconds, v1::ShareRow* out) {
  PathParts parts = split_path(row.spec.path);
  out->set_account(std::move(parts.account));
  out->set_user(std::move(parts.user));
  out->set_raw_shares(row.spec.shares);
  out->set_norm_shares(row.norm_shares);
  out->set_raw_usage_gpu_seconds(row.usage_gpu_seconds);
  out->set_norm_usage(root_usage_gpu_seconds > 0 ? row.usage_gpu_seconds / root_usage_gpu_seconds
                                                 : 0);
  out->set_effective_usage(row.effective_usage);
  out->set_level_fs(row.level_fs);
  if (row.fairshare) out->set_fairshare(*row.fairshare);
  out->set_share_factor(row.share_factor);
  out->set_surplus_gpu_seconds(row.surplus_gpu_seconds);
  put(row.usage_total, out->mutable_usage_total());
  out->set_held_milligpu(row.held);
  out->set_running_milligpu(row.running);
  out->set_queued_milligpu(row.queued);
  out->set_queued_jobs(static_cast<std::int64_t>(row.jobs_queued));
  out->set_quota_milligpu(row.quota);
  out->set_borrowed_milligpu(row.lending.borrowed);
  out->set_lent_milligpu(row.lending.lent);
  for (std::size_t why = 0; why < row.lending.not_recallable.size(); ++why) {
    if (row.lending.not_recallable[why] == 0) continue;
    v1::NotRecallable* const one = out->add_not_recallable();
    one->set_why(std::string(EnumText<Unrecallable>::names[why]));
    one->set_milligpu(row.lending.not_recallable[why]);
  }
}

void put(const BudgetBook& book, TimeMs now, v1::BudgetRow* out) {
  const BudgetFigures figures = book.at(now);
  out->set_budget(budgets_text({book.budget()}));
  out->set_soft(book.budget().soft);
  out->set_product(book.budget().product);
  put(book.span().from_ms, out->mutable_from());
  if (book.span().to_ms < kEndless) put(book.span().to_ms, out->mutable_to());
  put(figures.granted, out->mutable_granted());
  put(figures.spent, out->mutable_spent());
  put(figures.held, out->mutable_held());
  put(figures.left(), out->mutable_left());
  out->set_rate_milligpu(book.rate());
  out->set_reached_percent(book.reached());
  const TimeMs end_ms = spent_by(book, now);
  if (end_ms < book.span().to_ms) put(end_ms, out->mutable_projected_end());
}

}  // namespace subak::api
