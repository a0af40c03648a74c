#include "engine/state/clusters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace subak::state {
namespace {

const ClusterId kOne(1), kTwo(2);

Clusters two() {
  Clusters clusters;
  clusters.apply(fact::ClusterSet{kOne, "main", Mode::kWarn, {{"dev", Mode::kObserve}}, {}});
  clusters.apply(fact::ClusterSet{kTwo, "west", Mode::kObserve, {}, {}});
  return clusters;
}

std::vector<fact::Body> kept(const Clusters& clusters) {
  std::vector<fact::Body> out;
  clusters.keep([&](fact::Body body) { out.push_back(std::move(body)); });
  clusters.keep_awaited([&](fact::Body body) { out.push_back(std::move(body)); });
  return out;
}

TEST(Clusters, AnEmptyNameMeansTheOnlyOne) {
  Clusters clusters;
  EXPECT_EQ(clusters.find(""), nullptr);
  clusters.apply(fact::ClusterSet{kOne, "main", Mode::kWarn, {}, {}});
  ASSERT_NE(clusters.find(""), nullptr);
  EXPECT_EQ(clusters.find("")->name, "main");
  EXPECT_EQ(two().find(""), nullptr);
  EXPECT_EQ(two().find("west")->id, kTwo);
  EXPECT_EQ(two().find("east"), nullptr);
}

TEST(Clusters, ANamespaceHasItsOwnModeOrTheClusters) {
  const Clusters clusters = two();
  EXPECT_EQ(clusters.at(kOne).mode_of("dev"), Mode::kObserve);
  EXPECT_EQ(clusters.at(kOne).mode_of("prod"), Mode::kWarn);
}

TEST(Clusters, ANumberIsNeverGivenTwiceAndANameOutlivesItsCluster) {
  Clusters clusters = two();
  EXPECT_EQ(clusters.next_id(), ClusterId(3));
  clusters.apply(fact::ClusterRemoved{kTwo, {}});
  EXPECT_EQ(clusters.find("west"), nullptr);
  EXPECT_EQ(clusters.name_of(kTwo), "west");
  EXPECT_EQ(clusters.next_id(), ClusterId(3));
  clusters.check();
}

TEST(Clusters, JobNumbersGrow) {
  Clusters clusters = two();
  clusters.number_used(JobId(kOne, 7));
  clusters.number_used(JobId(kOne, 4));
  EXPECT_EQ(clusters.at(kOne).next_job, 8u);
  EXPECT_EQ(clusters.at(kTwo).next_job, 1u);
}

TEST(Clusters, OnlyTheAwaitedJobEndsTheWait) {
  Clusters clusters = two();
  clusters.apply(fact::Awaited{kOne, JobId(kOne, 3)});
  clusters.await_no_longer(JobId(kOne, 2));
  EXPECT_EQ(clusters.at(kOne).awaited, JobId(kOne, 3));
  clusters.await_no_longer(JobId(kOne, 3));
  EXPECT_FALSE(clusters.at(kOne).awaited);
}

TEST(Clusters, AListKnowsWhatItHasNamed) {
  Clusters clusters = two();
  clusters.mark(kOne, NodeId(5));  // no list is being read
  EXPECT_EQ(clusters.list(kOne), nullptr);
  clusters.begin_list(kOne, 0);
  clusters.mark(kOne, NodeId(6));
  clusters.mark(kOne, PodPlace{JobId(kOne, 1), 2});
  ASSERT_NE(clusters.list(kOne), nullptr);
  EXPECT_FALSE(clusters.list(kOne)->nodes.contains(NodeId(5)));
  EXPECT_TRUE(clusters.list(kOne)->nodes.contains(NodeId(6)));
  EXPECT_TRUE(clusters.list(kOne)->pods.contains(PodPlace{JobId(kOne, 1), 2}));
  clusters.begin_list(kOne, 0);  // the edge begins again
  EXPECT_TRUE(clusters.list(kOne)->nodes.empty());
  clusters.end_list(kOne);
  EXPECT_EQ(clusters.list(kOne), nullptr);
}

TEST(Clusters, WhatIsKeptMakesTheSameAgain) {
  Clusters clusters = two();
  clusters.number_used(JobId(kOne, 7));
  clusters.apply(fact::ClusterSynced{kOne, true, true});
  clusters.apply(fact::Awaited{kOne, JobId(kOne, 3)});
  clusters.apply(fact::ClusterRemoved{kTwo, {}});
  Clusters again;
  for (const fact::Body& body : kept(clusters)) {
    std::visit(
        [&](const auto& f) {
          if constexpr (requires { again.apply(f); }) again.apply(f);
        },
        body);
  }
  again.check();
  const Cluster& one = again.at(kOne);
  EXPECT_EQ(one.next_job, 8u);
  EXPECT_TRUE(one.synced && one.owned);
  EXPECT_EQ(one.awaited, JobId(kOne, 3));
  EXPECT_EQ(again.name_of(kTwo), "west");
  EXPECT_EQ(kept(again).size(), kept(clusters).size());
}

TEST(ClustersDeath, TwoOfOneNameAreABrokenPromise) {
  Clusters clusters = two();
  clusters.apply(fact::ClusterSet{ClusterId(3), "main", Mode::kObserve, {}, {}});
  EXPECT_DEATH(clusters.check(), "no two clusters have one name");
  EXPECT_DEATH(clusters.apply(fact::ClusterSynced{ClusterId(9), true, false}), "is there");
}

}  // namespace
}  // namespace subak::state
