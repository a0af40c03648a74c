// What MIG Manager's labels say about a node, in each state of a change of its slices.
#include "kube/node/node_mig.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kube/node/node.h"
#include "placement/gpus/mig_cut.h"

namespace subak {
namespace {

using Texts = std::map<std::string, std::string>;

std::string object_of(const Texts& entries) {
  std::string text;
  for (const auto& [key, value] : entries) {
    text += (text.empty() ? "{\"" : ",\"") + key + "\":\"" + value + '"';
  }
  return text.empty() ? "{}" : text + "}";
}

// A node of a played cluster. Its product and GPU count are labelled, as feature discovery does.
struct PlayedNode {
  Texts labels{{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"}, {"nvidia.com/gpu.count", "8"}};
  Texts capacity, allocatable;

  PlayedNode& label(const std::string& key, const std::string& value) {
    labels["nvidia.com/" + key] = value;
    return *this;
  }
  PlayedNode& offer(const Texts& resources) {
    capacity.clear();
    for (const auto& [name, count] : resources) capacity["nvidia.com/" + name] = count;
    allocatable = capacity;
    return *this;
  }
  // The device plugin goes: the kubelet reports nothing allocatable, and later 0 of each resource.
  PlayedNode& plugin_stops(bool grace_is_over) {
    for (auto& [name, count] : allocatable) count = "0";
    if (grace_is_over) capacity = allocatable;
    return *this;
  }
  NodeSpec read() const {
    const auto nodes = read_kube_nodes(R"({"metadata":{"name":"n","labels":)" + object_of(labels) +
                                       R"(},"status":{"capacity":)" + object_of(capacity) +
                                       R"(,"allocatable":)" + object_of(allocatable) + "}}");
    EXPECT_TRUE(nodes.ok()) << nodes.error().message();
    return nodes.ok() ? nodes->front() : NodeSpec();
  }
  std::string unfit() const { return read().unfit; }
};

PlayedNode configured(const std::string& config, const std::string& state) {
  PlayedNode node;
  node.label("mig.config", config);
  if (!state.empty()) node.label("mig.config.state", state);
  return node;
}

TEST(NodeMig, OnlyTheStateSuccessOrNoneLeavesANodeOpen) {
  const Texts whole{{"gpu", "8"}};
  EXPECT_EQ(configured("all-disabled", "success").offer(whole).unfit(), "");
  EXPECT_EQ(configured("all-disabled", "").offer(whole).unfit(), "");
  for (const std::string state : {"pending", "rebooting", "failed", "a-new-one"}) {
    EXPECT_EQ(configured("all-disabled", state).offer(whole).unfit(),
              "nvidia.com/mig.config.state is " + state);
  }
}

TEST(NodeMig, ASuccessOfAnotherConfigurationIsNone) {
  const Texts whole{{"gpu", "8"}}, ones{{"mig-1g.10gb", "56"}}, threes{{"mig-3g.40gb", "16"}};
  const std::string label = "nvidia.com/mig.config is ";
  EXPECT_EQ(configured("all-1g.10gb", "success").offer(whole).unfit(),
            label + "all-1g.10gb but the node offers 8 whole GPUs");
  EXPECT_EQ(configured("all-1g.10gb", "success").offer(threes).unfit(),
            label + "all-1g.10gb but the node offers slices 3g.40gb=16");
  EXPECT_EQ(configured("all-1g.10gb", "").offer(whole).unfit(),
            label + "all-1g.10gb but the node offers 8 whole GPUs");
  EXPECT_EQ(configured("all-1g.10gb", "success").offer(ones).unfit(), "");
  EXPECT_EQ(configured("all-disabled", "success").offer(ones).unfit(),
            label + "all-disabled but the node offers slices 1g.10gb=56");
  EXPECT_EQ(configured("all-enabled", "success").offer(whole).unfit(),
            label + "all-enabled but the node offers 8 whole GPUs");
  EXPECT_EQ(configured("all-balanced", "success").offer(whole).unfit(),
            label + "all-balanced but the node offers 8 whole GPUs");
  EXPECT_EQ(configured("all-balanced", "success")
                .offer({{"mig-1g.10gb", "16"}, {"mig-2g.20gb", "8"}, {"mig-3g.40gb", "8"}})
                .unfit(),
            "");
  EXPECT_FALSE(configured("all-1g.10gb", "success").offer(whole).read().contradicts)
      << "a change is no contradiction";
}

TEST(NodeMig, AConfigurationThatAPersonNamedSaysNothing) {
  for (const std::string name : {"inference", "all-small", "all-1g", "all-10gb", "1g.10gb", ""}) {
    EXPECT_EQ(configured(name, "success").offer({{"gpu", "8"}}).unfit(), "") << name;
  }
}

TEST(NodeMig, NamesOfTheSameSizeAgree) {
  // Drivers name GB200's slices differently; device plugins before 0.20 drop "+me".
  PlayedNode gb200 = configured("all-1g.23gb", "success").offer({{"mig-1g.24gb", "28"}});
  gb200.label("gpu.product", "NVIDIA-GB200").label("gpu.count", "4");
  EXPECT_EQ(gb200.unfit(), "");
  EXPECT_EQ(configured("all-1g.10gb.me", "success").offer({{"mig-1g.10gb", "8"}}).unfit(), "");
  EXPECT_NE(configured("all-1g.20gb", "success").offer({{"mig-1g.10gb", "8"}}).unfit(), "");
  EXPECT_EQ(configured("all-1g.99gb", "success").offer({{"mig-1g.99gb", "8"}}).unfit(), "");
}

TEST(NodeMig, OfStrategySingleTheProductSaysWhatIsOffered) {
  const auto single = [](const std::string& config) {
    PlayedNode node = configured(config, "success").offer({{"gpu", "56"}});
    return node.label("gpu.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb").label("gpu.count", "56");
  };
  EXPECT_EQ(single("all-1g.10gb").unfit(), "");
  EXPECT_EQ(single("all-disabled").unfit(),
            "nvidia.com/mig.config is all-disabled but the node offers slices 1g.10gb=56")
      << "feature discovery has not looked again";
}

// One change from begin to end, as MIG Manager makes it.
TEST(NodeMig, AChangeFromBeginToEnd) {
  PlayedNode node = configured("all-1g.10gb", "success").offer({{"mig-1g.10gb", "56"}});
  node.label("mig-1g.10gb.count", "56");
  const NodeSpec before = node.read();
  EXPECT_EQ(before.unfit, "");
  node.label("mig.config", "all-2g.20gb");
  EXPECT_EQ(node.unfit(),
            "nvidia.com/mig.config is all-2g.20gb but the node offers slices 1g.10gb=56");
  node.label("mig.config.state", "pending");
  node.label("gpu.deploy.device-plugin", "paused-for-mig-change");
  const std::string paused =
      "nvidia.com/mig.config.state is pending, "
      "nvidia.com/gpu.deploy.device-plugin is paused-for-mig-change, ";
  EXPECT_TRUE(node.unfit().starts_with(paused)) << node.unfit();
  for (const bool grace_is_over : {false, true}) {
    const NodeSpec during = node.plugin_stops(grace_is_over).read();
    EXPECT_EQ(during.unfit, paused + "none of its 8 GPUs is allocatable");
    EXPECT_EQ(during.gpus, before.gpus);
    EXPECT_EQ(during.mig_gpus, before.mig_gpus);
    EXPECT_EQ(during.mig, before.mig) << "running pods hold slices";
    EXPECT_EQ(during.product, before.product) << "the product says what a slice costs";
    EXPECT_EQ(during.unhealthy_gpus, 0);
  }
  node.label("mig.config.state", "success").label("gpu.deploy.device-plugin", "true");
  EXPECT_EQ(node.unfit(), "none of its 8 GPUs is allocatable") << "the plugin is not back";
  node.offer({{"mig-1g.10gb", "0"}, {"mig-2g.20gb", "24"}});
  EXPECT_EQ(node.unfit(), "") << "labels and allocatable agree";
  EXPECT_EQ(mig_slices_text(node.read().mig), "2g.20gb=24");
}

TEST(NodeMig, WithoutThePluginTheLabelsNameTheSlices) {
  PlayedNode single = configured("all-1g.10gb", "pending").offer({{"gpu", "56"}});
  single.label("gpu.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb").label("gpu.count", "56");
  const NodeSpec of_single = single.plugin_stops(true).read();
  EXPECT_EQ(of_single.gpus, 8);
  EXPECT_EQ(of_single.mig, (std::vector<MigSlices>{{"1g.10gb", 56}}));

  PlayedNode half = configured("half", "rebooting");
  half.offer({{"gpu", "4"}, {"mig-1g.10gb", "28"}}).label("mig-1g.10gb.count", "28");
  const NodeSpec of_half = half.plugin_stops(true).read();
  EXPECT_EQ(of_half.gpus, 8);
  EXPECT_EQ(of_half.mig_gpus, 4) << "the others are whole";
  EXPECT_EQ(of_half.unhealthy_gpus, 0);
  EXPECT_EQ(of_half.mig, (std::vector<MigSlices>{{"1g.10gb", 28}}));
  EXPECT_EQ(of_half.unfit,
            "nvidia.com/mig.config.state is rebooting, none of its 8 GPUs is allocatable");

  PlayedNode shared = configured("small", "pending").offer({{"mig-1g.10gb.shared", "14"}});
  shared.label("gpu.count", "1").label("mig-1g.10gb.count", "7");
  shared.label("mig-1g.10gb.replicas", "2");
  EXPECT_EQ(mig_slices_text(shared.plugin_stops(true).read().mig), "1g.10gb=7");
}

TEST(NodeMig, LabelsThatNoCardCanHaveNameNoSlices) {
  for (const std::string count : {"0", "-1", "seven", "9000000000000000000", ""}) {
    PlayedNode node = configured("all-1g.10gb", "pending").offer({{"gpu", "0"}});
    node.label("mig-1g.10gb.count", count);
    EXPECT_TRUE(labelled_resources(node.read()).empty()) << count;
    EXPECT_EQ(node.read().gpus, 8) << count;
  }
  PlayedNode many = configured("all-1g.10gb", "pending").offer({{"gpu", "0"}});
  many.label("mig-1g.10gb.count", "57");
  EXPECT_TRUE(many.read().contradicts) << many.unfit();
  EXPECT_TRUE(many.read().mig.empty());
}

}  // namespace
}  // namespace subak
