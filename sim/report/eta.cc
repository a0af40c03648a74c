#include "sim/report/eta.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/limits.h"
#include "sim/report/stats.h"

namespace subak::sim {

EtaJudge::EtaJudge(const Workload& workload, const Engine& engine, EtaOptions options)
    : workload_(workload),
      engine_(engine),
      options_(options),
      every_(std::max<std::size_t>(1, workload.jobs.size() / options.told)) {}

void EtaJudge::submitted(std::uint32_t job, JobId id) {
  index_[id] = job;
  if (!workload_.jobs[job].warm && job % every_ == 0) fresh_.emplace_back(job, id);
}

void EtaJudge::use_other_times(ForecastBasis& basis) const {
  if (options_.source == RunTimeSource::kPredicted) return;
  for (auto& [id, run] : basis.run_times) {
    const SimJob& job = workload_.jobs[index_.at(id)];
    const bool exact = options_.source == RunTimeSource::kExact;
    const bool assumed = !exact && job.time_limit_ms == 0;
    run = {exact ? job.duration_ms : assumed ? limits::kGuessedRunMs : job.time_limit_ms, assumed};
  }
}

void EtaJudge::settled(TimeMs t) {
  std::erase_if(fresh_, [&](const auto& one) {
    return engine_.job(one.second, false)->state != JobState::kQueued;
  });
  if (fresh_.empty()) return;
  calibration_.look(t);
  ForecastBasis basis = engine_.forecast_basis(engine_.now());
  use_other_times(basis);
  const Forecast forecast = make_forecast(basis);
  for (const auto& [job, id] : std::exchange(fresh_, {})) {
    const auto start = forecast.start(id);
    if (!start) continue;
    told_jobs_[job] = {id, *start};
    calibration_.announced(id, t, *start);
  }
}

void EtaJudge::started(std::uint32_t job, TimeMs t) {
  const auto of = told_jobs_.find(job);
  if (of == told_jobs_.end()) return;
  const auto told = calibration_.started(of->second.id, t);
  if (!told) return;
  const double wait_s = static_cast<double>(t - workload_.jobs[job].submit_ms) / 1000;
  if (wait_s <= 60) return;
  const auto off_s = [&](TimeMs start_ms) {
    return std::abs(static_cast<double>(t - start_ms)) / 1000;
  };
  come_.push_back({wait_s, off_s(told->expected_ms), off_s(of->second.start_ms),
                   static_cast<double>(told->latest_ms - told->earliest_ms) / 1000,
                   t >= told->earliest_ms && t <= told->latest_ms});
}

EtaResult EtaJudge::result() const {
  EtaResult r;
  r.jobs = come_.size();
  if (come_.empty()) return r;
  std::vector<double> errors, uncorrected, waits, widths;
  for (const Come& come : come_) {
    errors.push_back(come.error_s);
    uncorrected.push_back(come.uncorrected_s);
    waits.push_back(come.wait_s);
    widths.push_back(come.width_s);
    r.within_1m += come.error_s <= 60 ? 1 : 0;
    r.within_10m += come.error_s <= 600 ? 1 : 0;
    r.coverage_90 += come.in ? 1 : 0;
  }
  const auto n = static_cast<double>(come_.size());
  r.within_1m /= n;
  r.within_10m /= n;
  r.coverage_90 /= n;
  r.median_error_s = spread(std::move(errors)).p50;
  r.median_uncorrected_s = spread(std::move(uncorrected)).p50;
  r.median_wait_s = spread(std::move(waits)).p50;
  r.median_width_s = spread(std::move(widths)).p50;
  return r;
}

}  // namespace subak::sim
