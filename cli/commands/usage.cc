// subak usage report, ledger, verify.
#include <algorithm>
#include <map>
#include <tuple>

#include "cli/commands.h"
#include "cli/text/failure.h"
#include "cli/text/words.h"
#include "core/duration.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::cli {
namespace {

struct Window {
  std::string account, from, to;
};

void add_window(Command& c, Window& w) {
  c.option("--account", w.account, "only usage that this account and the accounts below it pay",
           "PATH");
  c.option("--from", w.from,
           "start of the period: a day (from 00:00 UTC), a time, or 7d for seven days ago", "TIME");
  c.option("--to", w.to, "end of the period, written as for --from", "TIME");
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

struct Sum {
  GpuTime booked, running;
};

GpuTime get(const v1::GpuTime& t) {
  return GpuTime::from_parts(t.gpu_seconds(), t.rest_milligpu_ms());
}
v1::GpuTime put(GpuTime t) {
  v1::GpuTime out;
  out.set_gpu_seconds(t.gpu_seconds());
  out.set_rest_milligpu_ms(t.rest());
  return out;
}

// The columns that identify a row: account, user, product, day and state, as in the answer.
using LineKey = std::tuple<std::string, std::string, std::string, std::int64_t, int>;

// Adds up each account with all accounts and users below it. A user who has a row counts in the
// account's row too.
std::map<LineKey, Sum> rolled_up(const v1::ReportUsageResponse& answer) {
  std::map<LineKey, Sum> lines;
  for (const v1::UsageRow& row : answer.rows()) {
    const auto add = [&](const std::string& account, const std::string& user) {
      Sum& sum = lines[{account, user, row.product(), row.day().seconds(), row.state()}];
      sum.booked += get(row.amount());
      sum.running += get(row.running());
    };
    if (!row.user().empty()) add(row.account(), row.user());
    for (std::string path = row.account(); !path.empty();) {
      add(path, "");
      const std::size_t cut = path.rfind('.');
      path.resize(cut == std::string::npos ? 0 : cut);
    }
  }
  return lines;
}

std::map<LineKey, Sum> as_booked(const v1::ReportUsageResponse& answer) {
  std::map<LineKey, Sum> lines;
  for (const v1::UsageRow& row : answer.rows()) {
    lines[{row.account(), row.user(), row.product(), row.day().seconds(), row.state()}] = {
        get(row.amount()), get(row.running())};
  }
  return lines;
}

std::string day_text(std::int64_t seconds) {
  return seconds == 0 ? "" : format_time(seconds * kSecondMs).substr(0, 10);
}

Table report_table(const v1::ReportUsageRequest& asked, const v1::ReportUsageResponse& answer,
                   bool csv) {
  std::vector<Column> columns{{"ACCOUNT", Align::kLeft, Room::kElastic}};
  if (asked.by_user()) columns.push_back({"USER", Align::kLeft, Room::kElastic});
  if (asked.by_product()) columns.push_back({"PRODUCT", Align::kLeft, Room::kElastic});
  if (asked.by_day()) columns.push_back({"DAY (UTC)"});
  if (asked.by_state()) columns.push_back({"STATE"});
  const Room exact = csv ? Room::kUsual : Room::kWide;
  columns.push_back({"GPU HOURS", Align::kRight});
  columns.push_back({"% OF ALL", Align::kRight});
  columns.push_back({"RUNNING NOW", Align::kRight});
  columns.push_back({"GPU SECONDS", Align::kRight, exact});
  columns.push_back({"RUNNING SECONDS", Align::kRight, exact});
  Table table(columns);
  const double total = get(answer.total()).gpu_hours();
  const auto add = [&](const LineKey& key, const Sum& sum, const std::string& account) {
    const auto& [path, user, product, day, state] = key;
    std::vector<Cell> cells{account};
    if (asked.by_user()) cells.emplace_back(user);
    if (asked.by_product()) cells.emplace_back(product);
    if (asked.by_day()) cells.emplace_back(day_text(day));
    if (asked.by_state()) cells.emplace_back(state == 0 ? "" : word(v1::UsageState(state)));
    const double part = sum.booked.gpu_hours() / total * 100;
    cells.emplace_back(gpu_hours_text(put(sum.booked)));
    cells.emplace_back(total == 0 ? "-" : fixed_text(part, 1));
    cells.emplace_back(gpu_hours_text(put(sum.running)));
    cells.emplace_back(seconds_text(put(sum.booked)));
    cells.emplace_back(seconds_text(put(sum.running)));
    table.row(std::move(cells));
  };
  for (const auto& [key, sum] : csv ? as_booked(answer) : rolled_up(answer)) {
    const std::string& path = std::get<0>(key);
    const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
    add(key, sum, csv ? path : std::string(depth, ' ') + path);
  }
  if (!csv) add({}, {get(answer.total()), get(answer.running())}, "TOTAL");
  return table;
}

// Prints which account, time and days the figures cover.
void print_heading(Session& s, const Window& window, const v1::ReportUsageRequest& asked,
                   const v1::ReportUsageResponse& answer) {
  s.out() << "GPU-hours in the ledger";
  if (!window.account.empty()) s.out() << " paid by " << printable(window.account) << " and below";
  s.out()
      << "\nfrom " << (asked.has_from() ? time_text(asked.from()) : std::string("the beginning"))
      << " to "
      << (asked.has_to() ? time_text(asked.to()) : "now (" + time_text(answer.time()) + ")") << "; "
      << (answer.has_first_day() ? "first use on " + day_text(answer.first_day().seconds())
                                 : std::string("nothing was used"))
      << "\nThe ledger up to entry " << answer.last_sequence()
      << ".\nDays are UTC days. Each account includes the accounts below it. The column RUNNING "
         "NOW "
         "has\nmore GPU-hours: usage that gets its entry when the pod ends, or when the UTC day is "
         "closed.\n\n";
}

void add_report(Command usage) {
  auto o = std::make_shared<ReportCommand>();
  Command c = usage.add(
      "report", "show GPU-hours by account; usage that has not ended is in a column of its own");
  add_window(c, o->window);
  c.list_option("--by", o->by, "one line for each account, user, product, day or state", "A,B");
  c.run([o](Session& s) {
    v1::ReportUsageRequest request;
    put_window(o->window, request);
    put_groups(o->by, request);
    const auto answer = s.call<v1::ReportUsageResponse>("UsageService/ReportUsage", request);
    if (s.form() == Form::kTable || s.form() == Form::kWide) {
      print_heading(s, o->window, request, answer);
    }
    s.show(answer, [&] { return report_table(request, answer, s.is_csv()); });
    return 0;
  });
}

Table ledger_table(const v1::ListLedgerResponse& answer, bool csv) {
  Table table({{"FACT", Align::kRight},
               {"JOB"},
               {"RANK", Align::kRight},
               time_column("FROM"),
               {csv ? "TO" : "FOR", csv ? Align::kLeft : Align::kRight},
               {"PAYER", Align::kLeft, Room::kElastic},
               {"STATE"},
               {"NODE", Align::kLeft, Room::kElastic},
               {"GPUS", Align::kRight},
               {"GPU SECONDS", Align::kRight},
               {"HOLDER", Align::kLeft, Room::kWide},
               {"PRODUCT", Align::kLeft, Room::kWide},
               {"ATTEMPT", Align::kRight, Room::kWide},
               {"CORRECTS", Align::kRight, Room::kWide},
               {"CLOCK", Align::kLeft, Room::kWide}});
  for (const v1::LedgerRow& r : answer.rows()) {
    table.row({std::to_string(r.sequence()), r.job_id(), std::to_string(r.rank()),
               time_cell(r.from()),
               csv ? exact_time_text(r.to()) : age_text(to_ms(r.to()) - to_ms(r.from())), r.payer(),
               word(r.state()), r.node(), gpus_text(r.milligpu()), seconds_text(r.amount()),
               r.holder(), r.product(), std::to_string(r.attempt()),
               r.corrects() > 0 ? std::to_string(r.corrects()) : "", word(r.clock())});
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
      usage.add("ledger", "list every row of the ledger with its exact figures, oldest first");
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
                   : s.paint(Colour::kRed, "the ledger does not balance"))
          << '\n';
  if (a.differences().empty()) return;
  s.out() << '\n';
  difference_table(a).print(s.out(), s.form() == Form::kWide);
}

void add_verify(Command usage) {
  usage.add("verify", "check the ledger: add up all its rows again; exit 1 if it does not balance")
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
