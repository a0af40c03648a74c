// subak budget list: what accounts may spend, have spent, and have left.
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/text/words.h"
#include "subak/v1/account_service.pb.h"

namespace subak::cli {
namespace {

struct BudgetCommand {
  std::string account;
  WatchOptions watch;
};

// A local time to the minute; the date alone for midnight.
Cell end_cell(const google::protobuf::Timestamp* time) {
  if (time == nullptr) return {"", ""};
  Cell cell = time_cell(*time);
  constexpr std::size_t kDate = 10, kMinute = 16, kSecond = 19;
  if (cell.text.size() < kSecond) return cell;
  const bool is_midnight = cell.text.compare(kDate, kSecond - kDate, " 00:00:00") == 0;
  const std::size_t keep = is_midnight ? kDate : kMinute;
  cell.text.erase(keep, kSecond - keep);
  return cell;
}

std::string reached_text(const v1::BudgetRow& row) {
  return row.reached_percent() == 0 ? "" : std::to_string(row.reached_percent()) + "%";
}

Table budget_table(const v1::ListBudgetsResponse& answer) {
  constexpr Align kRight = Align::kRight;
  Table table({{"Account", Align::kLeft, Room::kElastic},
               {"Budget", Align::kLeft},
               {"Granted", kRight},
               {"Spent", kRight},
               {"Held", kRight},
               {"Left", kRight},
               {"Reached", kRight},
               time_column("Until"),
               time_column("SpentBy")});
  for (const v1::BudgetRow& r : answer.rows()) {
    table.row({r.account().empty() ? "(root)" : r.account(), r.budget(),
               gpu_hours_text(r.granted()), gpu_hours_text(r.spent()), gpu_hours_text(r.held()),
               gpu_hours_text(r.left()), reached_text(r), end_cell(r.has_to() ? &r.to() : nullptr),
               end_cell(r.has_projected_end() ? &r.projected_end() : nullptr)});
  }
  return table;
}

void show_budgets(Session& s, const BudgetCommand& o) {
  v1::ListBudgetsRequest request;
  request.set_account(o.account);
  const auto answer = all_pages<v1::ListBudgetsResponse>(
      s, "AccountService/ListBudgets", request, 0, [](auto& a) { return a.mutable_rows(); });
  s.show(answer, [&] { return budget_table(answer); });
}

}  // namespace

void add_budget(Command root) {
  Command budget = root.add("budget", "the GPU-hours that accounts may spend in each period");
  auto o = std::make_shared<BudgetCommand>();
  Command c = budget.add("list",
                         "budgets in GPU-hours: granted, spent, held by running jobs, and left; "
                         "SpentBy is when a budget is spent at the present rate");
  c.optional_argument("ACCOUNT", o->account,
                      "only this account and the accounts below it; default: all accounts");
  add_watch(c, o->watch);
  c.run([o](Session& s) { return repeat(s, o->watch.seconds(), [&] { show_budgets(s, *o); }); });
}

}  // namespace subak::cli
