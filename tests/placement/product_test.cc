#include "placement/product.h"

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
