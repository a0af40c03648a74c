// subak usage statement: what an account used in one month, for finance.
#include <sstream>

#include "cli/commands/usage/statement.h"
#include "cli/commands/usage/usage_parts.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"

namespace subak::cli {
namespace {

struct StatementCommand {
  std::string account, month, price_file, page;
};

v1::ListLedgerResponse read_ledger(Session& s, const std::string& account, const Month& month) {
  v1::ListLedgerRequest request;
  request.set_account(account);
  *request.mutable_from() = to_timestamp(month.from_day * kDayMs);
  *request.mutable_to() = to_timestamp(month.to_day * kDayMs);
  return all_pages<v1::ListLedgerResponse>(s, "UsageService/ListLedger", request, 0,
                                           [](auto& a) { return a.mutable_rows(); });
}

// True if the month goes on, or GPUs were held in it whose usage has no row yet. A closed month gets
// no more rows. The service knows which months are closed.
bool is_open(Session& s, const std::string& account, const Month& month) {
  v1::ReportUsageRequest request;
  request.set_account(account);
  *request.mutable_from() = to_timestamp(month.from_day * kDayMs);
  *request.mutable_to() = to_timestamp(month.to_day * kDayMs);
  const auto answer = s.call<v1::ReportUsageResponse>("UsageService/ReportUsage", request);
  const TimeMs end_ms = month.to_day * kDayMs;
  if (to_ms(answer.time()) < end_ms) return true;
  return to_ms(answer.open_since()) < end_ms && !is_zero(answer.running());
}

void refuse_gaps(const Statement& statement) {
  if (!statement.without_price) return;
  const auto& [line, day] = *statement.without_price;
  throw no_price(line.product, line.profile, utc_day(day));
}

void print_statement(Session& s, const Statement& statement) {
  s.out() << "GPU usage of "
          << (statement.account.empty() ? "all accounts" : printable(statement.account)) << " in "
          << statement.month.name << " (UTC)\n";
  if (statement.provisional) {
    s.out() << s.paint(Colour::kYellow, "provisional") << ": the month is not closed, and has "
            << "not ended, or some usage has no ledger entry yet\n";
  }
  s.out() << '\n' << statement_text(statement) << '\n' << statement.rows << " ledger entries";
  if (statement.rows > 0) {
    s.out() << ", numbers " << statement.first << " to " << statement.last;
  }
  s.out() << "; SHA-256 of the entries as CSV:\n" << statement.sha256 << '\n';
}

int make_statement(Session& s, const StatementCommand& o) {
  const auto month = month_of(o.month);
  if (!month)
    throw usage_failure("MONTH: was \"" + o.month + "\", want a month such as 2026-10",
                        "a statement has one month, in UTC");
  if (s.form() == Form::kYaml)
    throw usage_failure("--output: was yaml, want table, json or csv",
                        "--page writes a page to print");
  const std::optional<PriceList> prices = read_prices(o.price_file);
  if (!o.account.empty()) s.must_be_account(o.account);
  const bool open = is_open(s, o.account, *month);
  const v1::ListLedgerResponse rows = read_ledger(s, o.account, *month);
  std::ostringstream csv;
  ledger_table(rows, true).print_csv(csv);
  Statement statement =
      statement_of(o.account, *month, rows, csv.str(), prices ? &*prices : nullptr);
  statement.provisional = open;
  refuse_gaps(statement);
  if (!o.page.empty()) write_output("--page", o.page, statement_page(statement));
  if (s.form() == Form::kJson) {
    s.out() << statement_json(statement);
  } else if (s.is_csv()) {
    s.out() << statement_csv(statement);
  } else {
    print_statement(s, statement);
  }
  return kExitDone;
}

}  // namespace

void add_usage_statement(Command usage) {
  auto o = std::make_shared<StatementCommand>();
  Command c = usage.add(
      "statement",
      "what an account used in one month, with a digest of the ledger entries, for finance");
  c.argument("ACCOUNT", o->account, "such as ml, with all accounts below it; \"\" is all accounts");
  c.argument("MONTH", o->month, "a UTC month, such as 2026-10");
  c.option("--prices", o->price_file, "price list of GPUs (YAML): adds the cost", "FILE");
  c.option("--page", o->page, "also write the statement as an HTML page to print", "FILE");
  c.details(
      "tools/check_statement computes a statement again from the ledger entries alone:\n"
      "  subak usage statement ml 2026-10 --output json > statement.json\n"
      "  subak usage ledger --account ml --from 2026-10-01 --to 2026-11-01 --limit 0 \\\n"
      "    --output csv > entries.csv\n"
      "  tools/check_statement statement.json entries.csv\n");
  c.run([o](Session& s) { return make_statement(s, *o); });
}

}  // namespace subak::cli
