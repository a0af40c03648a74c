// Durations as people write them: "90s", "15m", "4h", "2d12h", "1w", "250ms".
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// Parses a sum of terms with the units ms, s, m, h, d, w, largest first, each at most once. No
// sign, no blanks, no bare number. `field` names it in the error.
Result<DurationMs> parse_duration(std::string_view text, std::string_view field);

// The shortest exact form: 216'000'000 -> "2d12h". 0 -> "0s".
std::string format_duration(DurationMs duration);

// RFC 3339 in UTC with milliseconds, "2026-03-01T12:00:00.250Z". Years 1970 to 9999.
std::string format_time(TimeMs time);

// Reads RFC 3339 with Z or a numeric offset and up to 9 fractional digits (cut to ms).
Result<TimeMs> parse_time(std::string_view text, std::string_view field);

}  // namespace subak
