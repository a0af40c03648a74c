#include "sim/read/workload.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>

#include "core/content_hash.h"
#include "core/flat_index.h"
#include "sim/read/rng.h"

namespace subak::sim {
namespace {

// A job of the window: its row, its submission there, and the rest of its run time.
struct Picked {
  std::size_t row = 0;
  DurationMs submit_ms = 0;  // from the start of the trace
  DurationMs rest_ms = 0;
  DurationMs before_ms = 0;
  bool warm = false;
};

void spread_teams(std::vector<TraceJob>& trace, std::uint32_t teams, std::uint64_t seed) {
  Rng rng(seed);
  const std::size_t width = std::to_string(teams).size();
  for (TraceJob& job : trace) {
    const std::string number = std::to_string(rng.below(teams) + 1);
    job.team = "t" + std::string(width - number.size(), '0') + number;
  }
}

DurationMs days(double d) { return static_cast<DurationMs>(std::llround(d * double{kDayMs})); }

// The trace has no start times, so a job is assumed to run from its submission. A job submitted
// before A that had not ended by A is alive at A, and joins at A with the rest of its run time.
std::vector<Picked> pick(const std::vector<TraceJob>& trace, DurationMs from, DurationMs to,
                         double load) {
  std::vector<Picked> picked;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceJob& job = trace[i];
    const DurationMs end = job.submit_ms + job.duration_ms;
    if (job.submit_ms < from && end > from) {
      picked.push_back({i, from, end - from, from - job.submit_ms, true});
    } else if (job.submit_ms >= from && job.submit_ms < to) {
      const double after = double(job.submit_ms - from) / load;
      picked.push_back({i, from + std::llround(after), job.duration_ms, 0, false});
    }
  }
  return picked;  // warm ones come first, since rows are in order of submission
}

// The least standard limit that is at least `wanted`; 0 (the default limit) if none is.
DurationMs time_limit(double wanted) {
  constexpr DurationMs m = kMinuteMs, h = kHourMs;
  constexpr DurationMs kLimits[] = {15 * m, 30 * m, h,      2 * h,  4 * h,  8 * h,
                                    12 * h, 24 * h, 48 * h, 72 * h, 168 * h};
  for (const DurationMs limit : kLimits) {
    if (static_cast<double>(limit) >= wanted) return limit;
  }
  return 0;
}

// Distinct gangs are planned once.
class Gangs {
 public:
  explicit Gangs(Workload& out) : out_(out) {}
  void plan(const TraceJob& row, SimJob& job) {
    const auto [it, fresh] =
        known_.try_emplace(Key(row.milligpu, row.gang_pods, row.products), 0, false);
    if (fresh) {
      PlannedGang gang = plan_gang(row, out_.nodes);
      it->second = {static_cast<std::uint32_t>(out_.requests.size()), gang.placeable};
      out_.requests.push_back(std::move(gang.request));
    }
    job.request = it->second.first;
    job.placeable = it->second.second;
  }

 private:
  using Key = std::tuple<MilliGpu, std::uint32_t, std::vector<std::string>>;
  Workload& out_;
  std::map<Key, std::pair<std::uint32_t, bool>> known_;
};

// Teams by their account path; two teams with one path get a number behind it.
std::map<std::string, std::uint32_t> make_teams(const std::vector<TraceJob>& trace,
                                                const std::vector<Picked>& picked, Workload& out) {
  std::map<std::string, std::uint32_t> index;
  for (const Picked& p : picked) index.emplace(trace[p.row].team, 0);
  std::map<std::string, std::string> by_account;
  for (const auto& [team, unused] : index) {
    std::string account = account_name(team);
    for (int n = 2; by_account.contains(account); ++n) {
      account = account_name(team) + "_" + std::to_string(n);
    }
    by_account.emplace(account, team);
  }
  for (const auto& [account, team] : by_account) {
    index[team] = static_cast<std::uint32_t>(out.teams.size());
    out.teams.push_back({team, account, 1, 0});
  }
  return index;
}

std::optional<Error> apply_tables(const WorkloadOptions& options, Workload& out) {
  const auto find = [&out](const std::string& name) -> Team* {
    for (Team& team : out.teams) {
      if (team.name == name) return &team;
    }
    return nullptr;
  };
  std::int64_t divisor = kMilliPerGpu;  // shares are whole numbers: 1.5 and 3 become 1 and 2
  for (const auto& row : options.weights) divisor = std::gcd(divisor, row.second);
  for (Team& team : out.teams) team.shares = kMilliPerGpu / divisor;  // not listed: 1
  bool known = options.weights.empty() && options.quotas.empty();
  for (const auto& [name, share] : options.weights) {
    if (Team* team = find(name)) team->shares = share / divisor, known = true;
  }
  for (const auto& [name, quota] : options.quotas) {
    if (Team* team = find(name)) team->quota = quota, known = true;
  }
  if (known) return std::nullopt;
  return Error{ErrorCode::kInvalid, "weights, quota", "", "at least one team of the window"};
}

// Divides a percentage of the fleet's whole GPUs among the teams, by the GPU time of their jobs.
void quotas_by_demand(std::uint64_t percent, Workload& out) {
  std::vector<double> demand(out.teams.size());
  double total = 0;
  for (const SimJob& job : out.jobs) {
    if (!job.placeable) continue;
    const double gpu_ms = static_cast<double>(job.milligpu) * static_cast<double>(job.duration_ms);
    demand[job.team] += gpu_ms;
    total += gpu_ms;
  }
  if (total <= 0) return;
  const std::int64_t gpus = out.capacity / kMilliPerGpu * static_cast<std::int64_t>(percent) / 100;
  std::int64_t left = gpus;
  std::vector<std::pair<double, std::size_t>> remainders;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const double part = static_cast<double>(gpus) * demand[i] / total;
    const double whole = std::floor(part);
    out.teams[i].quota = static_cast<std::int64_t>(whole) * kMilliPerGpu;
    left -= static_cast<std::int64_t>(whole);
    remainders.emplace_back(whole - part, i);
  }
  std::sort(remainders.begin(), remainders.end());
  for (const auto& [unused, i] : remainders) {
    if (left-- <= 0) break;
    out.teams[i].quota += kMilliPerGpu;
  }
}

