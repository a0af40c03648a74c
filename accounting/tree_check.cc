// The checks of a spec: names, paths, ranges, namespaces.
#include <algorithm>
#include <string>

#include "accounting/shared_bound.h"
#include "accounting/tree.h"
#include "core/account_limits.h"
#include "core/account_path.h"
#include "core/decimal.h"
#include "core/limits.h"
#include "core/must.h"

namespace subak {
namespace {

constexpr std::string_view kPathForm =
    "want labels of a-z 0-9 _ - joined by dots, as ml.vision, or a user below one, as "
    "ml.vision/ana";
constexpr std::string_view kNamespaceForm = "want a namespace, or CLUSTER/NAMESPACE";

Error invalid(std::string_view field, std::string_view got, std::string_view want) {
  return {ErrorCode::kInvalid, std::string(field), std::string(got), std::string(want)};
}

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_label_char(char c) { return is_lower_or_digit(c) || c == '_' || c == '-'; }
bool is_user_char(char c) {
  return is_label_char(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '@';
}
bool is_dns_char(char c) { return is_lower_or_digit(c) || c == '-' || c == '.'; }

bool all_of(std::string_view s, bool (*ok)(char)) {
  return !s.empty() && std::all_of(s.begin(), s.end(), ok);
}

bool is_account_path(std::string_view path) {
  while (true) {
    const auto dot = path.find('.');
    if (!all_of(path.substr(0, dot), is_label_char)) return false;
    if (dot == std::string_view::npos) return true;
    path.remove_prefix(dot + 1);
  }
}

std::optional<Error> check_path(const AccountSpec& spec) {
  const std::string& path = spec.path;
  if (path.size() > limits::kMaxNameBytes) {
    return invalid("path", path,
                   "want at most " + std::to_string(limits::kMaxNameBytes) + " bytes");
  }
  const auto slash = path.find('/');
  const bool user = slash != std::string::npos;
  const bool ok =
      path.empty() || (is_account_path(std::string_view(path).substr(0, slash)) &&
                       (!user || all_of(std::string_view(path).substr(slash + 1), is_user_char)));
  if (!ok) return invalid("path", path, kPathForm);
  if (user != spec.user) {
    return invalid("user", spec.user ? "true" : "false", "want true exactly for a path with a /");
  }
  return std::nullopt;
}

std::optional<Error> check_amounts(const ProductAmounts& amounts, std::string_view field) {
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const auto& [product, amount] = amounts[i];
    const std::string name = std::string(field) + "." + product;
    if (product.empty() || product.size() > limits::kMaxNameBytes) {
      return invalid(name, product, "want a product name, or gpu for any");
    }
    if (i > 0 && !(amounts[i - 1].product < product)) {
      return invalid(name, product, "want each product once, sorted");
    }
    if (amount < 0 || amount > limits::kMaxMilliGpu) {
      return invalid(name, format_milligpu(amount),
                     "want 0 to " + format_milligpu(limits::kMaxMilliGpu) + " GPUs");
    }
  }
  return std::nullopt;
}

bool is_namespace(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return all_of(name, is_dns_char);
  return all_of(name.substr(0, slash), is_dns_char) && all_of(name.substr(slash + 1), is_dns_char);
}

// Checks that there is room for one more account. The count of an account includes its users and
// all accounts below it.
std::optional<Error> check_room(const AccountTree& tree, const AccountSpec& spec,
                                AccountId parent) {
  constexpr SharedBound kBound{limits::kMaxAccounts, limits::kAccountsReserve};
  const auto below = [&tree](AccountId id) -> std::size_t { return tree.node(id).below; };
  if (may_take(kBound, tree, parent, tree.names().live(), below)) return std::nullopt;
  return Error{ErrorCode::kExhausted, "path", spec.path,
               "want at most " + std::to_string(limits::kMaxAccounts) + " accounts and users; " +
                   who_fills_text(tree, below)};
}

std::optional<Error> check_place(const AccountTree& tree, const AccountSpec& spec) {
  if (tree.find(spec.path)) return std::nullopt;  // an edit: it has its node already
  const std::string_view above = parent_path(spec.path);
  const AccountId parent = tree.find(above);
  if (!parent) {
    return Error{ErrorCode::kNotFound, "path", spec.path,
                 "want an account below one that exists; create " + std::string(above) + " first"};
  }
  if (auto error = check_room(tree, spec, parent)) return error;
  if (tree.node(parent).depth >= limits::kMaxAccountDepth) {
    return invalid("path", spec.path,
                   "want at most " + std::to_string(limits::kMaxAccountDepth) + " levels");
  }
  return std::nullopt;
}

std::optional<Error> check_namespaces(const AccountTree& tree, const AccountSpec& spec) {
  const auto& names = spec.namespaces;
  if (spec.user && !names.empty()) {
    return invalid("namespaces", names[0],
                   "want none: a namespace belongs to an account, not a user");
  }
  if (names.size() > limits::kMaxNamespacesPerAccount) {
    return invalid("namespaces", std::to_string(names.size()),
                   "want at most " + std::to_string(limits::kMaxNamespacesPerAccount));
  }
  if (names.empty()) return std::nullopt;
  const AccountId self = tree.find(spec.path);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() > limits::kMaxNameBytes || !is_namespace(names[i])) {
      return invalid("namespaces", names[i], kNamespaceForm);
    }
    if (i > 0 && !(names[i - 1] < names[i])) {
      return invalid("namespaces", names[i], "want each namespace once, sorted");
    }
    const AccountId owner = tree.names().owner_of(names[i]);
    if (owner && owner != self) {
      return Error{
          ErrorCode::kExists, "namespaces", names[i],
          "want a namespace of no other account; it is " + tree.node(owner).spec.path + "'s"};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<BorrowBound> parse_borrow(std::string_view text, std::string_view field) {
  BorrowBound bound;
  if (text == "none") bound.total = 0;
  auto amounts = parse_amounts(text, field);
  if (!amounts) return amounts.error();
  for (ProductAmount& amount : *amounts) {
    must(amount.milligpu >= 0, "an amount that people write is not negative");
    if (amount.product == kAnyProduct) {
      bound.total = amount.milligpu;
    } else {
      bound.by_product.push_back(std::move(amount));
    }
  }
  return bound;
}

std::string borrow_text(const BorrowBound& bound) {
  if (bound.by_product.empty() && bound.total)
    return *bound.total == 0 ? "none" : format_milligpu(*bound.total);
  ProductAmounts amounts = bound.by_product;
  if (bound.total) amounts.push_back({std::string(kAnyProduct), *bound.total});
  return amounts.empty() ? "" : format_amounts(amounts);
}

namespace {

// What is lent is at most the quota that is configured.
std::optional<Error> check_lend(const AccountSpec& spec) {
  const auto lend = parse_borrow(spec.lend, "lend");
  if (!lend) return lend.error();
  if (spec.quota.empty()) return std::nullopt;
  MilliGpu quota = 0;
  for (const ProductAmount& amount : spec.quota) quota += amount.milligpu;
  if (lend->total && *lend->total > quota) {
    return invalid("lend", spec.lend,
                   "want at most the account's quota, " + format_milligpu(quota) + " GPUs");
  }
  for (const ProductAmount& amount : lend->by_product) {
    const auto own = std::find_if(spec.quota.begin(), spec.quota.end(),
                                  [&](const auto& q) { return q.product == amount.product; });
    const MilliGpu most = own == spec.quota.end() ? 0 : own->milligpu;
    if (amount.milligpu > most) {
      return invalid("lend", spec.lend,
                     "want at most the account's quota of " + amount.product + ", " +
                         format_milligpu(most) + " GPUs");
    }
  }
  return std::nullopt;
}

std::optional<Error> check_managed_by(const AccountSpec& spec) {
  const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
  const bool ok = spec.managed_by.size() <= limits::kMaxNameBytes &&
                  std::all_of(spec.managed_by.begin(), spec.managed_by.end(), is_visible);
  if (ok) return std::nullopt;
  return invalid(
      "managed_by", spec.managed_by,
      "want the name of a caller as the audit log shows it, such as token:ci, or anyone");
}

}  // namespace

std::optional<Error> AccountTree::check(const AccountSpec& spec) const {
  if (auto error = check_path(spec)) return error;
  if (auto error = check_place(*this, spec)) return error;
  if (spec.shares < 0 || spec.shares > limits::kMaxShares) {
    return invalid("shares", std::to_string(spec.shares),
                   "want 0 to " + std::to_string(limits::kMaxShares));
  }
  if (auto error = check_amounts(spec.quota, "quota")) return error;
  if (auto error = check_amounts(spec.limit, "limit")) return error;
  if (auto borrow = parse_borrow(spec.borrow, "borrow"); !borrow) return borrow.error();
  if (auto error = check_lend(spec)) return error;
  if (spec.default_time_limit_ms < 0 || spec.default_time_limit_ms > limits::kMaxTimeLimitMs) {
    return invalid("default_time_limit", std::to_string(spec.default_time_limit_ms) + "ms",
                   "want at least 1ms, or 0 to inherit");
  }
  if (auto limits = parse_job_limits(spec.job_limits, "job_limits"); !limits) return limits.error();
  const auto user_limits = parse_user_limits(spec.user_limits, "user_limits");
  if (!user_limits) return user_limits.error();
  if (spec.user && !spec.user_limits.empty()) {
    return invalid("user_limits", spec.user_limits,
                   "want none: a user has no users; set job_limits or limit");
  }
  if (auto error = check_amounts(user_limits->gpus, "user_limits")) return error;
  if (auto error = check_managed_by(spec)) return error;
  const auto budgets = parse_budgets(spec.budgets, "budgets");
  if (!budgets) return budgets.error();
  for (const Budget& budget : *budgets) {
    if (budget.product.size() > limits::kMaxNameBytes) {
      return invalid("budgets", budget.product, "want a product name, or gpu for any");
    }
  }
  return check_namespaces(*this, spec);
}

}  // namespace subak
