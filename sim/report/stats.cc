#include "sim/report/stats.h"

#include <algorithm>
#include <cmath>

#include "sim/report/entitlement.h"

namespace subak::sim {
namespace {

constexpr double kGpuHour = double{kMilliPerGpu} * double{kHourMs};

// The wait of a job that started.
double wait_s(const SimJob& job, const JobFate& fate) {
  return static_cast<double>(fate.start_ms - job.submit_ms + fate.again_ms) / 1000;
}

// Sums of one window of hours, per team, in milli-GPU x ms.
struct Window {
  std::vector<double> received;
  std::vector<double> entitled;
  std::vector<double> demand;
  double length_ms = 0;
};

Window window_of(const Workload& workload, const Timeline& timeline, std::size_t first,
                 std::size_t count) {
  const std::size_t teams = workload.teams.size();
  Window w{std::vector<double>(teams), {}, std::vector<double>(teams), 0};
  for (std::size_t h = first; h < first + count; ++h) {
    w.length_ms += static_cast<double>(timeline.hour_length(h));
    for (std::uint32_t i = 0; i < teams; ++i) {
      const HourCell& cell = timeline.cell(h, i);
      w.received[i] += cell.running;
      w.demand[i] += cell.running + cell.queued;
    }
  }
  double total = 0;
  std::vector<Claim> claims(teams);
  for (std::size_t i = 0; i < teams; ++i) {
    total += w.received[i];
    claims[i] = {w.demand[i], static_cast<double>(workload.teams[i].quota) * w.length_ms,
                 static_cast<double>(workload.teams[i].shares)};
  }
  w.entitled = entitled(total, claims);
  return w;
}

struct Fairness {
  double jain_sum = 0, deviation = 0;
  std::size_t windows = 0;
};

void look_at(const Window& w, double capacity, Fairness& f) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < w.received.size(); ++i) {
    const double off = std::abs(w.received[i] - w.entitled[i]);
    f.deviation = std::max(f.deviation, off / (capacity * w.length_ms));
    if (w.demand[i] > 0 && w.entitled[i] > 0) ratios.push_back(w.received[i] / w.entitled[i]);
  }
  if (ratios.empty()) return;
  f.jain_sum += jain_index(ratios);
  ++f.windows;
}

void fairness(const Workload& workload, const Timeline& timeline, std::size_t hours,
              std::optional<double>& jain, std::optional<double>& deviation) {
  Fairness f;
  std::size_t whole = timeline.hours();
  if (whole > 0 && timeline.hour_length(whole - 1) < kHourMs) --whole;
  for (std::size_t first = 0; first + hours <= whole; first += hours) {
    look_at(window_of(workload, timeline, first, hours), static_cast<double>(workload.capacity), f);
  }
  if (whole >= hours) deviation = f.deviation;
  if (f.windows > 0) jain = f.jain_sum / static_cast<double>(f.windows);
}

void add_series(const Workload& workload, const Timeline& timeline, SimResult& r) {
  const std::size_t teams = workload.teams.size();
  r.received_by_hour.assign(teams, {});
  r.entitled_by_hour.assign(teams, {});
  r.queued_by_hour.assign(teams, {});
  for (std::size_t h = 0; h < timeline.hours(); ++h) {
    const Window w = window_of(workload, timeline, h, 1);
    const double to_gpus = 1 / (w.length_ms * double{kMilliPerGpu});
    for (std::size_t i = 0; i < teams; ++i) {
      r.received_by_hour[i].push_back(w.received[i] * to_gpus);
      r.entitled_by_hour[i].push_back(w.entitled[i] * to_gpus);
      r.queued_by_hour[i].push_back((w.demand[i] - w.received[i]) * to_gpus);
    }
  }
}

void add_teams(const Workload& workload, const Timeline& timeline, SimResult& r) {
  const Window all = window_of(workload, timeline, 0, timeline.hours());
  double received = 0;
  for (std::size_t i = 0; i < workload.teams.size(); ++i) {
    const Team& team = workload.teams[i];
    received += all.received[i];
    TeamResult& row = r.teams.emplace_back();
    row.team = team.name;
    row.shares = team.shares;
    row.quota = team.quota;
    row.demand_gpu_h = all.demand[i] / kGpuHour;
    row.received_gpu_h = all.received[i] / kGpuHour;
    row.entitled_gpu_h = all.entitled[i] / kGpuHour;
  }
  r.utilisation = received / (static_cast<double>(workload.capacity) * all.length_ms);
}

