#include "cli/text/account_fields.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "cli/text/failure.h"
#include "cli/text/words.h"
#include "core/duration.h"

namespace subak::cli {
namespace {

constexpr char kUnlimited[] = "unlimited";
constexpr char kNone[] = "none";

std::string or_none(const std::string& text) { return text.empty() ? kNone : text; }

std::int64_t whole_number(const std::string& text, const std::string& flag) {
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || value < 0) {
    throw usage_failure(flag + ": was \"" + text + "\", want a whole number >= 0",
                        "shares are relative to those of the siblings: of two siblings with 3 and "
                        "1, the first gets three quarters");
  }
  return value;
}

// Reads "8", "gpu=8,H100=2", "unlimited" (nothing set), "none" (0). Returns the amount of all
// products together, and moves the others to `by_product`.
std::optional<std::int64_t> bound_of(const std::string& text, const std::string& flag,
                                     Amounts* by_product) {
  if (text == kUnlimited) return std::nullopt;
  if (text == kNone) return 0;
  std::optional<std::int64_t> total;
  Amounts all;
  set_amounts(text, flag, &all);
  for (auto& amount : all) {
    if (amount.product() == kAnyProduct) {
      total = amount.milligpu();
    } else {
      *by_product->Add() = std::move(amount);
    }
  }
  return total;
}

// The text that bound_of() reads.
std::string bound_text(bool has_total, std::int64_t total, const Amounts& by_product) {
  if (by_product.empty()) return has_total ? gpus_text(total) : std::string(kUnlimited);
  const std::string products = amounts_text(by_product);
  return has_total ? std::string(kAnyProduct) + "=" + gpus_text(total) + "," + products : products;
}

void append(const std::string& item, std::string& list) {
  list += (list.empty() ? "" : ",") + item;
}

// Splits "gpu=8,jobs=20,time=2d" into amounts of GPUs and limits on jobs.
std::pair<std::string, std::string> split_limits(const std::string& text) {
  std::pair<std::string, std::string> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    append(item, is_job_limit(item.substr(0, item.find('='))) ? out.second : out.first);
    begin = end + 1;
  }
  return out;
}

bool is_no_limit(const std::string& text) { return text == kUnlimited || text == kNone; }

std::string limits_text(const v1::Account& account) {
  std::string text = amounts_text(account.limit());
  if (!account.job_limits().empty()) append(account.job_limits(), text);
  return or_none(text);
}

constexpr const char* kTimeLimits[] = {"inherit", "advised", "enforced"};

v1::TimeLimits time_limits_of(const std::string& text, const std::string& flag) {
  const auto* const it = std::find(std::begin(kTimeLimits), std::end(kTimeLimits), text);
  if (it == std::end(kTimeLimits)) {
    throw usage_failure(flag + ": was \"" + text + "\", want enforced, advised or inherit",
                        "enforced: Subak ends a job at its time limit");
  }
  return static_cast<v1::TimeLimits>(it - std::begin(kTimeLimits));
}

std::string time_limits_text(v1::TimeLimits said) {
  const auto i = static_cast<std::size_t>(said);
  return i < std::size(kTimeLimits) ? kTimeLimits[i] : std::to_string(i);
}

Duration default_limit_of(const std::string& text, const std::string& flag) {
  const auto ms = parse_duration(text, flag);
  if (!ms || *ms <= 0) {
    throw usage_failure(flag + ": was \"" + text + "\", want a duration such as 4h, or inherit",
                        "inherit: the account above decides, and for the root the policy");
  }
  return to_duration(*ms);
}

// True if a new account has this value by default.
bool is_usual(const FieldText& field) {
  return field.text == kNone || field.text == kUnlimited || field.text == "false" ||
         field.text == kTimeLimits[0];
}

std::string namespaces_text(const v1::Account& account) {
  std::string text;
  for (const std::string& ns : account.namespaces()) text += (text.empty() ? "" : ",") + ns;
  return or_none(text);
}

void put_namespaces(const std::vector<std::string>& wanted, v1::Account* account) {
  if (wanted.size() == 1 && wanted.front() == kNone) return;
  for (const std::string& ns : wanted) {
    if (!ns.empty()) account->add_namespaces(ns);
  }
}

}  // namespace

