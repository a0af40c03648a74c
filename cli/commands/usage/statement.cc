#include "cli/commands/usage/statement.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "cli/commands/usage/usage_parts.h"
#include "cli/text/table.h"
#include "cli/text/words.h"
#include "core/duration.h"
#include "core/printable.h"
#include "server/store/proof/migrate.h"

namespace subak::cli {
namespace {

constexpr int kFirstYear = 1970;

std::string money_text(std::int64_t hundredths) {
  const std::int64_t size = std::abs(hundredths);
  char text[32];
  std::snprintf(text, sizeof text, "%s%lld.%02d", hundredths < 0 ? "-" : "",
                static_cast<long long>(size / 100), static_cast<int>(size % 100));
  return text;
}

std::string price_text(double price) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", price);
  return text;
}

// Days from the first to before the second.
using Days = std::pair<std::int64_t, std::int64_t>;

// Returns the days of the month with this day.
Days month_around(std::int64_t day) {
  using namespace std::chrono;
  const year_month_day date{sys_days(days(day))};
  const year_month month = date.year() / date.month();
  const auto day_of = [](year_month m) {
    return std::int64_t{sys_days(m / 1).time_since_epoch().count()};
  };
  return {day_of(month), day_of(month + months(1))};
}

// Finds the days of a month on which a product and profile have the same price.
class DaysOfPrice {
 public:
  explicit DaysOfPrice(const PriceList* prices) : prices_(prices) {}

  // Returns the longest run of such days around `day`. Without prices: all days of the month.
  Days around(const v1::LedgerRow& row, std::int64_t day) {
    const auto [known, fresh] = known_.try_emplace({row.product(), row.profile(), day});
    if (fresh) known->second = search(row, day);
    return known->second;
  }

 private:
  Days search(const v1::LedgerRow& row, std::int64_t day) const {
    const Days month = month_around(day);
    if (prices_ == nullptr) return month;
    const auto at = [&](std::int64_t d) {
      return prices_->per_hour(row.product(), d, row.profile());
    };
    const auto price = at(day);
    std::int64_t from = day, to = day + 1;
    while (from > month.first && at(from - 1) == price) --from;
    while (to < month.second && at(to) == price) ++to;
    return {from, to};
  }

  const PriceList* prices_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, Days> known_;
};

using StatementKey = std::tuple<std::string, std::string, std::string, int, std::int64_t>;

void add_costs(Statement& statement) {
  std::int64_t cost = 0;
  for (StatementLine& line : statement.lines) {
    if (!line.per_hour) continue;
    line.cost_hundredths = std::llround(line.amount.gpu_hours() * *line.per_hour * 100);
    cost += *line.cost_hundredths;
  }
  statement.cost_hundredths = cost;
}

}  // namespace

std::optional<Month> month_of(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 7 || text[4] != '-' ||
      std::count_if(text.begin(), text.end(), is_digit) != 6) {
    return std::nullopt;
  }
  const auto number = [](std::string_view digits) {
    int value = 0;
    for (const char c : digits) value = value * 10 + (c - '0');
    return value;
  };
  const int year = number(text.substr(0, 4)), month = number(text.substr(5));
  if (year < kFirstYear || month < 1 || month > 12) return std::nullopt;
  using namespace std::chrono;
  const year_month first{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month))};
  const auto day_of = [](year_month m) {
    return std::int64_t{sys_days(m / 1).time_since_epoch().count()};
  };
  return Month{std::string(text), day_of(first), day_of(first + months(1))};
}

