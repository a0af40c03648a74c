// The books in SQL: writing rows, reading them back, and sums by day.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "server/runtime/ports.h"
#include "server/store/connection.h"

namespace subak {

class LedgerWriter {
 public:
  bool prepare(Connection& db);
  bool insert(std::uint64_t seq, const LedgerRow& row);

 private:
  Statement insert_;
};

// The columns that ledger_row() reads, in order.
inline constexpr std::string_view kLedgerColumns =
    "ledger.seq, job, rank, attempt, from_ms, to_ms, holder, payer, state, node, product, "
    "milligpu, "
    "corrects";
LedgerRow ledger_row(const Statement& query);

// Which rows a query wants, beyond what SQL has already chosen.
class LedgerFilter {
 public:
  explicit LedgerFilter(const LedgerQuery& query);
  bool wants(const LedgerRow& row) const;

 private:
  TimeMs from_ms_, to_ms_;
  std::vector<AccountId> holders_, payers_;  // sorted
  std::optional<JobId> job_;
};

// Sums rows by UTC day.
class DailySums {
 public:
  DailySums(TimeMs from_ms, TimeMs to_ms) : from_ms_(from_ms), to_ms_(to_ms) {}
  void add(const LedgerRow& row);
  std::vector<DailyUsage> take();

 private:
  using Key = std::tuple<std::int64_t, AccountId, AccountId, UsageState, std::string>;
  struct Sum {
    GpuTime amount;
    std::uint64_t rows = 0;
  };
  TimeMs from_ms_, to_ms_;
  std::map<Key, Sum> sums_;
};

}  // namespace subak
