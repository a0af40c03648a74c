#include "engine/told_starts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/limits.h"

namespace subak {
namespace {

constexpr double kMissing = 0.1;               // of all
constexpr double kStep = 0.005;                // of the level, for each start
constexpr double kLeast = 0.002, kMost = 0.4;  // level
constexpr double kShort = double{kMinuteMs};   // shorter waits are all alike
constexpr std::size_t kFew = 20;               // outcomes: then those of all horizons count

std::deque<double> ratios_of(const RatiosKept& kept) {
  std::deque<double> out;
  for (const RatioKept& one : kept.ratios) out.push_back(one.ratio);
  return out;
}

RatiosKept kept_of(const std::deque<double>& ratios) {
  RatiosKept out;
  for (const double ratio : ratios) out.ratios.push_back({ratio});
  return out;
}

bool are_ratios(const RatiosKept& kept) {
  return kept.ratios.size() <= limits::kToldOutcomes &&
         std::all_of(kept.ratios.begin(), kept.ratios.end(), [](const RatioKept& one) {
           return std::isfinite(one.ratio) && one.ratio > 0;
         });
}

bool is_told(const WaitKept& w) {
  return w.job && w.at_ms >= 0 && w.at_ms <= w.earliest_ms && w.earliest_ms <= w.expected_ms &&
         w.expected_ms <= w.latest_ms && w.latest_ms <= limits::kMaxTimeMs &&
         w.at_ms <= w.start_ms && w.start_ms <= limits::kMaxTimeMs;
}

Error no_told(const char* field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, std::string("told_starts.") + field, std::move(got),
          std::move(want)};
}

// At `part` of the values, which are sorted; between two of them in proportion.
double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() + 1) - 1;
  if (at <= 0) return sorted.front();
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - std::floor(at)) * (sorted[below + 1] - sorted[below]);
}

void keep(std::deque<double>& ratios, double ratio) {
  ratios.push_back(ratio);
  if (ratios.size() > limits::kToldOutcomes) ratios.pop_front();
}

}  // namespace

std::size_t StartOdds::horizon(DurationMs wait_ms) {
  return static_cast<std::size_t>(
      std::lower_bound(kHorizonsMs.begin(), kHorizonsMs.end(), wait_ms) - kHorizonsMs.begin());
}

ExpectedStart StartOdds::of(TimeMs at_ms, TimeMs start_ms) const {
  const DurationMs wait_ms = std::max<DurationMs>(0, start_ms - at_ms);
  const Factors& f = factors[horizon(wait_ms)];
  const auto at = [&](double factor) {
    const double wait = std::clamp(factor * (static_cast<double>(wait_ms) + kShort) - kShort, 0.0,
                                   static_cast<double>(limits::kMaxTimeMs - at_ms));
    return at_ms + static_cast<TimeMs>(wait);
  };
  return {at(f.low), at(f.middle), at(f.high), f.learned};
}

std::optional<ExpectedStart> ForecastStarts::of(JobId job, TimeMs now) const {
  const auto start = forecast->start(job);
  if (!start) return std::nullopt;
  const ExpectedStart told = odds.of(forecast->time_ms(), *start);
  return ExpectedStart{std::max(now, told.earliest_ms), std::max(now, told.expected_ms),
                       std::max(now, told.latest_ms), told.learned};
}

void ToldStarts::told(JobId job, TimeMs at_ms, TimeMs start_ms) {
  if (waiting_.size() >= limits::kToldStarts) return;
  waiting_.try_emplace(job, Told{at_ms, start_ms, odds().of(at_ms, start_ms), false});
}

void ToldStarts::hit(bool in) {
  level_ = std::clamp(level_ + kStep * (kMissing - (in ? 0 : 1)), kLeast, kMost);
  odds_.reset();
}

