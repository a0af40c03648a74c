// Start estimates for people (`StartEstimate`): when a waiting job starts. An estimate follows from
// the job's reserved nodes, if it has any, and from the forecast. The API and the messages in a
// cluster use these estimates.
// Threads: any; pure functions.
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
  // A promise: the job starts by `latest_ms`, which moves later only for a ReserveCause.
  kPromise,
  // A guess: the job has reserved nodes, but the end of a job that holds these nodes is a guess.
  kGuess,
  // A forecast: the job starts most likely at `expected_ms`.
  kForecast,
  // The start is beyond the forecast. The job does not start before `earliest_ms`, and no more is
  // known.
  kBeyond,
  // No estimate yet: an estimate would depend on assumed run times, and too few past starts are
  // known.
  kTooFewStarts,
  // No estimate yet: the job is newer than the newest forecast.
  kNoForecast,
  // No estimate: the job starts on new nodes of a pool, and when these come is not known.
  kNewNodes,
};

// True if the estimate has times.
constexpr bool is_estimate(EstimateBasis by) { return by < EstimateBasis::kTooFewStarts; }

// A start estimate and its basis.
struct StartEstimate {
  // The basis of the times, or why there is no estimate.
  EstimateBasis by = EstimateBasis::kForecast;
  // The times of the estimate. All times are 0 if there is no estimate.
  ExpectedStart at;
  friend bool operator==(const StartEstimate&, const StartEstimate&) = default;
};

// Returns the assumption of the estimate in words, such as "what its nodes hold ends by its time
// limits". If there is no estimate, returns the reason in words.
std::string_view assumption(const StartEstimate& estimate);

// Estimates the start of a job at `now`. Returns nullopt if the job does not wait, or if it does
// not start unless something changes.
std::optional<StartEstimate> start_estimate(const JobRow& row, const ForecastStarts& starts,
                                            TimeMs now);

}  // namespace subak
