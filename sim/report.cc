#include "sim/report.h"

#include <functional>

#include "sim/report/json_out.h"
#include "sim/report/table.h"

namespace subak::sim {
namespace {

void spread_json(JsonOut& json, const Spread& s) {
  json.field("mean", s.mean).field("p50", s.p50).field("p90", s.p90).field("p99", s.p99);
}

void windows_json(JsonOut& json, std::string_view name, const ByWindow& w) {
  json.key(name).open('{');
  json.field("1h", w.hour).field("1d", w.day).field("7d", w.week).close('}');
}

void team_json(JsonOut& json, const TeamResult& t) {
  json.open('{').field("team", std::string_view(t.team)).field("shares", t.shares);
  json.field("quota_milligpu", t.quota).field("jobs", t.jobs);
  json.field("demand_gpu_h", t.demand_gpu_h).field("received_gpu_h", t.received_gpu_h);
  json.field("entitled_gpu_h", t.entitled_gpu_h).field("wait_mean_s", t.wait_mean_s).close('}');
}

void quota_json(JsonOut& json, const QuotaResult& q) {
  const auto waits = [&json](std::string_view name, const Spread& s) {
    json.key(name).open('{').field("jobs", s.jobs);
    spread_json(json, s);
    json.close('}');
  };
  json.open('{');
  waits("wait_within_s", q.within_s);
  waits("wait_beyond_s", q.beyond_s);
  json.field("queued_within_gpu_hours", q.queued_within_gpu_h);
  json.field("preemptions", q.preemptions).field("preempted_jobs", q.preempted_jobs);
  json.field("most_of_one_job", q.most_of_one_job);
  json.field("lost_gpu_hours", q.lost_gpu_h).field("lost_part", q.lost_part).close('}');
}

void result_json(JsonOut& json, const SimResult& r) {
  json.open('{').field("policy", std::string_view(r.policy));
  json.field("jobs", r.jobs).field("finished", r.finished).field("unplaceable", r.unplaceable);
  json.field("warm", r.warm);
  json.key("wait_s").open('{');
  spread_json(json, r.wait_s);
  json.key("by_size").open('{');
  for (std::size_t c = 0; c < kSizeClasses.size(); ++c) {
    json.key(kSizeClasses[c]).open('{').field("jobs", r.wait_by_size[c].jobs);
    spread_json(json, r.wait_by_size[c]);
    json.close('}');
  }
  json.close('}').close('}');
  json.key("bounded_slowdown").open('{');
  spread_json(json, r.bounded_slowdown);
  json.close('}').field("utilisation", r.utilisation);
  windows_json(json, "jain", r.jain);
  windows_json(json, "max_deviation", r.max_deviation);
  json.key("quota");
  r.quota ? quota_json(json, *r.quota) : static_cast<void>(json.null());
  json.field("fragmentation", r.fragmentation);
  json.field("kept_idle_gpu_hours", r.reserved_idle.gpu_h);
  json.field("kept_beside_gpu_hours", r.reserved_idle.beside_gpu_h);
  const auto eta = [&](std::string_view name, double EtaResult::*figure) {
    json.key(name);
    r.eta ? json.value(*r.eta.*figure) : json.null();
  };
  json.key("eta").open('{').key("jobs");
  r.eta ? json.value(static_cast<std::int64_t>(r.eta->jobs)) : json.null();
  eta("median_error_s", &EtaResult::median_error_s);
  eta("median_uncorrected_s", &EtaResult::median_uncorrected_s);
  eta("within_1m", &EtaResult::within_1m);
  eta("within_10m", &EtaResult::within_10m);
  eta("coverage_90", &EtaResult::coverage_90);
  eta("median_width_s", &EtaResult::median_width_s);
  eta("median_wait_s", &EtaResult::median_wait_s);
  json.close('}');
  json.field("wall_s", r.wall_s).field("sim_speedup", r.sim_speedup);
  json.key("teams").open('[');
  for (const TeamResult& team : r.teams) team_json(json, team);
  json.close(']').close('}');
}

std::string part(std::optional<double> value, int decimals) {
  return value ? fixed(*value, decimals) : "-";
}

using Figure = std::function<std::string(const SimResult&)>;

void add_rows(Table& table, const std::vector<SimResult>& results,
              const std::vector<std::pair<std::string, Figure>>& rows) {
  for (const auto& [name, figure] : rows) {
    std::vector<std::string> cells{name};
    for (const SimResult& r : results) cells.push_back(figure(r));
    table.row(std::move(cells));
  }
}

void add_waits(Table& table, const std::vector<SimResult>& results) {
  using R = const SimResult&;
  add_rows(table, results,
           {{"wait mean", [](R r) { return human_seconds(r.wait_s.mean); }},
            {"     p50", [](R r) { return human_seconds(r.wait_s.p50); }},
            {"     p90", [](R r) { return human_seconds(r.wait_s.p90); }},
            {"     p99", [](R r) { return human_seconds(r.wait_s.p99); }}});
  for (std::size_t c = 0; c < kSizeClasses.size(); ++c) {
    if (results[0].wait_by_size[c].jobs == 0) continue;
    add_rows(table, results, {{std::string("     mean of ") + kSizeClasses[c] + " GPUs", [c](R r) {
                                 return human_seconds(r.wait_by_size[c].mean);
                               }}});
  }
  add_rows(table, results,
           {{"slowdown mean", [](R r) { return fixed(r.bounded_slowdown.mean, 1); }},
            {"     p90", [](R r) { return fixed(r.bounded_slowdown.p90, 1); }},
            {"     p99", [](R r) { return fixed(r.bounded_slowdown.p99, 1); }}});
}

// The rows of quotas and preemptions, if teams have quotas.
void add_quota(Table& table, const std::vector<SimResult>& results) {
  if (!results[0].quota) return;
  using Q = const QuotaResult&;
  const auto of = [](auto figure) {
    return [figure](const SimResult& r) { return figure(*r.quota); };
  };
  const auto add_spread = [&](const char* title, Spread QuotaResult::*spread) {
    const auto part = [&](double Spread::*value) {
      return of([spread, value](Q q) { return human_seconds((q.*spread).*value); });
    };
    add_rows(table, results,
             {{title, of([spread](Q q) { return std::to_string((q.*spread).jobs); })},
              {"     wait mean", part(&Spread::mean)},
              {"     p50", part(&Spread::p50)},
              {"     p90", part(&Spread::p90)},
              {"     p99", part(&Spread::p99)}});
  };
  add_spread("jobs within quota", &QuotaResult::within_s);
  add_spread("jobs beyond quota", &QuotaResult::beyond_s);
  add_rows(table, results,
           {{"GPU-h queued within quota", of([](Q q) { return fixed(q.queued_within_gpu_h, 0); })},
            {"preemptions", of([](Q q) { return std::to_string(q.preemptions); })},
            {"     jobs preempted", of([](Q q) { return std::to_string(q.preempted_jobs); })},
            {"     most of one job", of([](Q q) { return std::to_string(q.most_of_one_job); })},
            {"GPU-h lost", of([](Q q) { return fixed(q.lost_gpu_h, 0); })},
            {"     % of GPU-h held", of([](Q q) { return fixed(100 * q.lost_part, 2); })}});
}

void add_fairness(Table& table, const std::vector<SimResult>& results) {
  using R = const SimResult&;
  const auto eta = [](double EtaResult::*figure, bool is_part) {
    return [figure, is_part](R r) -> std::string {
      if (!r.eta || r.eta->jobs == 0) return "-";
      const double value = *r.eta.*figure;
      return is_part ? fixed(100 * value, 1) : human_seconds(value);
    };
  };
  add_rows(table, results,
           {{"start estimate: median error", eta(&EtaResult::median_error_s, false)},
            {"     % within 10 minutes", eta(&EtaResult::within_10m, true)},
            {"     % in their interval", eta(&EtaResult::coverage_90, true)},
            {"     width of that, median", eta(&EtaResult::median_width_s, false)}});
  add_rows(table, results,
           {{"utilisation %", [](R r) { return fixed(100 * r.utilisation, 2); }},
            {"Jain 1h", [](R r) { return part(r.jain.hour, 4); }},
            {"     1d", [](R r) { return part(r.jain.day, 4); }},
            {"     7d", [](R r) { return part(r.jain.week, 4); }},
            {"max deviation 1h", [](R r) { return part(r.max_deviation.hour, 4); }},
            {"     1d", [](R r) { return part(r.max_deviation.day, 4); }},
            {"     7d", [](R r) { return part(r.max_deviation.week, 4); }},
            {"fragmentation", [](R r) { return fixed(r.fragmentation, 4); }},
            {"reserved idle GPU-h", [](R r) { return fixed(r.reserved_idle.gpu_h, 0); }},
            {"     others could use", [](R r) { return fixed(r.reserved_idle.beside_gpu_h, 0); }},
            {"wall s", [](R r) { return fixed(r.wall_s, 2); }},
            {"x real time", [](R r) { return human_count(r.sim_speedup); }}});
}

void print_teams(const SimResult& r, std::ostream& out) {
  Table table;
  table.row(
      {"team", "shares", "quota", "jobs", "demand GPU-h", "received", "entitled", "wait mean"});
  for (const TeamResult& t : r.teams) {
    table.row({t.team.substr(0, 24), std::to_string(t.shares), fixed(double(t.quota) / 1000, 0),
               std::to_string(t.jobs), fixed(t.demand_gpu_h, 0), fixed(t.received_gpu_h, 0),
               fixed(t.entitled_gpu_h, 0), human_seconds(t.wait_mean_s)});
  }
  out << '\n';
  table.print(out);
}

}  // namespace

void print_json(const std::vector<SimResult>& results, bool several, std::ostream& out) {
  JsonOut json(out);
  if (several) json.open('{').key("results").open('[');
  for (const SimResult& r : results) result_json(json, r);
  if (several) json.close(']').close('}');
}

void print_table(const Workload& workload, const std::vector<SimResult>& results,
                 std::ostream& out) {
  const SimResult& first = results.front();
  const double from = double(workload.from_ms - kTraceEpochMs) / double{kDayMs};
  const double length = double(workload.to_ms - workload.from_ms) / double{kDayMs};
  out << first.jobs << " jobs of " << workload.teams.size() << " teams on " << workload.nodes.size()
      << " nodes, " << workload.capacity / kMilliPerGpu << " GPUs; " << fixed(length, 1)
      << " days from day " << fixed(from, 1) << " on\n";
  out << first.warm << " jobs that ran then go on with their rest; " << first.unplaceable
      << " never fit the fleet\n\n";
  Table table;
  add_rows(table, results, {{"", [](const SimResult& r) { return r.policy; }}});
  add_waits(table, results);
  add_quota(table, results);
  add_fairness(table, results);
  table.print(out);
  if (results.size() == 1) print_teams(first, out);
}

void print_toy(const std::vector<ToyRow>& rows, std::ostream& out) {
  if (rows.empty()) return;
  out << "Share error of the worst team in points of the fleet: time mean/max/mean of 1 h "
         "means\n\n";
  Table table;
  std::vector<std::string> head{"teams, mean job"};
  head.insert(head.end(), rows[0].policies.begin(), rows[0].policies.end());
  table.row(std::move(head));
  for (const ToyRow& row : rows) {
    std::vector<std::string> cells{row.what};
    for (const ToyResult& r : row.results) {
      cells.push_back(fixed(r.mean, 2) + "/" + fixed(r.max, 2) + "/" + fixed(r.hour_mean, 2));
    }
    table.row(std::move(cells));
  }
  table.print(out);
}

void print_bursty(const std::vector<SimResult>& results, std::ostream& out) {
  using R = const SimResult&;
  out << "\nGangs of 90 % of the fleet among jobs of one GPU for 5 minutes\n\n";
  Table table;
  add_rows(table, results,
           {{"", [](R r) { return r.policy; }},
            {"wait mean of 1 GPU", [](R r) { return human_seconds(r.wait_by_size[0].mean); }},
            {"     p99 of all", [](R r) { return human_seconds(r.wait_s.p99); }},
            {"     mean of gangs", [](R r) { return human_seconds(r.wait_by_size.back().mean); }},
            {"utilisation %", [](R r) { return fixed(100 * r.utilisation, 2); }},
            {"reserved idle GPU-h", [](R r) { return fixed(r.reserved_idle.gpu_h, 0); }}});
  table.print(out);
}

}  // namespace subak::sim
