#include "cli/text/local_time.h"

#include <ctime>

namespace subak::cli {
namespace {

std::tm local(TimeMs at) {
  const auto seconds = static_cast<std::time_t>(at / kSecondMs);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

std::string formatted(const std::tm& parts, const char* form) {
  char text[64];
  return {text, std::strftime(text, sizeof text, form, &parts)};
}

}  // namespace

std::string zone_name(TimeMs at) {
  const std::string name = formatted(local(at), "%Z");
  const bool is_offset = !name.empty() && (name[0] == '+' || name[0] == '-');
  return name.empty() || is_offset ? "UTC" + formatted(local(at), "%z") : name;
}

DurationMs utc_offset_ms(TimeMs at) { return local(at).tm_gmtoff * kSecondMs; }

std::string local_time_text(TimeMs at) { return formatted(local(at), "%Y-%m-%d %H:%M:%S"); }

std::optional<TimeMs> parse_local_time(const std::string& text) {
  for (const char* form : {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"}) {
    std::tm parts{};
    const char* const end = ::strptime(text.c_str(), form, &parts);
    if (end == nullptr || *end != '\0') continue;
    parts.tm_isdst = -1;
    const std::time_t seconds = ::mktime(&parts);
    if (seconds > 0) return static_cast<TimeMs>(seconds) * kSecondMs;
  }
  return std::nullopt;
}

}  // namespace subak::cli
