#include "model/product.h"

#include <gtest/gtest.h>

namespace subak {
namespace {

PodShape whole(std::vector<std::string> products) {
  PodShape pod;
  pod.kind = GpuKind::kWhole;
  pod.gpus = 2;
  pod.products = std::move(products);
  return pod;
}

TEST(Product, TheCardAlone) {
  EXPECT_EQ(base_product("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(base_product("NVIDIA-A10-SHARED"), "NVIDIA-A10");
  EXPECT_EQ(base_product("NVIDIA-A10"), "NVIDIA-A10");
}

TEST(Product, CardsWithoutAnNvlinkConnector) {
  for (const char* product :
       {"NVIDIA-L40S", "NVIDIA-L4-SHARED", "Tesla-T4", "NVIDIA-A10", "A2",
        "NVIDIA-RTX-6000-Ada-Generation", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"}) {
    EXPECT_FALSE(has_nvlink(product)) << product;
  }
  for (const char* product :
       {"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-PCIE-40GB", "NVIDIA-A40", "NVIDIA-A30",
        "NVIDIA-H100-NVL", "NVIDIA-GB200", "Card-Of-Tomorrow", "H100", ""}) {
    EXPECT_TRUE(has_nvlink(product)) << product;
  }
}

TEST(Product, WhatNvlinkJoinsInsideANode) {
  for (const char* board :
       {"NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB", "Tesla-V100-SXM2-32GB", "NVIDIA-B200",
        "NVIDIA-GB200", "NVIDIA-GH200-480GB", "NVIDIA-H200", "NVIDIA-H20",
        "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}) {
    EXPECT_EQ(gpus_per_nvlink_domain(board), 0) << board;
  }
  for (const char* card :
       {"NVIDIA-A100-PCIE-40GB", "NVIDIA-A100-80GB-PCIe", "NVIDIA-H100-PCIe", "NVIDIA-H100-NVL",
        "NVIDIA-H200-NVL", "Tesla-V100-PCIE-32GB", "NVIDIA-A40", "NVIDIA-A30-SHARED",
        "NVIDIA-RTX-A6000", "Quadro-RTX-8000", "NVIDIA-TITAN-RTX", "NVIDIA-GeForce-RTX-3090"}) {
    EXPECT_EQ(gpus_per_nvlink_domain(card), 1) << card;
    EXPECT_TRUE(has_nvlink(card)) << card;
  }
  for (const char* none : {"NVIDIA-L40S", "Tesla-T4", "NVIDIA-RTX-6000-Ada-Generation"}) {
    EXPECT_EQ(gpus_per_nvlink_domain(none), 1) << none;
  }
  for (const char* unknown : {"Card-Of-Tomorrow", "H100", "GPU", ""}) {
    EXPECT_EQ(gpus_per_nvlink_domain(unknown), 0) << unknown;
  }
}

TEST(Product, WhatNvlinkJoinsAcrossNodes) {
  for (const char* rack : {"NVIDIA-GB200", "NVIDIA-GB300", "NVIDIA-GH200-480GB",
                           "NVIDIA-GB200-MIG-1g.23gb", "Card-Of-Tomorrow", "GPU", ""}) {
    EXPECT_TRUE(nvlink_joins_nodes(rack)) << rack;
  }
  for (const char* board : {"NVIDIA-H100-80GB-HBM3", "NVIDIA-H200", "NVIDIA-B200",
                            "NVIDIA-B300-SXM6-AC", "NVIDIA-A100-SXM4-80GB", "NVIDIA-H800",
                            "NVIDIA-H20-3e", "Tesla-V100-SXM2-16GB", "NVIDIA-H100-80GB-HBM3-SHARED",
                            "NVIDIA-H200-NVL", "NVIDIA-A30", "Tesla-T4", "NVIDIA-GB10"}) {
    EXPECT_FALSE(nvlink_joins_nodes(board)) << board;
  }
}

TEST(Product, PoolsOfGke) {
  EXPECT_EQ(gke_product("nvidia-l4"), "NVIDIA-L4");
  EXPECT_EQ(gke_product("nvidia-h100-mega-80gb"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(gke_product("nvidia-of-tomorrow"), "nvidia-of-tomorrow");
  const auto selecting = [](const char* key, const char* value) {
    PodShape pod = whole({});
    pod.node_selector = {{key, value}};
    return as_offered(pod);
  };
  EXPECT_EQ(selecting("cloud.google.com/gke-accelerator", "nvidia-l4").kind, GpuKind::kWhole);
  EXPECT_EQ(selecting("cloud.google.com/gke-gpu-partition-size", "1g.5gb").kind, GpuKind::kMig);
  EXPECT_EQ(selecting("cloud.google.com/gke-gpu-partition-size", "1g.5gb").profile, "1g.5gb");
  EXPECT_EQ(selecting("cloud.google.com/gke-max-shared-clients-per-gpu", "48").kind,
            GpuKind::kShared);
  EXPECT_EQ(selecting("cloud.google.com/gke-max-shared-clients-per-gpu", "1").kind,
            GpuKind::kWhole);
  EXPECT_EQ(selecting("cloud.google.com/gke-gpu-sharing-strategy", "mps").kind, GpuKind::kShared);
  PodShape both = whole({});
  both.node_selector = {{"cloud.google.com/gke-gpu-partition-size", "2g.10gb"},
                        {"cloud.google.com/gke-max-shared-clients-per-gpu", "3"}};
  EXPECT_EQ(as_offered(both).kind, GpuKind::kMig) << "slices that are shared again are slices";
  PodShape either = whole({});
  either.affinity = {{{{"cloud.google.com/gke-gpu-partition-size", "In", {"1g.5gb", "2g.10gb"}}}}};
  EXPECT_EQ(as_offered(either).kind, GpuKind::kWhole);
}

TEST(Product, AWholeGpuOfProductsThatAreSlicesIsASlice) {
  const PodShape one = as_offered(whole({"NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}));
  EXPECT_EQ(one.kind, GpuKind::kMig);
  EXPECT_EQ(one.profile, "1g.10gb");
  EXPECT_EQ(one.gpus, 2);
  EXPECT_EQ(as_offered(whole({"A-MIG-1g.10gb-SHARED", "B-MIG-1g.10gb"})).profile, "1g.10gb");
  EXPECT_EQ(as_offered(whole({"NVIDIA-A10-SHARED"})).kind, GpuKind::kShared);
}

TEST(Product, OtherwiseItIsAWholeGpu) {
  EXPECT_EQ(as_offered(whole({})).kind, GpuKind::kWhole);
  EXPECT_EQ(as_offered(whole({"NVIDIA-A10"})).kind, GpuKind::kWhole);
  // One of the forms is meant, and only one can be whole.
  EXPECT_EQ(as_offered(whole({"NVIDIA-A10", "NVIDIA-A10-SHARED"})).kind, GpuKind::kWhole);
  EXPECT_EQ(as_offered(whole({"A-MIG-1g.10gb", "A-MIG-2g.20gb"})).kind, GpuKind::kWhole);
  EXPECT_EQ(as_offered(whole({"A-MIG-1g.10gb", "A-SHARED"})).kind, GpuKind::kWhole);
}

TEST(Product, SelectorsAndAffinityNameProductsToo) {
  PodShape pod = whole({"NVIDIA-A30"});  // the card, as the webhook reads it out of the selector
  pod.node_selector = {{"nvidia.com/gpu.product", "NVIDIA-A30-MIG-1g.6gb"}};
  EXPECT_EQ(as_offered(pod).kind, GpuKind::kMig);
  pod.node_selector.clear();
  pod.affinity = {{{{"nvidia.com/gpu.product", "In", {"NVIDIA-A30-SHARED"}}}}};
  EXPECT_EQ(as_offered(pod).kind, GpuKind::kShared);
  pod.affinity.push_back({{{"pool", "In", {"a"}}}});  // or any product of pool a
  EXPECT_EQ(as_offered(pod).kind, GpuKind::kWhole);
}

}  // namespace
}  // namespace subak
