#include <gtest/gtest.h>

#include "builders.h"

namespace subak {
namespace {

using namespace build;
using Mix = std::vector<std::pair<ShapeId, double>>;

TEST(Fragmentation, FreeGpusThatTheMixCannotUse) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 8));
  const ShapeId eight = f.intern(kCluster, gang(1, 8)), two = f.intern(kCluster, gang(1, 2));
  EXPECT_DOUBLE_EQ(f.search.fragmentation(Mix{{eight, 1.0}}), 0);
  start(f, 1, gang(1, 4));
  EXPECT_DOUBLE_EQ(f.search.fragmentation(Mix{{eight, 1.0}}), 4.0 / 12);
  EXPECT_DOUBLE_EQ(f.search.fragmentation(Mix{{two, 1.0}}), 0);
  EXPECT_DOUBLE_EQ(f.search.fragmentation(Mix{{eight, 1.0}, {two, 3.0}}), 1.0 / 12);
  EXPECT_DOUBLE_EQ(f.search.fragmentation(Mix{}), 0);
}

TEST(Fragmentation, PartsOfGpusAreOfNoUseToWholeOnes) {
  Site f;
  add(f, 1, node(1, 2));
  GangRequest part = gang(1, 1);
  part.groups[0].shape.kind = GpuKind::kFraction;
  part.groups[0].shape.milligpu = 600;
  start(f, 1, part);
  const ShapeId one = f.intern(kCluster, gang(1, 1));
  EXPECT_DOUBLE_EQ(f.search.fragmentation(Mix{{one, 1.0}}), 400.0 / 1400);
}

TEST(Fragmentation, PodsWithoutGpuUseNone) {
  Site f;
  add(f, 1, node(1, 2));
  EXPECT_DOUBLE_EQ(f.search.fragmentation(Mix{{f.intern(kCluster, gang(1, 0)), 1.0}}), 1);
  start(f, 1, gang(1, 2));
  EXPECT_DOUBLE_EQ(f.search.fragmentation(Mix{{f.intern(kCluster, gang(1, 0)), 1.0}}), 0);
}

TEST(Fragmentation, SlicesServeTheirProfile) {
  Site f;
  NodeSpec s = node(1, 1);
  s.mig_gpus = 1;
  s.mig = {{"1g.10gb", 4}, {"3g.40gb", 1}};
  add(f, 1, s);
  GangRequest r = gang(1, 1);
  r.groups[0].shape.kind = GpuKind::kMig;
  r.groups[0].shape.profile = "3g.40gb";
  EXPECT_DOUBLE_EQ(f.search.fragmentation(Mix{{f.intern(kCluster, r), 1.0}}), 0.5);
}

}  // namespace
}  // namespace subak
