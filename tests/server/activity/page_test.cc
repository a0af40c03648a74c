// The metrics of activity and prices.
#include "server/metrics/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/server/activity/world.h"

namespace subak::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Makes a cluster with one node, and an account. Returns the account.
AccountId fill(Engine& engine) {
  const auto apply = [&](in::Body body) {
    Input input;
    input.time_ms = kNoon;
    input.body = std::move(body);
    const Reply reply = engine.apply(input).reply;
    EXPECT_FALSE(reply.error.has_value());
    return reply;
  };
  NodeSpec spec;
  spec.name = "n1";
  spec.product = "H100";
  spec.gpus = 8;
  apply(in::SetCluster{"east", Mode::kEnforce, {}, "test", false});
  apply(in::ImportNodes{"east", {spec}, "test", false});
  in::SetAccount account;
  account.reason = "test";
  account.spec.path = "ml";
  return apply(account).account;
}

TEST(ActivityPage, WritesActivityByAccountAndProduct) {
  Engine engine;
  const AccountId leaf = fill(engine);
  ActivityFigures figures;
  AccountActivity& one = figures.accounts[{leaf, "H100"}];
  one.sums = {7'200'000'000, 0, 1'000'000, 5'000};
  one.unknown = 3'000'000;
  one.idle_now = 8000;
  figures.unheld.push_back({"east", "n1", "3", "x/y", 0.5});
  figures.reads = 5;
  figures.failed_reads = 2;
  PriceList prices;
  prices.currency = "EUR";
  prices.gpus = {{0, "gpu", 2.5, ""}};
  prices.energy = {{0, 0.2}};
  Families out;
  write_activity(out, engine, figures, prices, kNoon);
  const std::string text = out.text();
  for (
      const char* const line :
      {"subak_activity_gpu_seconds_total{account=\"ml\",product=\"H100\",activity=\"idle\"} 7200\n",
       "subak_activity_gpu_seconds_total{account=\"ml\",product=\"H100\",activity=\"unknown\"} 3\n",
       "subak_activity_milligpu{account=\"ml\",product=\"H100\",activity=\"idle\"} 8000\n",
       "subak_activity_energy_joules_total{account=\"ml\",product=\"H100\"} 5\n",
       "subak_busy_unheld_gpus{cluster=\"east\"} 1\n",
       "subak_activity_reads_total{result=\"ok\"} 5\n",
       "subak_activity_reads_total{result=\"failed\"} 2\n",
       "subak_price_per_gpu_hour{product=\"H100\",currency=\"EUR\"} 2.5\n",
       "subak_price_per_kwh{currency=\"EUR\"} 0.2\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(ActivityPage, NoAccountMeansUnassigned) {
  Engine engine;
  fill(engine);
  ActivityFigures figures;
  figures.accounts[{kUnassigned, "H100"}].unknown = 1'000'000;
  Families out;
  write_activity(out, engine, figures, PriceList(), kNoon);
  EXPECT_THAT(out.text(), HasSubstr("account=\"(unassigned)\",product=\"H100\""));
  EXPECT_THAT(out.text(), HasSubstr("subak_busy_unheld_gpus{cluster=\"east\"} 0\n"));
  EXPECT_THAT(out.text(), Not(HasSubstr("subak_price_per_gpu_hour{")));
}

}  // namespace
}  // namespace subak::metrics
