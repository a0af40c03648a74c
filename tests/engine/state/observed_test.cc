#include "engine/state/observed/observed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace subak {
namespace {

using state::PodPlace;

constexpr ClusterId kFirst{1};
constexpr ClusterId kSecond{2};
const JobId kJob{kFirst, 1};

state::Clusters both() {
  state::Clusters clusters;
  clusters.apply(fact::ClusterSet{kFirst, "main", Mode::kWarn, {}, {}});
  clusters.apply(fact::ClusterSet{kSecond, "west", Mode::kWarn, {}, {}});
  return clusters;
}

Fact fact_of(fact::Body body) { return Fact{1, 0, std::move(body)}; }

TEST(Observed, AListKnowsWhatItHasNamed) {
  Observed seen;
  seen.apply(note::NodeListed{kFirst, NodeId(5)});  // no list is being read
  EXPECT_EQ(seen.lists().find(kFirst), nullptr);
  seen.apply(note::ListBegun{kFirst, "edge", 7, 3});
  seen.apply(note::NodeListed{kFirst, NodeId(6)});
  seen.apply(note::PodListed{kFirst, {kJob, 2}});
  const state::ListMarks* const list = seen.lists().find(kFirst);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->begun_ms, 7);
  EXPECT_EQ(list->heard_before_ms, 3);
  EXPECT_FALSE(list->nodes.contains(NodeId(5)));
  EXPECT_TRUE(list->nodes.contains(NodeId(6)));
  EXPECT_TRUE(list->pods.contains(PodPlace{kJob, 2}));
  EXPECT_EQ(seen.lists().known_as(kFirst), "edge");
  seen.apply(note::Heard{kFirst, 8});
  seen.apply(note::ListBegun{kFirst, "edge", 9, 3});  // the edge begins again
  EXPECT_TRUE(seen.lists().find(kFirst)->nodes.empty());
  EXPECT_EQ(seen.lists().find(kFirst)->heard_before_ms, 3);
  seen.check(both());
  seen.apply(note::ListEnded{kFirst});
  EXPECT_EQ(seen.lists().find(kFirst), nullptr);
}

TEST(Observed, AListCountsFromWhenTheClusterWasLastHeard) {
  Observed seen;
  seen.apply(note::Heard{kFirst, 8});
  seen.apply(note::Heard{kFirst, 6});
  seen.apply(note::ListBegun{kFirst, "", 9, 3});
  EXPECT_EQ(seen.lists().find(kFirst)->heard_before_ms, 8);
}

TEST(Observed, MarksFollowPodsToTheirNewRanks) {
  Observed seen;
  seen.apply(note::ListBegun{kFirst, "", 0, 0});
  for (const std::uint32_t rank : {0u, 1u, 4u}) seen.apply(note::PodListed{kFirst, {kJob, rank}});
  seen.apply(fact_of(fact::PodsRanked{kJob, {{0, 1}, {1, 0}, {2, 3}}}));
  const state::ListMarks& marks = *seen.lists().find(kFirst);
  EXPECT_EQ(marks.pods, (std::set<PodPlace>{{kJob, 0}, {kJob, 1}, {kJob, 4}}));
  seen.apply(fact_of(fact::PodSeated{kJob, 4, 1}));
  EXPECT_EQ(marks.pods, (std::set<PodPlace>{{kJob, 0}, {kJob, 1}}));
  seen.apply(fact_of(fact::PodSeated{kJob, 5, 1}));  // it was not named
  EXPECT_EQ(marks.pods, (std::set<PodPlace>{{kJob, 0}}));
}

TEST(Observed, TheLastEarlyReportOfAPodCounts) {
  Observed seen;
  seen.apply(note::PodBeforeNode{kFirst, {"u1", "n1", in::PodSeen{}}});
  seen.apply(note::PodBeforeNode{kFirst, {"u1", "n2", in::PodSeen{}}});
  seen.apply(note::PodBeforeNode{kSecond, {"u1", "n1", in::PodSeen{}}});
  EXPECT_EQ(seen.early_pods().count(kFirst), 1u);
  EXPECT_TRUE(seen.early_pods().on(kFirst, "n1").empty());
  EXPECT_EQ(seen.early_pods().on(kFirst, "n2").size(), 1u);
  seen.check(both());
  seen.apply(note::PodNoLongerBeforeNode{kFirst, "u1"});
  EXPECT_EQ(seen.early_pods().count(kFirst), 0u);
  EXPECT_EQ(seen.early_pods().count(kSecond), 1u);
  seen.check(both());
}

TEST(Observed, WhatIsGoneIsForgotten) {
  Observed seen;
  state::Clusters clusters = both();
  PodRecord pod;
  pod.uid = "u2";
  seen.apply(note::NonGpuPodSeen{kFirst, "u1", NodeId(4), PodShape()});
  seen.apply(note::ListBegun{kSecond, "edge", 5, 0});
  seen.apply(note::PodBeforeNode{kSecond, {"u1", "n1", in::PodSeen{}}});
  seen.apply(note::UnmanagedPodSeen{kSecond, pod});
  seen.check(clusters);
  seen.apply(fact_of(fact::NodeRemoved{NodeId(4)}));
  EXPECT_FALSE(seen.non_gpu_pods().node_of(kFirst, "u1"));
  clusters.apply(fact::ClusterRemoved{kSecond, {}});
  EXPECT_DEATH(seen.check(clusters), "a list is of a cluster");
  seen.apply(fact_of(fact::ClusterRemoved{kSecond, {}}));
  EXPECT_EQ(seen.lists().find(kSecond), nullptr);
  EXPECT_EQ(seen.early_pods().count(kSecond), 0u);
  EXPECT_EQ(seen.unmanaged_pods().size(), 0u);
  seen.check(clusters);
}

}  // namespace
}  // namespace subak
