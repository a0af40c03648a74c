// Start estimates for people (`StartEstimate`): when a waiting job starts, by its reserved
// nodes and by the forecast. The API and the messages in a cluster use these. Threads: any; pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/quantity.h"
#include "engine/answers/answers.h"
#include "engine/forecast/start_calibration.h"

namespace subak {

// The basis of a start estimate.
enum class EstimateBasis : std::uint8_t {
  // It starts by `latest`, which moves later only for a cause.
  kPromise,
  // It has reserved nodes, and the end of some of their holders is a guess.
  kGuess,
  // Most likely at `expected`.
  kForecast,
  // Beyond the forecast: not before `earliest`, and no more is known.
  kBeyond,
  // No estimate yet:
  // it would rest on assumed run times, and there are too few past starts to learn from
  kTooFewStarts,
  // The job is newer than the newest forecast.
  kNoForecast,
};

// True if the estimate has times.
constexpr bool is_estimate(EstimateBasis by) { return by < EstimateBasis::kTooFewStarts; }

// A start estimate and its basis.
struct StartEstimate {
  // What the times rest on, or why there are none.
  EstimateBasis by = EstimateBasis::kForecast;
  // All 0 without an estimate.
  ExpectedStart at;
  friend bool operator==(const StartEstimate&, const StartEstimate&) = default;
};

// Says in words what the start rests on, as "what its nodes hold ends by its time limits". Without
// an estimate it says why there is none.
std::string_view assumption(const StartEstimate& estimate);

// Estimates the start of a job at `now`. nullopt: the job does not wait, or does not start unless
// something changes.
std::optional<StartEstimate> start_estimate(const JobRow& row, const ForecastStarts& starts,
                                            TimeMs now);

}  // namespace subak
