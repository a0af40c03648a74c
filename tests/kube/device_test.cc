// What ResourceSlices, selectors and claims of Dynamic Resource Allocation say.
#include "kube/device/device.h"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "core/edge_limits.h"
#include "kube/device/claim.h"
#include "kube/device/selector.h"
#include "kube/node/node.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A parsed text, which must outlive its values.
struct Document {
  explicit Document(const std::string& text) : padded(text) {
    EXPECT_EQ(parser.parse(padded).get(root), simdjson::SUCCESS) << text;
  }
  simdjson::padded_string padded;
  simdjson::dom::parser parser;
  json::Value root;
};

DeviceKind gpu(const std::string& product, const std::string& memory = "80Gi") {
  DeviceKind kind;
  kind.driver = "gpu.nvidia.com";
  kind.attributes["gpu.nvidia.com/type"] = std::string("gpu");
  kind.attributes["gpu.nvidia.com/productName"] = product;
  kind.attributes["gpu.nvidia.com/cores"] = std::int64_t{132};
  kind.attributes["resource.kubernetes.io/fabric"] = true;
  kind.capacity["gpu.nvidia.com/memory"] = *parse_kube_quantity(memory);
  return kind;
}
DeviceKind mig(const std::string& profile, bool partition = false) {
  DeviceKind kind = gpu("NVIDIA H100 80GB HBM3");
  kind.attributes["gpu.nvidia.com/type"] = std::string("mig");
  kind.attributes["gpu.nvidia.com/profile"] = profile;
  kind.partition = partition;
  return kind;
}

const std::string kType = R"(device.attributes["gpu.nvidia.com"].type)";
const std::string kProduct = R"(device.attributes['gpu.nvidia.com'].productName)";
const std::string kMemory = R"(device.capacity['gpu.nvidia.com'].memory)";
const std::string kUuid = R"(device.attributes["gpu.nvidia.com"].uuid)";

TEST(DeviceSelector, SelectsAsCelDoes) {
  const DeviceKind h100 = gpu("NVIDIA H100 80GB HBM3");
  const std::map<std::string, Selects> cases{
      {"true", Selects::kYes},
      {"device.driver == 'gpu.nvidia.com'", Selects::kYes},
      {"device.driver != \"gpu.nvidia.com\"", Selects::kNo},
      {"device.driver == 'gpu.nvidia.com' && " + kType + " == 'gpu'", Selects::kYes},
      {kType + " == 'mig' || " + kType + " == \"gpu\"", Selects::kYes},
      {"!(" + kType + " == 'mig')", Selects::kYes},
      {kType + " in ['mig', 'vfio']", Selects::kNo},
      {kProduct + ".lowerAscii().contains('h100')", Selects::kYes},
      {kProduct + ".startsWith(\"Tesla\")", Selects::kNo},
      {kMemory + ".compareTo(quantity('40Gi')) >= 0", Selects::kYes},
      {kMemory + ".isGreaterThan(quantity('80Gi'))", Selects::kNo},
      {kMemory + " == quantity(\"81920Mi\")", Selects::kYes},
      {"device.attributes['gpu.nvidia.com']['cores'] > 100", Selects::kYes},
      {"device.attributes['resource.kubernetes.io'].fabric", Selects::kYes},
      // An absent attribute is an error, unless the other side decides.
      {"device.attributes['gpu.nvidia.com'].nothing == 1", Selects::kNo},
      {"device.attributes['gpu.nvidia.com'].nothing == 1 || true", Selects::kYes},
      {"'nothing' in device.attributes['gpu.nvidia.com']", Selects::kNo},
      {"has(device.attributes['gpu.nvidia.com'].cores)", Selects::kYes},
      {"'type' in device.attributes['other.com']", Selects::kNo},
      {kUuid + " == 'GPU-1'", Selects::kByUuid},
      {kType + " == 'mig' && " + kUuid + " == 'GPU-1'", Selects::kNo},
  };
  for (const auto& [selector, want] : cases) {
    EXPECT_EQ(evaluate_selector(selector, h100), want) << selector;
  }
  const std::string one = "GPU-1", other = "GPU-2";
  EXPECT_EQ(evaluate_selector(kUuid + " in ['GPU-1']", h100, &one), Selects::kYes);
  EXPECT_EQ(evaluate_selector(kUuid + " in ['GPU-1']", h100, &other), Selects::kNo);
}

