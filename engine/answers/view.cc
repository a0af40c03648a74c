#include "engine/answers/view.h"

#include <algorithm>

#include "core/account_path.h"
#include "core/must.h"

namespace subak {

Rules AccountsView::Row::rules() const {
  Rules rules{id, quota, limit, borrow, borrow_of, spec.held, spec.draining, {}, 0};
  if (extra == nullptr) return rules;
  rules.jobs = &extra->jobs;
  rules.budgets = extra->budgets;
  return rules;
}

Rules AccountsView::Row::user_rules() const {
  must(extra != nullptr, "the account has limits for each user");
  Rules rules;
  rules.subject = id;
  rules.limit = extra->user_gpus;
  rules.jobs = &extra->user_jobs;
  rules.per_user = true;
  return rules;
}

const AccountsView::Row* AccountsView::of_namespace(std::string_view cluster,
                                                    std::string_view ns) const {
  must(ns.find('/') == std::string_view::npos, "a namespace has no slash");
  const std::string* path = by_namespace.find(std::string(cluster) + "/" + std::string(ns));
  if (path == nullptr) path = by_namespace.find(ns);
  return path == nullptr ? nullptr : of_path(*path);
}

ProductId AccountsView::product(std::string_view name) const {
  if (!products) return {};
  const auto it = products->find(name);
  return it == products->end() ? ProductId() : it->second;
}

std::string_view AccountsView::product_name(ProductId id) const {
  if (!products) return {};
  const auto it = std::find_if(products->begin(), products->end(),
                               [id](const auto& product) { return product.second == id; });
  return it == products->end() ? std::string_view() : it->first;
}

std::vector<const AccountsView::Row*> AccountsView::accounts() const {
  std::vector<const Row*> out = by_path.values();
  std::erase_if(out, [](const Row* row) { return row->spec.user; });
  return out;
}

template <class F>
const AccountsView::Row* AccountsView::nearest(std::string_view path, F&& fn) const {
  for (;;) {
    const Row* const row = of_path(path);
    if (row != nullptr && fn(*row)) return row;
    if (path.empty()) return nullptr;
    path = parent_path(path);
  }
}

DurationMs AccountsView::default_time_limit(std::string_view path) const {
  const Row* const row =
      nearest(path, [](const Row& r) { return r.spec.default_time_limit_ms != 0; });
  return row == nullptr ? 0 : row->spec.default_time_limit_ms;
}

bool AccountsView::has_hard_budget(std::string_view path) const {
  return nearest(path, [](const Row& r) {
           return r.extra != nullptr && !r.extra->budgets.empty() &&
                  !r.extra->budgets.front().budget.soft;  // hard ones come first
         }) != nullptr;
}

bool AccountsView::has_budget_period(std::string_view path) const {
  return nearest(path, [](const Row& r) {
           return r.extra != nullptr &&
                  std::any_of(r.extra->budgets.begin(), r.extra->budgets.end(), [](const auto& of) {
                    return !of.budget.soft && of.budget.period.kind != PeriodKind::kTotal;
                  });
         }) != nullptr;
}

std::optional<AccountsView::Refusal> AccountsView::refusal(std::string_view path,
                                                           std::span<const ProductDemand> amounts,
                                                           const JobDemand& job,
                                                           Asking asking) const {
  const bool of_user = path.find('/') != std::string_view::npos;
  for (;;) {
    if (const Row* const row = of_path(path)) {
      must(row->spec.path == path, "a row is found by its path");
      auto binding = first_binding(row->rules(), amounts, job, asking);
      if (!binding && of_user && row->extra != nullptr)
        binding = first_binding(row->user_rules(), amounts, job, asking);
      if (binding) return Refusal{row, *binding};
    }
    if (path.empty()) return std::nullopt;
    path = parent_path(path);
  }
}

Mode ClusterView::mode_of(std::string_view ns) const {
  for (const NamespaceMode& m : namespaces) {
    if (m.ns == ns) return m.mode;
  }
  return mode;
}

const AccountsView::Row* View::account_of(const ClusterView& cluster, std::string_view ns) const {
  if (!accounts) return nullptr;
  if (const auto* names = accounts->of_namespace(cluster.name, ns)) return names;
  const NamespaceLabel* const label = cluster.labels ? cluster.labels->find(ns) : nullptr;
  const auto* const named = label == nullptr ? nullptr : accounts->of_path(label->account);
  return named == nullptr || named->spec.user ? nullptr : named;
}

const ClusterView* View::cluster(std::string_view name) const {
  if (!clusters) return nullptr;
  if (name.empty()) return clusters->size() == 1 ? &clusters->front() : nullptr;
  for (const ClusterView& c : *clusters) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

}  // namespace subak
