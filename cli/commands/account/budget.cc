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

// A time to the minute; the date alone for midnight.
std::string end_text(const google::protobuf::Timestamp* time, bool csv) {
  if (time == nullptr) return "";
  if (csv) return exact_time_text(*time);
  const std::string text = time_text(*time);
  return text.substr(0, text.find("00:00:00") != std::string::npos ? 10 : 16);
}

Table budget_table(const v1::ListBudgetsResponse& answer, bool csv) {
  constexpr Align kRight = Align::kRight;
  Table table({{"Account", Align::kLeft, Room::kElastic},
               {"Budget", Align::kLeft},
               {"Granted", kRight},
               {"Spent", kRight},
               {"Held", kRight},
               {"Left", kRight},
               {"Until\n(UTC)", Align::kLeft},
               {"SpentBy\n(UTC)", Align::kLeft}});
  for (const v1::BudgetRow& r : answer.rows()) {
    table.row({r.account().empty() ? "(root)" : r.account(), r.budget(),
               gpu_hours_text(r.granted()), gpu_hours_text(r.spent()), gpu_hours_text(r.held()),
               gpu_hours_text(r.left()), end_text(r.has_to() ? &r.to() : nullptr, csv),
               end_text(r.has_projected_end() ? &r.projected_end() : nullptr, csv)});
  }
  return table;
}

void show_budgets(Session& s, const BudgetCommand& o) {
  v1::ListBudgetsRequest request;
  request.set_account(o.account);
  const auto answer = all_pages<v1::ListBudgetsResponse>(
      s, "AccountService/ListBudgets", request, 0, [](auto& a) { return a.mutable_rows(); });
  s.show(answer, [&] { return budget_table(answer, s.is_csv()); });
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
