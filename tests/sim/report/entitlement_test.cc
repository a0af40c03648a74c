#include "sim/report/entitlement.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "sim/read/rng.h"

namespace subak::sim {
namespace {

std::vector<double> divide(double total, std::vector<Claim> claims) {
  return entitled(total, claims);
}

TEST(Entitled, SharesWithDemandAsTheCap) {
  EXPECT_EQ(divide(100, {{100, 0, 1}, {100, 0, 1}}), (std::vector<double>{50, 50}));
  EXPECT_EQ(divide(100, {{100, 0, 3}, {100, 0, 1}}), (std::vector<double>{75, 25}));
  EXPECT_EQ(divide(100, {{20, 0, 1}, {100, 0, 1}, {100, 0, 1}}), (std::vector<double>{20, 40, 40}));
  EXPECT_EQ(divide(100, {{20, 0, 1}, {30, 0, 1}}), (std::vector<double>{20, 30}));
}

TEST(Entitled, QuotaComesFirst) {
  EXPECT_EQ(divide(100, {{100, 60, 1}, {100, 0, 1}}), (std::vector<double>{80, 20}));
  EXPECT_EQ(divide(100, {{10, 60, 1}, {100, 0, 1}}), (std::vector<double>{10, 90}));
  EXPECT_EQ(divide(60, {{100, 80, 1}, {100, 40, 1}}), (std::vector<double>{40, 20}));
}

TEST(Entitled, NoSharesTakeWhatNobodyElseWants) {
  EXPECT_EQ(divide(100, {{100, 0, 0}, {60, 0, 1}}), (std::vector<double>{40, 60}));
  EXPECT_EQ(divide(100, {{100, 0, 0}, {100, 0, 1}}), (std::vector<double>{0, 100}));
}

TEST(Entitled, GivesOutAllThatIsWantedAndIsMaxMinFair) {
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Claim> claims(1 + rng.below(12));
    double demand = 0;
    for (Claim& c : claims) {
      c = {double(rng.below(100)), double(rng.below(3) * rng.below(30)), double(rng.below(5))};
      demand += c.demand;
    }
    const double total = double(rng.below(400));
    const auto parts = entitled(total, claims);
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    EXPECT_NEAR(sum, std::min(total, demand), 1e-6);
    for (std::size_t i = 0; i < claims.size(); ++i) {
      EXPECT_LE(parts[i], claims[i].demand + 1e-9);
      // Whoever is short got, beyond its quota, at least as much per share as anybody else.
      if (parts[i] > claims[i].demand - 1e-6 || claims[i].shares == 0) continue;
      for (std::size_t j = 0; j < claims.size(); ++j) {
        if (claims[j].shares == 0) {
          EXPECT_LE(parts[j], std::min(claims[j].demand, claims[j].quota) + 1e-6);
          continue;
        }
        const double mine =
            (parts[i] - std::min(claims[i].demand, claims[i].quota)) / claims[i].shares;
        const double theirs =
            (parts[j] - std::min(claims[j].demand, claims[j].quota)) / claims[j].shares;
        if (theirs > 1e-6) {
          EXPECT_GE(mine, theirs - 1e-6);
        }
      }
    }
  }
}

TEST(Jain, KnownValues) {
  EXPECT_DOUBLE_EQ(jain_index(std::array{1.0, 1.0, 1.0}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::array{1.0, 0.0}), 0.5);
  EXPECT_DOUBLE_EQ(jain_index(std::array{2.0, 1.0}), 0.9);
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
}

}  // namespace
}  // namespace subak::sim
