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
  clusters.snapshot([&](fact::Body body) { out.push_back(std::move(body)); });
  clusters.snapshot_reservations([&](fact::Body body) { out.push_back(std::move(body)); });
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

fact::Reserved reserved(std::uint64_t job, std::vector<std::uint32_t> nodes, TimeMs start_ms) {
  fact::Reserved f;
  f.job = JobId(kOne, job);
  for (const std::uint32_t node : nodes) f.nodes.push_back({NodeId(node)});
  f.start_ms = start_ms;
  return f;
}

TEST(Clusters, AJobHasOneReservation) {
  Clusters clusters = two();
  clusters.apply(reserved(3, {1, 2}, 1000));
  clusters.apply(reserved(4, {3}, 2000));
  clusters.apply(reserved(3, {1, 5}, 500));
  clusters.check();
  ASSERT_EQ(clusters.at(kOne).reservations.size(), 2u);
  const Reservation* const first = clusters.reservation_of(JobId(kOne, 3));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->nodes, (std::vector<NodeId>{NodeId(1), NodeId(5)}));
  EXPECT_EQ(first->as_fact(), reserved(3, {1, 5}, 500));
  EXPECT_FALSE(clusters.reserve_no_longer(JobId(kOne, 2)));
  EXPECT_TRUE(clusters.reserve_no_longer(JobId(kOne, 3)));
  clusters.apply(reserved(4, {}, 0));
  EXPECT_TRUE(clusters.at(kOne).reservations.empty());
  EXPECT_EQ(clusters.reservation_of(JobId(kOne, 4)), nullptr);
  EXPECT_EQ(clusters.reservation_of(JobId(ClusterId(99), 4)), nullptr);
}

TEST(Clusters, WhatIsKeptMakesTheSameAgain) {
  Clusters clusters = two();
  clusters.number_used(JobId(kOne, 7));
  clusters.apply(fact::ClusterSynced{kOne, true, true});
  clusters.apply(reserved(3, {1, 2}, 1000));
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
  ASSERT_EQ(one.reservations.size(), 1u);
  EXPECT_EQ(one.reservations[0].as_fact(), reserved(3, {1, 2}, 1000));
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
