#include <gtest/gtest.h>

#include <string>

#include "accounting/budget/calendar.h"
#include "core/duration.h"

namespace subak {
namespace {

constexpr BudgetPeriod kMonth{PeriodKind::kMonth, 0}, kDay{PeriodKind::kFixed, kDayMs};

TimeMs time_of(std::string_view text) { return parse_time(text, "t").value(); }
std::string shown(const PeriodSpan& span) {
  return format_time(span.from_ms).substr(0, 16) + " " + format_time(span.to_ms).substr(0, 16);
}

// The periods of a zone that is one hour before UTC, and two hours from April on.
CivilEnds zone_ends() {
  CivilEnds ends;
  ends.zone = "Europe/Berlin";
  for (const char* time : {"2027-02-28T23:00:00Z", "2027-03-31T22:00:00Z", "2027-04-30T22:00:00Z"})
    ends.months.push_back({time_of(time)});
  const TimeMs first = time_of("2027-03-29T22:00:00Z");
  for (int i = 0; i < 3; ++i) ends.days.push_back({first + i * kDayMs});
  ends.weeks = {{first}, {first + 7 * kDayMs}};
  ends.quarters = {{time_of("2026-12-31T23:00:00Z")}, {time_of("2027-03-31T22:00:00Z")}};
  ends.years = {{time_of("2026-12-31T23:00:00Z")}, {time_of("2027-12-31T23:00:00Z")}};
  return ends;
}

TEST(BudgetCalendar, FindsThePeriodsOfItsLists) {
  const BudgetCalendar calendar(zone_ends());
  EXPECT_EQ(shown(calendar.period_at(kMonth, time_of("2027-03-31T21:59:59Z"))),
            "2027-02-28T23:00 2027-03-31T22:00");
  EXPECT_EQ(shown(calendar.period_at(kMonth, time_of("2027-03-31T22:00:00Z"))),
            "2027-03-31T22:00 2027-04-30T22:00");
  EXPECT_EQ(shown(calendar.period_at(kDay, time_of("2027-03-30T12:00:00Z"))),
            "2027-03-29T22:00 2027-03-30T22:00");
  // A fixed length has no zone.
  EXPECT_EQ(shown(calendar.period_at({PeriodKind::kFixed, 12 * kHourMs},
                                     time_of("2027-03-30T23:00:00Z"))),
            "2027-03-30T12:00 2027-03-31T00:00");
  EXPECT_EQ(calendar.period_at({PeriodKind::kTotal, 0}, 5).to_ms, kEndless);
  EXPECT_EQ(period_in(nullptr, kMonth, time_of("2027-03-31T23:00:00Z")),
            period_at(kMonth, time_of("2027-03-31T23:00:00Z")));
}

TEST(BudgetCalendar, ContinuesItsListsWithTheirLastDifferenceToUtc) {
  const BudgetCalendar calendar(zone_ends());
  EXPECT_EQ(shown(calendar.period_at(kMonth, time_of("2028-02-29T21:59:59Z"))),
            "2028-01-31T22:00 2028-02-29T22:00");
  EXPECT_EQ(shown(calendar.period_at(kMonth, time_of("2027-02-28T22:00:00Z"))),
            "2027-01-31T23:00 2027-02-28T23:00");
  for (const BudgetPeriod& period :
       {kMonth, kDay, BudgetPeriod{PeriodKind::kWeek, 0}, BudgetPeriod{PeriodKind::kYear, 0}}) {
    PeriodSpan span = calendar.period_at(period, time_of("2026-01-01T00:00:00Z"));
    for (int i = 0; i < 600; ++i) {
      const PeriodSpan next = period_after(&calendar, period, span.to_ms);
      EXPECT_EQ(calendar.period_at(period, span.to_ms), next) << i;
      EXPECT_EQ(calendar.period_at(period, next.to_ms - 1), next) << i;
      span = next;
    }
  }
  EXPECT_EQ(calendar.period_at(kMonth, 0).from_ms, 0);
}

TEST(BudgetCalendar, LeavesARunningPeriodAndMakesNoShortOne) {
  const BudgetCalendar calendar(zone_ends());
  // The running month ended by UTC. The next one ends with the zone's.
  EXPECT_EQ(shown(period_after(&calendar, kMonth, time_of("2027-04-01T00:00:00Z"))),
            "2027-04-01T00:00 2027-04-30T22:00");
  // Back to UTC: two hours of March are left, which become a part of April.
  EXPECT_EQ(shown(period_after(nullptr, kMonth, time_of("2027-03-31T22:00:00Z"))),
            "2027-03-31T22:00 2027-05-01T00:00");
}

TEST(CivilEnds, ThatAreWrongAreNamed) {
  EXPECT_FALSE(check_civil_ends(zone_ends()));
  EXPECT_FALSE(check_civil_ends({}));
  const auto field = [](const CivilEnds& ends) {
    const auto error = check_civil_ends(ends);
    return error ? error->field : "";
  };
  CivilEnds ends = zone_ends();
  ends.zone = "";
  EXPECT_EQ(field(ends), "ends.days");
  ends = zone_ends();
  ends.weeks.clear();
  EXPECT_EQ(field(ends), "ends.weeks");
  ends.weeks = {{5}};
  EXPECT_EQ(field(ends), "ends.weeks");
  ends = zone_ends();
  std::swap(ends.months[1], ends.months[2]);
  EXPECT_EQ(field(ends), "ends.months[2].at_ms");
  ends = zone_ends();
  ends.days[2] = ends.days[1];
  EXPECT_EQ(field(ends), "ends.days[2].at_ms");
  ends = zone_ends();
  ends.years[1].at_ms = kEndless;
  EXPECT_EQ(field(ends), "ends.years[1].at_ms");
  ends.years[1].at_ms = ends.years[0].at_ms + 800 * kDayMs;
  EXPECT_EQ(field(ends), "ends.years[1].at_ms");
  ends = zone_ends();
  ends.quarters[0].at_ms = -1;
  EXPECT_EQ(field(ends), "ends.quarters[0].at_ms");
}

TEST(CivilEnds, AreNewsIfALaterEndIsAnotherOrFewAreLeft) {
  const CivilEnds known = zone_ends();
  const TimeMs now = time_of("2027-03-30T00:00:00Z");
  EXPECT_FALSE(is_news(known, known, now));
  EXPECT_FALSE(is_news({}, {}, now));
  EXPECT_TRUE(is_news({}, known, now));
  EXPECT_TRUE(is_news(known, {}, now));
  CivilEnds told = known;
  told.months[0].at_ms -= kHourMs;  // in the past
  EXPECT_FALSE(is_news(known, told, now));
  told.months[2].at_ms += kHourMs;
  EXPECT_TRUE(is_news(known, told, now));
  told = known;
  told.days.push_back({told.days.back().at_ms + kDayMs});
  EXPECT_TRUE(is_news(known, told, now));
  // Enough ends are left.
  CivilEnds longer = known;
  while (longer.days.size() < 120) longer.days.push_back({longer.days.back().at_ms + kDayMs});
  told = longer;
  told.days.push_back({told.days.back().at_ms + kDayMs});
  EXPECT_FALSE(is_news(longer, told, now));
}

}  // namespace
}  // namespace subak
