#include "engine/outlook.h"

#include <algorithm>

namespace subak {

std::string_view assumption(const StartOutlook& outlook) {
  switch (outlook.by) {
    case OutlookBy::kPromise:
      return "what its nodes hold ends by its time limits";
    case OutlookBy::kGuess:
      return "what has no time limit that can be counted on ends when it is guessed to";
    case OutlookBy::kForecast:
      return outlook.at.learned
                 ? "jobs run as long as the last ones like them, and those that come "
                   "meanwhile are as usual"
                 : "jobs run as long as the last ones like them; too few starts have "
                   "come to learn from";
    case OutlookBy::kBeyond:
      break;
  }
  return "the forecast does not look further";
}

std::optional<StartOutlook> start_outlook(const JobRow& row, const ForecastStarts& starts,
                                          TimeMs now) {
  if (!is_waiting(row.state)) return std::nullopt;
  const auto told = starts.of(row.id, now);
  if (row.start_ms != 0 && (row.start_promised || !told)) {
    const TimeMs expected =
        told ? std::min(told->expected_ms, row.start_ms) : row.start_expected_ms;
    return StartOutlook{row.start_promised ? OutlookBy::kPromise : OutlookBy::kGuess,
                        {std::min(told ? told->earliest_ms : now, expected), expected, row.start_ms,
                         told && told->learned}};
  }
  if (told) return StartOutlook{OutlookBy::kForecast, *told};
  if (row.state != JobState::kQueued || !starts.is_made() || starts.forecast->is_whole()) {
    return std::nullopt;
  }
  return StartOutlook{OutlookBy::kBeyond,
                      {std::max(now, starts.forecast->until_ms()), 0, 0, false}};
}

}  // namespace subak
