#include "sim/history/what_if.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/driver.h"
#include "sim/measures.h"

namespace subak::sim {

std::optional<HistoryReplay> replay_history(const History& history, const Workload& workload,
                                            const HistoryOptions& options) {
  const auto engine = engine_of(history.start);
  EnginePort port(*engine, options.observer);
  Measures measures(workload);
  Driver driver(workload, port, measures);
  if (!driver.run(options.progress)) return std::nullopt;
  HistoryReplay out;
  out.fates = measures.fates();
  out.result = measures.result();
  out.refused_jobs = driver.refused();
  out.refused_edits = driver.refused_edits();
  out.first_refusal = driver.first_refusal();
  return out;
}

std::vector<DayShares> shares_by_day(const Workload& workload, const SimResult& result) {
  constexpr std::size_t kHours = 24;
  std::vector<DayShares> out;
  for (std::size_t team = 0; team < result.received_by_hour.size(); ++team) {
    const std::vector<double>& gpus = result.received_by_hour[team];
    for (std::size_t hour = 0; hour < gpus.size(); ++hour) {
      const std::size_t day = hour / kHours;
      while (out.size() <= day) {
        const auto from_ms = workload.from_ms + static_cast<TimeMs>(out.size()) * kDayMs;
        out.push_back({from_ms, std::vector<double>(result.received_by_hour.size())});
      }
      const TimeMs from_ms = workload.from_ms + static_cast<TimeMs>(hour) * kHourMs;
      const DurationMs length_ms = std::min(kHourMs, workload.to_ms - from_ms);
      out[day].gpu_h[team] += gpus[hour] * static_cast<double>(length_ms) / kHourMs;
    }
  }
  return out;
}

namespace {

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double share_difference(const std::vector<DayShares>& a, const std::vector<DayShares>& b) {
  double most = 0;
  for (std::size_t day = 0; day < std::min(a.size(), b.size()); ++day) {
    const double all_a = sum_of(a[day].gpu_h), all_b = sum_of(b[day].gpu_h);
    for (std::size_t team = 0; team < a[day].gpu_h.size(); ++team) {
      const double share_a = all_a > 0 ? a[day].gpu_h[team] / all_a : 0;
      const double share_b = all_b > 0 ? b[day].gpu_h[team] / all_b : 0;
      most = std::max(most, std::abs(share_a - share_b));
    }
  }
  return most;
}

}  // namespace

Nearness nearness(const History& history, const HistoryReplay& unchanged) {
  const Workload& workload = history.workload;
  std::vector<double> differences;
  std::size_t near = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const TimeMs real = history.fates[i].start_ms, replayed = unchanged.fates[i].start_ms;
    if (workload.jobs[i].warm || real < 0 || replayed < 0) continue;
    differences.push_back(std::abs(static_cast<double>(replayed - real)) / kSecondMs);
    near += std::abs(replayed - real) <= kMinuteMs ? 1 : 0;
  }
  Nearness out;
  out.jobs = differences.size();
  if (out.jobs > 0) out.within_minute = static_cast<double>(near) / static_cast<double>(out.jobs);
  const Spread spread_s = spread(std::move(differences));
  out.mean_s = spread_s.mean;
  out.p90_s = spread_s.p90;
  out.share = share_difference(shares_by_day(workload, history.result),
                               shares_by_day(workload, unchanged.result));
  return out;
}

}  // namespace subak::sim
