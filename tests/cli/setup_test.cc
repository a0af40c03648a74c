// What is applied to a cluster, and what is said of one.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/setup/manifest_objects.h"
#include "cli/setup/manifest_texts.h"
#include "cli/setup/manifests.h"
#include "cli/setup/preflight.h"

namespace subak::cli {
namespace {

ManifestOptions options() {
  ManifestOptions o;
  o.cluster = "main";
  o.url = "https://10.0.0.5:9443";
  o.ca_pem = "-----BEGIN CERTIFICATE-----\n";
  o.user = "system:serviceaccount:subak-system:subak";
  o.break_glass_group = "subak:break-glass";
  o.kubernetes_minor = kPoliciesMinor;
  return o;
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

std::string print(const ManifestOptions& o) {
  const auto text = manifests(o);
  EXPECT_TRUE(text.ok()) << text.error().message();
  return text.ok() ? *text : "";
}

TEST(Manifests, NothingIsLeftToFillIn) {
  auto o = options();
  o.image = "registry.example.com/subak:0.1.0";
  for (const int minor : {29, 30, 36}) {
    o.kubernetes_minor = minor;
    const std::string text = print(o);
    for (const char* mark :
         {"/CLUSTER", "HOST:", "caBundle: \"\"", "image: IMAGE", "name: CLUSTER"}) {
      std::string lines;
      for (std::size_t at = text.find(mark); at != std::string::npos;
           at = text.find(mark, at + 1)) {
        const std::size_t begin = text.rfind('\n', at) + 1;
        if (text.compare(begin, 1, "#") != 0) lines += text.substr(begin, 80);
      }
      EXPECT_EQ(lines, "") << mark;
    }
    EXPECT_NE(text.find("url: https://10.0.0.5:9443/mutate/main\n"), std::string::npos);
  }
}

TEST(Manifests, WhatTheApiServerCanIsLeftToIt) {
  auto o = options();
  o.kubernetes_minor = 29;
  EXPECT_EQ(count(print(o), "kind: ValidatingAdmissionPolicy\n"), 0U);
  EXPECT_EQ(count(print(o), "name: subak-update\n"), 1U);
  EXPECT_EQ(count(print(o), "failurePolicy: Ignore"), 4U);  // of warn, park, stamp
  o.kubernetes_minor = 30;
  EXPECT_GT(count(print(o), "kind: ValidatingAdmissionPolicy\n"), 3U);
  EXPECT_EQ(count(print(o), "kind: MutatingAdmissionPolicy\n"), 0U);
  EXPECT_EQ(count(print(o), "failurePolicy: Ignore"), 4U);
  o.kubernetes_minor = 36;
  EXPECT_EQ(count(print(o), "kind: MutatingAdmissionPolicy\n"), 2U);
  EXPECT_EQ(count(print(o), "failurePolicy: Ignore"), 6U);
}

TEST(Manifests, WhoIsTrustedAndWhatCounts) {
  auto o = options();
  o.user = "kubernetes-admin";
  o.break_glass_group = "sre";
  o.gpu_kinds = {"amd.com/gpu", "example.com/npu"};
  o.kubernetes_minor = 36;
  const std::string text = print(o);
  EXPECT_EQ(count(text, "system:serviceaccount:subak-system:subak"), 0U);
  EXPECT_EQ(count(text, "subak:break-glass'"), 0U);
  EXPECT_EQ(
      count(text, "{kind: User, apiGroup: rbac.authorization.k8s.io, name: \"kubernetes-admin\"}"),
      1U);
  EXPECT_EQ(count(text, "{kind: User, user: {name: \"kubernetes-admin\"}}"), 1U);
  EXPECT_EQ(
      count(text, "k.startsWith('nvidia.com/mig-')"),
      count(text, "k.startsWith('nvidia.com/mig-') || k in ['amd.com/gpu', 'example.com/npu']"));
  EXPECT_EQ(count(text, "k.startsWith('nvidia.com/')"),
            count(text, "k.startsWith('nvidia.com/') || k in ['amd.com/gpu', 'example.com/npu']"));
}

TEST(Manifests, ByPartsAndInTheCluster) {
  auto o = options();
  o.url = "";
  o.parts = {ManifestPart::kWebhooks};
  const std::string text = print(o);
  EXPECT_EQ(count(text, "url: https"), 0U);
  EXPECT_EQ(
      count(text, "service: {namespace: subak-system, name: subak, path: /mutate/main, port: 443}"),
      3U);
  EXPECT_EQ(count(text, "kind: ClusterRole\n"), 0U);
  o.parts = {ManifestPart::kService};
  EXPECT_EQ(print(o), "");  // no image
}

TEST(Manifests, CertManagerWritesTheCa) {
  auto o = options();
  o.url = "";
  o.ca_pem = "";
  o.cert_manager = true;
  o.image = "registry.example.com/subak:0.1.0";
  for (const int minor : {29, 36}) {
    o.kubernetes_minor = minor;
    const std::string text = print(o);
    EXPECT_EQ(count(text, "      caBundle:"), 0U);
    EXPECT_EQ(
        count(text, "\n  annotations: {cert-manager.io/inject-ca-from: subak-system/subak-tls}"),
        minor == 29 ? 3U : 2U);
    EXPECT_EQ(count(text, "kind: Certificate\n"), 2U);
    EXPECT_LT(text.find("kind: Namespace\n"), text.find("kind: Certificate\n"));
    EXPECT_LT(text.find("kind: Certificate\n"), text.find("kind: StatefulSet\n"));
  }
  o.image = "";
  EXPECT_EQ(count(print(o), "kind: Certificate\n"), 0U) << "the certificate is the service's";
  o.cert_manager = false;
  EXPECT_EQ(count(print(o), "cert-manager"), 0U);
}

TEST(Manifests, AValueThatWouldMeanSomethingElseIsRefused) {
  const auto wrong = [](auto change) {
    auto o = options();
    change(o);
    const auto text = manifests(o);
    return text.ok() ? std::string("accepted") : text.error().field;
  };
  EXPECT_EQ(wrong([](auto& o) { o.cluster = "a b"; }), "--cluster");
  EXPECT_EQ(wrong([](auto& o) { o.cluster = ""; }), "--cluster");
  EXPECT_EQ(wrong([](auto& o) { o.user = "x' || true || '"; }), "--as");
  EXPECT_EQ(wrong([](auto& o) { o.break_glass_group = "a\nb"; }), "--break-glass-group");
  EXPECT_EQ(wrong([](auto& o) { o.gpu_kinds = {"gpu"}; }), "--gpu-kinds");
  EXPECT_EQ(wrong([](auto& o) { o.url = "http://10.0.0.5"; }), "--url");
  EXPECT_EQ(wrong([](auto& o) { o.image = "a\" b"; }), "--image");
  EXPECT_EQ(wrong([](auto& o) { o.kubernetes_minor = 28; }), "--kubernetes");
  EXPECT_EQ(wrong([](auto& o) { o.cert_manager = true; }), "--cert-manager");
}

// What is granted and registered is what is asked after and taken away.
TEST(ManifestObjects, RightsOfTheService) {
  std::set<std::string> rights;
  for (const ServiceRight& right : service_rights()) {
    rights.insert(right.verb + " " + right.group + "/" + right.resource + "/" + right.sub);
  }
  EXPECT_EQ(rights.size(), service_rights().size());
  for (const char* right :
       {"patch /pods/", "patch /pods/status", "create /pods/eviction", "patch batch/jobs/",
        "watch jobset.x-k8s.io/jobsets/", "get coordination.k8s.io/leases/",
        "list leaderworkerset.x-k8s.io/leaderworkersets/", "create events.k8s.io/events/",
        "watch kubeflow.org/mpijobs/", "list ray.io/rayclusters/", "get batch.volcano.sh/jobs/",
        "watch scheduling.run.ai/podgroups/", "list scheduling.k8s.io/workloads/",
        "create resource.nvidia.com/computedomains/", "delete resource.nvidia.com/computedomains/",
        "watch resource.k8s.io/resourceclaimtemplates/", "list resource.k8s.io/resourceslices/"}) {
    EXPECT_TRUE(rights.contains(right)) << right;
  }
  EXPECT_FALSE(rights.contains("delete /pods/"));
}

TEST(ManifestObjects, WhatInterceptsGoesInOrder) {
  const std::vector<std::string> guards = guard_paths();
  const std::string root = "/apis/admissionregistration.k8s.io/v1/";
  const auto place = [&](const std::string& path) {
    return std::find(guards.begin(), guards.end(), root + path) - guards.begin();
  };
  std::size_t registered = 0;
  for (const char* file :
       {"webhooks.yaml", "webhook-update.yaml", "policies.yaml", "gate-policy.yaml"}) {
    registered += count(std::string(manifest_text(file)), "\nkind: ");
  }
  EXPECT_EQ(guards.size(), registered);
  EXPECT_LT(place("mutatingadmissionpolicybindings/subak-gate"),
            place("validatingadmissionpolicies/subak-gate"));
  EXPECT_LT(place("mutatingadmissionpolicies/subak-gate"),
            place("mutatingwebhookconfigurations/subak"));
  EXPECT_EQ(guards.back(), root + "validatingwebhookconfigurations/subak-update");
  EXPECT_EQ(right_paths(), (std::vector<std::string>{
                               "/apis/scheduling.k8s.io/v1/priorityclasses/subak-gpu",
                               "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/subak",
                               "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/subak",
                               "/apis/rbac.authorization.k8s.io/v1/clusterroles/subak",
                               "/apis/rbac.authorization.k8s.io/v1/clusterroles/subak-preflight"}));
}

ClusterFacts quiet() {
  ClusterFacts c;
  c.minor = 34;
  c.gpu_nodes = 4;
  c.namespaces = {{"team-a", "true"}};
  return c;
}
ServiceFacts enforced() {
  ServiceFacts s;
  s.asked = s.knows_cluster = true;
  s.cluster = "main";
  s.modes = {{"", "observe"}, {"team-a", "enforce"}};
  s.accounts = {{"team-a", "ml"}};
  return s;
}

std::string levels(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings) out += std::string(enum_name(f.level)) + ": " + f.what + "\n";
  return out;
}
bool says(const std::vector<Finding>& findings, Level level, std::string_view what) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
    return f.level == level && (f.what + " " + f.where).find(what) != std::string::npos;
  });
}

