// Nodes whose labels and counts contradict each other, and their like that are right. Most are as people
// have reported them; the sources are beside the cases.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "kube/node/node.h"

namespace subak {
namespace {

using Pairs = std::initializer_list<std::pair<const char*, const char*>>;

std::string members(Pairs pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) {
    text += (text.empty() ? "\"" : ",\"") + std::string(key) + "\":\"" + value + '"';
  }
  return text;
}

// With `capacity` as allocatable, but for the counts in `allocatable`.
NodeSpec node(Pairs labels, Pairs capacity, Pairs allocatable = {}) {
  const std::string usable = allocatable.size() == 0 ? members(capacity) : members(allocatable);
  const auto nodes = read_kube_nodes(R"({"metadata":{"name":"n","labels":{)" + members(labels) +
                                     R"(}},"status":{"capacity":{)" + members(capacity) +
                                     R"(},"allocatable":{)" + usable + "}}}");
  EXPECT_TRUE(nodes.ok()) << nodes.error().message();
  return nodes.ok() ? nodes->front() : NodeSpec();
}

void expect_contradiction(const NodeSpec& node, const std::string& words, std::int64_t gpus) {
  EXPECT_EQ(node.unfit, words);
  EXPECT_TRUE(node.contradicts) << words;
  EXPECT_EQ(node.gpus, gpus) << words;
}

void expect_right(const NodeSpec& node, std::int64_t gpus, std::int64_t replicas = 0) {
  EXPECT_EQ(node.unfit, "");
  EXPECT_FALSE(node.contradicts) << node.unfit;
  EXPECT_EQ(node.gpus, gpus);
  EXPECT_EQ(node.replicas, replicas);
}

constexpr std::pair kA100{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"};
constexpr std::pair kH100{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"};
constexpr std::pair kV100{"nvidia.com/gpu.product", "Tesla-V100-PCIE-16GB"};
constexpr std::pair kCount1{"nvidia.com/gpu.count", "1"};
constexpr std::pair kCount8{"nvidia.com/gpu.count", "8"};

TEST(NodeContradiction, WholeGpusAndSlicesOnTheSameCards) {
  // k8s-device-plugin#240: stale whole GPUs.
  const NodeSpec stale = node(
      {kA100,
       kCount8,
       {"nvidia.com/mig.config", "all-1g.5gb"},
       {"nvidia.com/mig.config.state", "success"},
       {"nvidia.com/mig-1g.5gb.count", "56"}},
      {{"nvidia.com/gpu", "8"}, {"nvidia.com/mig-1g.5gb", "56"}, {"nvidia.com/mig-7g.40gb", "0"}});
  expect_contradiction(
      stale, "nvidia.com/gpu 8 and slices 1g.5gb=56 contradicts nvidia.com/gpu.count=8", 8);
  EXPECT_EQ(stale.mig, (std::vector<MigSlices>{{"1g.5gb", 56}})) << "what the cards can be";
  EXPECT_EQ(stale.mig_gpus, 8);
  // gpu-operator#637.
  expect_contradiction(
      node({{"nvidia.com/gpu.product", "NVIDIA-A100-80GB-PCIe"}, {"nvidia.com/gpu.count", "2"}},
           {{"nvidia.com/gpu", "2"},
            {"nvidia.com/mig-1g.10gb", "6"},
            {"nvidia.com/mig-2g.20gb", "4"},
            {"nvidia.com/mig-3g.40gb", "0"}}),
      "nvidia.com/gpu 2 and slices 1g.10gb=6 2g.20gb=4 contradicts nvidia.com/gpu.count=2", 2);
  // One card is too many; slices of a profile in no table need a card, too.
  expect_contradiction(
      node({kA100, kCount8}, {{"nvidia.com/gpu", "5"}, {"nvidia.com/mig-1g.5gb", "28"}}),
      "nvidia.com/gpu 5 and slices 1g.5gb=28 contradicts nvidia.com/gpu.count=8", 8);
  expect_contradiction(
      node({kA100, kCount8}, {{"nvidia.com/gpu", "8"}, {"nvidia.com/mig-9g.1gb", "1"}}),
      "nvidia.com/gpu 8 and slices 9g.1gb=1 contradicts nvidia.com/gpu.count=8", 8);
  // Feature discovery sees slices, the kubelet still has the former whole GPUs alone.
  expect_contradiction(
      node({kA100, kCount8, {"nvidia.com/mig-1g.5gb.count", "56"}}, {{"nvidia.com/gpu", "8"}}),
      "nvidia.com/gpu 8 and slices 1g.5gb=56 contradicts nvidia.com/gpu.count=8", 8);
  // A product of strategy single, and slices of strategy mixed.
  expect_contradiction(node({{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"},
                             {"nvidia.com/gpu.count", "7"}},
                            {{"nvidia.com/gpu", "7"}, {"nvidia.com/mig-1g.5gb", "7"}}),
                       "nvidia.com/gpu 7 of 1g.5gb contradicts nvidia.com/mig-1g.5gb 7", 1);
}

TEST(NodeContradiction, SlicesOfAnotherStrategyThanTheProductSays) {
  const std::pair single{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"};
  expect_contradiction(node({single, {"nvidia.com/gpu.count", "7"}},
                            {{"nvidia.com/gpu", "0"}, {"nvidia.com/mig-2g.10gb", "3"}}),
                       "nvidia.com/gpu 0 of 1g.5gb contradicts nvidia.com/mig-2g.10gb 3", 1);
  const std::pair invalid{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID"};
  expect_contradiction(node({invalid}, {{"nvidia.com/mig-2g.10gb", "3"}}),
                       "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB-MIG-INVALID contradicts "
                       "nvidia.com/mig-2g.10gb 3",
                       1);
  EXPECT_EQ(node({invalid}, {{"nvidia.com/gpu", "0"}}).gpus, 0) << "as it should be";
}

TEST(NodeContradiction, WholeGpusBesideSlicesOnOtherCardsAreRight) {
  // gpu-operator#1602: two of eight cards are cut.
  const NodeSpec mixed = node({kH100, kCount8}, {{"nvidia.com/gpu", "6"},
                                                 {"nvidia.com/mig-1g.10gb", "1"},
                                                 {"nvidia.com/mig-2g.20gb", "3"},
                                                 {"nvidia.com/mig-3g.40gb", "1"},
                                                 {"nvidia.com/mig-4g.40gb", "1"}});
  expect_right(mixed, 8);
  EXPECT_EQ(mixed.mig_gpus, 2);
  // After a change from whole to slices the kubelet keeps the capacity, and nothing of it is allocatable.
  const NodeSpec changed =
      node({kA100, kCount8}, {{"nvidia.com/gpu", "8"}, {"nvidia.com/mig-1g.5gb", "56"}},
           {{"nvidia.com/gpu", "0"}, {"nvidia.com/mig-1g.5gb", "56"}});
  expect_right(changed, 8);
  EXPECT_EQ(changed.mig_gpus, 8);
  EXPECT_EQ(changed.unhealthy_gpus, 0);
  // The same of a change to shared GPUs.
  expect_right(node({kH100, kCount8, {"nvidia.com/gpu.replicas", "4"}},
                    {{"nvidia.com/gpu", "8"}, {"nvidia.com/gpu.shared", "32"}},
                    {{"nvidia.com/gpu", "0"}, {"nvidia.com/gpu.shared", "32"}}),
               8, 4);
  // gpu-operator#981: of strategy single labels that people wrote for single profiles say nothing.
  const NodeSpec single = node({{"nvidia.com/gpu.product", "NVIDIA-A100-PCIE-40GB-MIG-1g.5gb"},
                                {"nvidia.com/gpu.count", "14"},
                                {"nvidia.com/mig-7g.40gb.count", "1"},
                                {"nvidia.com/mig-1g.5gb.count", "7"}},
                               {{"nvidia.com/gpu", "14"}, {"nvidia.com/mig-1g.5gb", "0"}});
  expect_right(single, 2);
  EXPECT_EQ(single.mig, (std::vector<MigSlices>{{"1g.5gb", 14}}));
  // gpu-feature-discovery#7: an old label of a profile that no card has.
  expect_right(node({kA100, kCount8, {"nvidia.com/mig-3g.21gb.count", "16"}},
                    {{"nvidia.com/mig-3g.20gb", "16"}}),
               8);
}

TEST(NodeContradiction, MoreThanTheLabelsCount) {
  // HAMi#1410: seven GPUs, offered ten times each.
  expect_contradiction(node({kA100, {"nvidia.com/gpu.count", "7"}}, {{"nvidia.com/gpu", "70"}}),
                       "nvidia.com/gpu 70 contradicts nvidia.com/gpu.count=7", 7);
  expect_contradiction(node({kA100, kCount1}, {{"nvidia.com/gpu", "50"}}),
                       "nvidia.com/gpu 50 contradicts nvidia.com/gpu.count=1", 1);
  expect_contradiction(node({kA100, {"nvidia.com/gpu.count", "4"}}, {{"nvidia.com/gpu", "40"}}),
                       "nvidia.com/gpu 40 contradicts nvidia.com/gpu.count=4", 4);
  // k8s-device-plugin#75: a V100 and two cards of another kind.
  expect_contradiction(node({kV100, kCount1}, {{"nvidia.com/gpu", "3"}}),
                       "nvidia.com/gpu 3 contradicts nvidia.com/gpu.count=1", 1);
  expect_contradiction(node({kA100, {"nvidia.com/gpu.count", "0"}}, {{"nvidia.com/gpu", "8"}}),
                       "nvidia.com/gpu 8 contradicts nvidia.com/gpu.count=0", 1);
  expect_contradiction(
      node({kA100, {"nvidia.com/gpu.count", "2"}, {"nvidia.com/gpu.replicas", "4"}},
           {{"nvidia.com/gpu", "9"}}),
      "nvidia.com/gpu 9 shared by 4 contradicts nvidia.com/gpu.count=2", 2);
  expect_contradiction(node({kA100, kCount8, {"nvidia.com/mig-1g.5gb.count", "7"}},
                            {{"nvidia.com/mig-1g.5gb", "14"}}),
                       "nvidia.com/mig-1g.5gb 14 contradicts nvidia.com/mig-1g.5gb.count=7", 8);
  expect_contradiction(node({{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"},
                             {"nvidia.com/gpu.count", "7"}},
                            {{"nvidia.com/gpu", "14"}}),
                       "nvidia.com/gpu 14 contradicts nvidia.com/gpu.count=7", 1);
  expect_contradiction(node({{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID"},
                             {"nvidia.com/gpu.count", "0"}},
                            {{"nvidia.com/gpu", "8"}}),
                       "nvidia.com/gpu 8 contradicts "
                       "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB-MIG-INVALID",
                       1);
}

TEST(NodeContradiction, FewerThanTheLabelsCountAreRight) {
  // A GPU has fallen off its bus: feature discovery no longer counts it, the kubelet still has it.
  expect_right(node({kH100, {"nvidia.com/gpu.count", "7"}}, {{"nvidia.com/gpu", "8"}},
                    {{"nvidia.com/gpu", "7"}}),
               7);
  const NodeSpec hidden = node({kH100, kCount8}, {{"nvidia.com/gpu", "4"}});
  expect_right(hidden, 8);
  EXPECT_EQ(hidden.unhealthy_gpus, 4);
  // A share of a GPU is no GPU that works.
  const NodeSpec shares = node({kH100, kCount8, {"nvidia.com/gpu.replicas", "4"}},
                               {{"nvidia.com/gpu", "32"}}, {{"nvidia.com/gpu", "30"}});
  expect_right(shares, 8, 4);
  EXPECT_EQ(shares.unhealthy_gpus, 1);
  expect_right(node({kH100}, {{"nvidia.com/gpu", "8"}}), 8);
}

TEST(NodeContradiction, SharedGpusHaveAReplicaCount) {
  const std::pair renamed{"nvidia.com/gpu.shared", "50"};
  expect_contradiction(node({}, {renamed}),
                       "nvidia.com/gpu.shared 50 shared without a replica count", 1);
  expect_contradiction(node({kA100, {"nvidia.com/gpu.count", "4"}}, {renamed}),
                       "nvidia.com/gpu.shared 50 shared contradicts nvidia.com/gpu.count=4", 4);
  expect_contradiction(node({kA100, kCount8}, {{"nvidia.com/gpu.shared", "8"}}),
                       "nvidia.com/gpu.shared 8 shared contradicts nvidia.com/gpu.count=8", 8);
  expect_contradiction(
      node({{"nvidia.com/gpu.product", "Tesla-T4-SHARED"}}, {{"nvidia.com/gpu", "8"}}),
      "nvidia.com/gpu 8 shared without a replica count", 1);
  expect_contradiction(node({kA100, kCount8, {"nvidia.com/gpu.replicas", "4"}},
                            {{"nvidia.com/gpu", "8"}, {"nvidia.com/gpu.shared", "32"}}),
                       "nvidia.com/gpu 8 contradicts nvidia.com/gpu.shared 32", 8);
  expect_contradiction(node({kA100, kCount8}, {{"nvidia.com/mig-1g.5gb.shared", "28"}}),
                       "nvidia.com/mig-1g.5gb.shared 28 shared without a replica count", 8);
  expect_contradiction(node({kA100,
                             kCount8,
                             {"nvidia.com/gpu.replicas", "4"},
                             {"nvidia.com/gpu.sharing-strategy", "none"}},
                            {{"nvidia.com/gpu", "32"}}),
                       "nvidia.com/gpu.replicas=4 contradicts nvidia.com/gpu.sharing-strategy=none",
                       8);
  // k8s-device-plugin#732: the label is wrong, the count of cards tells.
  expect_right(node({kA100,
                     kCount1,
                     {"nvidia.com/gpu.replicas", "1"},
                     {"nvidia.com/gpu.sharing-strategy", "none"}},
                    {renamed}),
               1, 50);
  // gpu-operator#684.
  expect_right(node({{"nvidia.com/gpu.product", "Tesla-T4-SHARED"},
                     kCount1,
                     {"nvidia.com/gpu.replicas", "4"}},
                    {{"nvidia.com/gpu", "4"}}),
               1, 4);
  const NodeSpec slices =
      node({kA100, kCount8, {"nvidia.com/mig-1g.5gb.count", "7"}},
           {{"nvidia.com/mig-1g.5gb.shared", "28"}, {"nvidia.com/mig-1g.5gb", "0"}});
  expect_right(slices, 8);
  EXPECT_EQ(slices.mig, (std::vector<MigSlices>{{"1g.5gb", 7}}));
}

TEST(NodeContradiction, LabelsThatAreNoNumbers) {
  expect_contradiction(node({kA100, {"nvidia.com/gpu.count", "eight"}}, {{"nvidia.com/gpu", "8"}}),
                       "nvidia.com/gpu.count=eight is no number", 8);
  expect_contradiction(node({kA100, {"nvidia.com/gpu.count", "-8"}}, {{"nvidia.com/gpu", "8"}}),
                       "nvidia.com/gpu.count=-8 is no number", 8);
  expect_contradiction(
      node({kA100, kCount8, {"nvidia.com/gpu.replicas", "4.0"}}, {{"nvidia.com/gpu", "8"}}),
      "nvidia.com/gpu.replicas=4.0 is no number", 8);
  expect_contradiction(
      node({kA100, {"nvidia.com/gpu.count", "9000000000000000000"}}, {{"nvidia.com/gpu", "8"}}),
      "nvidia.com/gpu.count=9000000000000000000 is more than 64", 8);
  // k8s-device-plugin#1433.
  expect_contradiction(
      node({kA100, kCount1, {"nvidia.com/gpu.replicas", "16384"}}, {{"nvidia.com/gpu", "16384"}}),
      "nvidia.com/gpu.replicas=16384 is more than 1000, "
      "nvidia.com/gpu 16384 shared by 1000 contradicts nvidia.com/gpu.count=1",
      1);
  expect_right(node({kA100, {"nvidia.com/gpu.count", ""}}, {{"nvidia.com/gpu", "8"}}), 8);
  EXPECT_EQ(node({{"nvidia.com/gpu.count", "eight"}}, {{"cpu", "8"}}).unfit, "") << "has no GPUs";
}

constexpr std::pair kGb200{"nvidia.com/gpu.product", "NVIDIA-GB200"};
constexpr char kUuid[] = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31";

NodeSpec in_clique(std::pair<const char*, const char*> product, const std::string& clique) {
  return node({product, {"nvidia.com/gpu.clique", clique.c_str()}}, {{"nvidia.com/gpu", "4"}});
}

TEST(NodeContradiction, ACliqueThatCannotBe) {
  const std::string zeros = "00000000-0000-0000-0000-000000000000.0";
  const std::string label = "nvidia.com/gpu.clique=";
  for (const auto& product : {kGb200, kH100}) {
    const NodeSpec none = in_clique(product, zeros);
    expect_contradiction(none, label + zeros + " has a ClusterUUID of zeros", 4);
    EXPECT_EQ(none.clique, "");
  }
  for (const char* clique : {".", "a", kUuid, "a.", ".1", "a.b", "1"}) {
    const NodeSpec none = in_clique(kGb200, clique);
    expect_contradiction(none, label + clique + " is no ClusterUUID.CliqueID", 4);
    EXPECT_EQ(none.clique, "");
  }
  const std::string whole = std::string(kUuid) + ".1";
  for (const char* product :
       {"NVIDIA-H100-80GB-HBM3", "NVIDIA-H200", "NVIDIA-B200", "NVIDIA-B300-SXM6-AC",
        "NVIDIA-A100-SXM4-80GB", "Tesla-T4", "NVIDIA-L40S", "NVIDIA-H100-PCIe", "NVIDIA-H200-NVL",
        "NVIDIA-H20", "Tesla-V100-SXM2-16GB", "NVIDIA-H100-80GB-HBM3-SHARED"}) {
    std::string card(product);
    if (card.ends_with("-SHARED")) card.resize(card.size() - 7);
    const NodeSpec n = in_clique({"nvidia.com/gpu.product", product}, whole);
    EXPECT_NE(n.unfit.find(label + whole + " contradicts nvidia.com/gpu.product=" + card +
                           ": no NVLink between nodes"),
              std::string::npos)
        << n.unfit;
    EXPECT_EQ(n.clique, "") << product;
  }
}

TEST(NodeContradiction, CliquesThatAre) {
  for (const char* id : {".0", ".1", ".32766", ".32767"}) {
    const NodeSpec n = in_clique(kGb200, kUuid + std::string(id));
    expect_right(n, 4);
    EXPECT_EQ(n.clique, kUuid + std::string(id));
  }
  for (const char* product : {"NVIDIA-GB300", "NVIDIA-GH200-480GB", "Card-Of-Tomorrow"}) {
    expect_right(in_clique({"nvidia.com/gpu.product", product}, "rack-7.1"), 4);
  }
  expect_right(in_clique(kH100, ""), 4);
}

// GKE's nodes have no feature discovery; its plugin calls slices and shares nvidia.com/gpu.
TEST(NodeContradiction, PoolsOfGke) {
  const std::pair t4{"cloud.google.com/gke-accelerator", "nvidia-tesla-t4"};
  const std::pair a100{"cloud.google.com/gke-accelerator", "nvidia-tesla-a100"};
  const std::pair one{"cloud.google.com/gke-accelerator-count", "1"};
  const std::pair sharing{"cloud.google.com/gke-gpu-sharing-strategy", "time-sharing"};
  const std::pair clients{"cloud.google.com/gke-max-shared-clients-per-gpu", "48"};
  const std::pair size{"cloud.google.com/gke-gpu-partition-size", "1g.5gb"};
  const NodeSpec shared = node({t4, one, sharing, clients}, {{"nvidia.com/gpu", "48"}});
  expect_right(shared, 1, 48);
  EXPECT_EQ(shared.product, "Tesla-T4");
  expect_right(node({t4, sharing, clients}, {{"nvidia.com/gpu", "96"}}), 2, 48);
  const NodeSpec cut = node({a100, one, size}, {{"nvidia.com/gpu", "7"}});
  expect_right(cut, 1);
  EXPECT_EQ(cut.product, "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(cut.mig, (std::vector<MigSlices>{{"1g.5gb", 7}}));
  const NodeSpec both =
      node({a100, one, size, {"cloud.google.com/gke-max-shared-clients-per-gpu", "3"}, sharing},
           {{"nvidia.com/gpu", "21"}});
  expect_right(both, 1);
  EXPECT_EQ(both.mig, (std::vector<MigSlices>{{"1g.5gb", 7}}));
  const NodeSpec whole = node({{"cloud.google.com/gke-accelerator", "nvidia-h100-mega-80gb"},
                               {"cloud.google.com/gke-accelerator-count", "8"}},
                              {{"nvidia.com/gpu", "8"}});
  expect_right(whole, 8);
  EXPECT_EQ(whole.product, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(node({{"cloud.google.com/gke-accelerator", "nvidia-of-tomorrow"}, one},
                 {{"nvidia.com/gpu", "1"}})
                .product,
            "nvidia-of-tomorrow");

  const std::string count = "cloud.google.com/gke-accelerator-count=1";
  expect_contradiction(node({t4, one}, {{"nvidia.com/gpu", "48"}}),
                       "nvidia.com/gpu 48 contradicts " + count, 1);
  expect_contradiction(node({t4, one, clients}, {{"nvidia.com/gpu", "96"}}),
                       "nvidia.com/gpu 96 shared by 48 contradicts " + count, 1);
  expect_contradiction(node({a100, one, size}, {{"nvidia.com/gpu", "8"}}),
                       "nvidia.com/gpu 8 of 1g.5gb contradicts " + count, 1);
  expect_contradiction(node({t4, sharing}, {{"nvidia.com/gpu", "48"}}),
                       "nvidia.com/gpu 48 shared without a replica count", 1);
  expect_contradiction(
      node({t4, one, clients, {"nvidia.com/gpu.replicas", "4"}}, {{"nvidia.com/gpu", "4"}}),
      "nvidia.com/gpu.replicas=4 contradicts "
      "cloud.google.com/gke-max-shared-clients-per-gpu=48",
      1);
}

TEST(NodeContradiction, SeveralAreAllSaid) {
  const NodeSpec n = node({kH100, kCount1, {"nvidia.com/gpu.clique", "a"}},
                          {{"nvidia.com/gpu", "8"}}, {{"nvidia.com/gpu", "8"}});
  expect_contradiction(n,
                       "nvidia.com/gpu 8 contradicts nvidia.com/gpu.count=1, "
                       "nvidia.com/gpu.clique=a is no ClusterUUID.CliqueID",
                       1);
}

}  // namespace
}  // namespace subak