bool is_job_limit(const std::string& name) {
  constexpr const char* kNames[] = {"gpu-minutes", "jobs", "queued", "time"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void put_wish(const AccountWish& wish, const std::string& where,
              v1::UpdateAccountRequest* request) {
  v1::Account* account = request->mutable_account();
  auto* mask = request->mutable_update_mask();
  account->set_path(wish.path);
  const auto name = [&where](const char* field) { return where + field; };
  if (wish.shares) {
    account->set_shares(whole_number(*wish.shares, name("shares")));
    mask->add_paths("shares");
  }
  if (wish.quota) {
    set_amounts(*wish.quota, name("quota"), account->mutable_quota());
    mask->add_paths("quota");
  }
  if (wish.limit) {
    const auto [gpus, jobs] = split_limits(is_no_limit(*wish.limit) ? "" : *wish.limit);
    set_amounts(gpus.empty() ? kNone : gpus, name("limit"), account->mutable_limit());
    account->set_job_limits(jobs);
    mask->add_paths("limit");
    mask->add_paths("job_limits");
  }
  if (wish.user_limit) {
    if (!is_no_limit(*wish.user_limit)) account->set_user_limits(*wish.user_limit);
    mask->add_paths("user_limits");
  }
  if (wish.budget) {
    if (!is_no_limit(*wish.budget)) account->set_budgets(*wish.budget);
    mask->add_paths("budgets");
  }
  if (wish.managed_by) {
    if (*wish.managed_by != kNone) account->set_managed_by(*wish.managed_by);
    mask->add_paths("managed_by");
  }
  if (wish.borrow) {
    const auto most = bound_of(*wish.borrow, name("borrow"), account->mutable_borrow_by_product());
    if (most) account->set_borrow_milligpu(*most);
    mask->add_paths("borrow_milligpu");
  }
  if (wish.lend) {
    const auto most = bound_of(*wish.lend, name("lend"), account->mutable_lend_by_product());
    if (most) account->set_lend_milligpu(*most);
    mask->add_paths("lend_milligpu");
  }
  if (wish.namespaces) {
    put_namespaces(*wish.namespaces, account);
    mask->add_paths("namespaces");
  }
  if (wish.held) {
    account->set_held(*wish.held);
    mask->add_paths("held");
  }
  if (wish.draining) {
    account->set_draining(*wish.draining);
    mask->add_paths("draining");
  }
  if (wish.time_limits) {
    account->set_time_limits(time_limits_of(*wish.time_limits, name("time-limits")));
    mask->add_paths("time_limits");
  }
  if (wish.default_time_limit) {
    if (*wish.default_time_limit != kTimeLimits[0]) {
      *account->mutable_default_time_limit() =
          default_limit_of(*wish.default_time_limit, name("default-time-limit"));
    }
    mask->add_paths("default_time_limit");
  }
}

std::vector<FieldText> account_fields(const v1::Account& a) {
  return {
      {"shares", std::to_string(a.has_shares() ? a.shares() : 1)},
      {"quota", or_none(amounts_text(a.quota()))},
      {"limit", limits_text(a)},
      {"borrow", bound_text(a.has_borrow_milligpu(), a.borrow_milligpu(), a.borrow_by_product())},
      {"lend", bound_text(a.has_lend_milligpu(), a.lend_milligpu(), a.lend_by_product())},
      {"namespaces", namespaces_text(a)},
      {"held", a.held() ? "true" : "false"},
      {"draining", a.draining() ? "true" : "false"},
      {"time-limits", time_limits_text(a.time_limits())},
      {"user-limit", or_none(a.user_limits())},
      {"budget", or_none(a.budgets())},
      {"default-time-limit", a.has_default_time_limit()
                                 ? format_duration(to_ms(a.default_time_limit()))
                                 : kTimeLimits[0]},
      {"managed-by", or_none(a.managed_by())}};
}

std::vector<DiffLine> account_diff(const v1::Account* before, const v1::Account* after) {
  std::vector<DiffLine> lines;
  if (before != nullptr && after != nullptr && before->path() != after->path()) {
    lines.push_back({'-', "path: " + before->path()});
    lines.push_back({'+', "path: " + after->path()});
  }
  const auto old_fields = before != nullptr ? account_fields(*before) : std::vector<FieldText>();
  const auto new_fields = after != nullptr ? account_fields(*after) : std::vector<FieldText>();
  const std::size_t count = std::max(old_fields.size(), new_fields.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = old_fields.empty() ? new_fields[i].name : old_fields[i].name;
    if (before != nullptr && after != nullptr && old_fields[i].text == new_fields[i].text) continue;
    if ((before == nullptr && is_usual(new_fields[i])) ||
        (after == nullptr && is_usual(old_fields[i])))
      continue;
    if (before != nullptr) lines.push_back({'-', name + ": " + old_fields[i].text});
    if (after != nullptr) lines.push_back({'+', name + ": " + new_fields[i].text});
  }
  return lines;
}

}  // namespace subak::cli