// Starts within a minute say nothing of whether intervals are wide enough: all of those hit.
std::optional<ExpectedStart> ToldStarts::started(JobId job, TimeMs t) {
  const auto it = waiting_.find(job);
  if (it == waiting_.end()) return std::nullopt;
  const Told told = it->second;
  waiting_.erase(it);
  const auto waited = static_cast<double>(std::max<DurationMs>(0, t - told.at_ms));
  const double ratio =
      (waited + kShort) / (static_cast<double>(told.start_ms - told.at_ms) + kShort);
  keep(ratios_[StartOdds::horizon(told.start_ms - told.at_ms)], ratio);
  keep(all_, ratio);
  odds_.reset();
  if (!told.missed && waited > kShort) hit(t >= told.as.earliest_ms && t <= told.as.latest_ms);
  return told.as;
}

void ToldStarts::look(TimeMs t) {
  for (auto& [id, told] : waiting_) {  // any order: each counts the same
    if (told.missed || t <= told.as.latest_ms) continue;
    told.missed = true;
    hit(false);
  }
}

const std::deque<double>& ToldStarts::known(std::size_t horizon) const {
  return ratios_[horizon].size() >= kFew ? ratios_[horizon] : all_;
}

const StartOdds& ToldStarts::odds() const {
  if (odds_) return *odds_;
  StartOdds& out = odds_.emplace();
  for (std::size_t h = 0; h < out.factors.size(); ++h) {
    std::vector<double> sorted(known(h).begin(), known(h).end());
    if (sorted.size() < kFew) continue;
    std::sort(sorted.begin(), sorted.end());
    out.factors[h] = {quantile(sorted, level_ / 2), quantile(sorted, 0.5),
                      quantile(sorted, 1 - level_ / 2), true};
  }
  return out;
}

ToldKept ToldStarts::kept() const {
  ToldKept out;
  out.level = level_;
  for (const auto& ratios : ratios_) out.horizons.push_back(kept_of(ratios));
  out.all = kept_of(all_);
  for (const auto& [job, told] : waiting_) {  // any order: sorted below
    out.waiting.push_back({job, told.at_ms, told.start_ms, told.as.earliest_ms, told.as.expected_ms,
                           told.as.latest_ms, told.as.learned, told.missed});
  }
  std::sort(out.waiting.begin(), out.waiting.end(),
            [](const WaitKept& a, const WaitKept& b) { return a.job < b.job; });
  return out;
}

Result<ToldStarts> ToldStarts::from(const ToldKept& kept) {
  ToldStarts out;
  if (!(kept.level >= kLeast && kept.level <= kMost)) {
    return no_told("level", std::to_string(kept.level), "want a part of all starts");
  }
  out.level_ = kept.level;
  if (kept.horizons.size() != out.ratios_.size()) {
    return no_told("horizons", std::to_string(kept.horizons.size()),
                   "want " + std::to_string(out.ratios_.size()));
  }
  const bool ratios =
      are_ratios(kept.all) && std::all_of(kept.horizons.begin(), kept.horizons.end(), are_ratios);
  if (!ratios) return no_told("ratios", "", "want a few numbers above 0");
  for (std::size_t h = 0; h < out.ratios_.size(); ++h) {
    out.ratios_[h] = ratios_of(kept.horizons[h]);
  }
  out.all_ = ratios_of(kept.all);
  if (kept.waiting.size() > limits::kToldStarts) {
    return no_told("waiting", std::to_string(kept.waiting.size()),
                   "want at most " + std::to_string(limits::kToldStarts));
  }
  for (const WaitKept& w : kept.waiting) {
    const ExpectedStart as{w.earliest_ms, w.expected_ms, w.latest_ms, w.learned};
    if (!is_told(w) ||
        !out.waiting_.try_emplace(w.job, Told{w.at_ms, w.start_ms, as, w.missed}).second) {
      return no_told("waiting", std::to_string(w.job.value), "want each job once, with its times");
    }
  }
  return out;
}

void ToldStarts::forget_unless(const std::function<bool(JobId)>& waits) {
  std::erase_if(waiting_, [&](const auto& entry) { return !waits(entry.first); });
}

}  // namespace subak