Statement statement_of(std::string account, const Month& month, const v1::ListLedgerResponse& rows,
                       std::string_view csv, const PriceList* prices) {
  Statement out;
  out.account = std::move(account);
  out.month = month;
  out.sha256 = sha256_hex(csv);
  std::map<StatementKey, StatementLine> lines;
  DaysOfPrice days_of_price(prices);
  for (const v1::LedgerRow& row : rows.rows()) {
    const std::int64_t day = row.from().seconds() * kSecondMs / kDayMs;
    const Days days = days_of_price.around(row, day);
    StatementLine& line =
        lines[{row.payer(), row.product(), row.profile(), row.state(), days.first}];
    if (line.rows == 0) {
      line.payer = row.payer();
      line.product = row.product();
      line.profile = row.profile();
      line.state = row.state();
      std::tie(line.from_day, line.to_day) = days;
      if (prices != nullptr) line.per_hour = prices->per_hour(row.product(), day, row.profile());
      if (prices != nullptr && !line.per_hour && !out.without_price) {
        out.without_price.emplace(line, day);
      }
    }
    ++line.rows;
    line.amount += get(row.amount());
    out.total += get(row.amount());
    if (out.first == 0) out.first = row.sequence();
    out.last = row.sequence();
    ++out.rows;
  }
  for (auto& [key, line] : lines) out.lines.push_back(std::move(line));
  if (prices != nullptr) {
    out.currency = prices->currency;
    add_costs(out);
  }
  return out;
}

std::string statement_json(const Statement& s) {
  boost::json::array lines;
  for (const StatementLine& line : s.lines) {
    boost::json::object one{{"payer", line.payer},
                            {"product", line.product},
                            {"profile", line.profile},
                            {"state", word(line.state)},
                            {"from", utc_day(line.from_day)},
                            {"to", utc_day(line.to_day)},
                            {"rows", line.rows},
                            {"gpuSeconds", seconds_text(put(line.amount))},
                            {"gpuHours", hours_text(line.amount)}};
    if (line.per_hour) one["perHour"] = price_text(*line.per_hour);
    if (line.cost_hundredths) one["cost"] = money_text(*line.cost_hundredths);
    lines.push_back(std::move(one));
  }
  boost::json::object all{
      {"account", s.account},
      {"month", s.month.name},
      {"from", utc_day(s.month.from_day)},
      {"to", utc_day(s.month.to_day)},
      {"provisional", s.provisional},
      {"entries", {{"first", s.first}, {"last", s.last}, {"count", s.rows}, {"sha256", s.sha256}}},
      {"lines", std::move(lines)},
      {"gpuSeconds", seconds_text(put(s.total))},
      {"gpuHours", hours_text(s.total)}};
  if (s.cost_hundredths) {
    all["currency"] = s.currency;
    all["cost"] = money_text(*s.cost_hundredths);
  }
  return boost::json::serialize(all) + "\n";
}

