// A GPU pod that only nodes of a pool could hold.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admission/policy.h"
#include "fixture.h"

namespace subak {
namespace {

using test::container;
using test::fixed_view;
using test::Parsed;
using test::pod;
using test::review_text;

const std::string kGpu = "nvidia.com/gpu";

TEST(PolicyPools, WhatAPoolCouldHoldQueuesWithoutAWarning) {
  const auto because = [](const NodesToCome& pool, const std::string& gpus,
                          const std::string& more) {
    View view = *fixed_view();
    std::vector<ClusterView> clusters = *view.clusters;
    for (ClusterView& cluster : clusters) cluster.largest_node.to_come = {pool};
    view.clusters = std::make_shared<const std::vector<ClusterView>>(std::move(clusters));
    const std::string object = pod(container(kGpu, gpus), R"("name":"p")", more);
    const Parsed parsed(review_text(object));
    return decide(view, {}, "c1", Endpoint::kMutate, parsed.review()).because;
  };
  const std::string product = R"(,"nodeSelector":{"nvidia.com/gpu.product":"NVIDIA-A30"})";
  EXPECT_EQ(because({"NVIDIA-A30", 8, 1}, "8", product), Because::kGated);
  EXPECT_EQ(because({"NVIDIA-A30", 4, 9}, "8", product), Because::kExceedsFleet);
  EXPECT_EQ(because({"NVIDIA-A30", 8, 0}, "8", product), Because::kExceedsFleet);
  EXPECT_EQ(because({"NVIDIA-H200", 8, 1}, "8", product), Because::kExceedsFleet);
  EXPECT_EQ(because({"NVIDIA-A30", 16, 1}, "16", ""), Because::kGated);
}

}  // namespace
}  // namespace subak
