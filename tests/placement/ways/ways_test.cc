// Each way of looking by itself: what it takes first, what it refuses, and that it leaves no pod on
// trial if it finds nothing. All twice: nodes that are alike judged once, and each by itself.
#include <gtest/gtest.h>

#include <string>

#include "tests/placement/ways/attempt_on.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;

// Nodes of 8 GPUs with these ids, in one clique; "": each alone.
void add_nodes(Site& f, std::uint32_t first, std::uint32_t last, const std::string& clique = "") {
  for (std::uint32_t i = first; i <= last; ++i) add(f, i, node(i, 8, clique));
}

// Takes the lowest GPUs of the node.
void hold(Site& f, std::uint32_t id, std::int64_t gpus) {
  const ShapeId shape = f.intern(kCluster, gang(1, gpus));
  f.take(shape, 0, {NodeId(id), low_bits(gpus), gpus * 1000}, job(100 + id), 0);
}

GangRequest two_shapes(std::int64_t gpus, std::uint32_t count, std::int64_t others,
                       Topology topology = Topology::kAny) {
  GangRequest r = gang(count, gpus, topology);
  r.groups.push_back(r.groups[0]);
  r.groups[1].count = 1;
  r.groups[1].shape.gpus = others;
  if (others == 0) r.groups[1].shape.kind = GpuKind::kNone;
  return r;
}

TEST(Ways, OneNodeIsTheTightestOfTheArea) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 4);
    hold(f, 2, 4);
    AttemptOn two(f, gang(2, 2), alike);
    ASSERT_TRUE(on_one_node(two.attempt, {}, two.all(), nullptr));
    EXPECT_EQ(two.nodes(), (Ids{2, 2}));
    AttemptOn elsewhere(f, gang(2, 2), alike);
    const std::vector<NodeIndex> area = {3, 4};
    ASSERT_TRUE(on_one_node(elsewhere.attempt, {}, elsewhere.all(), &area));
    EXPECT_EQ(elsewhere.nodes(), (Ids{3, 3}));
    AttemptOn many(f, gang(3, 3), alike);
    EXPECT_FALSE(on_one_node(many.attempt, {}, many.all(), nullptr));
    EXPECT_EQ(many.on_trial(), 0u);
  }
}

TEST(Ways, PartsOfGpusGoToTheTightestGpu) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 2);
    GangRequest part = gang(1, 1);
    part.groups[0].shape.kind = GpuKind::kFraction;
    part.groups[0].shape.milligpu = 400;
    part.groups[0].shape.gpus = 0;
    f.take(f.intern(kCluster, part), 0, {NodeId(2), 1, 400}, job(1), 0);
    AttemptOn one(f, part, alike);
    ASSERT_TRUE(on_one_node(one.attempt, {}, one.all(), nullptr));
    EXPECT_EQ(one.nodes(), Ids{2});
    EXPECT_EQ(one.attempt.trial().slots()[0].gpu_mask, 1u);
  }
}

TEST(Ways, FragmentsHoldTheWholeGangOrNothing) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 4);
    hold(f, 2, 5);
    hold(f, 4, 5);
    AttemptOn two(f, gang(2, 3), alike);
    ASSERT_TRUE(on_fragments(two.attempt, {}, two.all()));
    EXPECT_EQ(two.nodes(), (Ids{2, 4}));
    AttemptOn three(f, gang(3, 3), alike);
    EXPECT_FALSE(on_fragments(three.attempt, {}, three.all()));
    EXPECT_EQ(three.on_trial(), 0u);
    AttemptOn one(f, gang(1, 3), alike);
    EXPECT_FALSE(on_fragments(one.attempt, {}, one.all())) << "one pod needs no such rule";
  }
}

