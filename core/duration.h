// Reads and formats durations ("90s", "15m", "4h", "2d12h", "1w", "250ms") and times (RFC 3339) for
// people.
// Errors: kInvalid with the given `field`.
// Threads: any; pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// Reads a sum of terms with the units w, d, h, m, s, ms: the largest unit first, each unit at most
// once. parse_duration() refuses a sign, blanks, a number without a unit, and more than 100 years.
Result<DurationMs> parse_duration(std::string_view text, std::string_view field);

// Returns the exact form in days and smaller units: 216'000'000 -> "2d12h", 0 -> "0s". The text has
// no weeks, because 8d reads better than 1w1d. A negative duration gets a "-", which
// parse_duration() does not read.
std::string format_duration(DurationMs duration);

// Formats a time as RFC 3339 in UTC with milliseconds: "2026-03-01T12:00:00.250Z". The time must be
// in the years 1970 to 9999.
std::string format_time(TimeMs time);

// Reads a time of RFC 3339 from 1970 on, with Z or a numeric offset, and at most 9 decimals of a
// second. The result is rounded down to whole milliseconds.
Result<TimeMs> parse_time(std::string_view text, std::string_view field);

}  // namespace subak
