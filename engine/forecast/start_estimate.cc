#include "engine/forecast/start_estimate.h"

#include <algorithm>

#include "core/limits.h"
#include "core/must.h"

namespace subak {

namespace {

static_assert(limits::kGuessedRunMs == kDayMs, "the words below say 24 h");

std::string_view of_forecast(const ExpectedStart& at) {
  if (!at.learned) {
    return "jobs run as the last ones like them or to their limits; "
           "too few starts tell how far off this is";
  }
  return at.assumed ? "jobs run as the last ones like them, others come as usual; "
                      "no time limit given: assuming 24 h"
                    : "jobs run as long as the last ones like them, and those that come meanwhile "
                      "are as usual";
}

}  // namespace

std::string_view assumption(const StartEstimate& estimate) {
  switch (estimate.by) {
    case EstimateBasis::kPromise:
      return "what its nodes hold ends by its time limits";
    case EstimateBasis::kGuess:
      return "what has no time limit that can be counted on ends when it is guessed to";
    case EstimateBasis::kForecast:
      return of_forecast(estimate.at);
    case EstimateBasis::kBeyond:
      return "the forecast does not look further";
    case EstimateBasis::kTooFewStarts:
      return "what runs before it has no time limit, and too few starts have come to learn from";
    case EstimateBasis::kNewNodes:
      return "it starts on new nodes of a pool, and when these come is not known";
    case EstimateBasis::kNoForecast:
      break;
  }
  return "it is newer than the newest forecast";
}

std::optional<StartEstimate> start_estimate(const JobRow& row, const ForecastStarts& starts,
                                            TimeMs now) {
  if (!is_waiting(row.state)) return std::nullopt;
  must(starts.forecast != nullptr, "an estimate has a forecast, be it an empty one");
  const auto told = starts.of(row.id, now);
  if (row.start_ms != 0 && !row.start_promised && !told && !starts.odds.learned) {
    return StartEstimate{EstimateBasis::kNoForecast, {}};
  }
  if (row.start_ms != 0 && (row.start_promised || !told)) {
    const TimeMs expected =
        told ? std::min(told->expected_ms, row.start_ms) : row.start_expected_ms;
    return StartEstimate{row.start_promised ? EstimateBasis::kPromise : EstimateBasis::kGuess,
                         {std::min(told ? told->earliest_ms : now, expected), expected,
                          row.start_ms, told && told->learned}};
  }
  if (starts.growth != nullptr && starts.growth->find(row.id) != nullptr)
    return StartEstimate{EstimateBasis::kNewNodes, {}};
  if (told && told->assumed && !told->learned)
    return StartEstimate{EstimateBasis::kTooFewStarts, {}};
  if (told) return StartEstimate{EstimateBasis::kForecast, *told};
  if (row.state != JobState::kQueued) return std::nullopt;
  const Forecast& forecast = *starts.forecast;
  if (!starts.is_made() || row.submit_ms > forecast.time_ms()) {
    return StartEstimate{EstimateBasis::kNoForecast, {}};
  }
  if (forecast.is_whole()) return std::nullopt;
  if (forecast.is_assumed() && !starts.odds.learned) {
    return StartEstimate{EstimateBasis::kTooFewStarts, {}};
  }
  return StartEstimate{EstimateBasis::kBeyond, {std::max(now, forecast.until_ms()), 0, 0, false}};
}

}  // namespace subak