// Sets SimJob::within_quota, as if each job started when it is submitted.
void judge_quota(Workload& out) {
  using End = std::pair<TimeMs, MilliGpu>;
  std::vector<std::priority_queue<End, std::vector<End>, std::greater<>>> ends(out.teams.size());
  std::vector<MilliGpu> running(out.teams.size());
  for (SimJob& job : out.jobs) {
    if (!job.placeable) continue;
    auto& of_team = ends[job.team];
    for (; !of_team.empty() && of_team.top().first <= job.submit_ms; of_team.pop()) {
      running[job.team] -= of_team.top().second;
    }
    running[job.team] += job.milligpu;
    of_team.emplace(job.submit_ms + job.duration_ms, job.milligpu);
    job.within_quota = running[job.team] <= out.teams[job.team].quota;
  }
}

}  // namespace

Result<Workload> make_workload(std::vector<TraceJob> trace, std::vector<NodeSpec> nodes,
                               const WorkloadOptions& options) {
  if (options.random_teams > 0) spread_teams(trace, options.random_teams, options.seed);
  DurationMs last = 0;
  for (const TraceJob& job : trace) last = std::max(last, job.submit_ms + job.duration_ms);
  const DurationMs from = days(options.from_day.value_or(0));
  const DurationMs to = options.to_day ? days(*options.to_day) : std::max(last, from + 1);
  if (to <= from) return Error{ErrorCode::kInvalid, "to-day", "", "a day after from-day"};

  Workload out;
  out.nodes = std::move(nodes);
  for (const NodeSpec& node : out.nodes) out.capacity += node.gpus * kMilliPerGpu;
  out.from_ms = kTraceEpochMs + from;
  out.to_ms = out.from_ms + std::max<DurationMs>(1, std::llround(double(to - from) / options.load));
  const std::vector<Picked> picked = pick(trace, from, to, options.load);
  if (picked.empty()) {
    return Error{ErrorCode::kInvalid, "from-day, to-day", "", "a window with at least one job"};
  }
  const auto teams = make_teams(trace, picked, out);
  if (const auto error = apply_tables(options, out)) return *error;

  Gangs gangs(out);
  Rng rng(options.seed ^ 0x6c696d697473ULL);
  const auto is_short = [&](const TraceJob& row) {
    const std::string kind = row.team + '/' + row.user + '/' + std::to_string(row.milligpu);
    return mix_bits(content_hash(kind) ^ options.seed) % 100 < options.short_limits;
  };
  out.jobs.reserve(picked.size());
  for (const Picked& p : picked) {
    const TraceJob& row = trace[p.row];
    SimJob& job = out.jobs.emplace_back();
    job.name = row.id;
    job.user = row.user.empty() ? "" : account_name(row.user);
    job.team = teams.at(row.team);
    job.submit_ms = kTraceEpochMs + p.submit_ms;
    job.duration_ms = p.rest_ms;
    job.before_ms = p.before_ms;
    job.milligpu = row.milligpu;
    job.warm = p.warm;
    gangs.plan(row, job);
    if (options.limits) {
      const double more = rng.unit();
      const double part = is_short(row) ? 0.25 + more / 2 : 1 + 3 * more;
      job.time_limit_ms = time_limit(double(row.duration_ms) * part);
    }
  }
  if (options.quota_percent > 0) quotas_by_demand(options.quota_percent, out);
  judge_quota(out);
  return out;
}

}  // namespace subak::sim