TEST(Preflight, AQuietClusterHasNothingToSay) { EXPECT_EQ(levels(judge(quiet(), enforced())), ""); }

TEST(Preflight, Blockers) {
  auto c = quiet();
  c.minor = 28;
  c.own.denied = {"patch pods"};
  c.own.has_rights = true;
  c.device_classes = {"gpu.nvidia.com"};
  c.quotas = {{"team-a/limits", "team-a", "requests.nvidia.com/gpu", "8"}};
  const auto findings = judge(c, enforced());
  EXPECT_TRUE(says(findings, Level::kBlocker, "1.28"));
  EXPECT_TRUE(says(findings, Level::kBlocker, "patch pods"));
  EXPECT_TRUE(says(findings, Level::kNote, "gpu.nvidia.com"));
  EXPECT_TRUE(says(findings, Level::kWarning, "team-a/limits (requests.nvidia.com/gpu: 8)"));
  EXPECT_EQ(findings.front().level, Level::kBlocker);
  c.own.has_rights = false;
  EXPECT_TRUE(says(judge(c, enforced()), Level::kWarning, "no rights here yet"));
  EXPECT_EQ(findings.back().level, Level::kNote);
}

TEST(Preflight, OwnWebhooksWithoutACa) {
  auto c = quiet();
  c.groups = {"cert-manager.io"};
  c.own.without_ca = {{"mutate.subak.gpu", true}};
  EXPECT_TRUE(says(judge(c, enforced()), Level::kWarning, "cert-manager has not written the CA"));
  c.groups = {"other.io"};
  EXPECT_TRUE(says(judge(c, enforced()), Level::kBlocker, "which the cluster lacks"));
  c.own.without_ca = {{"mutate.subak.gpu", false}};
  EXPECT_TRUE(says(judge(c, enforced()), Level::kWarning, "no caBundle mutate.subak.gpu"));
}

