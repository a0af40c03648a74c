// Times for people, in the local time zone (TZ). Output always names this zone. The API and JSON
// have times in UTC. Threads: as for localtime_r.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak::cli {

// Returns the zone's name at that instant: "CET", "UTC", "UTC+0530".
std::string zone_name(TimeMs at);
// Returns how far the local zone is ahead of UTC at that instant.
DurationMs utc_offset_ms(TimeMs at);
// Returns "2026-03-01 13:00:00", in the local zone but without its name.
std::string local_time_text(TimeMs at);
// Reads the form of local_time_text(); the seconds may be missing. nullopt: the text has another
// form.
std::optional<TimeMs> parse_local_time(const std::string& text);

}  // namespace subak::cli
