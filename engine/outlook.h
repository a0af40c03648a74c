// When a job that waits is going to start, as people are told it: by the nodes that are kept for it, and by
// the forecast. The API and what is written in a cluster have it from here. Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/quantity.h"
#include "engine/engine.h"
#include "engine/told_starts.h"

namespace subak {

enum class OutlookBy : std::uint8_t {
  kPromise,   // it starts by `latest`, which moves later only for a cause
  kGuess,     // nodes are kept for it, and some of what they hold ends when it is guessed to
  kForecast,  // most likely at `expected`
  kBeyond,    // the forecast does not look further: not before `earliest`, and no more is known
  // There is no estimate yet:
  kTooFewStarts,  // it would rest on run times that are assumed, and too few starts have come to learn from
  kNoForecast,  // the job is newer than the newest forecast
};

// It has times.
constexpr bool is_estimate(OutlookBy by) { return by < OutlookBy::kTooFewStarts; }

struct StartOutlook {
  OutlookBy by = OutlookBy::kForecast;
  ExpectedStart at;  // without an estimate all 0
  friend bool operator==(const StartOutlook&, const StartOutlook&) = default;
};

// What the start rests on, in words: "what its nodes hold ends by its time limits". Without an estimate, why
// there is none.
std::string_view assumption(const StartOutlook& outlook);

// At `now`. nullopt: as things stand it does not start, or it does not wait.
std::optional<StartOutlook> start_outlook(const JobRow& row, const ForecastStarts& starts,
                                          TimeMs now);

}  // namespace subak