TEST(Preflight, GpuNodesWithoutRdma) {
  auto c = quiet();
  c.nodes_without_rdma = {"n1", "n2", "n3", "n4"};
  EXPECT_EQ(levels(judge(c, enforced())), "") << "no node has RDMA";
  c.rdma_nodes = {"n3", "n4"};
  c.nodes_without_rdma = {"n1", "n2"};
  EXPECT_TRUE(says(judge(c, enforced()), Level::kWarning,
                   "GPU nodes without an RDMA resource, although others have one n1, n2"));
  c.nodes_without_rdma.clear();
  EXPECT_EQ(levels(judge(c, enforced())), "");
}

TEST(Preflight, OthersWhoHoldPods) {
  auto c = quiet();
  c.groups = {"kueue.x-k8s.io", "karpenter.sh"};
  auto& here = c.gpu_pods["team-a"];
  here.foreign_gates = {{"kueue.x-k8s.io/admission", "team-a/p"}};
  here.schedulers = {{"volcano", "team-a/q"}};
  here.owners = {{"PyTorchJob", "team-a/r"}};
  here.priority_classes = {"high"};
  c.preempting = {{"high", "1000"}};
  c.gpu_pods["other"].foreign_gates = {{"kueue.x-k8s.io/admission", "other/p"}};
  c.mutating = {{"a-before", "x", true, false, true}, {"zz-after", "y", true, false, false}};
  c.validating = {{"guard", "z", false, true, true}, {"lax", "w", false, true, false}};
  const auto findings = judge(c, enforced());
  EXPECT_TRUE(says(findings, Level::kWarning, "team-a/p (kueue.x-k8s.io/admission)"));
  EXPECT_FALSE(says(findings, Level::kWarning, "other/p"));  // not ours
  EXPECT_TRUE(says(findings, Level::kWarning, "volcano"));
  EXPECT_TRUE(says(findings, Level::kWarning, "PyTorchJob"));
  EXPECT_TRUE(says(findings, Level::kWarning, "preempt"));
  EXPECT_TRUE(says(findings, Level::kNote, "zz-after/y"));
  EXPECT_FALSE(says(findings, Level::kNote, "a-before"));
  EXPECT_TRUE(says(findings, Level::kWarning, "guard/z"));
  EXPECT_FALSE(says(findings, Level::kWarning, "lax"));
  EXPECT_TRUE(says(findings, Level::kNote, "Kueue"));
  EXPECT_TRUE(says(findings, Level::kNote, "Karpenter"));
}

