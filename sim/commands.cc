#include "sim/commands.h"

#include <charconv>
#include <cmath>

#include "core/duration.h"
#include "core/limits.h"
#include "sim/bursty.h"
#include "sim/read/share_case.h"
#include "sim/read/trace.h"
#include "sim/report.h"
#include "sim/report/json_out.h"
#include "sim/report/table.h"
#include "sim/simulate.h"
#include "sim/toy.h"

namespace subak::sim {
namespace {

int fail(const Error& error, std::ostream& err) {
  err << "subak: " << error.field
      << (error.got.empty() ? " cannot be used" : ": was \"" + error.got + "\"") << "\n  -> want "
      << error.want << '\n';
  return error.code == ErrorCode::kNotFound ? 4 : error.code == ErrorCode::kInvalid ? 2 : 1;
}

Result<Policy> make_policy(const SimOptions& options, const std::string& name) {
  Policy policy;
  const auto order = enum_from<OrderPolicy>(name);
  if (!order) {
    return Error{ErrorCode::kInvalid, "policy", name,
                 "target-share, exact, usage-tick, drf or fifo"};
  }
  policy.order = *order;
  const auto half_life = parse_duration(options.half_life, "half-life");
  if (!half_life.ok()) return half_life.error();
  policy.half_life_ms = *half_life;
  if (!options.patience.empty()) {
    const auto patience = parse_duration(options.patience, "patience");
    if (!patience.ok()) return patience.error();
    policy.patience_ms = *patience;
  }
  if (options.reserve_jobs > limits::kMaxReserveJobs) {
    return Error{ErrorCode::kInvalid, "reserve-jobs", std::to_string(options.reserve_jobs),
                 "at most " + std::to_string(limits::kMaxReserveJobs)};
  }
  policy.queue.reserve_jobs = static_cast<std::uint32_t>(options.reserve_jobs);
  if (!options.quota.min_run.empty()) {
    const auto min_run = parse_duration(options.quota.min_run, "reclaim-min-run");
    if (!min_run.ok()) return min_run.error();
    policy.reclaim_min_run_ms = *min_run;
  }
  if (options.charge_end != "yes" && options.charge_end != "no") {
    return Error{ErrorCode::kInvalid, "charge-end", options.charge_end, "yes or no"};
  }
  policy.tick.charge_end = options.charge_end == "yes";
  return policy;
}

// Returns the policy with one element of --backfill applied.
Result<Policy> with_backfill(Policy policy, const std::string& word) {
  if (word == "none") {
    policy.queue.reserve_jobs = 0;
  } else if (word == "easy") {
    policy.queue.reserve_jobs = 1;
    policy.patience_ms = 1;
  } else if (word == "all") {
    policy.queue.reserve_jobs = limits::kMaxReserveJobs;
    policy.patience_ms = 1;
  } else if (word != "reserve") {
    return Error{ErrorCode::kInvalid, "backfill", word, "none, easy, reserve or all"};
  }
  return policy;
}

struct Compared {
  Policy policy;
  std::string name;
};

// Adds the policy without claims, with claims, or both, as --reclaim says. Only target-share has
// claims, so with `both` other policies come once.
std::optional<Error> add_with_reclaim(const SimOptions& options, Compared one,
                                      std::vector<Compared>& out) {
  const bool may = one.policy.order == OrderPolicy::kTargetShare;
  if (options.quota.reclaim == "on" && !may) {
    return Error{ErrorCode::kInvalid, "reclaim", "on", "the policy target-share alone, or both"};
  }
  one.policy.reclaim = false;
  if (options.quota.reclaim != "on") out.push_back(one);
  if (options.quota.reclaim == "off" || !may) return std::nullopt;
  one.policy.reclaim = true;
  one.name = options.backfill.empty() ? "reclaim" : one.name + "-reclaim";
  out.push_back(std::move(one));
  return std::nullopt;
}

// Returns the policies to compare. Each policy of --policies is combined with each element of
// --backfill if there is one, and with or without reclaim, as --reclaim says.
Result<std::vector<Compared>> compared(const SimOptions& options) {
  std::vector<Compared> out;
  for (const std::string& name : options.policies) {
    const auto policy = make_policy(options, name);
    if (!policy.ok()) return policy.error();
    std::vector<Compared> some;
    if (options.backfill.empty()) some.push_back({*policy, name});
    for (const std::string& word : options.backfill) {
      const auto with = with_backfill(*policy, word);
      if (!with.ok()) return with.error();
      some.push_back({*with, options.policies.size() == 1 ? word : name + "-" + word});
    }
    for (Compared& one : some) {
      if (const auto error = add_with_reclaim(options, std::move(one), out)) return *error;
    }
  }
  return out;
}

// Reads a number from 1 to `most` behind the prefix; nullopt: the text is something else.
std::optional<std::uint32_t> number_after(std::string_view prefix, std::string_view text,
                                          std::uint32_t most) {
  if (!text.starts_with(prefix)) return std::nullopt;
  std::uint32_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data() + prefix.size(), end, n);
  if (ec != std::errc() || rest != end || n < 1 || n > most) return std::nullopt;
  return n;
}

// Reads "random:N"; 0 if not given.
Result<std::uint32_t> random_teams(const std::string& text) {
  if (text.empty()) return std::uint32_t{0};
  if (const auto n = number_after("random:", text, 10'000)) return *n;
  return Error{ErrorCode::kInvalid, "teams", text, "random:N with N from 1 to 10000"};
}

constexpr std::string_view kByDemand = "demand:";

// Reads --quota: a file, or a part of the fleet.
std::optional<Error> read_quota(const std::string& quota, WorkloadOptions& w) {
  if (quota.empty()) return std::nullopt;
  if (quota.starts_with(kByDemand)) {
    const auto percent = number_after(kByDemand, quota, 100);
    if (!percent) {
      return Error{ErrorCode::kInvalid, "quota", quota, "demand:P with P from 1 to 100, or a file"};
    }
    w.quota_percent = *percent;
    return std::nullopt;
  }
  auto table = read_team_table(quota, "gpus");
  if (!table.ok()) return table.error();
  w.quotas = std::move(*table);
  return std::nullopt;
}

// Reads --grace and --checkpoint. Refuses options that have no effect without claims.
Result<VictimModel> victim_model(const SimOptions& options) {
  VictimModel victims;
  if (options.quota.reclaim != "off" && options.quota.reclaim != "on" &&
      options.quota.reclaim != "both") {
    return Error{ErrorCode::kInvalid, "reclaim", options.quota.reclaim, "off, on or both"};
  }
  if (options.quota.reclaim != "off" && options.quota.amounts.empty()) {
    return Error{ErrorCode::kInvalid, "reclaim", options.quota.reclaim,
                 "--quota with it: without quotas no job takes GPUs back"};
  }
  for (const auto& [flag, text] : {std::pair{"reclaim-min-run", &options.quota.min_run},
                                   {"grace", &options.quota.grace},
                                   {"checkpoint", &options.quota.checkpoint}}) {
    if (!text->empty() && options.quota.reclaim == "off") {
      return Error{ErrorCode::kInvalid, flag, *text, "--reclaim on or both with it"};
    }
  }
  if (!options.quota.grace.empty()) {
    const auto grace = parse_duration(options.quota.grace, "grace");
    if (!grace.ok()) return grace.error();
    if (*grace > Policy().reclaim_max_grace_ms) {
      return Error{ErrorCode::kInvalid, "grace", options.quota.grace,
                   "at most 10m, since a claim waits no longer for its victims"};
    }
    victims.grace_ms = *grace;
  }
  if (!options.quota.checkpoint.empty()) {
    const auto checkpoint = parse_duration(options.quota.checkpoint, "checkpoint");
    if (!checkpoint.ok()) return checkpoint.error();
    victims.checkpoint_ms = *checkpoint;
  }
  return victims;
}

Result<WorkloadOptions> window_options(const SimOptions& options) {
  WorkloadOptions w;
  for (const auto& day : {options.from_day, options.to_day}) {
    if (day && !(*day >= 0 && *day <= 36'500)) {
      return Error{ErrorCode::kInvalid, "from-day, to-day", fixed(*day, 3), "days from 0 to 36500"};
    }
  }
  if (!(options.load >= 0.001 && options.load <= 1000)) {
    return Error{ErrorCode::kInvalid, "load", fixed(options.load, 6),
                 "a factor from 0.001 to 1000"};
  }
  if (options.short_limits > 100 || (options.short_limits > 0 && !options.limits)) {
    return Error{ErrorCode::kInvalid, "short-limits", std::to_string(options.short_limits),
                 "percent, at most 100, with --limits"};
  }
  const auto teams = random_teams(options.teams);
  if (!teams.ok()) return teams.error();
  w.from_day = options.from_day;
  w.to_day = options.to_day;
  w.load = options.load;
  w.random_teams = *teams;
  w.limits = options.limits;
  w.short_limits = options.short_limits;
  w.seed = options.seed;
  if (!options.weights.empty()) {
    auto table = read_team_table(options.weights, "share");
    if (!table.ok()) return table.error();
    w.weights = std::move(*table);
  }
  if (const auto error = read_quota(options.quota.amounts, w)) return *error;
  return w;
}

Result<Workload> load(const SimOptions& options) {
  if (options.output != "table" && options.output != "json") {
    return Error{ErrorCode::kInvalid, "output", options.output, "table or json"};
  }
  const auto window = window_options(options);
  if (!window.ok()) return window.error();
  auto nodes = read_nodes(options.nodes);
  if (!nodes.ok()) return nodes.error();
  auto trace = read_trace(options.trace);
  if (!trace.ok()) return trace.error();
  return make_workload(std::move(*trace), std::move(*nodes), *window);
}

class ProgressBar {
 public:
  ProgressBar(std::ostream& err, std::string name) : err_(err), name_(std::move(name)) {}
  void show(double done) {
    const int percent = static_cast<int>(done * 100);
    if (percent == shown_) return;
    shown_ = percent;
    const auto filled = static_cast<std::size_t>(percent) * 40 / 100;
    err_ << '\r' << name_ << " [" << std::string(filled, '#') << std::string(40 - filled, '.')
         << "] " << percent << " %" << std::flush;
  }
  void clear() { err_ << '\r' << std::string(name_.size() + 52, ' ') << '\r' << std::flush; }

 private:
  std::ostream& err_;
  std::string name_;
  int shown_ = -1;
};

Result<EtaOptions> eta_options(const SimOptions& options) {
  EtaOptions eta;
  eta.told = options.eta;
  const auto source = enum_from<RunTimeSource>(options.run_times);
  if (!source) {
    return Error{ErrorCode::kInvalid, "run-times", options.run_times, "predicted, limits or exact"};
  }
  eta.source = *source;
  return eta;
}

Result<SimResult> simulate_one(const Workload& workload, const Policy& policy,
                               const SimulateOptions& with, bool progress, std::ostream& err) {
  SimulateOptions simulate_options = with;
  ProgressBar bar(err, std::string(enum_name(policy.order)));
  if (progress) simulate_options.progress = [&bar](double done) { bar.show(done); };
  auto result = simulate(workload, policy, simulate_options);
  if (progress) bar.clear();
  return result;
}

int run(const SimOptions& options, bool several, std::ostream& out, std::ostream& err) {
  const auto victims = victim_model(options);
  if (!victims.ok()) return fail(victims.error(), err);
  if (options.policies.empty() || (!several && options.policies.size() > 1)) {
    return fail({ErrorCode::kInvalid, "policy", "", several ? "at least one" : "exactly one"}, err);
  }
  const auto policies = compared(options);
  if (!policies.ok()) return fail(policies.error(), err);
  const auto eta = eta_options(options);
  if (!eta.ok()) return fail(eta.error(), err);
  SimulateOptions with;
  with.eta = *eta;
  with.victims = *victims;
  const auto workload = load(options);
  if (!workload.ok()) return fail(workload.error(), err);
  std::vector<SimResult> results;
  for (const auto& [policy, name] : *policies) {
    auto result = simulate_one(*workload, policy, with, options.progress, err);
    if (!result.ok()) return fail(result.error(), err);
    results.push_back(std::move(*result));
    results.back().policy = name;
  }
  if (options.output == "json") {
    print_json(results, several || results.size() > 1, out);
  } else {
    print_table(*workload, results, out);
  }
  if (!options.plot.empty()) {
    if (const auto error = write_plots(*workload, results, options.plot)) return fail(*error, err);
  }
  return 0;
}

void share_json(const std::vector<ShareFactors>& rows, std::ostream& out) {
  JsonOut json(out);
  json.open('{').key("rows").open('[');
  for (const ShareFactors& r : rows) {
    json.open('{').field("account", std::string_view(r.account)).key("user");
    r.user.empty() ? json.null() : json.value(std::string_view(r.user));
    json.key("norm_shares").exact(r.norm_shares).key("effective_usage").exact(r.effective_usage);
    json.key("level_fs");
    std::isinf(r.level_fs) ? json.value("inf") : json.exact(r.level_fs);
    json.key("fairshare");
    r.fairshare ? json.exact(*r.fairshare) : json.null();
    json.close('}');
  }
  json.close(']').close('}');
}

void share_table(const std::vector<ShareFactors>& rows, std::ostream& out) {
  Table table;
  table.row({"account", "user", "norm shares", "effective usage", "level fs", "fairshare"});
  for (const ShareFactors& r : rows) {
    table.row({r.account, r.user, fixed(r.norm_shares, 6), fixed(r.effective_usage, 6),
               std::isinf(r.level_fs) ? "inf" : fixed(r.level_fs, 6),
               r.fairshare ? fixed(*r.fairshare, 6) : "-"});
  }
  table.print(out);
}

}  // namespace

int sim_run(const SimOptions& options, std::ostream& out, std::ostream& err) {
  return run(options, false, out, err);
}

int sim_compare(const SimOptions& options, std::ostream& out, std::ostream& err) {
  return run(options, true, out, err);
}

int sim_share(const ShareOptions& options, std::ostream& out, std::ostream& err) {
  if (options.policy != "fair-tree" && options.policy != "classic") {
    return fail({ErrorCode::kInvalid, "policy", options.policy, "fair-tree or classic"}, err);
  }
  if (options.output != "table" && options.output != "json") {
    return fail({ErrorCode::kInvalid, "output", options.output, "table or json"}, err);
  }
  const auto tree = read_share_case(options.case_path);
  if (!tree.ok()) return fail(tree.error(), err);
  const auto rows = options.policy == "classic" ? classic_fair_share(tree->rows, tree->dampening)
                                                : fair_tree(tree->rows);
  if (!rows.ok()) return fail(rows.error(), err);
  options.output == "json" ? share_json(*rows, out) : share_table(*rows, out);
  return 0;
}

int sim_toy(const ToyCommandOptions& options, std::ostream& out, std::ostream& err) {
  if (!(options.days >= 0.05 && options.days <= 1000) ||
      !(options.warm_up_days >= 0 && options.warm_up_days <= 1000)) {
    return fail({ErrorCode::kInvalid, "days, warm-up-days", "", "days from 0.05 to 1000"}, err);
  }
  ToyTableOptions toy;
  toy.measured_ms = static_cast<DurationMs>(options.days * double{kDayMs});
  toy.warm_up_ms = static_cast<DurationMs>(options.warm_up_days * double{kDayMs});
  toy.seed = options.seed;
  ProgressBar bar(err, "toys");
  if (options.progress) {
    bar.show(0);
    toy.progress = [&bar](double done) { bar.show(done); };
  }
  const std::vector<ToyRow> rows = run_toy_table(toy);
  if (options.progress) bar.clear();
  print_toy(rows, out);
  BurstyOptions bursty;
  bursty.seed = options.seed;
  print_bursty(run_bursty(bursty), out);
  return 0;
}

}  // namespace subak::sim
