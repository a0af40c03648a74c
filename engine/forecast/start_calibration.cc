#include "engine/forecast/start_calibration.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/limits.h"
#include "core/must.h"

namespace subak {
namespace {

constexpr double kMissing = 0.1;  // target part of the starts that miss
constexpr double kStep = 0.01;    // step of the level, for each start
// The bounds of the level. It stays below a half, so that the range contains the middle of the
// ratios.
constexpr double kLeast = 0.002, kMost = 0.4;
constexpr double kShort = double{10 * kMinuteMs};  // waits below it hardly differ
constexpr std::size_t kFew = 20;                   // outcomes; fewer are too few

bool is_told(const WaitRecord& w) {
  return w.job && w.at_ms >= 0 && w.at_ms <= w.earliest_ms && w.earliest_ms <= w.expected_ms &&
         w.expected_ms <= w.latest_ms && w.latest_ms <= limits::kMaxTimeMs &&
         w.at_ms <= w.start_ms && w.start_ms <= limits::kMaxTimeMs;
}

Error bad_record(const char* field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, std::string("told_starts.") + field, std::move(got),
          std::move(want)};
}

// The shortest range that contains all but `level` of the values. They are sorted.
std::pair<double, double> shortest(const std::vector<double>& sorted, double level) {
  const auto all = static_cast<double>(sorted.size() + 1);
  const auto inside = static_cast<std::size_t>(std::ceil((1 - level) * all));
  if (inside >= sorted.size()) return {sorted.front(), sorted.back()};
  must(inside > 0, "the range has at least one value");
  std::pair<double, double> best{sorted.front(), sorted[inside - 1]};
  for (std::size_t i = 1; i + inside <= sorted.size(); ++i) {
    const std::pair<double, double> next{sorted[i], sorted[i + inside - 1]};
    if (next.second - next.first < best.second - best.first) best = next;
  }
  return best;
}

}  // namespace

ExpectedStart StartOdds::of(TimeMs at_ms, TimeMs start_ms) const {
  const DurationMs wait_ms = std::max<DurationMs>(0, start_ms - at_ms);
  const auto at = [&](double factor) {
    const double wait = std::clamp(factor * (static_cast<double>(wait_ms) + kShort) - kShort, 0.0,
                                   static_cast<double>(limits::kMaxTimeMs - at_ms));
    return at_ms + static_cast<TimeMs>(wait);
  };
  return {at(low), at(middle), at(high), learned};
}

std::optional<ExpectedStart> ForecastStarts::of(JobId job, TimeMs now) const {
  const Forecast::Start* const start = forecast->find(job);
  if (start == nullptr) return std::nullopt;
  const ExpectedStart told = odds.of(forecast->time_ms(), start->at_ms);
  return ExpectedStart{std::max(now, told.earliest_ms), std::max(now, told.expected_ms),
                       std::max(now, told.latest_ms), told.learned, start->assumed};
}

void StartCalibration::announced(JobId job, TimeMs at_ms, TimeMs start_ms) {
  if (waiting_.size() >= limits::kMaxCalibrationStarts) return;
  must(bool(job) && at_ms >= 0, "a start is announced for a job");
  waiting_.try_emplace(job, Announced{at_ms, start_ms, odds().of(at_ms, start_ms), false});
}

void StartCalibration::hit(bool in) {
  level_ = std::clamp(level_ + kStep * (kMissing - (in ? 0 : 1)), kLeast, kMost);
  must(level_ >= kLeast && level_ <= kMost, "the level stays within its bounds");
  odds_.reset();
}

// A start within a minute does not count as a hit: nearly all of these hit, whatever the intervals.
std::optional<ExpectedStart> StartCalibration::started(JobId job, TimeMs t) {
  const auto it = waiting_.find(job);
  if (it == waiting_.end()) return std::nullopt;
  const Announced told = it->second;
  waiting_.erase(it);
  const auto waited = static_cast<double>(std::max<DurationMs>(0, t - told.at_ms));
  const double ratio =
      (waited + kShort) / (static_cast<double>(told.start_ms - told.at_ms) + kShort);
  must(ratio > 0, "a ratio of two waits is above 0");
  ratios_.push_back(ratio);
  if (ratios_.size() > limits::kMaxCalibrationOutcomes) ratios_.pop_front();
  must(ratios_.size() <= limits::kMaxCalibrationOutcomes, "outcomes are bounded");
  odds_.reset();
  if (!told.missed && t - told.at_ms > kMinuteMs)
    hit(t >= told.as.earliest_ms && t <= told.as.latest_ms);
  return told.as;
}

void StartCalibration::look(TimeMs t) {
  for (auto& [id, told] : waiting_) {  // any order: each counts the same
    if (told.missed || t <= told.as.latest_ms) continue;
    told.missed = true;
    hit(false);
  }
}

const StartOdds& StartCalibration::odds() const {
  if (odds_) return *odds_;
  StartOdds& out = odds_.emplace();
  if (ratios_.size() < kFew) return out;
  std::vector<double> sorted(ratios_.begin(), ratios_.end());
  std::sort(sorted.begin(), sorted.end());
  const auto [low, high] = shortest(sorted, level_);
  must(low <= high, "a range has a low and a high end");
  const double middle = sorted[sorted.size() / 2];
  must(low <= middle && middle <= high, "the middle is inside the range");
  return out = {low, middle, high, true};
}

CalibrationRecord StartCalibration::record() const {
  CalibrationRecord out;
  out.level = level_;
  for (const double ratio : ratios_) out.ratios.push_back({ratio});
  for (const auto& [job, told] : waiting_) {  // any order: sorted below
    out.waiting.push_back({job, told.at_ms, told.start_ms, told.as.earliest_ms, told.as.expected_ms,
                           told.as.latest_ms, told.as.learned, told.missed});
  }
  std::sort(out.waiting.begin(), out.waiting.end(),
            [](const WaitRecord& a, const WaitRecord& b) { return a.job < b.job; });
  return out;
}

Result<StartCalibration> StartCalibration::from(const CalibrationRecord& record) {
  StartCalibration out;
  if (!(record.level >= kLeast && record.level <= kMost)) {
    return bad_record("level", std::to_string(record.level), "want a part of all starts");
  }
  out.level_ = record.level;
  if (record.ratios.size() > limits::kMaxCalibrationOutcomes) {
    return bad_record("ratios", std::to_string(record.ratios.size()),
                      "want at most " + std::to_string(limits::kMaxCalibrationOutcomes));
  }
  for (const RatioRecord& one : record.ratios) {
    if (!std::isfinite(one.ratio) || one.ratio <= 0) {
      return bad_record("ratios", std::to_string(one.ratio), "want numbers above 0");
    }
    out.ratios_.push_back(one.ratio);
  }
  if (record.waiting.size() > limits::kMaxCalibrationStarts) {
    return bad_record("waiting", std::to_string(record.waiting.size()),
                      "want at most " + std::to_string(limits::kMaxCalibrationStarts));
  }
  for (const WaitRecord& w : record.waiting) {
    const ExpectedStart as{w.earliest_ms, w.expected_ms, w.latest_ms, w.learned};
    if (!is_told(w) ||
        !out.waiting_.try_emplace(w.job, Announced{w.at_ms, w.start_ms, as, w.missed}).second) {
      return bad_record("waiting", std::to_string(w.job.value),
                        "want each job once, with its times");
    }
  }
  return out;
}

void StartCalibration::forget_unless(const std::function<bool(JobId)>& waits) {
  std::erase_if(waiting_, [&](const auto& entry) { return !waits(entry.first); });
}

}  // namespace subak
