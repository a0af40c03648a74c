#include "placement/fleet/views.h"

#include <gtest/gtest.h>

#include "builders.h"
#include "placement/fleet/queries.h"

namespace subak {
namespace {

using namespace build;

TEST(Views, Domains) {
  Site f;
  add(f, 1, node(1, 8));
  NodeSpec box = node(2, 8);
  box.gpus_per_domain = 4;
  add(f, 2, box);
  for (std::uint32_t i = 3; i <= 4; ++i) add(f, i, node(i, 4, "uuid.1"));
  add(f, 5, node(5, 0));
  start(f, 1, gang(2, 4, Topology::kNvlink));  // the halves do not hold 8; node 1 and 2 do
  const auto rows = domain_rows(f, kCluster);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].kind, "clique");
  EXPECT_EQ(rows[0].name, "uuid.1");
  EXPECT_EQ(rows[0].nodes, (std::vector<NodeId>{NodeId(3), NodeId(4)}));
  EXPECT_EQ(rows[0].installed, 8000);
  EXPECT_EQ(rows[1].kind, "node");
  EXPECT_EQ(rows[1].name, "n1");
  EXPECT_EQ(rows[1].free, 0);
  EXPECT_EQ(rows[2].kind, "half-node");
  EXPECT_EQ(rows[2].name, "n2/0");
  EXPECT_EQ(rows[3].name, "n2/1");
  EXPECT_EQ(rows[3].installed, 4000);
  EXPECT_EQ(rows[3].free, 4000);
  EXPECT_TRUE(domain_rows(f, ClusterId(2)).empty());
}

TEST(Views, MigSlicesConfiguredAndUsed) {
  Site f;
  NodeSpec s = node(1, 1);
  s.mig_gpus = 1;
  s.mig = {{"1g.10gb", 3}, {"3g.40gb", 1}};
  add(f, 1, s);
  GangRequest r = gang(1, 2);
  r.groups[0].shape.kind = GpuKind::kMig;
  r.groups[0].shape.profile = "1g.10gb";
  start(f, 1, r);
  auto rows = mig_rows(f, kCluster);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].configured, 3);
  EXPECT_EQ(rows[0].used, 2);
  EXPECT_EQ(rows[1].used, 0);
  s.mig = {{"3g.40gb", 2}};  // cut anew under a running pod
  add(f, 1, s);
  rows = mig_rows(f, kCluster);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].profile, "1g.10gb");
  EXPECT_EQ(rows[1].configured, 0);
  EXPECT_EQ(rows[1].used, 2);
  EXPECT_TRUE(over_allocated(f, NodeId(1)));
  f.check_invariants();
}

TEST(Views, LargestNode) {
  Site f;
  add(f, 1, node(1, 8));
  NodeSpec s = node(2, 16);
  s.product = "NVIDIA-A10-SHARED";
  add(f, 2, s);
  EXPECT_EQ(largest_node_gpus(f, kCluster, "gpu"), 16);
  EXPECT_EQ(largest_node_gpus(f, kCluster, "NVIDIA-H100-80GB-HBM3"), 8);
  EXPECT_EQ(largest_node_gpus(f, kCluster, "NVIDIA-A10"), 16);
  EXPECT_EQ(largest_node_gpus(f, kCluster, "NVIDIA-B200"), 0);
  EXPECT_EQ(largest_node_gpus(f, ClusterId(2), "gpu"), 0);
}

}  // namespace
}  // namespace subak
