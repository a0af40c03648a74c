#include "cli/whatif/whatif_text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cli/text/words.h"
#include "sim/report/table.h"

namespace subak::cli {
namespace {

using sim::fixed;
using sim::human_seconds;

constexpr std::size_t kAccountsShown = 10;
constexpr std::size_t kAccountsOfDays = 5;
constexpr int kMovesShown = 10;

bool is_wide(Session& s) { return s.form() == Form::kWide; }

// A number with its sign: "+1.5".
std::string with_sign(double value, const std::string& text) {
  return (value > 0 ? "+" : "") + text;
}

std::string difference_text(double seconds) {
  const std::string text = human_seconds(std::abs(seconds));
  return seconds < 0 ? "-" + text : with_sign(seconds, text);
}

void print_text(Session& s, const std::string& text) { s.out() << wrapped(text, 0, "  ") << '\n'; }

void print_head(Session& s, const v1::WhatIfReport& r) {
  const std::string added =
      r.added_jobs() > 0 ? ", " + std::to_string(r.added_jobs()) + " jobs are added" : "";
  print_text(s, "from " + time_text(r.from()) + " to " + time_text(r.to()) + ": " +
                    std::to_string(r.jobs()) + " jobs waited or came, " +
                    std::to_string(r.running_at_start()) + " ran at the start, " +
                    std::to_string(r.other_pods()) + " other pods came" + added);
  const v1::WhatIfNearness& near = r.nearness();
  print_text(s, "replay without the change: " + fixed(100 * near.within_minute(), 1) + " % of " +
                    std::to_string(near.jobs()) +
                    " starts are within a minute of the real start, waits differ by " +
                    human_seconds(near.wait_difference_mean_seconds()) + " on average (p90 " +
                    human_seconds(near.wait_difference_p90_seconds()) +
                    "), shares of a day by at most " + fixed(100 * near.share_difference(), 1) +
                    " points");
}

// A row of figures: its name, and the text of one column.
using Figure = std::function<std::string(const v1::WhatIfFigures&)>;

void add_row(Table& table, const std::string& name, const v1::WhatIfReport& r,
             const Figure& figure) {
  table.row({name, figure(r.real()), figure(r.unchanged()), figure(r.changed())});
}

const v1::WhatIfWaits* waits_of_size(const v1::WhatIfFigures& figures, const std::string& size) {
  const auto& all = figures.waits_by_size();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& w) { return w.size() == size; });
  return found == all.end() ? nullptr : &*found;
}

void print_figures(Session& s, const v1::WhatIfReport& r) {
  using F = const v1::WhatIfFigures&;
  Table table({{""},
               {"REALLY", Align::kRight},
               {"REPLAYED", Align::kRight},
               {"WITH THE CHANGE", Align::kRight}});
  add_row(table, "wait mean", r, [](F f) { return human_seconds(f.waits().mean_seconds()); });
  add_row(table, "     p50", r, [](F f) { return human_seconds(f.waits().p50_seconds()); });
  add_row(table, "     p90", r, [](F f) { return human_seconds(f.waits().p90_seconds()); });
  add_row(table, "     p99", r, [](F f) { return human_seconds(f.waits().p99_seconds()); });
  for (const v1::WhatIfWaits& of_size : r.unchanged().waits_by_size()) {
    add_row(table, "     mean of " + of_size.size() + " GPUs", r, [&](F f) {
      const v1::WhatIfWaits* const waits = waits_of_size(f, of_size.size());
      return waits == nullptr ? std::string("-") : human_seconds(waits->mean_seconds());
    });
  }
  add_row(table, "slowdown mean", r, [](F f) { return fixed(f.slowdown_mean(), 1); });
  add_row(table, "utilisation %", r, [](F f) { return fixed(100 * f.utilisation(), 2); });
  add_row(table, "installed GPUs, mean", r, [](F f) { return fixed(f.installed_gpus(), 0); });
  add_row(table, "interruptions", r, [](F f) { return std::to_string(f.interruptions()); });
  add_row(table, "jobs refused", r, [](F f) { return std::to_string(f.refused_jobs()); });
  add_row(table, "edits refused", r, [](F f) { return std::to_string(f.refused_edits()); });
  s.out() << '\n';
  table.print(s.out(), is_wide(s));
  const std::string& refusal = r.changed().first_refusal();
  if (!refusal.empty()) print_text(s, "first refused edit: " + printable(refusal));
}

// How many seconds all jobs of the account wait more with the change.
double cost(const v1::WhatIfAccount& a) {
  const v1::WhatIfValues& wait = a.wait_mean_seconds();
  return (wait.changed() - wait.unchanged()) * static_cast<double>(a.jobs());
}

