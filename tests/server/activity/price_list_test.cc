// Price lists: which price applies on a day, and what is refused.
#include "server/yaml/price_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace subak {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kJanuary = 20454;  // 2026-01-01
constexpr char kList[] = R"(currency: EUR
gpus:
- {from: 2026-01-01, product: H100, perHour: 2.50}
- {from: 2026-07-01, product: H100, perHour: 2}
- {from: 2026-01-01, product: gpu, perHour: 1.2}
energy:
- {from: 2026-01-01, perKwh: 0.21}
)";

TEST(PriceList, TheLatestPriceOfTheDayCounts) {
  const auto list = read_price_list(kList, "prices.yaml");
  ASSERT_TRUE(list.ok()) << list.error().message();
  EXPECT_EQ(list->currency, "EUR");
  EXPECT_EQ(list->per_hour("H100", kJanuary - 1), std::nullopt);
  EXPECT_EQ(list->per_hour("H100", kJanuary), 2.5);
  EXPECT_EQ(list->per_hour("H100", kJanuary + 180), 2.5);
  EXPECT_EQ(list->per_hour("H100", kJanuary + 181), 2.0);
  EXPECT_EQ(list->per_hour("A100", kJanuary), 1.2) << "the price of other products";
  EXPECT_EQ(list->per_kwh(kJanuary - 1), std::nullopt);
  EXPECT_EQ(list->per_kwh(kJanuary + 1), 0.21);
}

TEST(PriceList, APriceOfAProfileComesFirst) {
  const auto list = read_price_list(
      "currency: EUR\ngpus:\n"
      "- {from: 2026-01-01, product: H100, perHour: 2}\n"
      "- {from: 2026-01-01, product: H100, profile: 1g.10gb, perHour: 3}\n"
      "- {from: 2026-02-01, product: gpu, profile: 2g.20gb, perHour: 4}\n",
      "prices.yaml");
  ASSERT_TRUE(list.ok()) << list.error().message();
  EXPECT_EQ(list->per_hour("H100", kJanuary), 2.0);
  EXPECT_EQ(list->per_hour("H100", kJanuary, "1g.10gb"), 3.0);
  EXPECT_EQ(list->per_hour("H100", kJanuary, "2g.20gb"), 2.0) << "its price begins in February";
  EXPECT_EQ(list->per_hour("A100", kJanuary + 31, "2g.20gb"), 4.0);
  EXPECT_EQ(list->per_hour("A100", kJanuary + 31, "1g.10gb"), std::nullopt);
  const auto twice = read_price_list(
      "currency: EUR\ngpus:\n"
      "- {from: 2026-01-01, product: H100, profile: 1g.10gb, perHour: 3}\n"
      "- {from: 2026-01-01, product: H100, profile: 1g.10gb, perHour: 4}\n",
      "p");
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message(), HasSubstr("p:4: product: was \"H100\", want one price"));
}

TEST(PriceList, AMistakeIsNamedWithItsLine) {
  const auto mistake = [](const std::string& text) {
    const auto list = read_price_list(text, "p");
    return list.ok() ? std::string("none") : list.error().message();
  };
  EXPECT_THAT(mistake("currency: EUR\ngpus:\n- {from: 2026-13-01, product: a, perHour: 1}\n"),
              HasSubstr("p:3: from: was \"2026-13-01\", want a day"));
  EXPECT_THAT(mistake("currency: EUR\nenergy:\n- {from: 2026-01-01, perKwh: -1}\n"),
              HasSubstr("p:3: perKwh: was \"-1\""));
  EXPECT_THAT(mistake("currency: EUR\nenergy:\n- {from: 2026-01-01}\n"), HasSubstr("perKwh"));
  EXPECT_THAT(mistake("currency: EUR\nenergy:\n- {from: 2026-01-01, perKWh: 1}\n"),
              HasSubstr("p:3: perKWh"));
  EXPECT_THAT(mistake("gpus: []\n"), HasSubstr("currency"));
  EXPECT_THAT(mistake("currency: EUR\nprices: []\n"), HasSubstr("p:2: prices"));
  EXPECT_THAT(mistake("currency: EUR\ngpus: 3\n"), HasSubstr("want a list"));
  EXPECT_THAT(mistake(std::string(kList) + "- {from: 2026-01-01, perKwh: 1}\n"),
              HasSubstr("want each day once"));
}

}  // namespace
}  // namespace subak
