// The columns of a usage report that show what each account was promised: its quota hours and its
// budget.
//
// QUOTA HOURS is the account's quota x time in the period of the line, exactly. The quota counts as
// it was at each instant, for all products together, with the accounts below. QUOTA HOURS are the
// GPU-hours that the quota guaranteed, even if no job used them. So GPU HOURS above QUOTA HOURS
// were borrowed. Quota hours that the account did not use were lent to others or idle.
//
// BUDGET is the account's budget with the smallest part left, in its present period. The columns
// after it are granted, spent, held and left GPU-hours, as in `subak budget list`. Only lines whose
// period has the present time have values in these columns. JSON has all budgets.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/usage/usage_parts.h"

namespace subak::cli {

// The promises to one account in the days of one line.
struct Allowance {
  GpuTime quota;
  // The budget with the smallest part left. nullptr: the account has no budget, or the present time
  // is not in the days of the line.
  const v1::BudgetRow* budget = nullptr;
};

// The allowances of all accounts and lines of one report.
class Allowances {
 public:
  // An account's path, and the first second of the line's days; 0: all days.
  using Key = std::pair<std::string, std::int64_t>;

  // The default object has no allowances and adds no columns. `answer` must outlive an object that
  // is made from it.
  Allowances() = default;
  explicit Allowances(const v1::ReportUsageResponse& answer);

  // How the table shows the columns (Room). `first`: the columns that people need most. `more`: all
  // other columns.
  struct Rooms {
    Room first = Room::kUsual, more = Room::kWide;
  };
  // Adds the columns. `all`: also columns without a value.
  void add_columns(std::vector<Column>& columns, bool all, const Rooms& rooms) const;
  // Adds the cells of the columns that add_columns() added with the same `all`.
  void add_cells(std::vector<Cell>& cells, const Allowance& allowance, bool all) const;
  // Returns the allowance of a line; an empty one if there is none.
  Allowance of(const Key& key) const;
  // Returns the allowance of an account in all lines together.
  Allowance total(const std::string& account) const;
  const std::map<Key, Allowance>& all() const { return of_; }

 private:
  std::map<Key, Allowance> of_;
  bool is_known_ = false, has_quotas_ = false, has_budgets_ = false;
};

}  // namespace subak::cli