void print_accounts(Session& s, const v1::WhatIfReport& r) {
  std::vector<const v1::WhatIfAccount*> rows;
  for (const v1::WhatIfAccount& account : r.accounts()) rows.push_back(&account);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return std::abs(cost(*a)) > std::abs(cost(*b));
  });
  const std::size_t all = rows.size();
  if (!is_wide(s)) rows.resize(std::min(rows.size(), kAccountsShown));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return cost(*a) < cost(*b); });
  Table table({{"ACCOUNT", Align::kLeft, Room::kElastic},
               {"JOBS", Align::kRight},
               {"WAIT", Align::kRight},
               {"CHANGED", Align::kRight},
               {"DIFFERENCE", Align::kRight},
               {"GPU-H", Align::kRight},
               {"CHANGED", Align::kRight}});
  for (const v1::WhatIfAccount* a : rows) {
    const v1::WhatIfValues& wait = a->wait_mean_seconds();
    table.row({a->account(), std::to_string(a->jobs()), human_seconds(wait.unchanged()),
               human_seconds(wait.changed()), difference_text(wait.changed() - wait.unchanged()),
               fixed(a->gpu_hours().unchanged(), 1), fixed(a->gpu_hours().changed(), 1)});
  }
  s.out() << "\naccounts, by the change of their jobs' waits; the mean wait of a job";
  if (rows.size() < all) s.out() << "; " << rows.size() << " of " << all;
  s.out() << '\n';
  table.print(s.out(), is_wide(s));
}

// The accounts whose shares change the most, as indexes.
std::vector<int> accounts_of_days(const v1::WhatIfReport& r, std::size_t most) {
  std::vector<double> moved(static_cast<std::size_t>(r.accounts_size()));
  std::vector<int> order;
  for (int a = 0; a < r.accounts_size(); ++a) {
    order.push_back(a);
    for (const v1::WhatIfDay& day : r.days()) {
      const v1::WhatIfValues& v = day.gpu_hours(a);
      moved[static_cast<std::size_t>(a)] += std::abs(v.changed() - v.unchanged());
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return moved[static_cast<std::size_t>(a)] > moved[static_cast<std::size_t>(b)];
  });
  if (order.size() > most) order.resize(most);
  return order;
}

std::string share_text(double part, double all) {
  return all > 0 ? fixed(100 * part / all, 1) : "-";
}

void print_days(Session& s, const v1::WhatIfReport& r) {
  const std::size_t most =
      is_wide(s) ? static_cast<std::size_t>(r.accounts_size()) : kAccountsOfDays;
  const std::vector<int> shown = accounts_of_days(r, most);
  std::vector<Column> columns{{"DAY FROM"}};
  for (const int a : shown) {
    columns.push_back({r.accounts(a).account(), Align::kRight, Room::kElastic});
  }
  Table table(std::move(columns));
  for (const v1::WhatIfDay& day : r.days()) {
    double before = 0, after = 0;
    for (const v1::WhatIfValues& v : day.gpu_hours()) {
      before += v.unchanged();
      after += v.changed();
    }
    std::vector<Cell> cells{time_text(day.from()).substr(0, 16)};
    for (const int a : shown) {
      const v1::WhatIfValues& v = day.gpu_hours(a);
      cells.emplace_back(share_text(v.unchanged(), before) + ">" + share_text(v.changed(), after));
    }
    table.row(std::move(cells));
  }
  s.out() << "\nshare of the jobs' GPU time in percent, by day\n";
  table.print(s.out(), is_wide(s));
}

std::string until_text(bool has_time, const google::protobuf::Timestamp& time, TimeMs now) {
  return has_time ? "in " + age_text(std::max<DurationMs>(0, to_ms(time) - now)) : "-";
}

void print_moves(Session& s, const std::string& title,
                 const google::protobuf::RepeatedPtrField<v1::WhatIfMove>& moves, TimeMs now) {
  if (moves.empty()) return;
  Table table({{"JOB"},
               {"NAME", Align::kLeft, Room::kElastic},
               {"ACCOUNT", Align::kLeft, Room::kElastic},
               {"START", Align::kRight},
               {"CHANGED", Align::kRight}});
  int shown = 0;
  for (const v1::WhatIfMove& m : moves) {
    if (++shown > kMovesShown && !is_wide(s)) break;
    table.row({m.job_id(), m.name(), payer_text(m.account(), m.user()),
               until_text(m.has_before(), m.before(), now),
               until_text(m.has_after(), m.after(), now)});
  }
  s.out() << '\n' << title << '\n';
  table.print(s.out(), is_wide(s));
}

void print_present(Session& s, const v1::WhatIfReport& r) {
  const v1::WhatIfPresent& p = r.present();
  const TimeMs now = to_ms(r.to());
  s.out() << '\n';
  print_text(s, "now: " + std::to_string(p.waiting()) + " jobs wait; with the change " +
                    std::to_string(p.sooner()) + " start sooner and " + std::to_string(p.later()) +
                    " later; the mean time until the start is " +
                    human_seconds(p.until_start_before_seconds()) + ", with the change " +
                    human_seconds(p.until_start_after_seconds()));
  print_text(s, "promised starts that move: " + std::to_string(p.promises_moved()) +
                    "; claims that the next pass makes: " + std::to_string(p.claims_before_size()) +
                    ", with the change " + std::to_string(p.claims_after_size()));
  print_moves(s, "jobs that move the most", p.starts(), now);
  print_moves(s, "promised starts that move", p.promises(), now);
}

}  // namespace

void print_what_if(Session& s, const v1::WhatIfReport& report) {
  print_head(s, report);
  print_figures(s, report);
  print_accounts(s, report);
  print_days(s, report);
  print_present(s, report);
}

}  // namespace subak::cli
