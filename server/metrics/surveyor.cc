#include "server/metrics/surveyor.h"

#include <algorithm>

#include "core/limits.h"

namespace subak::metrics {
namespace {

constexpr DurationMs kSurveyRest = 50;  // times the duration of a look

}  // namespace

const Survey& Surveyor::look(const Engine& engine, const Growth* growth) {
  const DurationMs begin = clock_.monotonic_ms();
  if (taken_ && begin < next_ms_) return survey_;
  survey_ = engine.survey(growth);
  follow_positions();
  taken_ = true;
  const DurationMs end = clock_.monotonic_ms();
  next_ms_ = end + std::max(limits::kSurveyEveryMs, kSurveyRest * (end - begin));
  return survey_;
}

void Surveyor::follow_positions() {
  std::map<JobId, std::size_t> positions;
  std::size_t moved_back = 0;
  for (std::size_t i = 0; i < survey_.head.size(); ++i) {
    positions[survey_.head[i]] = i;
    const auto before = positions_.find(survey_.head[i]);
    moved_back += before != positions_.end() && before->second < i;
  }
  events_.moved_back(moved_back);
  positions_ = std::move(positions);
}

}  // namespace subak::metrics