TEST(Preflight, LabelsModesAndAccountsBelongTogether) {
  auto c = quiet();
  c.namespaces = {{"nobody", "true"}, {"lax", "true"}, {"typo", "yes"}};
  auto s = enforced();
  s.accounts = {{"lax", "ml"}, {"open", "ml"}, {"typo", "ml"}};
  s.modes = {{"", "observe"}, {"open", "enforce"}, {"nobody", "enforce"}};
  c.gpu_pods["lax"].waiting = 2;
  const auto findings = judge(c, s);
  EXPECT_TRUE(says(findings, Level::kWarning, "no account names nobody"));
  EXPECT_TRUE(says(findings, Level::kWarning, "lax (observe)"));
  EXPECT_TRUE(says(findings, Level::kWarning, "typo (yes)"));
  EXPECT_TRUE(
      says(findings, Level::kWarning, "the API server does not ask Subak about their pods open"));
  EXPECT_TRUE(says(findings, Level::kNote, "lax (2 pods)"));
  EXPECT_TRUE(says(judge(c, ServiceFacts()), Level::kNote, "was not asked"));
}

GpuOperatorFacts operator_facts() {
  GpuOperatorFacts f;
  f.objects = {{"ClusterPolicy", "cluster-policy", "ready"}};
  f.values.name = "cluster-policy";
  f.values.toolkit_env = {{"ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "false"}};
  f.values.upgrades.waits_for = "subak.gpu/account";
  f.values.upgrades.automatic = true;
  return f;
}

TEST(GpuOperator, HowGpusGetIntoContainers) {
  auto f = operator_facts();
  EXPECT_EQ(levels(judge_gpu_operator(f, false)), "");
  f.values.cdi = false;
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kBlocker,
                   "by a variable, which the toolkit ignores"));
  f.values.plugin_env = {{"DEVICE_LIST_STRATEGY", "volume-mounts"}};
  EXPECT_TRUE(
      says(judge_gpu_operator(f, false), Level::kBlocker, "by mounts, which the toolkit ignores"));
  f.values.toolkit_env["ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS"] = "true";
  EXPECT_EQ(levels(judge_gpu_operator(f, false)), "");
  f.values.plugin_env.clear();
  f.values.default_config = "any";
  f.configs["any"].device_lists = "envvar,cdi-cri";
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kBlocker, "by CDI, but CDI is off"));
  f = operator_facts();
  f.values.nri = true;
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kWarning, "an annotation"));
  f.values.toolkit = false;
  f.values.toolkit_env.clear();
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kNote,
                   "the operator does not install NVIDIA's toolkit"));
  EXPECT_FALSE(says(judge_gpu_operator(f, false), Level::kWarning, "NVIDIA_VISIBLE_DEVICES"));
}