namespace {

// `total`: with a last row for the sum.
Table lines_table(const Statement& s, bool total) {
  std::vector<Column> columns{
      {"PAYER", Align::kLeft}, {"PRODUCT"}, {"PROFILE"}, {"STATE"}, {"FROM"}, {"TO"}};
  for (const char* name : {"ENTRIES", "GPU SECONDS", "GPU HOURS"}) {
    columns.push_back({name, Align::kRight});
  }
  if (s.cost_hundredths) {
    columns.push_back({"PER HOUR", Align::kRight});
    columns.push_back({"COST", Align::kRight});
  }
  Table table(std::move(columns));
  for (const StatementLine& line : s.lines) {
    std::vector<Cell> cells{line.payer,
                            line.product,
                            line.profile,
                            word(line.state),
                            utc_day(line.from_day),
                            utc_day(line.to_day),
                            std::to_string(line.rows),
                            seconds_text(put(line.amount)),
                            hours_text(line.amount)};
    if (s.cost_hundredths) {
      cells.emplace_back(line.per_hour ? price_text(*line.per_hour) : "");
      cells.emplace_back(line.cost_hundredths ? money_text(*line.cost_hundredths) : "");
    }
    table.row(std::move(cells));
  }
  if (total) {
    std::vector<Cell> cells{"TOTAL",
                            "",
                            "",
                            "",
                            "",
                            "",
                            std::to_string(s.rows),
                            seconds_text(put(s.total)),
                            hours_text(s.total)};
    if (s.cost_hundredths) {
      cells.emplace_back(s.currency);
      cells.emplace_back(money_text(*s.cost_hundredths));
    }
    table.row(std::move(cells));
  }
  return table;
}

constexpr char kHead[] = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>)html";
constexpr char kStyle[] = R"html(</title><style>
body{font:14px/1.5 system-ui,sans-serif;margin:3em auto;max-width:60em;padding:0 1em;color:#1f2328}
h1{font-size:1.5em;margin-bottom:.2em}
table{border-collapse:collapse;width:100%;margin:1.5em 0}
th,td{padding:.35em .6em;border-bottom:1px solid #d0d7de;text-align:left}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
tr.sum td{font-weight:600;border-top:2px solid #1f2328;border-bottom:0}
.note{color:#59636e}.digest{overflow-wrap:anywhere;font-family:monospace}
.warn{border-left:4px solid #bf8700;padding-left:.8em}
@media print{body{margin:0;max-width:none}}
</style></head><body>
)html";

void number_cell(std::ostream& out, const std::string& text) {
  out << "<td class=\"n\">" << text << "</td>";
}

void page_lines(std::ostream& out, const Statement& s) {
  const bool costs = s.cost_hundredths.has_value();
  out << "<table><thead><tr><th>Account</th><th>Product</th><th>State</th><th>Days</th>"
         "<th class=\"n\">GPU-hours</th>"
      << (costs ? "<th class=\"n\">Per hour</th><th class=\"n\">Cost</th>" : "")
      << "</tr></thead><tbody>\n";
  for (const StatementLine& line : s.lines) {
    out << "<tr><td>" << html_text(printable(line.payer)) << "</td><td>"
        << html_text(printable(line.product + (line.profile.empty() ? "" : " " + line.profile)))
        << "</td><td>" << word(line.state) << "</td><td>" << utc_day(line.from_day) << " to "
        << utc_day(line.to_day - 1) << "</td>";
    number_cell(out, hours_text(line.amount));
    if (costs) {
      number_cell(out, line.per_hour ? price_text(*line.per_hour) : "no price");
      number_cell(out, line.cost_hundredths ? money_text(*line.cost_hundredths) : "");
    }
    out << "</tr>\n";
  }
  out << "<tr class=\"sum\"><td colspan=\"4\">Total</td>";
  number_cell(out, hours_text(s.total));
  if (costs) {
    number_cell(out, "");
    number_cell(out, money_text(*s.cost_hundredths) + " " + html_text(printable(s.currency)));
  }
  out << "</tr>\n</tbody></table>\n";
}

}  // namespace

std::string statement_text(const Statement& s) {
  std::ostringstream out;
  lines_table(s, true).print(out, true);
  return out.str();
}

std::string statement_csv(const Statement& s) {
  std::ostringstream out;
  lines_table(s, false).print_csv(out);
  return out.str();
}

std::string statement_page(const Statement& s) {
  const std::string title =
      "GPU usage of " + (s.account.empty() ? "all accounts" : html_text(printable(s.account)));
  std::ostringstream out;
  out << kHead << title << ", " << s.month.name << kStyle << "<h1>" << title << "</h1>\n<p>"
      << utc_day(s.month.from_day) << " to " << utc_day(s.month.to_day - 1) << ", UTC</p>\n";
  if (s.provisional) {
    out << "<p class=\"warn\">Provisional: the month is not closed, and has not ended, or some "
           "usage has "
           "no ledger entry yet.</p>\n";
  }
  page_lines(out, s);
  out << "<p class=\"note\">Sum of " << s.rows << " ledger entries";
  if (s.rows > 0) out << ", numbers " << s.first << " to " << s.last;
  out << ". SHA-256 of the entries as CSV:<br><span class=\"digest\">" << s.sha256
      << "</span></p>\n</body></html>\n";
  return out.str();
}

}  // namespace subak::cli
