#include <algorithm>

#include "core/decimal.h"
#include "core/limits.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

// Returns the borrow limit in the core's form, as users write it: "none", "8", empty for unlimited.
std::string borrow_text(std::int64_t milligpu) {
  return milligpu == 0 ? "none" : format_milligpu(milligpu);
}

std::optional<std::int64_t> borrow_milligpu(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto amounts = parse_amounts(text, "borrow");
  if (!amounts) return std::nullopt;
  std::int64_t sum = 0;
  for (const ProductAmount& amount : *amounts) sum += amount.milligpu;
  return sum;
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
    {"lend_milligpu", &in::UnchangedFields::lend},
    {"namespaces", &in::UnchangedFields::namespaces},
    {"held", &in::UnchangedFields::held},
    {"draining", &in::UnchangedFields::draining},
    {"time_limits", &in::UnchangedFields::time_limits},
};

// Without a mask the fields that are set count as named.
in::UnchangedFields unset_fields(const v1::Account& in) {
  in::UnchangedFields unchanged;
  unchanged.shares = !in.has_shares();
  unchanged.quota = in.quota_size() == 0;
  unchanged.limit = in.limit_size() == 0;
  unchanged.borrow = !in.has_borrow_milligpu();
  unchanged.lend = !in.has_lend_milligpu();
  unchanged.namespaces = in.namespaces_size() == 0;
  unchanged.held = !in.held();
  unchanged.draining = !in.draining();
  unchanged.time_limits = in.time_limits() == v1::TIME_LIMITS_UNSPECIFIED;
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
  if (const auto borrow = borrow_milligpu(spec.borrow)) out->set_borrow_milligpu(*borrow);
  if (const auto lend = borrow_milligpu(spec.lend)) out->set_lend_milligpu(*lend);
  for (const std::string& ns : spec.namespaces) out->add_namespaces(ns);
  out->set_held(spec.held);
  out->set_draining(spec.draining);
  out->set_time_limits(static_cast<v1::TimeLimits>(spec.time_limits));
  out->set_revision(revision);
}

in::UnchangedFields get_unchanged(Check& check, const v1::UpdateAccountRequest& in) {
  if (in.update_mask().paths_size() == 0) return unset_fields(in.account());
  in::UnchangedFields unchanged;
  for (const MaskField& field : kMaskFields) unchanged.*field.flag = true;
  for (int i = 0; i < in.update_mask().paths_size(); ++i) {
    const std::string& path = in.update_mask().paths(i);
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
  if (!unchanged.borrow && in.has_borrow_milligpu()) {
    spec.borrow =
        borrow_text(check.number("borrow_milligpu", in.borrow_milligpu(), 0, limits::kMaxMilliGpu));
  }
  if (!unchanged.lend && in.has_lend_milligpu()) {
    spec.lend =
        borrow_text(check.number("lend_milligpu", in.lend_milligpu(), 0, limits::kMaxMilliGpu));
  }
  if (!unchanged.namespaces) spec.namespaces = get_namespaces(check, in);
  if (!unchanged.held) spec.held = in.held();
  if (!unchanged.draining) spec.draining = in.draining();
  if (!unchanged.time_limits) {
    spec.time_limits = static_cast<TimeLimits>(
        check.number("time_limits", in.time_limits(), 0,
                     static_cast<std::int64_t>(EnumText<TimeLimits>::names.size()) - 1));
  }
  return spec;
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

}  // namespace subak::api
