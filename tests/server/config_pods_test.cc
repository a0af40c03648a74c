// The settings about nodes and pods: labels, alignment and routes.
#include <gtest/gtest.h>

#include "server/config/config.h"
#include "tests/server/config_text.h"

namespace subak {
namespace {

using test::accepted;
using test::refusal;

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
      "\", want namespace=NAME:PRODUCT or class=NAME:PRODUCT, such as namespace=notebooks:";
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

}  // namespace
}  // namespace subak
