// Two accounts of which one floods (docs/design/0079).
#include <gtest/gtest.h>

#include <string>

#include "core/limits.h"
#include "engine/engine.h"
#include "inputs.h"

namespace subak {
namespace {

// A gated pod of its own; of namespace `ns`, whose account it is.
in::PodSeen gated(const std::string& ns, std::size_t number) {
  in::PodSeen seen;
  seen.cluster = "main";
  seen.pod.ns = ns;
  seen.pod.name = "p" + std::to_string(number);
  seen.pod.uid = ns + "-" + seen.pod.name;
  seen.pod.shape.kind = GpuKind::kWhole;
  seen.pod.shape.gpus = 8;
  seen.pod.gated = true;
  return seen;
}

TEST(SharedBounds, WhoFloodsAClusterWithPodsShutsNobodyOut) {
  Engine engine;
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  for (const char* path : {"a", "b"}) {
    in::SetAccount set;
    set.spec.path = path;
    set.spec.namespaces = {path};
    engine.apply(at(0, set));
  }
  engine.apply(at(1, in::ListBegin{"main"}));
  in::NodeSeen node;
  node.cluster = "main";
  node.node.name = "n0";
  node.node.product = "H100";
  node.node.gpus = 8;
  engine.apply(at(1, node));
  engine.apply(at(1, in::ListComplete{"main"}));
  for (std::size_t i = 0; i < limits::kMaxGatedPods; ++i) {
    ASSERT_FALSE(engine.apply(at(2, gated("a", i))).reply.error) << i;
  }
  const auto full = engine.apply(at(2, gated("a", limits::kMaxGatedPods)));
  ASSERT_TRUE(full.reply.error);
  EXPECT_EQ(full.reply.error->code, ErrorCode::kExhausted);
  EXPECT_EQ(full.reply.error->field, "queue");
  EXPECT_NE(full.reply.error->want.find("a has 100000 of them"), std::string::npos)
      << full.reply.error->want;
  EXPECT_TRUE(full.facts.empty());
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_FALSE(engine.apply(at(3, gated("b", i))).reply.error) << i;
  }
  in::PodGone gone;
  gone.cluster = "main";
  for (std::size_t i = 0; i < 1001; ++i) {
    gone.pod.uid = gated("a", i).pod.uid;
    engine.apply(at(4, gone));
  }
  EXPECT_FALSE(engine.apply(at(5, gated("a", limits::kMaxGatedPods))).reply.error)
      << "it is taken in once there is room";
  EXPECT_TRUE(engine.apply(at(5, gated("a", limits::kMaxGatedPods + 1))).reply.error);
  engine.check_invariants();
}

}  // namespace
}  // namespace subak
