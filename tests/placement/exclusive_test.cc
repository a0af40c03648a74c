#include <gtest/gtest.h>

#include "builders.h"
#include "placement/fleet/queries.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;

constexpr Topology kAlone = Topology::kNvlinkExclusive;

TEST(Exclusive, KeepsAWholeNode) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 8));
  start(f, 1, gang(1, 1));
  const auto slots = start(f, 2, gang(1, 2, kAlone));
  EXPECT_EQ(nodes_of(slots), Ids{2});
  EXPECT_EQ(where(f, gang(1, 6)), Ids{1});
  EXPECT_EQ(where(f, gang(1, 8)), Ids{});
  start(f, 3, gang(1, 7));
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});   // node 2 has six free GPUs, kept
  EXPECT_EQ(where(f, gang(1, 0)), Ids{1});  // CPU pods do not disturb NVLink
  f.check_invariants();
  stop(f, 2, gang(1, 2, kAlone), slots);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{2});
}

TEST(Exclusive, KeepsHalfABox) {
  Site f;
  NodeSpec box = node(1, 8);
  box.gpus_per_domain = 4;
  add(f, 1, box);
  const auto slots = start(f, 1, gang(1, 2, kAlone));
  ASSERT_EQ(slots.size(), 1u);
  const auto other = f.find(f.intern(kCluster, gang(1, 4)));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->slots[0].gpu_mask, 0xf0u);
  EXPECT_EQ(where(f, gang(1, 5)), Ids{});
  EXPECT_EQ(where(f, gang(1, 8, kAlone)), Ids{});
  EXPECT_EQ(where(f, gang(1, 4, kAlone)), Ids{1});
}

TEST(Exclusive, KeepsAWholeClique) {
  Site f;
  for (std::uint32_t i = 1; i <= 6; ++i) add(f, i, node(i, 4, i <= 3 ? "a" : "b"));
  const auto slots = start(f, 1, gang(2, 4, kAlone));
  EXPECT_EQ(nodes_of(slots), (Ids{1, 2}));
  EXPECT_EQ(where(f, gang(1, 4)), Ids{4});  // node 3 is free but kept
  f.check_invariants();
  start(f, 2, gang(1, 1));
  EXPECT_EQ(where(f, gang(2, 4, kAlone)), Ids{});  // clique b is in use
  stop(f, 1, gang(2, 4, kAlone), slots);
  EXPECT_EQ(where(f, gang(2, 4, kAlone)), (Ids{1, 2}));
  f.check_invariants();
}

TEST(Exclusive, ALostMemberComesBackToItsDomain) {
  Site f;
  for (std::uint32_t i = 1; i <= 3; ++i) add(f, i, node(i, 4, "a"));
  const GangRequest r = gang(2, 4, kAlone);
  const auto slots = start(f, 1, r);
  const ShapeId shape = f.intern(kCluster, r);
  f.give(shape, 1, slots[1], job(1), 0);
  EXPECT_EQ(adopt_slot(f, shape, 1, NodeId(3)), (PodSlot{NodeId(3), 0xf, 4000}));
  EXPECT_TRUE(where(f, gang(1, 4)).empty());
}

TEST(Exclusive, AWishKeepsNobodyOut) {
  Site f;
  add(f, 1, node(1, 8));
  GangRequest r = gang(1, 2, kAlone);
  r.terms.prefer = true;
  EXPECT_EQ(start(f, 1, r).size(), 1u);
  EXPECT_EQ(start(f, 2, r).size(), 1u);
  EXPECT_EQ(where(f, gang(1, 4)), Ids{1});
}

TEST(Exclusive, MixedGangsKeepTheirDomainToo) {
  Site f;
  for (std::uint32_t i = 1; i <= 2; ++i) add(f, i, node(i, 4, "a"));
  GangRequest r = gang(1, 4, kAlone);
  r.groups.push_back(gang(1, 2).groups[0]);
  EXPECT_EQ(start(f, 1, r).size(), 2u);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
}

}  // namespace
}  // namespace subak
