#include "server/zone/civil_ends.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/account_limits.h"
#include "core/duration.h"

namespace subak {
namespace {

TimeMs at(std::string_view text) { return parse_time(text, "t").value(); }

std::vector<std::string> first_three(const std::vector<CivilEnd>& ends) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < 3; ++i) out.push_back(format_time(ends.at(i).at_ms).substr(0, 16));
  return out;
}

TEST(CivilEnds, AreThoseOfTheZone) {
  // A Saturday, the day before clocks in Berlin go forward.
  const CivilEnds berlin = civil_ends("Europe/Berlin", at("2027-03-27T12:00:00Z")).value();
  using Times = std::vector<std::string>;
  EXPECT_EQ(first_three(berlin.days),
            (Times{"2027-03-26T23:00", "2027-03-27T23:00", "2027-03-28T22:00"}));
  EXPECT_EQ(first_three(berlin.weeks),
            (Times{"2027-03-21T23:00", "2027-03-28T22:00", "2027-04-04T22:00"}));
  EXPECT_EQ(first_three(berlin.months),
            (Times{"2027-02-28T23:00", "2027-03-31T22:00", "2027-04-30T22:00"}));
  EXPECT_EQ(first_three(berlin.quarters),
            (Times{"2026-12-31T23:00", "2027-03-31T22:00", "2027-06-30T22:00"}));
  EXPECT_EQ(first_three(berlin.years),
            (Times{"2026-12-31T23:00", "2027-12-31T23:00", "2028-12-31T23:00"}));
  EXPECT_EQ(berlin.days.size(), std::size_t{limits::kMaxBudgetPeriods} + 1);
  // Clocks of Lord Howe Island move by half an hour.
  const CivilEnds lord_howe = civil_ends("Australia/Lord_Howe", at("2027-04-03T12:00:00Z")).value();
  EXPECT_EQ(first_three(lord_howe.days),
            (Times{"2027-04-02T13:00", "2027-04-03T13:00", "2027-04-04T13:30"}));
  EXPECT_EQ(civil_ends("", 0).value(), CivilEnds());
}

TEST(CivilEnds, AscendAlsoAroundADayThatAZoneSkipped) {
  const CivilEnds apia = civil_ends("Pacific/Apia", at("2011-12-29T12:00:00Z")).value();
  EXPECT_FALSE(check_civil_ends(apia));
  EXPECT_EQ(first_three(apia.days),
            (std::vector<std::string>{"2011-12-29T10:00", "2011-12-30T10:00", "2011-12-31T10:00"}));
}

TEST(CivilEnds, OfEveryKindOfZonePassTheCheck) {
  for (const char* zone :
       {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut",
        "America/Santiago", "Antarctica/Troll", "Pacific/Kiritimati", "Africa/Casablanca",
        "Asia/Kathmandu", "Etc/GMT+12"}) {
    for (const char* now :
         {"1970-01-01T00:00:00Z", "2026-11-29T00:00:00Z", "2090-02-01T00:00:00Z"}) {
      const auto ends = civil_ends(zone, at(now));
      ASSERT_TRUE(ends) << zone;
      const auto error = check_civil_ends(*ends);
      EXPECT_FALSE(error) << zone << " " << now << " " << (error ? error->field : "");
    }
  }
}

TEST(Zones, ThatTheSystemLacksAreRefusedByName) {
  EXPECT_EQ(read_zone("UTC").value(), "");
  EXPECT_EQ(read_zone("America/Argentina/Buenos_Aires").value(), "America/Argentina/Buenos_Aires");
  for (const char* name :
       {"Europe/Atlantis", "", "localtime", "/etc/localtime", "../UTC", "file:/etc/localtime",
        "Europe/", "Europe//Berlin", "europe berlin", "Europe/Berlin\n", "Fixed/UTC+01:00:00"}) {
    const auto zone = read_zone(name);
    ASSERT_FALSE(zone) << name;
    EXPECT_EQ(zone.error().field, "budgetZone");
    EXPECT_EQ(zone.error().got, name);
  }
  EXPECT_FALSE(read_zone(std::string(65, 'A')));
}

TEST(CivilEndsTeller, TellsAtTheStartAfterAnEditAndOnceADay) {
  CivilEndsTeller teller;
  const TimeMs now = at("2026-11-29T12:00:00Z");
  const auto first = teller("", now);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->ends, CivilEnds());
  EXPECT_FALSE(teller("", now + 1));
  const auto edited = teller("Europe/Berlin", now + 1);
  ASSERT_TRUE(edited);
  EXPECT_EQ(edited->ends.zone, "Europe/Berlin");
  EXPECT_FALSE(teller("Europe/Berlin", now + kDayMs));
  EXPECT_TRUE(teller("Europe/Berlin", now + 1 + kDayMs));
  // The system does not know this zone: the engine keeps the ends that it has.
  EXPECT_FALSE(teller("Europe/Atlantis", now + 2 + kDayMs));
}

}  // namespace
}  // namespace subak
