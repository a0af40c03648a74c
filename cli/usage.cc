// subak usage report, ledger, verify.
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/words.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::cli {
namespace {

struct Window {
  std::string account, from, to;
};

void add_window(Command& c, Window& w) {
  c.option("--account", w.account, "only what this account and those below it pay", "PATH");
  c.option("--from", w.from, "2026-03-01, 2026-03-01T12:00:00Z, or 7d for that long ago", "TIME");
  c.option("--to", w.to, "as --from", "TIME");
}

template <class Request>
void put_window(const Window& w, Request& request) {
  const TimeMs now = now_ms();
  request.set_account(w.account);
  if (!w.from.empty()) *request.mutable_from() = instant_of(w.from, "--from", now);
  if (!w.to.empty()) *request.mutable_to() = instant_of(w.to, "--to", now);
}

struct ReportCommand {
  Window window;
  std::vector<std::string> by;
};

void put_groups(const std::vector<std::string>& by, v1::ReportUsageRequest& request) {
  for (const std::string& group : by) {
    if (group == "user")
      request.set_by_user(true);
    else if (group == "product")
      request.set_by_product(true);
    else if (group == "day")
      request.set_by_day(true);
    else if (group == "state")
      request.set_by_state(true);
    else if (group != "account")
      throw usage_failure("--by: was \"" + group + "\", want account, user, product, day or state",
                          "several with commas: --by user,day");
  }
}

Table report_table(const v1::ReportUsageRequest& asked, const v1::ReportUsageResponse& answer,
                   bool csv) {
  std::vector<Column> columns{{"ACCOUNT", Align::kLeft, Room::kElastic}};
  if (asked.by_user()) columns.push_back({"USER", Align::kLeft, Room::kElastic});
  if (asked.by_product()) columns.push_back({"PRODUCT", Align::kLeft, Room::kElastic});
  if (asked.by_day()) columns.push_back({"DAY"});
  if (asked.by_state()) columns.push_back({"STATE"});
  columns.push_back({"GPU HOURS", Align::kRight});
  columns.push_back({"GPU SECONDS", Align::kRight, csv ? Room::kUsual : Room::kWide});
  Table table(columns);
  const auto add = [&](const v1::UsageRow& row, const std::string& account) {
    std::vector<std::string> cells{account};
    if (asked.by_user()) cells.push_back(row.user());
    if (asked.by_product()) cells.push_back(row.product());
    if (asked.by_day()) cells.push_back(row.has_day() ? time_text(row.day()).substr(0, 10) : "");
    if (asked.by_state()) {
      cells.push_back(row.state() == v1::USAGE_STATE_UNSPECIFIED ? "" : word(row.state()));
    }
    cells.push_back(gpu_hours_text(row.amount()));
    cells.push_back(seconds_text(row.amount()));
    table.row(std::move(cells));
  };
  for (const v1::UsageRow& row : answer.rows()) add(row, row.account());
  v1::UsageRow total;
  *total.mutable_amount() = answer.total();
  if (!csv) add(total, "TOTAL");
  return table;
}

void add_report(Command usage) {
  auto o = std::make_shared<ReportCommand>();
  Command c = usage.add(
      "report", "GPU-hours of the ledger; what runs appears when it ends or at midnight UTC");
  add_window(c, o->window);
  c.list_option("--by", o->by, "apart by user, product, day, state", "A,B");
  c.run([o](Session& s) {
    v1::ReportUsageRequest request;
    put_window(o->window, request);
    put_groups(o->by, request);
    const auto answer = s.call<v1::ReportUsageResponse>("UsageService/ReportUsage", request);
    s.show(answer, [&] { return report_table(request, answer, s.is_csv()); });
    return 0;
  });
}

Table ledger_table(const v1::ListLedgerResponse& answer, bool csv) {
  Table table({{"FACT", Align::kRight},
               {"JOB"},
               {"RANK", Align::kRight},
               {"FROM"},
               {csv ? "TO" : "FOR", csv ? Align::kLeft : Align::kRight},
               {"PAYER", Align::kLeft, Room::kElastic},
               {"STATE"},
               {"NODE", Align::kLeft, Room::kElastic},
               {"GPUS", Align::kRight},
               {"GPU SECONDS", Align::kRight},
               {"HOLDER", Align::kLeft, Room::kWide},
               {"PRODUCT", Align::kLeft, Room::kWide},
               {"ATTEMPT", Align::kRight, Room::kWide},
               {"CORRECTS", Align::kRight, Room::kWide}});
  for (const v1::LedgerRow& r : answer.rows()) {
    table.row({std::to_string(r.sequence()), r.job_id(), std::to_string(r.rank()),
               csv ? exact_time_text(r.from()) : time_text(r.from()),
               csv ? exact_time_text(r.to()) : age_text(to_ms(r.to()) - to_ms(r.from())), r.payer(),
               word(r.state()), r.node(), gpus_text(r.milligpu()), seconds_text(r.amount()),
               r.holder(), r.product(), std::to_string(r.attempt()),
               r.corrects() > 0 ? std::to_string(r.corrects()) : ""});
  }
  return table;
}

void add_ledger(Command usage) {
  struct Ledger {
    Window window;
    ListOptions list;
  };
  auto o = std::make_shared<Ledger>();
  Command c =
      usage.add("ledger", "the ledger's rows, exact, in the order in which they were written");
  add_window(c, o->window);
  add_limit(c, o->list);
  c.run([o](Session& s) {
    v1::ListLedgerRequest request;
    put_window(o->window, request);
    const auto answer =
        all_pages<v1::ListLedgerResponse>(s, "UsageService/ListLedger", request, o->list.limit,
                                          [](auto& a) { return a.mutable_rows(); });
    s.show(answer, [&] { return ledger_table(answer, s.is_csv()); });
    return 0;
  });
}

Table difference_table(const v1::VerifyUsageResponse& answer) {
  Table table({{"PAYER", Align::kLeft, Room::kElastic},
               {"HOLDER", Align::kLeft, Room::kElastic},
               {"STATE"},
               {"PRODUCT", Align::kLeft, Room::kElastic},
               {"BALANCE", Align::kRight},
               {"ROWS", Align::kRight}});
  for (const auto& d : answer.differences()) {
    table.row({d.payer(), d.holder(), word(d.state()), d.product(), seconds_text(d.balance()),
               seconds_text(d.rows())});
  }
  return table;
}

void print_verdict(Session& s, const v1::VerifyUsageResponse& a, bool good) {
  s.out() << a.rows() << " rows, " << gpu_hours_text(a.total()) << " GPU-hours\n"
          << "drift    " << seconds_text(a.drift()) << " GPU-seconds\n"
          << "residual " << seconds_text(a.residual()) << " GPU-seconds\n"
          << (good ? s.paint(Colour::kGreen, "every balance is the sum of its rows")
                   : s.paint(Colour::kRed, "the books do not close"))
          << '\n';
  if (a.differences().empty()) return;
  s.out() << '\n';
  difference_table(a).print(s.out(), s.form() == Form::kWide);
}

void add_verify(Command usage) {
  usage.add("verify", "add the whole ledger up again; exit 1 unless drift and residual are 0")
      .run([](Session& s) {
        const auto answer =
            s.call<v1::VerifyUsageResponse>("UsageService/VerifyUsage", v1::VerifyUsageRequest());
        const bool good = is_zero(answer.drift()) && is_zero(answer.residual());
        if (s.is_csv()) {
          difference_table(answer).print_csv(s.out());
        } else {
          s.show_text(answer, [&] { print_verdict(s, answer, good); });
        }
        return good ? kExitDone : kExitRefused;
      });
}

}  // namespace

void add_usage(Command root) {
  Command usage = root.add("usage", "who used which GPUs for how long");
  add_report(usage);
  add_ledger(usage);
  add_verify(usage);
}

}  // namespace subak::cli