TEST(GpuOperator, StrategiesAndConfigurations) {
  auto f = operator_facts();
  f.values.mig_strategy = "single";
  f.nodes_by_mig = {{"all-balanced", {"n1"}}, {"all-1g.10gb", {"n2"}}};
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kWarning, "n1 (all-balanced)"));
  EXPECT_FALSE(says(judge_gpu_operator(f, false), Level::kWarning, "n2"));
  f.values.config_map = "sharing";
  f.values.default_config = "any";
  f.nodes_by_config = {{"broken", {"n1", "n2", "n3", "n4"}}};
  f.configs["any"].mig_strategy = "mixed";
  f.configs["broken"].mistake = "line 3: want YAML";
  const auto findings = judge_gpu_operator(f, false);
  EXPECT_TRUE(says(findings, Level::kNote, "flags.migStrategy: mixed"));
  EXPECT_TRUE(says(findings, Level::kBlocker, "gpu-operator/sharing: broken: line 3: want YAML"));
  f.no_config_map = true;
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kBlocker, "gpu-operator/sharing"));
  f.values.plugin = false;
  EXPECT_FALSE(says(judge_gpu_operator(f, false), Level::kBlocker, "gpu-operator/sharing"));
  f.values.discovery = false;
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kWarning, "gfd.enabled: false"));
}

TEST(GpuOperator, ObjectsUpgradesAndTheNamespace) {
  auto f = operator_facts();
  f.values.upgrades.at_once = 0;
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kWarning, "all GPU nodes at once"));
  f.values.upgrades.is_bounded = true;
  EXPECT_EQ(levels(judge_gpu_operator(f, false)), "");
  EXPECT_EQ(levels(judge_gpu_operator(f, true)), "") << "a system namespace by its name";
  f.ns = "nvidia";
  EXPECT_TRUE(says(judge_gpu_operator(f, true), Level::kBlocker, "nvidia"));
  f.objects.push_back({"ClusterPolicy", "second", "ignored"});
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kNote, "second (ignored)"));
  f.objects.push_back({"GPUCluster", "gpu-cluster", ""});
  EXPECT_TRUE(says(judge_gpu_operator(f, false), Level::kBlocker, "gpu-cluster (no state)"));
  f.objects.back().state = "ready";
  EXPECT_FALSE(says(judge_gpu_operator(f, false), Level::kBlocker, "gpu-cluster"))
      << "a version that serves both";
  f.values.driver = false;
  f.values.upgrades.waits_for.clear();
  EXPECT_FALSE(says(judge_gpu_operator(f, false), Level::kWarning, "evicts"));
}

TEST(GpuOperator, AConfigurationOfTheDevicePlugin) {
  const PluginConfig config = read_plugin_config(R"(version: v1
flags:
  migStrategy: mixed
  plugin: {deviceListStrategy: [envvar, volume-mounts]}
sharing:
  timeSlicing:
    failRequestsGreaterThanOne: true
    resources: [{name: nvidia.com/gpu, replicas: 4}]
  mps: {resources: [{name: nvidia.com/gpu, replicas: 1}]}
)");
  EXPECT_EQ(config.mistake, "");
  EXPECT_TRUE(config.time_slicing && config.one_replica_only);
  EXPECT_FALSE(config.mps) << "one replica shares nothing";
  EXPECT_EQ(config.mig_strategy, "mixed");
  EXPECT_EQ(config.device_lists, "envvar,volume-mounts");
  EXPECT_FALSE(read_plugin_config("").time_slicing);
  EXPECT_FALSE(read_plugin_config("sharing: [1]\nflags: {plugin: 3}").time_slicing);
  EXPECT_TRUE(read_plugin_config("a: {").mistake.starts_with("line "));
}

TEST(Preflight, OfManyAFewAreNamed) {
  auto c = quiet();
  c.own.denied = {"a", "b", "c", "d", "e"};
  c.own.has_rights = true;
  EXPECT_TRUE(says(judge(c, enforced()), Level::kBlocker, "a, b, c and 2 more"));
}

}  // namespace
}  // namespace subak::cli
