#include "server/api/usage/quota_time.h"

#include <algorithm>
#include <utility>

#include "core/account_path.h"
#include "core/must.h"
#include "core/text.h"
#include "model/fact.h"
#include "server/codec/day_sums.h"

namespace subak::api {
namespace {

std::optional<MilliGpu> own_quota(const AccountSpec& spec) {
  if (spec.quota.empty()) return std::nullopt;
  MilliGpu sum = 0;
  for (const ProductAmount& amount : spec.quota) sum += amount.milligpu;
  return sum;
}

// Returns the first instant after the period that has this instant.
TimeMs period_end(UsagePeriod period, TimeMs t) {
  const std::int64_t first = first_day_of(period, utc_day_of(t));
  std::int64_t next = utc_day_of(t) + 1;
  while (first_day_of(period, next) == first) ++next;
  return next * kDayMs;
}

}  // namespace

QuotaTime::QuotaTime(const AccountTree& tree, TimeMs now, TimeMs from_ms, TimeMs to_ms,
                     UsagePeriod period)
    : now_(now), from_ms_(from_ms), to_ms_(std::min(to_ms, now)), period_(period) {
  for (const AccountId id : tree.preorder()) {
    const AccountNode& node = tree.node(id);
    Account& account = accounts_[node.spec.path];
    account = {node.spec.path, own_quota(node.spec), 0, now_};
    for (const AccountId child : node.children) account.below += tree.node(child).quota_total;
    must(account.quota() == node.quota_total, "a quota is the account's own or its children's");
  }
}

QuotaTime::QuotaTime(const AccountTree& tree, TimeMs now, TimeMs from_ms, TimeMs to_ms,
                     DurationMs step_ms, std::string account)
    : QuotaTime(tree, now, from_ms, to_ms, UsagePeriod::kAll) {
  step_ms_ = step_ms;
  only_ = std::move(account);
}

std::optional<Error> QuotaTime::revert(const AuditEntry& entry) {
  const bool moved = entry.what == fact::AccountMoved::kName;
  const bool edited =
      entry.what == fact::AccountSet::kName || entry.what == fact::AccountDeleted::kName;
  if ((!moved && !edited) || !entry.error.empty()) return std::nullopt;
  const auto has_quota = [](const std::string& text) {
    return text.find("quota=") != std::string::npos;
  };
  const bool created = edited && entry.before.empty();
  if (edited && !created && !has_quota(entry.before) && !has_quota(entry.after))
    return std::nullopt;
  AccountSpec before, after;
  for (const auto& [text, spec] :
       {std::pair(&entry.before, &before), std::pair(&entry.after, &after)}) {
    if (text->empty()) continue;
    auto read = from_text<AccountSpec>(*text);
    if (!read.ok()) return read.error();
    *spec = std::move(read).value();
  }
  if (moved) return revert_move(before, after, entry.time_ms);
  set_own(entry.subject, own_quota(before), entry.time_ms);
  if (created) leave(entry.subject);
  return std::nullopt;
}

// An account below the one that moves has an entry of its own, which comes before the entry of its
// parent on the way back. Until then, the accounts between have quotas for no time.
std::optional<Error> QuotaTime::revert_move(const AccountSpec& before, const AccountSpec& after,
                                            TimeMs t) {
  if (before.path == after.path) return std::nullopt;
  const std::string name = at(after.path).name;
  const std::optional<MilliGpu> own = at(after.path).own;
  set_own(after.path, std::nullopt, t);
  leave(after.path);
  moves_.emplace_back(before.path, after.path);
  add_up(at(before.path), t);
  at(before.path).name = name;
  set_own(before.path, own, t);
  return std::nullopt;
}

std::map<QuotaTime::Key, GpuTime> QuotaTime::finish() {
  for (auto& [path, account] : accounts_) add_up(account, from_ms_);
  return std::move(sums_);
}

QuotaTime::Account& QuotaTime::at(const std::string& path) {
  const auto [it, is_new] = accounts_.try_emplace(path);
  if (is_new) {
    it->second.name = present_path(path);
    it->second.until_ms = now_;
  }
  return it->second;
}

void QuotaTime::leave(const std::string& path) {
  const auto account = accounts_.find(path);
  if (account != accounts_.end() && account->second.quota() == 0) accounts_.erase(account);
}

void QuotaTime::set_own(const std::string& path, std::optional<MilliGpu> own, TimeMs t) {
  Account& account = at(path);
  MilliGpu change = -account.quota();
  add_up(account, t);
  account.own = own;
  change += account.quota();
  for (std::string_view above = path; !above.empty() && change != 0;) {
    above = parent_path(above);
    Account& parent = at(std::string(above));
    const MilliGpu was = parent.quota();
    add_up(parent, t);
    parent.below += change;
    change = parent.quota() - was;
  }
}

std::pair<std::int64_t, TimeMs> QuotaTime::period_of(TimeMs t) const {
  if (step_ms_ > 0) {
    const std::int64_t step = (t - from_ms_) / step_ms_;
    return {step, from_ms_ + (step + 1) * step_ms_};
  }
  if (period_ == UsagePeriod::kAll) return {-1, to_ms_};
  return {first_day_of(period_, utc_day_of(t)), period_end(period_, t)};
}

void QuotaTime::add_up(Account& account, TimeMs t) {
  const TimeMs to = std::min(account.until_ms, to_ms_);
  TimeMs from = std::max(t, from_ms_);
  account.until_ms = std::min(account.until_ms, t);
  if (account.quota() == 0 || (step_ms_ > 0 && account.name != only_)) return;
  while (from < to) {
    const auto [number, period_end] = period_of(from);
    const TimeMs end = std::min(to, period_end);
    sums_[{account.name, number}] += GpuTime::of(account.quota(), end - from);
    from = end;
  }
}

std::string QuotaTime::present_path(std::string path) const {
  for (auto move = moves_.rbegin(); move != moves_.rend(); ++move) {
    const auto& [before, after] = *move;
    if (is_path_within(path, before)) path.replace(0, before.size(), after);
  }
  return path;
}

}  // namespace subak::api