TEST(Ways, AnInnerDomainIsTheTightestHalfThatNoPartHas) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    for (std::uint32_t i = 1; i <= 2; ++i) {
      NodeSpec box = node(i, 8);
      box.gpus_per_domain = 4;
      add(f, i, box);
    }
    hold(f, 2, 2);  // of its lower half
    AttemptOn two(f, gang(1, 2, Topology::kNvlink), alike);
    ASSERT_TRUE(in_inner_domain(two.attempt, {}, two.all()));
    EXPECT_EQ(two.attempt.trial().slots()[0].gpu_mask, 0xcu);
    EXPECT_EQ(two.nodes(), Ids{2});

    TakenDomains taken;
    taken.add(two.attempt.query().node(2).domain, 0xf);
    AttemptOn other(f, gang(1, 2, Topology::kNvlink), alike);
    ASSERT_TRUE(in_inner_domain(other.attempt, {.taken = &taken}, other.all()));
    EXPECT_EQ(other.attempt.trial().slots()[0].gpu_mask, 0x30u);
    EXPECT_EQ(other.nodes(), Ids{2});

    AttemptOn five(f, gang(1, 5, Topology::kNvlink), alike);
    EXPECT_FALSE(in_inner_domain(five.attempt, {}, five.all()));
  }
}

TEST(Ways, ACliqueIsTheTightestThatHoldsAll) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 3, "a");
    add_nodes(f, 4, 6, "b");
    hold(f, 5, 4);
    AttemptOn two(f, gang(2, 8, Topology::kNvlink), alike);
    ASSERT_TRUE(in_clique(two.attempt, {}, two.all()));
    EXPECT_EQ(two.nodes(), (Ids{4, 6}));
    AttemptOn three(f, gang(3, 8, Topology::kNvlink), alike);
    ASSERT_TRUE(in_clique(three.attempt, {}, three.all()));
    EXPECT_EQ(three.nodes(), (Ids{1, 2, 3}));
    AttemptOn four(f, gang(4, 8, Topology::kNvlink), alike);
    EXPECT_FALSE(in_clique(four.attempt, {}, four.all()));
    EXPECT_EQ(four.on_trial(), 0u);
  }
}

TEST(Ways, AnExclusiveDomainIsTheSmallestUnusedOne) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 2, "a");
    add_nodes(f, 3, 5, "b");
    add_nodes(f, 6, 8, "c");
    hold(f, 1, 1);
    AttemptOn two(f, gang(2, 8, Topology::kNvlinkExclusive), alike);
    ASSERT_TRUE(exclusively(two.attempt, {}, two.all()));
    EXPECT_EQ(two.nodes(), (Ids{3, 4})) << "a pod uses the smaller clique";
    hold(f, 3, 1);
    hold(f, 8, 1);
    AttemptOn none(f, gang(2, 8, Topology::kNvlinkExclusive), alike);
    EXPECT_FALSE(exclusively(none.attempt, {}, none.all()));
    EXPECT_EQ(none.on_trial(), 0u);
  }
}

// Racks of 2 nodes, blocks of 2 racks: 1 to 4 are block b1, 5 to 8 are b2.
void add_racks(Site& f) {
  for (std::uint32_t i = 0; i < 8; ++i) {
    NodeSpec n = node(i + 1, 8);
    n.set_levels({"r" + std::to_string(i / 2), "b" + std::to_string(i / 4)});
    add(f, i + 1, n);
  }
}

TEST(Ways, AGroupIsTheTightestOfItsLevel) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_racks(f);
    hold(f, 5, 4);
    AttemptOn rack(f, gang(3, 4, Topology::kRack), alike);
    ASSERT_TRUE(in_group(rack.attempt, {}, 0, rack.all()));
    EXPECT_EQ(rack.nodes(), (Ids{5, 6, 6}));
    AttemptOn large(f, gang(3, 8, Topology::kRack), alike);
    EXPECT_FALSE(in_group(large.attempt, {}, 0, large.all()));
    EXPECT_EQ(large.on_trial(), 0u);
    ASSERT_TRUE(in_group(large.attempt, {}, 1, large.all()));
    EXPECT_EQ(large.nodes(), (Ids{6, 7, 8})) << "block b2 has less free";
  }
}

TEST(Ways, CompactIsFewBlocksThenFewRacks) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_racks(f);
    hold(f, 1, 1);
    AttemptOn three(f, gang(3, 8), alike);
    EXPECT_TRUE(fills_nodes(three.attempt.query(), {}, three.all()));
    ASSERT_TRUE(compactly(three.attempt, {}, three.all()));
    EXPECT_EQ(three.nodes(), (Ids{3, 4, 2}))
        << "block b1 is tighter, and its full rack comes first";
    AttemptOn small(f, gang(3, 4), alike);
    EXPECT_FALSE(fills_nodes(small.attempt.query(), {}, small.all()));
    AttemptOn many(f, gang(8, 8), alike);
    EXPECT_FALSE(compactly(many.attempt, {}, many.all()));
    EXPECT_EQ(many.on_trial(), 0u);

    Site flat;
    add_nodes(flat, 1, 4);
    AttemptOn nowhere(flat, gang(2, 8), alike);
    EXPECT_FALSE(compactly(nowhere.attempt, {}, nowhere.all())) << "no node names a group";
  }
}

