#include "cli/products.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "cli/text/account_fields.h"
#include "cli/text/failure.h"
#include "cli/text/nearest.h"
#include "core/quantity.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::cli {
namespace {

constexpr std::size_t kProductsNamed = 8;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool has_words(const std::string& product, const std::string& words) {
  const std::size_t at = ("-" + product + "-").find("-" + words + "-");
  return at != std::string::npos;
}

}  // namespace

std::vector<std::string> products_like(const std::string& name,
                                       const std::vector<std::string>& fleet) {
  using Test = std::function<bool(const std::string&)>;
  const std::string wanted = lower(name);
  const Test tests[] = {[&](const std::string& p) { return p == wanted; },
                        [&](const std::string& p) { return has_words(p, wanted); },
                        [&](const std::string& p) { return p.find(wanted) != std::string::npos; }};
  for (const Test& test : tests) {
    std::vector<std::string> found;
    std::copy_if(fleet.begin(), fleet.end(), std::back_inserter(found),
                 [&](const std::string& product) { return test(lower(product)); });
    if (!found.empty()) return found;
  }
  return {};
}

const std::vector<std::string>& Products::fleet() {
  if (fleet_) return *fleet_;
  std::set<std::string> names;
  const auto answer = session_.call<v1::ListClustersResponse>("ClusterService/ListClusters",
                                                              v1::ListClustersRequest());
  for (const auto& cluster : answer.clusters()) {
    for (const auto& product : cluster.products()) names.insert(product.product());
  }
  return fleet_.emplace(names.begin(), names.end());
}

void Products::resolve_one(const std::string& where, bool must_exist, std::string* name) {
  if (*name == kAnyProduct || fleet().empty()) return;
  const std::vector<std::string> found = products_like(*name, fleet());
  if (found.size() == 1) {
    *name = found.front();
  } else if (found.size() > 1) {
    throw usage_failure(where + ": \"" + *name + "\" may be " + some_of(found, kProductsNamed),
                        "write one of these names");
  } else if (must_exist) {
    throw usage_failure(where + ": no node has the product \"" + *name + "\"",
                        "the fleet has " + some_of(fleet(), kProductsNamed));
  }
}

void Products::resolve(v1::JobSpec* job) {
  for (auto& group : *job->mutable_request()->mutable_groups()) {
    for (std::string& product : *group.mutable_shape()->mutable_products()) {
      resolve_one("product", true, &product);
    }
  }
}

void Products::resolve_limits(const std::string& where, std::string* limits) {
  std::string out;
  std::size_t begin = 0;
  while (begin < limits->size()) {
    const std::size_t end = std::min(limits->find(',', begin), limits->size());
    const std::string item = limits->substr(begin, end - begin);
    const std::size_t sign = item.find('=');
    std::string name = item.substr(0, sign);
    const bool product = sign != std::string::npos && !is_job_limit(name);
    if (product) resolve_one(where, false, &name);
    out += (out.empty() ? "" : ",") + name + (sign == std::string::npos ? "" : item.substr(sign));
    begin = end + 1;
  }
  *limits = std::move(out);
}

void Products::resolve_budgets(const std::string& where, std::string* budgets) {
  constexpr std::string_view kSoft = "soft=", kTotal = "total";
  std::string out;
  std::size_t begin = 0;
  while (begin < budgets->size()) {
    const std::size_t end = std::min(budgets->find(',', begin), budgets->size());
    std::string item = budgets->substr(begin, end - begin);
    begin = end + 1;
    out += out.empty() ? "" : ",";
    if (item.starts_with(kSoft)) {
      out += kSoft;
      item.erase(0, kSoft.size());
    }
    if (const std::size_t sign = item.find('='); sign != std::string::npos) {
      std::string name = item.substr(0, sign);
      if (name != kTotal) resolve_one(where, false, &name);
      out += name;
      item.erase(0, sign);
    }
    out += item;
  }
  *budgets = std::move(out);
}

void Products::resolve(const std::string& where, v1::Account* account) {
  if (!account->user_limits().empty())
    resolve_limits(where + "user-limit", account->mutable_user_limits());
  if (!account->budgets().empty()) resolve_budgets(where + "budget", account->mutable_budgets());
  for (auto& amount : *account->mutable_quota()) {
    resolve_one(where + "quota", false, amount.mutable_product());
  }
  for (auto& amount : *account->mutable_limit()) {
    resolve_one(where + "limit", false, amount.mutable_product());
  }
  for (auto& amount : *account->mutable_borrow_by_product()) {
    resolve_one(where + "borrow", false, amount.mutable_product());
  }
  for (auto& amount : *account->mutable_lend_by_product()) {
    resolve_one(where + "lend", false, amount.mutable_product());
  }
}

}  // namespace subak::cli
