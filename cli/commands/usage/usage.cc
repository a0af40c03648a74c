// subak usage ledger, verify.
#include "cli/commands.h"
#include "cli/commands/usage/usage_parts.h"
#include "cli/text/failure.h"
#include "cli/text/words.h"
#include "core/duration.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::cli {
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
               {"CLOCK", Align::kLeft, Room::kWide},
               {"CLUSTER", Align::kLeft, Room::kWide},
               {"NAMESPACE", Align::kLeft, Room::kWide},
               {"PROFILE", Align::kLeft, Room::kWide},
               {"BOOKED", Align::kLeft, Room::kWide}});
  for (const v1::LedgerRow& r : answer.rows()) {
    table.row({std::to_string(r.sequence()), r.job_id(), std::to_string(r.rank()),
               time_cell(r.from()),
               csv ? exact_time_text(r.to()) : age_text(to_ms(r.to()) - to_ms(r.from())), r.payer(),
               word(r.state()), r.node(), gpus_text(r.milligpu()), seconds_text(r.amount()),
               r.holder(), r.product(), std::to_string(r.attempt()),
               r.corrects() > 0 ? std::to_string(r.corrects()) : "", word(r.clock()), r.cluster(),
               r.namespace_(), r.profile(), r.has_booked() ? exact_time_text(r.booked()) : ""});
  }
  return table;
}

namespace {

void add_ledger(Command usage) {
  struct Ledger {
    UsageWindow window;
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

Table day_difference_table(const v1::VerifyUsageResponse& answer) {
  Table table({{"DAY"},
               {"PAYER", Align::kLeft, Room::kElastic},
               {"STATE"},
               {"PRODUCT", Align::kLeft, Room::kElastic},
               {"DAILY SUM", Align::kRight},
               {"ROWS", Align::kRight},
               {"HOLDER", Align::kLeft, Room::kWide},
               {"PROFILE", Align::kLeft, Room::kWide},
               {"CLUSTER", Align::kLeft, Room::kWide},
               {"NAMESPACE", Align::kLeft, Room::kWide}});
  for (const auto& d : answer.day_differences()) {
    table.row({utc_day(to_ms(d.day()) / kDayMs), d.payer(), word(d.state()), d.product(),
               seconds_text(d.sum()), seconds_text(d.rows()), d.holder(), d.profile(), d.cluster(),
               d.namespace_()});
  }
  return table;
}

void print_days(Session& s, const v1::VerifyUsageResponse& a) {
  s.out() << a.day_sums() << " daily sums";
  if (a.wrong_day_sums() == 0) {
    s.out() << ", each the sum of its rows\n";
    return;
  }
  s.out() << '\n'
          << s.paint(Colour::kRed, std::to_string(a.wrong_day_sums()) +
                                       " daily sums are damaged, or differ from their rows")
          << '\n';
  if (a.day_differences().empty()) return;
  s.out() << '\n';
  day_difference_table(a).print(s.out(), s.form() == Form::kWide);
}

bool is_balanced(const v1::VerifyUsageResponse& a) {
  return is_zero(a.drift()) && is_zero(a.residual());
}

void print_verdict(Session& s, const v1::VerifyUsageResponse& a) {
  s.out() << a.rows() << " rows, " << gpu_hours_text(a.total()) << " GPU-hours\n"
          << "drift    " << seconds_text(a.drift()) << " GPU-seconds\n"
          << "residual " << seconds_text(a.residual()) << " GPU-seconds\n"
          << (is_balanced(a) ? s.paint(Colour::kGreen, "every balance is the sum of its rows")
                             : s.paint(Colour::kRed, "the ledger does not balance"))
          << '\n';
  if (!a.differences().empty()) {
    s.out() << '\n';
    difference_table(a).print(s.out(), s.form() == Form::kWide);
    s.out() << '\n';
  }
  print_days(s, a);
}

void add_verify(Command usage) {
  usage.add("verify", "check the ledger: add up all its rows again; exit 1 if it does not balance")
      .run([](Session& s) {
        const auto answer =
            s.call<v1::VerifyUsageResponse>("UsageService/VerifyUsage", v1::VerifyUsageRequest());
        const bool good = is_balanced(answer) && answer.wrong_day_sums() == 0;
        if (s.is_csv()) {
          difference_table(answer).print_csv(s.out());
        } else {
          s.show_text(answer, [&] { print_verdict(s, answer); });
        }
        return good ? kExitDone : kExitRefused;
      });
}

}  // namespace

void add_usage(Command root) {
  Command usage = root.add("usage", "who used which GPUs for how long");
  add_usage_report(usage);
  add_usage_history(usage);
  add_ledger(usage);
  add_verify(usage);
  add_usage_statement(usage);
}

}  // namespace subak::cli