TEST(Ways, ASpreadTakesFewDomainsThenFewNodes) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 2);
    add_nodes(f, 3, 5, "a");
    AttemptOn three(f, gang(3, 8), alike);
    ASSERT_TRUE(spread(three.attempt, {}, three.all()[0], nullptr));
    EXPECT_EQ(three.nodes(), (Ids{3, 4, 5}));
    AttemptOn four(f, gang(4, 8), alike);
    ASSERT_TRUE(spread(four.attempt, {}, four.all()[0], nullptr));
    EXPECT_EQ(four.nodes(), (Ids{1, 3, 4, 5}));
    AttemptOn six(f, gang(6, 8), alike);
    EXPECT_FALSE(spread(six.attempt, {}, six.all()[0], nullptr));
    EXPECT_EQ(six.on_trial(), 0u);
  }
}

TEST(Ways, ASpreadBreaksIntoAsFewNodesAsItCan) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 4);
    hold(f, 2, 4);
    AttemptOn five(f, gang(5, 2), alike);  // 2 on the fragment, 3 on a node of its own
    ASSERT_TRUE(spread(five.attempt, {}, five.all()[0], nullptr));
    EXPECT_EQ(five.nodes(), (Ids{1, 1, 1, 1, 2}));
  }
}

TEST(Ways, ASpreadOverNodesToWaitForTakesThoseWithTheLeastHeld) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 3);
    hold(f, 1, 8);
    hold(f, 2, 1);
    hold(f, 3, 2);
    AttemptOn apart(f, f.now().drained(), gang(2, 8), alike);
    ASSERT_TRUE(spread(apart.attempt, {}, apart.all()[0], nullptr));
    EXPECT_EQ(apart.nodes(), (Ids{2, 3}));
    add_nodes(f, 11, 12, "a");
    hold(f, 11, 8);
    hold(f, 12, 8);
    AttemptOn joined(f, f.now().drained(), gang(2, 8), alike);
    ASSERT_TRUE(spread(joined.attempt, {}, joined.all()[0], nullptr));
    EXPECT_EQ(joined.nodes(), (Ids{11, 12})) << "one domain is enough";
    AttemptOn six(f, f.now().drained(), gang(6, 8), alike);
    EXPECT_FALSE(spread(six.attempt, {}, six.all()[0], nullptr));
    EXPECT_EQ(six.on_trial(), 0u);
  }
}

TEST(Ways, BalancedIsAsFewEvenPartsAsHoldIt) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 3, "a");
    add_nodes(f, 4, 6, "b");
    add_nodes(f, 7, 9, "c");
    GangRequest r = gang(4, 8, Topology::kNvlink);
    r.terms.balanced = true;
    AttemptOn four(f, r, alike);
    ASSERT_TRUE(balanced(four.attempt, {.linked = true}, four.all()));
    EXPECT_EQ(four.nodes(), (Ids{1, 2, 4, 5}));
    r.groups[0].count = 10;
    AttemptOn ten(f, r, alike);
    EXPECT_FALSE(balanced(ten.attempt, {.linked = true}, ten.all()));
    EXPECT_EQ(ten.on_trial(), 0u);
  }
}

TEST(Ways, PodByPodFindsWhatTheGreedySearchMisses) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add(f, 1, node(1, 5));
    add(f, 2, node(2, 4));
    AttemptOn all(f, two_shapes(2, 2, 5), alike);
    ASSERT_TRUE(thoroughly(all.attempt, {}, all.all()));
    EXPECT_EQ(all.nodes(), (Ids{2, 2, 1}));
    AttemptOn more(f, two_shapes(2, 3, 5), alike);
    EXPECT_FALSE(thoroughly(more.attempt, {}, more.all()));
    EXPECT_EQ(more.on_trial(), 0u);
    AttemptOn equal(f, gang(2, 2), alike);
    EXPECT_FALSE(thoroughly(equal.attempt, {}, equal.all()))
        << "for gangs of one shape it is exact";
  }
}

