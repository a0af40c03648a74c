#include "cli/commands/usage/allowances.h"

namespace subak::cli {
namespace {

double part_left(const v1::BudgetRow& budget) {
  const double granted = get(budget.granted()).gpu_hours();
  return granted == 0 ? 0 : get(budget.left()).gpu_hours() / granted;
}

}  // namespace

Allowances::Allowances(const v1::ReportUsageResponse& answer) : is_known_(true) {
  for (const v1::AccountAllowance& row : answer.allowances()) {
    Allowance& allowance = of_[{row.account(), row.day().seconds()}];
    allowance.quota = get(row.quota());
    for (const v1::BudgetRow& budget : row.budgets()) {
      const bool is_first = allowance.budget == nullptr;
      if (is_first || part_left(budget) < part_left(*allowance.budget)) allowance.budget = &budget;
    }
    if (!allowance.quota.is_zero()) has_quotas_ = true;
    if (allowance.budget != nullptr) has_budgets_ = true;
  }
}

void Allowances::add_columns(std::vector<Column>& columns, bool all, const Rooms& rooms) const {
  if (!is_known_) return;
  if (all || has_quotas_) columns.push_back({"QUOTA HOURS", Align::kRight, rooms.first});
  if (!all && !has_budgets_) return;
  columns.push_back({"BUDGET", Align::kLeft, rooms.more});
  for (const char* const name : {"BUDGET GRANTED", "BUDGET SPENT", "BUDGET HELD"})
    columns.push_back({name, Align::kRight, rooms.more});
  columns.push_back({"BUDGET LEFT", Align::kRight, rooms.first});
}

void Allowances::add_cells(std::vector<Cell>& cells, const Allowance& allowance, bool all) const {
  if (!is_known_) return;
  if (all || has_quotas_) cells.emplace_back(hours_text(allowance.quota));
  if (!all && !has_budgets_) return;
  const v1::BudgetRow* const budget = allowance.budget;
  cells.emplace_back(budget == nullptr ? "" : budget->budget());
  for (const auto figure : {&v1::BudgetRow::granted, &v1::BudgetRow::spent, &v1::BudgetRow::held,
                            &v1::BudgetRow::left}) {
    cells.emplace_back(budget == nullptr ? "" : gpu_hours_text((budget->*figure)()));
  }
}

Allowance Allowances::of(const Key& key) const {
  const auto found = of_.find(key);
  return found == of_.end() ? Allowance() : found->second;
}

Allowance Allowances::total(const std::string& account) const {
  Allowance total;
  for (auto at = of_.lower_bound({account, INT64_MIN});
       at != of_.end() && at->first.first == account; ++at) {
    total.quota += at->second.quota;
    if (at->second.budget != nullptr) total.budget = at->second.budget;
  }
  return total;
}

}  // namespace subak::cli
