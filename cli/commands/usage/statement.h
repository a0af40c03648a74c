// A statement for finance: the usage of one account in one month. The statement has the sums of the
// ledger's rows, and a digest of the rows. So a reader who has the rows can compute the statement
// again (tools/check_statement).
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quantity.h"
#include "server/yaml/price_list.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::cli {

// A UTC month.
struct Month {
  std::string name;  // "2026-10"
  // The first day, and the first day of the next month, in days since 1970-01-01.
  std::int64_t from_day = 0, to_day = 0;
};
// Reads "2026-10". nullopt: the text is no month from 1970-01 to 9999-12.
std::optional<Month> month_of(std::string_view text);

// One line of a statement: the rows of one payer, product, MIG profile and state on days with the
// same price. Rows for an earlier month, which was closed, have lines of their own.
struct StatementLine {
  std::string payer, product, profile;
  v1::UsageState state = v1::USAGE_STATE_UNSPECIFIED;
  // The days of the line: [from_day, to_day). Without prices, all days of a month.
  std::int64_t from_day = 0, to_day = 0;
  GpuTime amount;
  // The number of rows in the line.
  std::uint64_t rows = 0;
  // The price of a GPU-hour, and what the line costs, rounded to hundredths. Both are unset without
  // a price list.
  std::optional<double> per_hour;
  std::optional<std::int64_t> cost_hundredths;
};

// The statement of one account and month.
struct Statement {
  std::string account;
  Month month;
  // True: the month has not ended, or some of its usage has no row yet.
  bool provisional = false;
  // The numbers of the first and the last row, and the number of rows. 0: there is no row.
  std::uint64_t first = 0, last = 0, rows = 0;
  // SHA-256 over the rows as `subak usage ledger --output csv` prints them, in hexadecimal digits.
  std::string sha256;
  // In the order of payer, product, profile, state and day.
  std::vector<StatementLine> lines;
  GpuTime total;
  // The sum of the lines' costs, and the currency. Unset and empty without a price list.
  std::optional<std::int64_t> cost_hundredths;
  std::string currency;
  // The first line with usage on a day without a price, and the day. If there is one, the costs are
  // not complete.
  std::optional<std::pair<StatementLine, std::int64_t>> without_price;
};

// Makes the statement of these rows. `csv`: the same rows as CSV. `prices`: nullptr: no costs.
Statement statement_of(std::string account, const Month& month, const v1::ListLedgerResponse& rows,
                       std::string_view csv, const PriceList* prices);

// The statement as a table for people, as JSON, as CSV (one row for each line), and as an HTML page
// to print.
std::string statement_text(const Statement& statement);
std::string statement_json(const Statement& statement);
std::string statement_csv(const Statement& statement);
std::string statement_page(const Statement& statement);

}  // namespace subak::cli
