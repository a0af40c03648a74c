// The settings about nodes and pods: labels, alignment and routes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/config/config.h"
#include "tests/server/config_text.h"

namespace subak {
namespace {

using test::accepted;
using test::refusal;
using ::testing::HasSubstr;

TEST(YamlPods, LabelsOfNodes) {
  const Config c = accepted(
      "rdmaFabricLabel: x/fabric\nnumaPolicyLabel: x/policy\nnumaGpusLabel: x/gpus\n"
      "numaCpusLabel: x/cpus\nfailRequestsGreaterThanOne: true\n");
  EXPECT_EQ(c.node_labels, (NodeLabelKeys{"x/fabric", "x/policy", "x/gpus", "x/cpus", true}));
  EXPECT_EQ(refusal("rdmaFabricLabel: 'a b'\n"),
            "subak.yaml:3: rdmaFabricLabel: was \"a b\", want the key of a node label such as "
            "topology.example.com/rack");
  EXPECT_EQ(refusal("failRequestsGreaterThanOne: 1\n"),
            "subak.yaml:3: failRequestsGreaterThanOne: was \"1\", want true or false");
  const auto checked = [](const std::string& text) {
    const auto error = check_config(accepted(text));
    return error ? error->message() : "";
  };
  EXPECT_EQ(checked("numaCpusLabel: x\n"),
            "numaCpusLabel: was \"x\", want it together with numaPolicyLabel");
  EXPECT_EQ(checked("numaPolicyLabel: x\n"),
            "numaPolicyLabel: was \"x\", want numaGpusLabel or numaCpusLabel beside it");
  EXPECT_EQ(checked("numaPolicyLabel: x\nnumaGpusLabel: y\n"), "");
}

TEST(YamlPods, AlignmentByNamespace) {
  const Config c = accepted("alignment: deny\nalignmentNamespaces: [a=off, dev-*=warn, '*=off']\n");
  EXPECT_EQ(c.alignment.level, Alignment::kDeny);
  EXPECT_EQ(c.alignment.namespaces,
            (std::vector<NamespaceAlignment>{
                {"a", Alignment::kOff}, {"dev-*", Alignment::kWarn}, {"*", Alignment::kOff}}));
  EXPECT_EQ(accepted("mode: warn\n").alignment.level, Alignment::kWarn);
  EXPECT_EQ(refusal("alignment: refuse\n"),
            "subak.yaml:3: alignment: was \"refuse\", want off, warn or deny");
  const std::string want =
      "\", want NAMESPACE=off|warn|deny, such as team-a=deny; a * may end the name";
  for (const char* bad : {"a", "a=", "a=on", "=off", "a*b=off", "A=off", "a-=off", "a=off=off"}) {
    EXPECT_EQ(refusal("alignmentNamespaces: ['" + std::string(bad) + "']\n"),
              "subak.yaml:3: alignmentNamespaces[0]: was \"" + std::string(bad) + want);
  }
  EXPECT_EQ(refusal("alignmentNamespaces: [a=off, a=warn]\n"),
            "subak.yaml:3: alignmentNamespaces[1]: was \"a=warn\", want each namespace once");
}

TEST(YamlPods, Routes) {
  const Config c = accepted(
      "migRouting: ['namespace=nb-*:NVIDIA-A30-MIG-1g.6gb', class=quick:NVIDIA-A30-MIG-1g.6gb]\n"
      "sharedRouting: [namespace=dev:NVIDIA-A10-SHARED]\n");
  EXPECT_EQ(c.routes, (std::vector<GpuRoute>{{"nb-*", "", "NVIDIA-A30-MIG-1g.6gb"},
                                             {"", "quick", "NVIDIA-A30-MIG-1g.6gb"},
                                             {"dev", "", "NVIDIA-A10-SHARED"}}));
  const std::string want =
      "\", want namespace=NAME:PRODUCT or class=PRIORITYCLASS:PRODUCT, such as "
      "namespace=notebooks:";
  for (const char* bad : {"a", "a:NVIDIA-A30-MIG-1g.6gb", "namespace=:NVIDIA-A30-MIG-1g.6gb",
                          "namespace=a:NVIDIA-A30", "namespace=a:NVIDIA-A10-SHARED", "namespace=a",
                          "class=1:NVIDIA-A30-MIG-1g.6gb", "namespace=A:NVIDIA-A30-MIG-1g.6gb"}) {
    EXPECT_EQ(refusal("migRouting: ['" + std::string(bad) + "']\n"),
              "subak.yaml:3: migRouting[0]: was \"" + std::string(bad) + want +
                  "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb");
  }
  EXPECT_EQ(refusal("sharedRouting: [namespace=a:NVIDIA-A30-MIG-1g.6gb]\n"),
            "subak.yaml:3: sharedRouting[0]: was \"namespace=a:NVIDIA-A30-MIG-1g.6gb" + want +
                "NVIDIA-A10-SHARED");
  EXPECT_EQ(
      refusal("sharedRouting: [class=a:X-SHARED, class=a:Y-SHARED]\n"),
      "subak.yaml:3: sharedRouting[1]: was \"class=a:Y-SHARED\", want each namespace and class "
      "in one route");
}

TEST(YamlPods, NodePools) {
  const Config c = accepted(
      "topologyLabels: [rack]\nnodePools:\n"
      "- {name: big, cluster: east, label: pool=big, min: 1, max: 8, product: H100, gpus: 8,\n"
      "   provisioningClass: best-effort-atomic-scale-up.autoscaling.x-k8s.io,\n"
      "   cpu: 95500m, memory: 1Ki, pods: 110, labels: [rack=r1, zone=a],\n"
      "   taints: ['nvidia.com/gpu:NoSchedule', 'team=v:NoExecute'], resources: [rdma/hca=8]}\n");
  NodePool pool{"big", "east", {"pool", "big"}, 1, 8, {}};
  pool.provisioning_class = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
  pool.node.product = "H100";
  pool.node.gpus = 8;
  pool.node.cpu_milli = 95'500;
  pool.node.memory_bytes = 1024;
  pool.node.pod_slots = 110;
  pool.node.labels = {{"pool", "big"}, {"rack", "r1"}, {"zone", "a"}};
  pool.node.taints = {{"nvidia.com/gpu", "", "NoSchedule"}, {"team", "v", "NoExecute"}};
  pool.node.extended = {{"rdma/hca", 8}};
  EXPECT_EQ(c.queue.node_pools, std::vector{pool});
  pool.node.levels = {"r1"};  // the service reads nodes with this label in the same way
  EXPECT_EQ(c.policy_over(Policy()).queue.node_pools, std::vector{pool});
  EXPECT_TRUE(
      accepted("mode: warn\n").policy_over(c.policy_over(Policy())).queue.node_pools.empty());

  const std::string start = "nodePools:\n- {name: a, label: k=v, product: X, gpus: 1, max: 1";
  EXPECT_EQ(accepted(start + "}\n").queue.node_pools.size(), 1);
  const auto refused = [&](const std::string& more) { return refusal(start + more + "}\n"); };
  EXPECT_EQ(refused(", min: 2"),
            "subak.yaml:4: nodePools[0]: was \"2\", want at most 1, the most nodes of the pool");
  EXPECT_EQ(refused(", cpu: x"),
            "subak.yaml:4: nodePools[0].cpu: was \"x\", want CPUs such as 96 or 95500m");
  EXPECT_EQ(refused(", labels: [k=w]"),
            "subak.yaml:4: nodePools[0]: was \"k=v\", want each label once");
  EXPECT_EQ(refused(", labels: k=w"),
            "subak.yaml:4: nodePools[0].labels: was \"k=w\", want a list");
  EXPECT_EQ(accepted(start + ", provisioningClass: a-1.b}\n").queue.node_pools.size(), 1);
  for (const std::string name : {"a..b", "-a", "a-", "a.-b", "a_b", "A", ".a", "a."}) {
    EXPECT_EQ(refused(", provisioningClass: '" + name + "'"),
              "subak.yaml:4: nodePools[0]: was \"" + name +
                  "\", want a DNS name of a-z, 0-9, - and ., such as "
                  "check-capacity.autoscaling.x-k8s.io");
  }
  EXPECT_THAT(refused(", provisioningClass: " + std::string(254, 'a')), HasSubstr("a DNS name"));
  EXPECT_THAT(refused(", size: 2"), HasSubstr("nodePools[0].size: was \"size\", want one of name"));
  EXPECT_THAT(refused(", taints: [x]"), HasSubstr("nodePools[0].taints[0]: was \"x\", want KEY"));
  EXPECT_EQ(refused("}\n- {name: a, label: k=w, product: X, gpus: 1, max: 1"),
            "subak.yaml:5: nodePools[1]: was \"a\", want each pool once");
}

TEST(FlagPods, ANodePool) {
  Config config;
  const auto setting = std::find_if(settings().begin(), settings().end(),
                                    [](const auto& s) { return s.key == "nodePools"; });
  EXPECT_EQ(setting->set(config, "a:label=k=v,labels=x=y,max=3,product=X,gpus=4"), std::nullopt);
  ASSERT_EQ(config.queue.node_pools.size(), 1);
  EXPECT_EQ(config.queue.node_pools[0].most, 3);
  EXPECT_EQ(config.queue.node_pools[0].node.labels, (std::vector<Label>{{"k", "v"}, {"x", "y"}}));
  EXPECT_EQ(setting->set(config, "b:max")->want, "want KEY=VALUE, such as max=8");
  // A pool is in a cluster that the service serves.
  config.clusters = {ClusterConfig{"east", std::nullopt}, ClusterConfig{"west", std::nullopt}};
  EXPECT_EQ(check_config(config)->field, "nodePools");
  config.queue.node_pools[0].cluster = "west";
  EXPECT_EQ(check_config(config), std::nullopt);
}

}  // namespace
}  // namespace subak
