#include "kube/node/node.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "core/limits.h"

namespace subak {
namespace {

constexpr char kH100[] = "NVIDIA-H100-80GB-HBM3";

std::string file(const std::string& name) {
  std::ifstream in("tests/cli/data/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

NodeSpec one(const std::string& json, const KubeNodeOptions& options = {}) {
  auto nodes = read_kube_nodes(json, options);
  EXPECT_TRUE(nodes.ok()) << nodes.error().message();
  if (!nodes.ok() || nodes->size() != 1) return {};
  return nodes->front();
}

std::map<std::string, NodeSpec> fleet() {
  auto nodes = read_kube_nodes(file("fleet.json"));
  EXPECT_TRUE(nodes.ok()) << nodes.error().message();
  std::map<std::string, NodeSpec> by_name;
  if (!nodes.ok()) return by_name;
  for (NodeSpec& node : *nodes) by_name[node.name] = node;
  return by_name;
}

TEST(KubeNode, HgxNodeWithASickGpu) {
  const NodeSpec n = one(file("hgx.json"));
  EXPECT_EQ(n.name, "hgx-01");
  EXPECT_EQ(n.product, kH100);
  EXPECT_EQ(n.gpus, 8);
  EXPECT_EQ(n.unhealthy_gpus, 1);
  EXPECT_EQ(n.replicas, 0);
  EXPECT_EQ(n.mig_gpus, 0);
  EXPECT_EQ(n.cpu_milli, 191'500);
  EXPECT_EQ(n.memory_bytes, std::int64_t{2'113'299'600} * 1024);
  EXPECT_EQ(n.pod_slots, 110);
  ASSERT_EQ(n.extended.size(), 1U);
  EXPECT_EQ(n.extended[0], (ResourceCount{"rdma/ib", 8}));
  ASSERT_EQ(n.taints.size(), 1U);
  EXPECT_EQ(n.taints[0], (Taint{"nvidia.com/gpu", "present", "NoSchedule"}));
  EXPECT_EQ(n.labels.size(), 8U);
  EXPECT_TRUE(n.ready);
  EXPECT_FALSE(n.unschedulable);
  EXPECT_TRUE(n.levels.empty());
}

TEST(KubeNode, LevelsAreTheLabelsThatWereAskedFor) {
  const auto levels = [](std::vector<std::string> labels) {
    KubeNodeOptions options;
    options.topology_labels = std::move(labels);
    return one(R"({"metadata":{"name":"n","labels":{"rack":"r7","fabric.topograph.run/tier-1":"b2",)"
               R"("fabric.topograph.run/tier-0":"leaf-3","pod":"s1"}}})",
               options)
        .levels;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(levels({}), Names());
  EXPECT_EQ(levels({"rack"}), Names({"r7"}));
  EXPECT_EQ(levels({"fabric.topograph.run/tier-0", "fabric.topograph.run/tier-1",
                    "fabric.topograph.run/tier-2"}),
            Names({"leaf-3", "b2"}));
  EXPECT_EQ(levels({"rack", "block", "pod"}), Names({"r7", "", "s1"})) << "in no block";
  EXPECT_EQ(levels({"block"}), Names());
  EXPECT_EQ(levels({"rack", "rack", "rack", "rack", "pod"}).size(), limits::kTopologyLevels);
  EXPECT_EQ(one(file("hgx.json"), {{"topology.example.com/rack"}, {}}).levels, Names({"r7"}));
}

// A node of 8 GPUs with these labels.
NodeSpec labelled(const std::string& labels, const NodeLabelKeys& keys,
                  const std::string& gpus = R"("nvidia.com/gpu":"8")") {
  KubeNodeOptions options;
  options.labels = keys;
  return one(R"({"metadata":{"name":"n","labels":{"nvidia.com/gpu.product":"NVIDIA-L40S")" +
                 labels + R"(}},"status":{"allocatable":{)" + gpus + "}}}",
             options);
}

TEST(KubeNode, LabelsSayWhatTheKubeletAligns) {
  const NodeLabelKeys keys{"x/fabric", "x/policy", "x/gpus", "x/cpus", false};
  const std::string counts = R"(,"x/gpus":"4","x/cpus":"48")";
  const NodeSpec strict = labelled(R"(,"x/policy":"single-numa-node")" + counts, keys);
  EXPECT_EQ(strict.numa_gpus, 4);
  EXPECT_EQ(strict.numa_cpu_milli, 48'000);
  EXPECT_EQ(strict.unfit, "");
  for (const char* policy : {"none", "best-effort", "restricted"}) {
    const NodeSpec n = labelled(R"(,"x/policy":")" + std::string(policy) + '"' + counts, keys);
    EXPECT_EQ(n.numa_gpus + n.numa_cpu_milli, 0) << policy;
  }
  EXPECT_EQ(labelled(counts, keys).numa_gpus, 0) << "without a policy";
  EXPECT_EQ(labelled(R"(,"x/policy":"single-numa-node")" + counts, {}).numa_gpus, 0);
  const NodeSpec wrong =
      labelled(R"(,"x/policy":"single-numa-node","x/gpus":"four","x/cpus":"48")", keys);
  EXPECT_EQ(wrong.numa_gpus, 0);
  EXPECT_TRUE(wrong.contradicts);
  EXPECT_EQ(wrong.unfit, "x/gpus=four is no number from 1 to 64");
}

TEST(KubeNode, LabelNamesTheFabric) {
  EXPECT_EQ(labelled(R"(,"x/fabric":"ib-1")", {"x/fabric", "", "", "", false}).fabric, "ib-1");
  EXPECT_EQ(labelled(R"(,"x/fabric":"ib-1")", {}).fabric, "");
}

TEST(KubeNode, SomeDevicePluginsGiveOneReplica) {
  const std::string shared = R"("nvidia.com/gpu":"16")";
  const std::string label = R"(,"nvidia.com/gpu.count":"8","nvidia.com/gpu.replicas":"2",)"
                            R"("nvidia.com/gpu.sharing-strategy":)";
  EXPECT_TRUE(labelled(label + R"("mps")", {}, shared).one_replica);
  EXPECT_FALSE(labelled(label + R"("time-slicing")", {}, shared).one_replica);
  NodeLabelKeys fail;
  fail.fail_greater_than_one = true;
  EXPECT_TRUE(labelled(label + R"("time-slicing")", fail, shared).one_replica);
  EXPECT_FALSE(labelled("", fail).one_replica) << "whole GPUs";
}

TEST(KubeNode, HugePagesAreCounted) {
  const NodeSpec n = labelled("", {},
                              R"("nvidia.com/gpu":"8","hugepages-1Gi":"0",)"
                              R"("hugepages-2Mi":"64Mi","ephemeral-storage":"1Ti")");
  EXPECT_EQ(n.extended, (std::vector<ResourceCount>{{"hugepages-2Mi", 64 << 20}}));
}

TEST(KubeNode, CliqueIsTheWholeLabel) {
  const NodeSpec n = fleet()["gb200-r1-n1"];
  EXPECT_EQ(n.clique, "7b968a6d-c8aa-45e1-9e07-e1e51be99c31.1");
  EXPECT_EQ(n.gpus, 4);
  EXPECT_EQ(n.product, "NVIDIA-GB200");
}

TEST(KubeNode, MixedMigKeepsWholeGpusApart) {
  const NodeSpec n = fleet()["mig-mixed"];
  EXPECT_EQ(n.gpus, 8);
  EXPECT_EQ(n.mig_gpus, 4);
  EXPECT_EQ(n.unhealthy_gpus, 0);
  EXPECT_EQ(n.mig, (std::vector<MigSlices>{{"1g.10gb", 14}, {"3g.40gb", 4}}));
  EXPECT_EQ(n.memory_bytes, std::int64_t{1} << 40);
}

TEST(KubeNode, SingleMigCountsSlicesAsGpus) {
  const NodeSpec n = fleet()["mig-single"];
  EXPECT_EQ(n.product, kH100);
  EXPECT_EQ(n.gpus, 8);
  EXPECT_EQ(n.mig_gpus, 8);
  EXPECT_EQ(n.mig, (std::vector<MigSlices>{{"1g.10gb", 56}}));
}

std::string cut_node(const std::string& count, const std::string& resources) {
  return R"({"metadata":{"name":"m","labels":{"nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3")" +
         (count.empty() ? "" : R"(,"nvidia.com/gpu.count":")" + count + '"') +
         R"(}},"status":{"allocatable":{)" + resources + "}}}";
}

TEST(KubeNode, WithoutALabelTheFewestCardsThatCanBeCutSo) {
  const auto cards = [](const std::string& slices) { return one(cut_node("", slices)).mig_gpus; };
  EXPECT_EQ(cards(R"("nvidia.com/mig-1g.10gb":"7")"), 1);
  EXPECT_EQ(cards(R"("nvidia.com/mig-2g.20gb":"4")"), 2) << "8 memory units, but three to a card";
  EXPECT_EQ(cards(R"("nvidia.com/mig-4g.40gb":"1","nvidia.com/mig-1g.10gb":"4")"), 2);
  EXPECT_EQ(cards(R"("nvidia.com/mig-4g.40gb":"1","nvidia.com/mig-1g.10gb":"3")"), 1);
}

TEST(KubeNode, SlicesThatCannotBeCutFromItsCardsAreAContradiction) {
  const std::string fits =
      cut_node("2", R"("nvidia.com/mig-3g.40gb":"2","nvidia.com/mig-2g.20gb":"4")");
  EXPECT_EQ(one(fits).mig_gpus, 2);
  EXPECT_EQ(one(fits).unfit, "");
  const NodeSpec wrong = one(cut_node(
      "3", R"("nvidia.com/gpu":"1","nvidia.com/mig-3g.40gb":"3","nvidia.com/mig-4g.40gb":"2")"));
  EXPECT_EQ(wrong.unfit,
            "nvidia.com/gpu 1 and slices 3g.40gb=3 4g.40gb=2 contradicts nvidia.com/gpu.count=3");
  EXPECT_TRUE(wrong.contradicts);
  EXPECT_EQ(wrong.gpus, 3);
  const NodeSpec unknown =
      one(cut_node("3", R"("nvidia.com/gpu":"1","nvidia.com/mig-9g.1gb":"99")"));
  EXPECT_EQ(unknown.gpus, 3);
  EXPECT_EQ(unknown.unfit, "") << "of slices in no table nothing is said";
}

// A node of 8 such cards, with these labels beside its product.
std::string box(const std::string& product, const std::string& labels) {
  return R"({"metadata":{"name":"box","labels":{"nvidia.com/gpu.product":")" + product + "\"" +
         labels + R"(}},"status":{"allocatable":{"nvidia.com/gpu":"8"}}})";
}
std::string joined(const char* gpus) {
  return std::string(R"(,"subak.gpu/gpus-per-domain":")") + gpus + "\"";
}
constexpr char kInClique[] = R"(,"nvidia.com/gpu.clique":"a.1")";
constexpr char kGb200[] = "NVIDIA-GB200";

TEST(KubeNode, WhatNvlinkJoinsFollowsFromTheProduct) {
  EXPECT_EQ(one(file("hgx.json")).gpus_per_domain, 0);
  EXPECT_EQ(one(box(kH100, "")).gpus_per_domain, 0);
  EXPECT_EQ(one(box("NVIDIA-H100-PCIe", "")).gpus_per_domain, 1);
  EXPECT_EQ(one(box("NVIDIA-L40S", "")).gpus_per_domain, 1);
  EXPECT_EQ(one(box(kGb200, kInClique)).gpus_per_domain, 0);
  EXPECT_EQ(fleet()["gb200-r1-n1"].gpus_per_domain, 0);
  EXPECT_EQ(fleet()["sliced"].gpus_per_domain, 1);  // T4
  EXPECT_EQ(fleet()["cpu-1"].gpus_per_domain, 0);
}

TEST(KubeNode, OrFromALabel) {
  EXPECT_EQ(one(box("NVIDIA-H200-NVL", joined("4"))).gpus_per_domain, 4);
  EXPECT_EQ(one(box("NVIDIA-H200-NVL", joined("8"))).gpus_per_domain, 0);
  EXPECT_EQ(one(box("NVIDIA-H200-NVL", joined(""))).gpus_per_domain, 1);
  EXPECT_EQ(one(box(kH100, joined("1"))).gpus_per_domain, 1);
  EXPECT_EQ(one(box("NVIDIA-L40S", joined("1"))).gpus_per_domain, 1);
  EXPECT_EQ(one(box(kGb200, kInClique + joined("8"))).gpus_per_domain, 0);
}

TEST(KubeNode, ALabelOfNvlinkThatCannotBeIsAContradiction) {
  struct Case {
    std::string node, unfit;
    std::int64_t read = 0;  // what is taken to be so
  };
  const std::string label = "subak.gpu/gpus-per-domain=";
  for (const auto& [node, unfit, read] :
       {Case{box(kH100, joined("half")), label + "half is no number from 1 to 64", 1},
        Case{box(kH100, joined("0")), label + "0 is no number from 1 to 64", 1},
        Case{box(kH100, joined("65")), label + "65 is no number from 1 to 64", 1},
        Case{box(kGb200, kInClique + joined("-4")), label + "-4 is no number from 1 to 64", 0},
        Case{box("NVIDIA-L40S", joined("4")),
             label + "4 contradicts nvidia.com/gpu.product=NVIDIA-L40S: no NVLink", 1},
        Case{box(kGb200, kInClique + joined("4")),
             label + "4 contradicts nvidia.com/gpu.clique=a.1, which joins all 8", 0}}) {
    const NodeSpec known = one(node);
    EXPECT_EQ(known.unfit, unfit);
    EXPECT_TRUE(known.contradicts);
    EXPECT_EQ(known.gpus_per_domain, read) << node;
    EXPECT_EQ(known.gpus, 8);
  }
}

TEST(KubeNode, TimeSlicingUnderBothNames) {
  auto nodes = fleet();
  EXPECT_EQ(nodes["sliced"].product, "Tesla-T4");
  EXPECT_EQ(nodes["sliced"].gpus, 4);
  EXPECT_EQ(nodes["sliced"].replicas, 5);
  EXPECT_EQ(nodes["sliced"].unhealthy_gpus, 1);
  EXPECT_EQ(nodes["sliced-renamed"].gpus, 2);
  EXPECT_EQ(nodes["sliced-renamed"].replicas, 4);
  EXPECT_EQ(nodes["sliced-renamed"].unhealthy_gpus, 0);
}

TEST(KubeNode, DevicesOfAnotherMakerCountOnceTheyAreNamed) {
  const std::string node =
      R"({"metadata":{"name":"n"},"status":{"capacity":{"example.com/gpu":"8","example.com/nic":"2"},)"
      R"("allocatable":{"example.com/gpu":"7","example.com/nic":"2"}}})";
  const NodeSpec unknown = one(node);
  EXPECT_EQ(unknown.gpus, 0);
  EXPECT_EQ(unknown.extended.size(), 2U);
  const NodeSpec known = one(node, {{}, {"example.com/gpu", "nvidia.com/gpu"}});
  EXPECT_EQ(known.gpus, 8);
  EXPECT_EQ(known.unhealthy_gpus, 1);
  EXPECT_EQ(known.product, "GPU");
  ASSERT_EQ(known.extended.size(), 1U);
  EXPECT_EQ(known.extended[0], (ResourceCount{"example.com/nic", 2}));
  const NodeSpec hgx = one(file("hgx.json"), {{}, {"nvidia.com/gpu"}});
  EXPECT_EQ(hgx.gpus, 8) << "named twice it counts once";
  const auto many = read_kube_nodes(
      R"({"metadata":{"name":"n"},"status":{"capacity":{"example.com/gpu":"9000000000"}}})",
      {{}, {"example.com/gpu"}});
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().field, "node n: example.com/gpu");
}

TEST(KubeNode, ConditionsAndPlainNodes) {
  auto nodes = fleet();
  EXPECT_TRUE(nodes["cordoned"].unschedulable);
  EXPECT_TRUE(nodes["cordoned"].ready);
  EXPECT_FALSE(nodes["lost"].ready);
  EXPECT_EQ(nodes["lost"].not_ready_since_ms, 1'772'366'400'000);
  EXPECT_EQ(nodes["lost"].gpus, 8);  // installed although the plugin no longer says so
  EXPECT_EQ(nodes["lost"].unfit, "none of its 8 GPUs is allocatable");
  EXPECT_EQ(nodes["cpu-1"].gpus, 0);
  EXPECT_EQ(nodes["cpu-1"].product, "");
  EXPECT_EQ(nodes["cpu-1"].cpu_milli, 15'890);
}

// A node of 8 GPUs with these labels, conditions and counts.
std::string ailing(const std::string& labels, const std::string& conditions = "",
                   const std::string& allocatable = "8") {
  return R"({"metadata":{"name":"n","labels":{"nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB")" +
         labels + R"(}},"status":{"conditions":[{"type":"Ready","status":"True"})" + conditions +
         R"(],"capacity":{"nvidia.com/gpu":"8"},"allocatable":{"nvidia.com/gpu":")" + allocatable +
         "\"}}}";
}

TEST(KubeNode, WhatKeepsNewWorkAwayIsNamed) {
  const std::string state = R"(,"nvidia.com/mig.config.state":")";
  EXPECT_EQ(one(ailing("")).unfit, "");
  EXPECT_EQ(one(ailing(state + "success\"")).unfit, "");
  EXPECT_EQ(one(ailing(state + "failed\"")).unfit, "nvidia.com/mig.config.state is failed");
  EXPECT_EQ(one(ailing(state + "pending\"")).unfit, "nvidia.com/mig.config.state is pending");
  EXPECT_EQ(one(ailing(state + "rebooting\"")).unfit, "nvidia.com/mig.config.state is rebooting");
  EXPECT_EQ(one(ailing(R"(,"nvidia.com/gpu.deploy.device-plugin":"true")")).unfit, "");
  EXPECT_EQ(one(ailing(R"(,"nvidia.com/gpu.deploy.device-plugin":"paused-for-mig-change")")).unfit,
            "nvidia.com/gpu.deploy.device-plugin is paused-for-mig-change");
  EXPECT_TRUE(one(ailing(state + "pending\"")).ready) << "the node itself is well";
}

TEST(KubeNode, ANodeThatAnAutoscalerRemovesGetsNothingNew) {
  const auto tainted = [](const std::string& key, const std::string& effect) {
    std::string node = ailing("");
    const std::string_view status = R"("status":{)";
    node.insert(node.find(status),
                R"("spec":{"taints":[{"key":")" + key + R"(","effect":")" + effect + "\"}]},");
    return one(node).unfit;
  };
  EXPECT_EQ(tainted("karpenter.sh/disrupted", "NoSchedule"),
            "an autoscaler removes the node: taint karpenter.sh/disrupted");
  EXPECT_EQ(tainted("ToBeDeletedByClusterAutoscaler", "NoSchedule"),
            "an autoscaler removes the node: taint ToBeDeletedByClusterAutoscaler");
  EXPECT_EQ(tainted("DeletionCandidateOfClusterAutoscaler", "PreferNoSchedule"), "")
      << "only a candidate";
  EXPECT_EQ(tainted("example.com/gpu", "NoSchedule"), "");
}

TEST(KubeNode, FatalConditionsAreAList) {
  const auto condition = [](const std::string& type, const std::string& status) {
    return R"(,{"type":")" + type + R"(","status":")" + status + "\"}";
  };
  EXPECT_EQ(one(ailing("", condition("GpuNvlinkWatch", "False"))).unfit, "");
  EXPECT_EQ(one(ailing("", condition("GpuNvlinkWatch", "Unknown"))).unfit, "");
  EXPECT_EQ(one(ailing("", condition("DiskPressure", "True"))).unfit, "") << "the kubelet's matter";
  EXPECT_EQ(
      one(ailing("", condition("KernelDeadlock", "True") + condition("GpuMemWatch", "True"))).unfit,
      "condition GpuMemWatch, condition KernelDeadlock");
  KubeNodeOptions own;
  own.fatal_conditions = {"CoolantLow"};
  EXPECT_EQ(one(ailing("", condition("GpuMemWatch", "True")), own).unfit, "");
  EXPECT_EQ(one(ailing("", condition("CoolantLow", "True")), own).unfit, "condition CoolantLow");
  own.fatal_conditions.clear();
  for (int i = 0; i < 100; ++i) own.fatal_conditions.push_back("Condition" + std::to_string(i));
  std::string all;
  for (const std::string& type : own.fatal_conditions) all += condition(type, "True");
  EXPECT_LE(one(ailing("", all), own).unfit.size(), 512U);
}

// Nobody says which GPUs are sick: what is there stays, nothing new comes.
TEST(KubeNode, NoneAllocatable) {
  const NodeSpec n = one(ailing("", "", "0"));
  EXPECT_EQ(n.gpus, 8);
  EXPECT_EQ(n.unhealthy_gpus, 0);
  EXPECT_EQ(n.unfit, "none of its 8 GPUs is allocatable");
  EXPECT_EQ(one(ailing("", "", "1")).unfit, "");
  EXPECT_EQ(one(ailing("", "", "1")).unhealthy_gpus, 7);
  const NodeSpec slices =
      one(R"({"metadata":{"name":"n","labels":{"nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB",)"
          R"("nvidia.com/gpu.count":"1"}},"status":{"capacity":{"nvidia.com/mig-1g.10gb":"7"},)"
          R"("allocatable":{"nvidia.com/mig-1g.10gb":"0"}}})");
  EXPECT_EQ(slices.mig, (std::vector<MigSlices>{{"1g.10gb", 7}}));
  EXPECT_EQ(slices.unfit, "none of its 1 GPUs is allocatable");
  EXPECT_EQ(one(R"({"metadata":{"name":"cpu"},"status":{"allocatable":{"cpu":"8"}}})").unfit, "");
}

TEST(KubeNode, JsonLinesAndListsMayFollowEachOther) {
  const std::string a = R"({"kind":"Node","metadata":{"name":"a"}})";
  const auto nodes =
      read_kube_nodes(a + "\n" + R"({"items":[{"metadata":{"name":"b"}}]})" + "\n\n");
  ASSERT_TRUE(nodes.ok()) << nodes.error().message();
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ((*nodes)[1].name, "b");
  EXPECT_TRUE((*nodes)[0].ready);
  EXPECT_TRUE(read_kube_nodes("").ok());
}

TEST(KubeNode, RefusesWithTheNodeAndTheField) {
  const auto message = [](const std::string& json) {
    const auto nodes = read_kube_nodes(json);
    return nodes.ok() ? "accepted" : nodes.error().message();
  };
  const auto node = [](const std::string& allocatable) {
    return R"({"metadata":{"name":"a"},"status":{"allocatable":{)" + allocatable + "}}}";
  };
  EXPECT_NE(message("{\"items\":[").find("want JSON"), std::string::npos);
  EXPECT_NE(message("[]").find("kubectl get nodes"), std::string::npos);
  EXPECT_NE(message(R"({"kind":"Pod","metadata":{"name":"a"}})").find("kind"), std::string::npos);
  EXPECT_NE(message(R"({"metadata":{}})").find("metadata.name"), std::string::npos);
  EXPECT_NE(message(node(R"("cpu":"many")")).find("node a: cpu: was \"many\""), std::string::npos);
  EXPECT_NE(message(node(R"("nvidia.com/gpu":"-1")")).find("nvidia.com/gpu"), std::string::npos);
  EXPECT_NE(message(node(R"("nvidia.com/gpu":"65")")).find("at most 64"), std::string::npos);
  EXPECT_NE(message(node(R"("nvidia.com/gpu":"9e18")")).find("at most"), std::string::npos);
  const std::string twice = node("");
  EXPECT_NE(message(twice + twice).find("once"), std::string::npos);
  EXPECT_NE(message(std::string(100'000, '[')).find("want JSON"), std::string::npos);
}

}  // namespace
}  // namespace subak