TEST(DeviceSelector, SaysWhatItDoesNotUnderstand) {
  const DeviceKind h100 = gpu("NVIDIA H100 80GB HBM3");
  for (const std::string& selector : std::vector<std::string>{
           "", "device.driver ==", "'open", "device.driver == 'a\\n'",
           kProduct + ".matches('.*H100.*')", "device.attributes['gpu.nvidia.com'].pciBusID == '0'",
           "device.driver == 1.5", "cel.bind(a, 1, a == 1)", std::string(100'000, '('),
           std::string(5'000, '!') + "true", std::string(limits::kMaxSelectorBytes + 1, ' '),
           "device.driver == 'gpu.nvidia.com' junk"}) {
    EXPECT_EQ(evaluate_selector(selector, h100), Selects::kUnknown) << selector.substr(0, 80);
  }
  // A part that is not understood does not matter if the rest decides.
  EXPECT_EQ(evaluate_selector("false && " + kProduct + ".matches('x')", h100), Selects::kNo);
}

TEST(DeviceSlice, IsRead) {
  const Document document(R"({"metadata":{"name":"s1"},"spec":{"driver":"gpu.nvidia.com",
    "nodeName":"n1","pool":{"name":"n1","generation":3,"resourceSliceCount":2},"devices":[
      {"name":"gpu-0","attributes":{"type":{"string":"gpu"},"uuid":{"string":"GPU-0"},
        "productName":{"string":"NVIDIA L4"},"cores":{"int":58},"driverVersion":{"version":"550.1.0"},
        "resource.kubernetes.io/pcieRoot":{"string":"pci0000:64"}},
        "capacity":{"memory":{"value":"23034Mi"}}},
      {"name":"gpu-1","taints":[{"key":"k","effect":"NoSchedule"}],
        "consumesCounters":[{"counterSet":"c"}]},
      {"attributes":{}}, 7]}})");
  const auto slice = read_device_slice(document.root);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->node, "n1");
  EXPECT_EQ(slice->generation, 3);
  EXPECT_EQ(slice->slice_count, 2);
  ASSERT_EQ(slice->devices.size(), 2u);
  const Device& first = slice->devices[0];
  EXPECT_EQ(first.uuid, "GPU-0");
  EXPECT_EQ(first.kind.text("productName"), "NVIDIA L4");
  EXPECT_EQ(first.kind.attributes.size(), 4u) << "what identifies a device is not in its kind";
  EXPECT_EQ(first.kind.capacity.at("gpu.nvidia.com/memory").units(), 23034LL << 20);
  EXPECT_FALSE(first.tainted || first.kind.partition);
  EXPECT_TRUE(slice->devices[1].tainted && slice->devices[1].kind.partition);
  for (const char* bad : {"{}", "7", R"({"metadata":{"name":"s"}})",
                          R"({"metadata":{"name":"s"},"spec":{"driver":"d","pool":{}}})"}) {
    EXPECT_FALSE(read_device_slice(Document(bad).root)) << bad;
  }
}

// --- claims --------------------------------------------------------------------------------------

struct Played {
  std::map<std::string, DeviceClass> classes{
      {"gpu.nvidia.com", {{"device.driver == 'gpu.nvidia.com' && " + kType + " == 'gpu'"}, ""}},
      {"mig.nvidia.com", {{"device.driver == 'gpu.nvidia.com' && " + kType + " == 'mig'"}, ""}},
      {"any", {{"device.driver == 'gpu.nvidia.com'"}, ""}},
      {"nic", {{"device.driver == 'dra.net'"}, ""}},
      {"odd", {{"device.driver.matches('x')"}, ""}},
  };
  struct One {
    DeviceKind kind;
    std::string uuid, node;
  };
  std::vector<One> devices{{gpu("NVIDIA H100 80GB HBM3"), "GPU-1", "n1"},
                           {gpu("NVIDIA A100-SXM4-40GB", "40Gi"), "GPU-2", "n2"},
                           {mig("1g.10gb"), "MIG-1", "n3"},
                           {mig("3g.40gb", true), "", "n4"},
                           {{"dra.net", {}, {}, false}, "", "n1"}};
  ExtraGpuResources extra;

