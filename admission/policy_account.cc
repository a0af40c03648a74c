// Whose pod it is, and how much it may have at most.
#include <algorithm>
#include <optional>

#include "admission/policy_parts.h"
#include "core/cut.h"
#include "core/decimal.h"
#include "core/names.h"
#include "placement/mig.h"

namespace subak::policy {
namespace {

std::string in_quotes(std::string_view text) { return "\"" + cut_text(text) + "\""; }

bool is_user_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '@';
  });
}

// The first limit of this account that `total` exceeds.
std::optional<ProductAmount> exceeded(const AccountSpec& spec, const PodShape& shape,
                                      MilliGpu total) {
  for (const ProductAmount& limit : spec.limit) {
    const bool applies = limit.product == kAnyProduct ||
                         (shape.products.size() == 1 && shape.products[0] == limit.product);
    if (applies && total > limit.milligpu) return limit;
  }
  if (spec.borrow.empty() || spec.quota.empty()) return std::nullopt;
  const auto borrow = parse_amounts(spec.borrow, "borrow");
  if (!borrow.ok()) return std::nullopt;
  MilliGpu most = 0;
  for (const ProductAmount& a : spec.quota) most += a.milligpu;
  for (const ProductAmount& a : *borrow) most += a.milligpu;
  if (total > most) return ProductAmount{kAnyProduct, most};
  return std::nullopt;
}

std::string_view parent_of(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string gpu_resource(const PodShape& shape) {
  if (shape.kind == GpuKind::kMig) return std::string(names::kMigPrefix) + shape.profile;
  return std::string(names::kGpu);
}

}  // namespace

std::optional<MilliGpu> least_milligpu(const ClusterView& cluster, const PodShape& shape) {
  if (shape.kind == GpuKind::kWhole) return shape.gpus * kMilliPerGpu;
  if (shape.kind != GpuKind::kMig) return std::nullopt;
  std::optional<MilliGpu> least;
  const auto consider = [&](std::string_view product) {
    const auto one = mig_slice_milligpu(product, shape.profile);
    if (one && (!least || *one < *least)) least = one;
  };
  for (const std::string& p : shape.products) consider(p);
  if (shape.products.empty()) {
    for (const ProductTotals& t : cluster.products) consider(t.product);
  }
  return least ? std::optional(*least * shape.gpus) : std::nullopt;
}

Payer payer_of(const Context& c, const Pod& pod, std::string_view path) {
  Payer payer;
  payer.row = c.ns_account;
  const PodKey& key = pod.keys.account;
  const std::string field = key_field(path, key, names::kAccount);
  if (c.ns_account == nullptr) {
    payer.refused = denied(Because::kUnknownAccount, 403,
                           "metadata.namespace: " + in_quotes(c.review.ns) +
                               " belongs to no account; an operator adds it, beside those that the "
                               "account has, with: subak account set PATH --namespaces A,B," +
                               cut_text(c.review.ns));
    return payer;
  }
  if (!key.set || key.value == c.ns_account->spec.path) return payer;
  const std::string& own = c.ns_account->spec.path;
  payer.row = c.view.accounts->of_path(key.value);
  if (payer.row == nullptr) {
    payer.refused = denied(Because::kUnknownAccount, 403,
                           field + ": there is no account " + in_quotes(key.value) + "; write " +
                               in_quotes(own) + " or an account below it, or leave the key out");
  } else if (!AccountsView::is_within(key.value, own)) {
    payer.refused = denied(Because::kOutsideSubtree, 403,
                           field + ": account " + in_quotes(key.value) + " is not within " +
                               in_quotes(own) + ", to which namespace " + in_quotes(c.review.ns) +
                               " belongs; write " + in_quotes(own) + " or an account below it");
  }
  return payer;
}

std::optional<Decision> user_refusal(const Context& c, const Pod& pod, std::string_view path) {
  const PodKey& key = pod.keys.user;
  if (!key.set) return std::nullopt;
  const std::string field = key_field(path, key, names::kUser);
  if (!is_user_name(key.value)) {
    return denied(Because::kInvalidValue, Error{ErrorCode::kInvalid, field, std::string(key.value),
                                                "want a user name of A-Z a-z 0-9 . _ - @"});
  }
  const std::string creator = person(c.review);
  if (creator.empty() || key.value == creator || is_trusted(c)) return std::nullopt;
  return denied(Because::kUserMismatch, 403,
                field + ": was " + in_quotes(key.value) + ", but " + in_quotes(creator) +
                    " creates this; write " + in_quotes(creator) + " or leave the key out");
}

std::optional<Decision> over_limit(const Context& c, const PodShape& shape, MilliGpu total,
                                   const std::string& what, const AccountsView::Row& account) {
  std::string_view path = account.spec.path;
  while (true) {
    const AccountsView::Row* row = c.view.accounts->of_path(path);
    const auto limit = row != nullptr ? exceeded(row->spec, shape, total) : std::nullopt;
    if (limit) {
      const std::string name = path.empty() ? "the root account" : "account " + std::string(path);
      return denied(
          Because::kOverLimit, 403,
          "spec.containers[].resources.limits[" + gpu_resource(shape) + "]: asks for " +
              format_milligpu(total) + " GPUs" + what + ", but " + name + " may have at most " +
              format_milligpu(limit->milligpu) + " (limit " + format_amounts({*limit}) +
              ") at once; ask for no more than that, or have an operator raise the limit");
    }
    if (path.empty()) return std::nullopt;
    path = parent_of(path);
  }
}

}  // namespace subak::policy
