// Who goes on from a checkpoint decides as who has read all facts.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "inputs.h"

namespace subak {
namespace {

// A pod that was not known until now is charged since it runs, and not only since the checkpoint.
TEST(Checkpoint, SaysSinceWhenANodeIsKnown) {
  Engine engine, restored;
  NodeSpec node;
  node.name = "n0";
  node.product = "H100";
  node.gpus = 8;
  in::SetAccount account;
  account.spec.path = "a";
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  engine.apply(at(1000, in::ImportNodes{"main", {node}, "", false}));
  engine.apply(at(5000, account));
  for (const Fact& fact : engine.checkpoint()) restored.evolve(fact);
  PodRecord pod;
  pod.uid = "u";
  pod.ns = "nobodys";
  pod.name = "foreign";
  pod.shape.kind = GpuKind::kWhole;
  pod.shape.gpus = 1;
  pod.node = "n0";
  pod.bound_at_ms = 2000;
  for (Engine* const each : {&engine, &restored}) {
    TimeMs bound_at_ms = 0;
    for (const Fact& fact : each->apply(at(9000, in::PodSeen{"main", pod})).facts) {
      const auto* const added = std::get_if<fact::PodAdded>(&fact.body);
      if (added != nullptr) bound_at_ms = added->bound_at_ms;
    }
    EXPECT_EQ(bound_at_ms, 2000);
  }
}

}  // namespace
}  // namespace subak
