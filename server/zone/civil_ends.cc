#include "server/zone/civil_ends.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <utility>
#include <vector>

#include "core/account_limits.h"
#include "model/policy.h"
#include "server/log/log.h"

namespace subak {
namespace {

constexpr int kEnds = limits::kMaxBudgetPeriods;

Error wrong_zone(const std::string& name, std::string want) {
  return {ErrorCode::kInvalid, "budgetZone", name, std::move(want)};
}

// A name that absl does not take from the list of zones, such as "localtime", is refused too.
Result<absl::TimeZone> load(const std::string& name) {
  if (name.empty() || !is_zone_name(name)) {
    return wrong_zone(name, "want the IANA name of a time zone, such as Europe/Berlin");
  }
  absl::TimeZone zone;
  if (name == "localtime" || !absl::LoadTimeZone(name, &zone)) {
    return wrong_zone(name,
                      "this system has no such time zone; want an IANA name such as "
                      "Europe/Berlin, and the package tzdata");
  }
  return zone;
}

// Adds the beginnings of a period and of the kEnds periods after it. A zone may skip a whole day,
// and then two periods begin at the same instant.
template <class Civil>
std::vector<CivilEnd> begins(const absl::TimeZone& zone, Civil first, int step) {
  std::vector<CivilEnd> out;
  for (int i = 0; i <= kEnds; ++i) {
    const TimeMs at = absl::ToUnixMillis(absl::FromCivil(absl::CivilSecond(first), zone));
    if (at >= 0 && (out.empty() || at > out.back().at_ms)) out.push_back({at});
    first += step;
  }
  return out;
}

}  // namespace

Result<std::string> read_zone(const std::string& name) {
  if (name == "UTC") return std::string();
  const auto zone = load(name);
  if (!zone) return zone.error();
  return name;
}

Result<CivilEnds> civil_ends(const std::string& name, TimeMs now) {
  if (name.empty()) return CivilEnds();
  const auto zone = load(name);
  if (!zone) return zone.error();
  const absl::CivilDay day(zone->At(absl::FromUnixMillis(now)).cs);
  const absl::CivilMonth month(day);
  CivilEnds ends;
  ends.zone = name;
  ends.days = begins(*zone, day, 1);
  ends.weeks = begins(*zone, absl::PrevWeekday(day + 1, absl::Weekday::monday), 7);
  ends.months = begins(*zone, month, 1);
  ends.quarters = begins(*zone, month - (month.month() - 1) % 3, 3);
  ends.years = begins(*zone, absl::CivilYear(day), 1);
  return ends;
}

std::optional<in::TellCivilEnds> CivilEndsTeller::operator()(const std::string& zone, TimeMs now) {
  if (told_ms_ >= 0 && zone == told_zone_ && now - told_ms_ < kDayMs) return std::nullopt;
  told_ms_ = now;
  told_zone_ = zone;
  Result<CivilEnds> ends = civil_ends(zone, now);
  if (ends) return in::TellCivilEnds{*std::move(ends)};
  log::error("the periods of budgets continue without their time zone",
             {{"zone", zone}, {"error", ends.error().want}});
  return std::nullopt;
}

}  // namespace subak
