// What accounts were promised, beside what they used in a usage report.
//
// QUOTA HOURS is the account's quota x time in the period of the line, exactly. The quota counts as
// it was at each instant, for all products together, with the accounts below. It is what the quota
// guaranteed, whether jobs used it or not. So GPU HOURS above it were borrowed, and a gap below it
// was lent to others or idle.
//
// BUDGET is the account's budget with the smallest part left, in its present period. The columns
// after it are granted, spent, held and left GPU-hours, as in `subak budget list`. They are only in
// lines that have the present instant. JSON has all budgets.
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
  // The budget with the smallest part left. nullptr: the account has no budget, or the days do not
  // have the present instant.
  const v1::BudgetRow* budget = nullptr;
};

class Allowances {
 public:
  // An account's path, and the first second of the line's days; 0: all days.
  using Key = std::pair<std::string, std::int64_t>;

  // Without an answer, there are no allowances and no columns. `answer` must outlive the object.
  Allowances() = default;
  explicit Allowances(const v1::ReportUsageResponse& answer);

  // The room of the columns that people need most, and of the others.
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
