// Statements: which rows make a line, prices that change in the month, rounding, and odd months.
#include "cli/commands/usage/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/duration.h"

namespace subak::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const Month kOctober = *month_of("2026-10");

void add(v1::ListLedgerResponse& rows, std::uint64_t sequence, const std::string& payer, int day,
         std::int64_t gpu_seconds, const std::string& product = "H100") {
  v1::LedgerRow* const row = rows.add_rows();
  row->set_sequence(sequence);
  row->set_payer(payer);
  row->set_product(product);
  row->set_state(v1::USAGE_STATE_USED);
  row->mutable_from()->set_seconds((kOctober.from_day + day - 1) * kDayMs / kSecondMs);
  row->mutable_amount()->set_gpu_seconds(gpu_seconds);
}

PriceList prices() {
  const auto day_of = [](const char* text) { return *parse_time(text, "day") / kDayMs; };
  PriceList list;
  list.currency = "EUR";
  list.gpus = {{day_of("2026-01-01T00:00:00Z"), "H100", 2.0, ""},
               {day_of("2026-10-16T00:00:00Z"), "H100", 3.0, ""},
               {day_of("2026-10-01T00:00:00Z"), "H100", 4.0, "1g.10gb"}};
  return list;
}

TEST(Statement, MonthsAreReadAndOthersAreNot) {
  EXPECT_EQ(kOctober.to_day - kOctober.from_day, 31);
  EXPECT_EQ(month_of("2028-02")->to_day - month_of("2028-02")->from_day, 29);
  EXPECT_EQ(month_of("1970-01")->from_day, 0);
  EXPECT_EQ(month_of("9999-12")->to_day - month_of("9999-12")->from_day, 31);
  for (const char* text : {"", "2026", "2026-13", "2026-00", "1969-12", "2026-1", "2026-011",
                           "+026-01", "2026-+1", " 026-01", "202a-01"}) {
    EXPECT_FALSE(month_of(text)) << text;
  }
}

TEST(Statement, ALineHasThePriceOfItsDays) {
  v1::ListLedgerResponse rows;
  add(rows, 3, "ml", 1, 3600);
  add(rows, 5, "ml", 15, 3600);
  add(rows, 6, "ml", 16, 7200);
  add(rows, 9, "ml/ana", 31, -1800);
  const PriceList list = prices();
  const Statement s = statement_of("ml", kOctober, rows, "csv", &list);
  ASSERT_EQ(s.lines.size(), 3U);
  EXPECT_EQ(s.lines[0].rows, 2U);
  EXPECT_EQ(s.lines[0].to_day, kOctober.from_day + 15);
  EXPECT_EQ(s.lines[0].cost_hundredths, 400);
  EXPECT_EQ(s.lines[1].from_day, kOctober.from_day + 15);
  EXPECT_EQ(s.lines[1].cost_hundredths, 600);
  EXPECT_EQ(s.lines[2].cost_hundredths, -150);
  EXPECT_EQ(s.cost_hundredths, 850);
  EXPECT_EQ(s.total.gpu_seconds(), 3600 + 3600 + 7200 - 1800);
  EXPECT_EQ(s.first, 3U);
  EXPECT_EQ(s.last, 9U);
  EXPECT_THAT(statement_csv(s),
              HasSubstr("ml/ana,H100,,used,2026-10-16,2026-11-01,1,-1800.000000"));
}

TEST(Statement, WithoutPricesThereAreNoCosts) {
  v1::ListLedgerResponse rows;
  add(rows, 3, "ml", 1, 3600);
  add(rows, 4, "ml", 31, 3600);
  const Statement s = statement_of("ml", kOctober, rows, "csv", nullptr);
  ASSERT_EQ(s.lines.size(), 1U);
  EXPECT_FALSE(s.cost_hundredths);
  EXPECT_THAT(statement_json(s), Not(HasSubstr("cost")));
  EXPECT_THAT(statement_csv(s), Not(HasSubstr("COST")));
}

TEST(Statement, AProductWithoutAPriceIsNamed) {
  v1::ListLedgerResponse rows;
  add(rows, 3, "ml", 1, 3600, "A100");
  const PriceList list = prices();
  const Statement s = statement_of("ml", kOctober, rows, "csv", &list);
  ASSERT_TRUE(s.without_price);
  EXPECT_EQ(s.without_price->first.product, "A100");
  EXPECT_EQ(s.without_price->second, kOctober.from_day);
}

TEST(Statement, SlicesHaveLinesAndPricesOfTheirOwn) {
  v1::ListLedgerResponse rows;
  add(rows, 3, "ml", 1, 3600);
  add(rows, 4, "ml", 1, 3600);
  rows.mutable_rows(1)->set_profile("1g.10gb");
  const PriceList list = prices();
  const Statement s = statement_of("ml", kOctober, rows, "csv", &list);
  ASSERT_EQ(s.lines.size(), 2U);
  EXPECT_EQ(s.lines[0].cost_hundredths, 200);
  EXPECT_EQ(s.lines[1].profile, "1g.10gb");
  EXPECT_EQ(s.lines[1].cost_hundredths, 400);
}

// A row for a day of September that was made after September had closed.
TEST(Statement, ALateRowHasThePriceOfItsOwnDay) {
  v1::ListLedgerResponse rows;
  add(rows, 3, "ml", 1, 3600);
  add(rows, 4, "ml", 0, -3600);
  rows.mutable_rows(1)->mutable_booked()->set_seconds(kOctober.from_day * kDayMs / kSecondMs + 7);
  const PriceList list = prices();
  const Statement s = statement_of("ml", kOctober, rows, "csv", &list);
  ASSERT_EQ(s.lines.size(), 2U);
  EXPECT_EQ(s.lines[0].to_day, kOctober.from_day);
  EXPECT_EQ(s.lines[0].cost_hundredths, -200);
  EXPECT_EQ(s.cost_hundredths, 0);
}

TEST(Statement, NamesAreTextOnThePage) {
  v1::ListLedgerResponse rows;
  add(rows, 3, "<b>\"ml\"&", 1, 3600);
  const std::string page = statement_page(statement_of("<i>", kOctober, rows, "csv", nullptr));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;&quot;ml&quot;&amp;"));
}

}  // namespace
}  // namespace subak::cli
