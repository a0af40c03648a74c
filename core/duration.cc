#include "core/duration.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace subak {
namespace {

struct Unit {
  std::string_view name;
  DurationMs ms;
};
constexpr std::array<Unit, 6> kUnits{{{"w", 7 * kDayMs},
                                      {"d", kDayMs},
                                      {"h", kHourMs},
                                      {"m", kMinuteMs},
                                      {"s", kSecondMs},
                                      {"ms", 1}}};
constexpr DurationMs kMaxDurationMs = 100LL * 365 * kDayMs;

Error duration_error(std::string_view field, std::string_view text) {
  return {ErrorCode::kInvalid, std::string(field), std::string(text),
          "want a duration such as 90s, 15m, 4h or 2d12h (units w d h m s ms, at most 100 years)"};
}

Error time_error(std::string_view field, std::string_view text) {
  return {ErrorCode::kInvalid, std::string(field), std::string(text),
          "want an RFC 3339 time such as 2026-03-01T12:00:00Z"};
}

// Reads exactly `digits` decimal digits at `pos`; -1 if they are not there.
int read_digits(std::string_view text, std::size_t pos, std::size_t digits) {
  if (pos + digits > text.size()) return -1;
  int value = 0;
  for (std::size_t i = pos; i < pos + digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Reads the zone of an RFC 3339 time into `minutes`, in minutes east of UTC. Returns false if the
// text is no zone.
bool read_zone(std::string_view zone, int* minutes) {
  if (zone == "Z" || zone == "z") {
    *minutes = 0;
    return true;
  }
  if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return false;
  const int h = read_digits(zone, 1, 2);
  const int m = read_digits(zone, 4, 2);
  if (h < 0 || h > 23 || m < 0 || m > 59) return false;
  *minutes = (zone[0] == '-' ? -1 : 1) * (h * 60 + m);
  return true;
}

}  // namespace

Result<DurationMs> parse_duration(std::string_view text, std::string_view field) {
  std::string_view rest = text;
  DurationMs total = 0;
  std::size_t next_unit = 0;
  if (rest.empty()) return duration_error(field, text);
  while (!rest.empty()) {
    std::int64_t n = 0;
    const auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
    if (ec != std::errc() || n < 0 || rest[0] == '-') return duration_error(field, text);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    std::size_t u = next_unit;
    const std::string_view name = rest.substr(0, rest.find_first_of("0123456789"));
    while (u < kUnits.size() && kUnits[u].name != name) ++u;
    if (u == kUnits.size() || n > kMaxDurationMs / kUnits[u].ms) return duration_error(field, text);
    total += n * kUnits[u].ms;
    if (total > kMaxDurationMs) return duration_error(field, text);
    rest.remove_prefix(name.size());
    next_unit = u + 1;
  }
  return total;
}

std::string format_duration(DurationMs duration) {
  if (duration == 0) return "0s";
  std::string out = duration < 0 ? "-" : "";
  DurationMs left = duration < 0 ? -duration : duration;
  for (const Unit& unit : kUnits) {
    if (unit.name == "w") continue;  // days read better: 8d, not 1w1d
    if (const DurationMs n = left / unit.ms; n > 0) {
      out += std::to_string(n);
      out += unit.name;
    }
    left %= unit.ms;
  }
  return out;
}

std::string format_time(TimeMs time) {
  using namespace std::chrono;
  const sys_time<milliseconds> t{milliseconds(time)};
  const auto day = floor<days>(t);
  const year_month_day ymd(day);
  const hh_mm_ss<milliseconds> hms(t - day);
  std::array<char, 40> buf{};
  std::snprintf(buf.data(), buf.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                static_cast<int>(ymd.year()), static_cast<unsigned>(ymd.month()),
                static_cast<unsigned>(ymd.day()), static_cast<int>(hms.hours().count()),
                static_cast<int>(hms.minutes().count()), static_cast<int>(hms.seconds().count()),
                static_cast<int>(hms.subseconds().count()));
  return buf.data();
}

Result<TimeMs> parse_time(std::string_view text, std::string_view field) {
  using namespace std::chrono;
  const std::array<int, 6> part{read_digits(text, 0, 4),  read_digits(text, 5, 2),
                                read_digits(text, 8, 2),  read_digits(text, 11, 2),
                                read_digits(text, 14, 2), read_digits(text, 17, 2)};
  for (int p : part) {
    if (p < 0) return time_error(field, text);
  }
  const bool marks = text[4] == '-' && text[7] == '-' && (text[10] == 'T' || text[10] == 't') &&
                     text[13] == ':' && text[16] == ':';
  const year_month_day ymd{year(part[0]), month(static_cast<unsigned>(part[1])),
                           day(static_cast<unsigned>(part[2]))};
  std::size_t pos = 19;
  int ms = 0;
  if (pos < text.size() && text[pos] == '.') {
    const std::size_t start = ++pos;
    while (pos < text.size() && text[pos] >= '0' && text[pos] <= '9') ++pos;
    if (pos == start || pos - start > 9) return time_error(field, text);
    for (std::size_t i = start; i < start + 3; ++i) ms = ms * 10 + (i < pos ? text[i] - '0' : 0);
  }
  int zone = 0;
  if (!marks || !ymd.ok() || part[0] < 1970 || part[3] > 23 || part[4] > 59 || part[5] > 60 ||
      !read_zone(text.substr(pos), &zone)) {
    return time_error(field, text);
  }
  const auto t = sys_days(ymd) + hours(part[3]) + minutes(part[4] - zone) + seconds(part[5]);
  return duration_cast<milliseconds>(t.time_since_epoch()).count() + ms;
}

}  // namespace subak
