// The nodes that pools should get, as the metrics page shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/engine.h"
#include "engine/forecast/growth_run.h"
#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PoolsPage : public ::testing::Test {
 protected:
  void apply(in::Body body) {
    const ApplyOutcome outcome = engine_.apply({++now_, "", "test", std::move(body)});
    EXPECT_FALSE(outcome.reply.error.has_value()) << outcome.reply.error->message();
  }
  std::string page() {
    const Growth growth = plan_growth(engine_.forecast_basis(now_));
    Families out;
    write_fleet(out, engine_, engine_.survey(&growth), now_);
    return out.text();
  }

  Engine engine_;
  TimeMs now_ = 1000;
};

TEST_F(PoolsPage, ShowsTheNodesThatPoolsHaveAndWant) {
  apply(in::SetCluster{"east", Mode::kEnforce, {}, "test", false});
  in::SetAccount account;
  account.spec.path = "ml";
  account.reason = "test";
  apply(account);
  EXPECT_THAT(page(), Not(HasSubstr("subak_pool_nodes{")));

  NodePool pool{"big", "east", {"pool", "big"}, 1, 6, {}};
  pool.node.product = "H100";
  pool.node.gpus = 8;
  pool.node.labels = {pool.label};
  Policy policy;
  policy.queue.node_pools = {pool};
  apply(in::SetPolicy{policy, {}});
  NodeSpec starts = pool.node;
  starts.name = "b1";
  starts.ready = false;
  apply(in::ImportNodes{"east", {starts}, "test", false});
  in::SubmitJob job;
  job.cluster = "east";
  job.account = "ml";
  job.request.groups.resize(1);
  job.request.groups[0].count = 3;
  job.request.groups[0].shape.kind = GpuKind::kWhole;
  job.request.groups[0].shape.gpus = 8;
  apply(job);
  const std::string text = page();
  for (const char* line :
       {"present\"} 1\n", "starting\"} 1\n", "wanted\"} 2\n", "min\"} 1\n", "max\"} 6\n"}) {
    EXPECT_THAT(text, HasSubstr("subak_pool_nodes{cluster=\"east\",pool=\"big\",state=\"" +
                                std::string(line)));
  }
  EXPECT_THAT(text, HasSubstr("subak_queue_head_waits{reason=\"WaitingForNodes\"} 1\n"));
}

}  // namespace
}  // namespace subak::metrics