  std::string claimed(const std::string& requests) const {
    const Document document(R"({"spec":{"devices":{"requests":[)" + requests + "]}}}");
    ClusterDevices cluster;
    cluster.find_class = [this](const std::string& name) -> const DeviceClass* {
      const auto found = classes.find(name);
      return found == classes.end() ? nullptr : &found->second;
    };
    cluster.each_kind = [this](const auto& take) {
      for (const One& one : devices) take(one.kind);
    };
    cluster.each_device = [this](const DeviceKind& kind, const auto& take) {
      for (const One& one : devices) {
        if (one.kind == kind) take(one.uuid, one.node);
      }
    };
    const auto gpus = claimed_gpus(read_claim_spec(document.root), cluster, extra);
    if (!gpus.ok()) return gpus.error().field + ": " + gpus.error().want;
    std::string text = std::to_string(gpus->gpus) + " " + std::string(enum_name(gpus->kind));
    text += gpus->profile.empty() ? "" : " " + gpus->profile;
    for (const std::string& product : gpus->products) text += " " + product;
    for (const std::string& node : gpus->nodes) text += " @" + node;
    return text;
  }
};

std::string exactly(const std::string& name, const std::string& rest = "",
                    const std::string& selector = "") {
  std::string escaped;
  for (const char c : selector) escaped += c == '"' ? std::string("\\\"") : std::string(1, c);
  const std::string selectors =
      selector.empty() ? "" : R"(,"selectors":[{"cel":{"expression":")" + escaped + "\"}}]";
  return R"({"name":"r","exactly":{"deviceClassName":")" + name + '"' + rest + selectors + "}}";
}

TEST(DeviceClaim, RequestsGpusOrSlices) {
  const Played played;
  EXPECT_EQ(played.claimed(exactly("gpu.nvidia.com")),
            "1 whole NVIDIA-A100-SXM4-40GB "
            "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(played.claimed(exactly("gpu.nvidia.com", R"(,"count":4)",
                                   kMemory + ".compareTo(quantity('80Gi')) >= 0")),
            "4 whole NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(played.claimed(exactly("gpu.nvidia.com") + "," + exactly("nic") + "," +
                           exactly("gpu.nvidia.com", "", kProduct + ".contains('A100')")),
            "2 whole NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(played.claimed(exactly("mig.nvidia.com", R"(,"count":3)")),
            "3 mig 1g.10gb NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(played.claimed(exactly("gpu.nvidia.com", "", kUuid + " == 'GPU-2'")),
            "1 whole NVIDIA-A100-SXM4-40GB @n2");
  EXPECT_EQ(played.claimed(exactly("nic")), "0 none");
  EXPECT_EQ(played.claimed(exactly("gpu.nvidia.com", R"(,"adminAccess":true)")), "0 none");
  // The first alternative that the cluster has decides.
  const std::string preferred = R"({"name":"r","firstAvailable":[
      {"name":"a","deviceClassName":"gpu.nvidia.com","count":2,"selectors":[{"cel":{"expression":
        "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA B300'"}}]},
      {"name":"b","deviceClassName":"mig.nvidia.com"}]})";
  EXPECT_EQ(played.claimed(preferred), "1 mig 1g.10gb NVIDIA-H100-80GB-HBM3");
  // resource.k8s.io/v1beta1
  EXPECT_EQ(played.claimed(R"({"name":"r","deviceClassName":"mig.nvidia.com"})"),
            "1 mig 1g.10gb NVIDIA-H100-80GB-HBM3");
}

TEST(DeviceClaim, SaysWhatIsNotUnderstood) {
  const Played played;
  const std::map<std::string, std::string> cases{
      {exactly("gone"), "DeviceClass gone: the cluster has no such DeviceClass"},
      {exactly("odd"), "Subak does not understand the selector device.driver.matches('x')"},
      {exactly("any"), "select devices of several kinds"},
      {exactly("gpu.nvidia.com", "", kProduct + " == 'none'"), "select no device of the cluster"},
      {exactly("gpu.nvidia.com", R"(,"allocationMode":"All")"), "allocationMode All"},
      {exactly("gpu.nvidia.com") + "," + exactly("mig.nvidia.com"), "one GPU kind in a pod"},
      {exactly("mig.nvidia.com", "", "device.attributes['gpu.nvidia.com'].profile == '3g.40gb'"),
       "cuts on demand"},
      {R"({"name":"r","firstAvailable":[]})", "want a request"},
  };
  for (const auto& [requests, want] : cases) {
    EXPECT_THAT(played.claimed(requests), HasSubstr(want)) << requests;
  }
}