// The figures of quotas and preemptions.
QuotaResult quota_result(const Workload& workload, const std::vector<JobFate>& fates) {
  QuotaResult r;
  std::vector<double> within, beyond;
  double lost = 0, held = 0;
  for (std::size_t i = 0; i < fates.size(); ++i) {
    const SimJob& job = workload.jobs[i];
    const JobFate& fate = fates[i];
    r.preemptions += fate.preemptions;
    r.preempted_jobs += fate.preemptions > 0 ? 1 : 0;
    r.most_of_one_job = std::max<std::size_t>(r.most_of_one_job, fate.preemptions);
    lost += static_cast<double>(job.milligpu) * static_cast<double>(fate.lost_ms);
    held += static_cast<double>(job.milligpu) * static_cast<double>(fate.held_ms);
    if (job.warm || job.past.extra || fate.start_ms < 0) continue;
    (job.within_quota ? within : beyond).push_back(wait_s(job, fate));
  }
  r.within_s = spread(std::move(within));
  r.beyond_s = spread(std::move(beyond));
  r.lost_gpu_h = lost / kGpuHour;
  r.lost_part = held > 0 ? lost / held : 0;
  return r;
}

}  // namespace

Spread spread(std::vector<double> values) {
  Spread s;
  s.jobs = values.size();
  if (values.empty()) return s;
  std::sort(values.begin(), values.end());
  for (const double v : values) s.mean += v;
  s.mean /= static_cast<double>(values.size());
  const auto rank = [&values](double p) {
    const auto n = static_cast<std::size_t>(std::ceil(p * static_cast<double>(values.size())));
    return values[std::clamp<std::size_t>(n, 1, values.size()) - 1];
  };
  s.p50 = rank(0.5);
  s.p90 = rank(0.9);
  s.p99 = rank(0.99);
  return s;
}

std::size_t size_class(MilliGpu milligpu) {
  constexpr std::array<MilliGpu, 5> kMost{1000, 4000, 8000, 16'000, 64'000};
  const auto at = std::lower_bound(kMost.begin(), kMost.end(), milligpu);
  return static_cast<std::size_t>(at - kMost.begin());
}

SimResult make_result(const Workload& workload, const Timeline& timeline,
                      const std::vector<JobFate>& fates) {
  SimResult r;
  add_teams(workload, timeline, r);
  std::vector<double> slowdowns;
  std::array<std::vector<double>, kSizeClasses.size()> by_size;
  std::vector<double> team_wait(workload.teams.size());
  std::vector<std::size_t> team_started(workload.teams.size());
  for (std::size_t i = 0; i < fates.size(); ++i) {
    const SimJob& job = workload.jobs[i];
    if (job.warm) ++r.warm;
    if (job.warm || job.past.extra) continue;
    ++r.jobs;
    ++r.teams[job.team].jobs;
    if (!job.placeable) ++r.unplaceable;
    if (fates[i].end_ms >= 0) ++r.finished;
    if (fates[i].start_ms < 0) continue;
    const double wait = wait_s(job, fates[i]);
    const double lost = static_cast<double>(fates[i].lost_ms) / 1000;
    const double run = static_cast<double>(job.duration_ms) / 1000;
    r.waits_s.push_back(wait);
    slowdowns.push_back(std::max(1.0, (wait + run + lost) / std::max(run, 10.0)));
    by_size[size_class(job.milligpu)].push_back(wait);
    team_wait[job.team] += wait;
    ++team_started[job.team];
  }
  std::sort(r.waits_s.begin(), r.waits_s.end());
  r.wait_s = spread(r.waits_s);
  r.bounded_slowdown = spread(std::move(slowdowns));
  for (std::size_t c = 0; c < by_size.size(); ++c)
    r.wait_by_size[c] = spread(std::move(by_size[c]));
  for (std::size_t i = 0; i < r.teams.size(); ++i) {
    if (team_started[i] > 0) {
      r.teams[i].wait_mean_s = team_wait[i] / static_cast<double>(team_started[i]);
    }
  }
  fairness(workload, timeline, 1, r.jain.hour, r.max_deviation.hour);
  fairness(workload, timeline, 24, r.jain.day, r.max_deviation.day);
  fairness(workload, timeline, 168, r.jain.week, r.max_deviation.week);
  add_series(workload, timeline, r);
  const auto& teams = workload.teams;
  const bool has_quota =
      std::any_of(teams.begin(), teams.end(), [](const Team& team) { return team.quota > 0; });
  if (has_quota) r.quota = quota_result(workload, fates);
  return r;
}

}  // namespace subak::sim
