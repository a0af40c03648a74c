#include "engine/forecast/outlook.h"

#include <algorithm>

#include "core/limits.h"

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

std::string_view assumption(const StartOutlook& outlook) {
  switch (outlook.by) {
    case OutlookBy::kPromise:
      return "what its nodes hold ends by its time limits";
    case OutlookBy::kGuess:
      return "what has no time limit that can be counted on ends when it is guessed to";
    case OutlookBy::kForecast:
      return of_forecast(outlook.at);
    case OutlookBy::kBeyond:
      return "the forecast does not look further";
    case OutlookBy::kTooFewStarts:
      return "what runs before it has no time limit, and too few starts have come to learn from";
    case OutlookBy::kNoForecast:
      break;
  }
  return "it is newer than the newest forecast";
}

std::optional<StartOutlook> start_outlook(const JobRow& row, const ForecastStarts& starts,
                                          TimeMs now) {
  if (!is_waiting(row.state)) return std::nullopt;
  const auto told = starts.of(row.id, now);
  if (row.start_ms != 0 && !row.start_promised && !told && !starts.odds.learned) {
    return StartOutlook{OutlookBy::kNoForecast, {}};
  }
  if (row.start_ms != 0 && (row.start_promised || !told)) {
    const TimeMs expected =
        told ? std::min(told->expected_ms, row.start_ms) : row.start_expected_ms;
    return StartOutlook{row.start_promised ? OutlookBy::kPromise : OutlookBy::kGuess,
                        {std::min(told ? told->earliest_ms : now, expected), expected, row.start_ms,
                         told && told->learned}};
  }
  if (told && told->assumed && !told->learned) return StartOutlook{OutlookBy::kTooFewStarts, {}};
  if (told) return StartOutlook{OutlookBy::kForecast, *told};
  if (row.state != JobState::kQueued) return std::nullopt;
  const Forecast& forecast = *starts.forecast;
  if (!starts.is_made() || row.submit_ms > forecast.time_ms()) {
    return StartOutlook{OutlookBy::kNoForecast, {}};
  }
  if (forecast.is_whole()) return std::nullopt;
  if (forecast.is_assumed() && !starts.odds.learned) {
    return StartOutlook{OutlookBy::kTooFewStarts, {}};
  }
  return StartOutlook{OutlookBy::kBeyond, {std::max(now, forecast.until_ms()), 0, 0, false}};
}

}  // namespace subak