TEST(DeviceClaim, AnOperatorNamesOtherClasses) {
  Played played;
  played.classes["gpu.example.com"] = {{"device.driver == 'gpu.example.com'"}, ""};
  played.devices.push_back({{"gpu.example.com", {}, {}, false}, "", "n5"});
  EXPECT_EQ(played.claimed(exactly("gpu.example.com")), "0 none");
  played.extra = {"deviceclass.resource.kubernetes.io/gpu.example.com"};
  EXPECT_EQ(played.claimed(exactly("gpu.example.com", R"(,"count":2)")), "2 whole GPU");
}

TEST(DeviceClaim, AddsToAPod) {
  ClaimedGpus two;
  two.kind = GpuKind::kWhole;
  two.gpus = 2;
  two.nodes = {"n2"};
  PodShape shape;
  ASSERT_TRUE(two.add_to(shape));
  EXPECT_EQ(shape.gpus, 2);
  EXPECT_THAT(shape.node_selector, ElementsAre(Label{std::string(kClaimable), "true"}));
  ASSERT_EQ(shape.affinity.size(), 1u);
  EXPECT_THAT(shape.affinity[0].requirements,
              ElementsAre(Requirement{"metadata.name", "In", {"n2"}}));
  ClaimedGpus slice;
  slice.kind = GpuKind::kMig;
  slice.gpus = 1;
  slice.profile = "1g.10gb";
  EXPECT_FALSE(slice.add_to(shape));
  EXPECT_FALSE(two.add(slice));
  EXPECT_EQ(two.gpus, 2);
}

TEST(DeviceClaim, PodsNameTheirClaims) {
  const Document document(R"({"spec":{"resourceClaims":[{"name":"a","resourceClaimName":"shared"},
      {"name":"b","resourceClaimTemplateName":"one"}],"containers":[{"resources":{"limits":
      {"deviceclass.resource.kubernetes.io/gpu.nvidia.com":"2","cpu":"1"}}},{"resources":{"limits":
      {"deviceclass.resource.kubernetes.io/gpu.nvidia.com":1}}}]}})");
  const ClaimRefs claims = read_pod_claims(document.root);
  ASSERT_EQ(claims.claims.size(), 2u);
  EXPECT_EQ(claims.claims[0].claim, "shared");
  EXPECT_EQ(claims.claims[1].claim_template, "one");
  EXPECT_EQ(claims.classes.at("gpu.nvidia.com"), 3);
  const Document claim(R"({"status":{"reservedFor":[{"resource":"x","uid":"0"},
      {"resource":"pods","uid":"1"},{"resource":"pods","uid":"2"}]}})");
  EXPECT_EQ(reserved_for(claim.root), "1");
}

// --- nodes ---------------------------------------------------------------------------------------

NodeSpec node_with(const NodeDevices* devices, const std::string& allocatable) {
  const Document document(R"({"metadata":{"name":"n"},"status":{"allocatable":)" + allocatable +
                          "}}");
  const auto node = read_kube_node(document.root, {}, devices);
  EXPECT_TRUE(node.ok());
  return node.ok() ? *node : NodeSpec();
}

TEST(NodeDevices, CountBesideTheDevicePlugin) {
  NodeDevices devices;
  devices.capacity["nvidia.com/gpu"] = 8;
  devices.allocatable["nvidia.com/gpu"] = 7;
  devices.product = "NVIDIA-H100-80GB-HBM3";
  const NodeSpec alone = node_with(&devices, "{}");
  EXPECT_EQ(alone.gpus, 8);
  EXPECT_EQ(alone.unhealthy_gpus, 1);
  EXPECT_EQ(alone.product, "NVIDIA-H100-80GB-HBM3");
  EXPECT_THAT(alone.labels, ElementsAre(Label{std::string(kClaimable), "true"}))
      << "no label of the product: a selector must not match a label that is not there";
  ASSERT_EQ(alone.taints.size(), 1u);
  EXPECT_EQ(alone.taints[0].key, kOnlyByClaim);
  EXPECT_EQ(alone.unfit, "");
  // The plugin offers the same cards, so they count once.
  const NodeSpec both = node_with(&devices, R"({"nvidia.com/gpu":"8"})");
  EXPECT_EQ(both.gpus, 8);
  EXPECT_THAT(both.taints, IsEmpty());
  // Nobody may write the label.
  const Document document(R"({"metadata":{"name":"n","labels":{"subak.gpu/claimable":"true"}}})");
  EXPECT_THAT(read_kube_node(document.root)->labels, IsEmpty());
  // A DeviceClass stands for nvidia.com/gpu.
  devices.only_by_claim = false;
  EXPECT_THAT(node_with(&devices, "{}").taints, IsEmpty());
}

}  // namespace
}  // namespace subak