TEST(Ways, OneProductIsTheOneWithTheLeastFree) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 3);
    for (std::uint32_t i = 4; i <= 5; ++i) {
      NodeSpec other = node(i, 8);
      other.product = "NVIDIA-A100-SXM4-80GB";
      add(f, i, other);
    }
    hold(f, 1, 4);
    AttemptOn two(f, gang(2, 6), alike);
    ASSERT_TRUE(greedily(two.attempt, {.one_product = true}, two.all(), 0));
    AttemptOn three(f, gang(3, 8), alike);
    EXPECT_FALSE(greedily(three.attempt, {.one_product = true}, three.all(), 0));
    EXPECT_EQ(three.on_trial(), 0u);
    ASSERT_TRUE(greedily(three.attempt, {}, three.all(), 0));
    EXPECT_EQ(three.on_trial(), 3u);

    const ProductId h100 = three.attempt.query().node(1).product;
    AttemptOn without(f, gang(2, 8), alike);
    ASSERT_TRUE(greedily(without.attempt, {.without = {&h100, 1}}, without.all(), 0));
    EXPECT_EQ(without.nodes(), (Ids{4, 5}));
    AttemptOn named(f, gang(2, 8), alike);
    ASSERT_TRUE(greedily(named.attempt, {.product = h100}, named.all(), 0));
    EXPECT_EQ(named.nodes(), (Ids{2, 3}));
  }
}

TEST(Ways, OfASegmentOnlyThePodsWithGpusAreNear) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 2, "a");
    add(f, 9, node(9, 0));
    AttemptOn all(f, two_shapes(8, 2, 0, Topology::kNvlink), alike);
    ASSERT_TRUE(segment(all.attempt, {.linked = true}, all.all()));
    EXPECT_EQ(all.nodes(), (Ids{1, 2, 9}));
  }
}

TEST(Ways, AnywhereTakesFragmentsThenOneNodeThenMore) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 3);
    hold(f, 2, 5);
    hold(f, 3, 6);
    const auto nodes = [&](std::uint32_t pods, std::int64_t gpus) {
      AttemptOn a(f, gang(pods, gpus), alike);
      return anywhere(a.attempt, {}, a.all()) ? a.nodes() : Ids{};
    };
    EXPECT_EQ(nodes(2, 2), (Ids{2, 3})) << "of several nodes, as both are broken into";
    EXPECT_EQ(nodes(2, 4), (Ids{1, 1}));
    EXPECT_EQ(nodes(5, 2), (Ids{1, 1, 1, 1, 3})) << "the rest where it fits tightest";
    EXPECT_EQ(nodes(7, 2), Ids{});
  }
}

TEST(Ways, AGangCouldOnlyStartWhereAPodFits) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 2, "a");
    add_nodes(f, 3, 3);
    hold(f, 3, 8);
    const auto could = [&](const GangRequest& r, NodeIndex i) {
      AttemptOn a(f, r, alike);
      return could_start_at(a.attempt, i);
    };
    EXPECT_TRUE(could(gang(1, 8), 1));
    EXPECT_FALSE(could(gang(1, 8), 3));
    EXPECT_TRUE(could(gang(2, 8, Topology::kNvlink), 2)) << "with the node beside it";
    EXPECT_FALSE(could(gang(2, 8, Topology::kNode), 2));
    EXPECT_FALSE(could(two_shapes(8, 1, 4), 3));
    EXPECT_TRUE(could(two_shapes(8, 1, 4), 1));
  }
}

TEST(Ways, AGangIsPlacedCompleteOrNotAtAll) {
  for (const AlikeNodes alike : kBothWays) {
    Site f;
    add_nodes(f, 1, 2, "a");
    AttemptOn two(f, gang(2, 8, Topology::kNvlink), alike);
    ASSERT_TRUE(place_gang(two.attempt));
    EXPECT_EQ(nodes_of(two.attempt.trial().take_slots()), (Ids{1, 2}));
    AttemptOn three(f, gang(3, 8), alike);
    EXPECT_FALSE(place_gang(three.attempt));
    EXPECT_EQ(three.on_trial(), 0u);
  }
}

}  // namespace
}  // namespace subak
