// The gate's edge: what tries to get past it, and what must not be held for an attempt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/policy.h"
#include "core/limits.h"
#include "denied.h"
#include "fixture.h"

namespace subak {
namespace {

using test::container;
using test::decide_text;
using test::expect_denied;
using test::fixed_view;
using test::pod;
using test::review_text;
using ::testing::HasSubstr;

const std::string kGpu = "nvidia.com/gpu";
const std::string kName = R"("name":"p")";

Decision create(const std::string& object, std::string_view ns = "team-a",
                const AdmissionConfig& config = {}) {
  return decide_text(review_text(object, ns), Endpoint::kMutate, config);
}
void expect_bypass(const Decision& d, Bypass way, std::string_view part = "") {
  EXPECT_EQ(d.verdict, Verdict::kDenied) << d.message;
  EXPECT_EQ(enum_name(d.bypass), enum_name(way));
  EXPECT_THAT(d.message, HasSubstr(std::string(part)));
}
std::string with_env(std::string_view amount, std::string_view value) {
  return container(
      kGpu, amount,
      R"(,"env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":")" + std::string(value) + R"("}])");
}
std::string privileged(std::string_view resource, std::string_view amount) {
  return container(resource, amount, R"(,"securityContext":{"privileged":true})");
}

// --- before a replica has heard of its leader ----------------------------------------------------

Decision blind(const std::string& object, Endpoint endpoint = Endpoint::kMutate,
               const AdmissionConfig& config = {}, std::string_view ns = "team-a",
               std::string_view user = "ana") {
  const test::Parsed parsed(review_text(object, ns, user));
  return decide_without_view(config, endpoint, parsed.review());
}

TEST(PolicyWithoutView, WhatMayTakeGpusIsGatedAndNothingIsRefused) {
  AdmissionConfig config;
  config.extra_gpu_resources = {"example.com/gpu"};
  const std::string claim =
      pod(R"({"name":"c"})", kName, R"(,"resourceClaims":[{"name":"g","resourceClaimName":"x"}])");
  for (const std::string& object :
       {pod(container(kGpu, "1")), pod(container(kGpu, "100000")), pod(container(kGpu, "0.5")),
        pod(container("nvidia.com/mig-1g.10gb", "1")), pod(container("example.com/gpu", "1")),
        pod(privileged(kGpu, "1")), claim}) {
    const Decision d = blind(object, Endpoint::kMutate, config);
    EXPECT_EQ(d.verdict, Verdict::kPatched) << object;
    EXPECT_EQ(d.because, Because::kNoView);
    EXPECT_THAT(d.patch, HasSubstr("subak.gpu/queue"));
    EXPECT_THAT(d.patch, ::testing::Not(HasSubstr("subak.gpu/account"))) << "nobody knows it";
    EXPECT_THAT(d.warnings.at(0), HasSubstr("has not heard from its leader yet"));
    EXPECT_EQ(blind(object, Endpoint::kValidate, config).verdict, Verdict::kUntouched) << object;
  }
  EXPECT_THAT(blind(pod(container(kGpu, "1"))).patch, HasSubstr(R"("subak.gpu/user":"ana")"));
  config.device_claims = DeviceClaims::kWarn;
  EXPECT_EQ(blind(claim, Endpoint::kMutate, config).because, Because::kNoGpu);
}

TEST(PolicyWithoutView, TheRestIsLeftAlone) {
  EXPECT_EQ(blind(pod(R"({"name":"c"})")).because, Because::kNoGpu);
  EXPECT_EQ(blind(pod(privileged("cpu", "1"))).because, Because::kNoGpu);
  EXPECT_EQ(blind(pod(container(kGpu, "1")), Endpoint::kMutate, {}, "kube-system").because,
            Because::kExemptNamespace);
  const Decision placed = blind(pod(container(kGpu, "1"), kName, R"(,"nodeName":"n1")"));
  EXPECT_EQ(placed.verdict, Verdict::kUntouched) << "Kubernetes takes no gate on it";
  EXPECT_THAT(placed.warnings.at(0), HasSubstr("names its node"));
  const std::string mirror = R"("name":"p","annotations":{"kubernetes.io/config.mirror":"x"})";
  EXPECT_EQ(
      blind(pod(container(kGpu, "1"), mirror), Endpoint::kMutate, {}, "team-a", "system:node:n1")
          .because,
      Because::kMirrorPod);
  const std::string gated =
      pod(container(kGpu, "1"),
          R"("name":"p","labels":{"subak.gpu/user":"ana","subak.gpu/job":"p"},)"
          R"("annotations":{"subak.gpu/created-by":"ana"})",
          R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])");
  EXPECT_EQ(blind(gated).patch, "") << "the same pod again";
}

// --- mode warn -----------------------------------------------------------------------------------

TEST(PolicyWarnMode, NothingIsMissingWhereNothingWasGated) {
  const std::string review = review_text(pod(container(kGpu, "1")), "team-w");
  const Decision d = decide_text(review, Endpoint::kValidate);
  EXPECT_EQ(d.verdict, Verdict::kUntouched);
  EXPECT_EQ(d.bypass, Bypass::kNone);
  EXPECT_TRUE(d.warnings.empty()) << d.warnings[0];
  const Decision still =
      decide_text(review_text(pod(container(kGpu, "1"), kName, R"(,"nodeName":"n")"), "team-w"),
                  Endpoint::kValidate);
  EXPECT_THAT(still.warnings.at(0), HasSubstr("would be denied: spec.nodeName"));
}

// --- marks of other queue managers ---------------------------------------------------------------

TEST(PolicyMarks, ExemptNothingInAnEnforcedNamespace) {
  for (const char* labels : {R"("kueue.x-k8s.io/queue-name":"q")",
                             R"("kueue.x-k8s.io/managed":"true")", R"("kai.scheduler/queue":"q")",
                             R"("runai/queue":"q")", R"("yunikorn.apache.org/queue":"q")"}) {
    const std::string metadata = R"("name":"p","labels":{)" + std::string(labels) + "}";
    const Decision d = create(pod(container(kGpu, "1"), metadata));
    EXPECT_EQ(d.because, Because::kGated) << labels;
    EXPECT_THAT(d.patch, HasSubstr("subak.gpu/queue"));
    EXPECT_THAT(d.warnings.at(0), HasSubstr("exempts nothing"));
    expect_bypass(create(pod(R"({"securityContext":{"privileged":true}})", metadata)),
                  Bypass::kPrivileged);
    EXPECT_EQ(create(pod(container(kGpu, "17"), metadata)).because, Because::kOverLimit);
    EXPECT_EQ(create(pod(container(kGpu, "1"), metadata), "team-o").because, Because::kObserve);
    const Decision ungated =
        decide_text(review_text(pod(container(kGpu, "1"), metadata)), Endpoint::kValidate);
    expect_bypass(ungated, Bypass::kGateMissing, "has no subak.gpu/queue, want the gate");
  }
  const Decision volcano =
      create(pod(container(kGpu, "1"), kName, R"(,"schedulerName":"volcano")"));
  EXPECT_EQ(volcano.because, Because::kOtherScheduler);
  EXPECT_THAT(volcano.message, HasSubstr(R"(spec.schedulerName: was "volcano")"));
  EXPECT_EQ(create(pod(container(kGpu, "1"), kName, R"(,"schedulerName":"my-own")")).because,
            Because::kGated);
}

TEST(PolicyMarks, AMirrorPodIsMadeByItsNode) {
  const std::string mirror =
      pod(container(kGpu, "1"), R"("name":"p","annotations":{"kubernetes.io/config.mirror":"x"})");
  EXPECT_EQ(create(mirror).because, Because::kGated);
  EXPECT_EQ(decide_text(review_text(mirror, "team-a", "system:node:n1")).because,
            Because::kMirrorPod);
}

// --- hidden GPUs ---------------------------------------------------------------------------------

TEST(PolicyHidden, HostPathsThatShowGpus) {
  const auto volume = [](std::string_view path) {
    return R"(,"volumes":[{"name":"a","emptyDir":{}},{"name":"d","hostPath":{"path":")" +
           std::string(path) + R"("}}])";
  };
  for (const char* path : {"/", "//dev/nvidia0", "/dev/./nvidia0", "/dev", "/proc/1/root"}) {
    expect_bypass(create(pod("{}", kName, volume(path))), Bypass::kHostPath,
                  "was \"" + std::string(path) + "\"");
    expect_bypass(create(pod(container(kGpu, "1"), kName, volume(path))), Bypass::kHostPath,
                  "all GPUs of the node requested");
    EXPECT_EQ(create(pod(container(kGpu, "8"), kName, volume(path))).because, Because::kGated);
  }
  EXPECT_EQ(create(pod(container(kGpu, "1"), kName, volume("/dev/infiniband"))).because,
            Because::kGated);
}

TEST(PolicyHidden, BesideASmallerRequest) {
  expect_bypass(create(pod(privileged(kGpu, "7"))), Bypass::kPrivileged, "as many GPUs asked for");
  expect_bypass(create(pod(privileged("nvidia.com/mig-1g.10gb", "8"))), Bypass::kPrivileged);
  expect_bypass(create(pod(privileged("nvidia.com/gpu.shared", "8"))), Bypass::kPrivileged);
  expect_bypass(create(pod(container(kGpu, "1") + R"(,{"securityContext":{"privileged":true}})")),
                Bypass::kPrivileged);
  expect_bypass(create(pod(with_env("1", "all"))), Bypass::kVisibleDevices, R"(was "all")");
  expect_bypass(create(pod(with_env("2", "0,1"))), Bypass::kVisibleDevices);
  for (const char* harmless : {"", "none", "void"}) {
    EXPECT_EQ(create(pod(with_env("1", harmless))).because, Because::kGated) << harmless;
  }
  expect_bypass(create(pod(container(kGpu, "1",
                                     R"(,"volumeMounts":[{"name":"v","mountPath":)"
                                     R"("/var/run/nvidia-container-devices/all"}])"))),
                Bypass::kVisibleDevices, "volumeMounts");
  // Who has all GPUs of a node sees none that are another's.
  EXPECT_EQ(create(pod(privileged(kGpu, "8"))).because, Because::kGated);
  EXPECT_EQ(create(pod(with_env("8", "all"))).because, Because::kGated);
}

TEST(PolicyHidden, TheWholeNodeIsThatOfTheProduct) {
  auto view = std::make_shared<View>(*test::fixed_view());
  auto clusters = std::make_shared<std::vector<ClusterView>>(*view->clusters);
  ClusterView& c = clusters->front();
  ProductTotals small = c.products[0];
  small.product = "NVIDIA-A30";
  c.products.push_back(small);
  c.product_node_gpus = {8, 2};
  view->clusters = clusters;
  const auto because = [&](std::string_view spec) {
    const test::Parsed parsed(review_text(pod(privileged(kGpu, "2"), kName, spec)));
    return decide(*view, {}, "c1", Endpoint::kMutate, parsed.review()).because;
  };
  EXPECT_EQ(because(R"(,"nodeSelector":{"nvidia.com/gpu.product":"NVIDIA-A30"})"), Because::kGated);
  EXPECT_EQ(because(""), Because::kBypass);
}

Decision debug(std::string_view added, std::string_view before = "", std::string_view amount = "1",
               std::string_view groups = "[]", std::string_view ns = "team-a") {
  const auto with = [&](std::string_view list) {
    return pod(container(kGpu, amount), kName,
               R"(,"ephemeralContainers":[)" + std::string(list) + "]");
  };
  const std::string both =
      std::string(before) + (before.empty() || added.empty() ? "" : ",") + std::string(added);
  std::string text = review_text(with(both), ns, "ana", "UPDATE", with(before),
                                 R"({"group":"","version":"v1","kind":"Pod"})", groups);
  text.insert(text.find(R"("namespace")"), R"("subResource":"ephemeralcontainers",)");
  return decide_text(text, Endpoint::kValidate);
}

TEST(PolicyHidden, ContainersThatAreAddedForDebugging) {
  const std::string bad = R"({"name":"d","securityContext":{"privileged":true}})";
  const std::string env = R"({"name":"e","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]})";
  expect_bypass(debug(bad), Bypass::kPrivileged, "spec.ephemeralContainers[0]");
  expect_bypass(debug(env), Bypass::kVisibleDevices, "spec.ephemeralContainers[0].env");
  expect_bypass(debug(env, bad), Bypass::kVisibleDevices, "spec.ephemeralContainers[1]");
  EXPECT_EQ(debug(R"({"name":"d","image":"busybox"})").verdict, Verdict::kUntouched);
  // What is there already is not for whoever adds another.
  EXPECT_EQ(debug(R"({"name":"x"})", bad).verdict, Verdict::kUntouched);
  EXPECT_EQ(debug(bad, "", "8").verdict, Verdict::kUntouched);
  EXPECT_EQ(debug(bad, "", "1", R"(["subak:break-glass"])").verdict, Verdict::kUntouched);
  EXPECT_EQ(debug(bad, "", "1", "[]", "team-o").because, Because::kObserve);
  EXPECT_THAT(debug(bad, "", "1", "[]", "team-w").warnings.at(0), HasSubstr("would be denied"));
  std::string other = review_text(pod("{}"));
  other.insert(other.find(R"("namespace")"), R"("subResource":"resize",)");
  EXPECT_EQ(decide_text(other).because, Because::kNotOurs);
}

// Beside whom the configuration names: as whom the cluster's own API server knows the service.
TEST(PolicyTrust, TheUserThatTheEdgeIsKnownAs) {
  const auto may = [](const std::string& known_as, std::string_view user) {
    View view = *fixed_view();
    auto clusters = std::make_shared<std::vector<ClusterView>>(*view.clusters);
    clusters->front().known_as = known_as;
    view.clusters = std::move(clusters);
    const std::string before = pod(container(kGpu, "1"), R"("name":"p")",
                                   R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])");
    const test::Parsed parsed(
        review_text(pod(container(kGpu, "1")), "team-a", user, "UPDATE", before));
    return decide(view, {}, "c1", Endpoint::kValidate, parsed.review()).verdict != Verdict::kDenied;
  };
  const std::string constant = AdmissionConfig().own_user;
  EXPECT_TRUE(may("", constant));
  EXPECT_FALSE(may("", "sre@example.com"));
  EXPECT_FALSE(may("", "")) << "nobody is nobody";
  EXPECT_TRUE(may("sre@example.com", "sre@example.com"));
  EXPECT_TRUE(may("sre@example.com", constant));
  EXPECT_FALSE(may("sre@example.com", "ana"));
}

// --- devices by claim ----------------------------------------------------------------------------

const std::string kClaim = R"(,"resourceClaims":[{"name":"g","resourceClaimTemplateName":"gpus"}])";

TEST(PolicyClaims, AreGatedWithThatReason) {
  const Decision d = create(pod(R"({"name":"c"})", kName, kClaim));
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  EXPECT_EQ(d.because, Because::kDeviceClaim);
  EXPECT_THAT(d.patch, HasSubstr(R"("value":[{"name":"subak.gpu/queue"}])"));
  EXPECT_THAT(d.patch, HasSubstr(R"("subak.gpu/status":"DeviceClaim: spec.resourceClaims asks)"));
  EXPECT_THAT(d.warnings.at(0), HasSubstr("waits until Subak knows"));
  const Decision beside = create(pod(container(kGpu, "1"), kName, kClaim));
  EXPECT_EQ(beside.because, Because::kDeviceClaim);
  EXPECT_THAT(beside.warnings.at(0), HasSubstr("waits until Subak knows"));
  EXPECT_EQ(create(pod(container("deviceclass.resource.kubernetes.io/h100", "1"))).because,
            Because::kDeviceClaim);
  const Decision again =
      create(pod("{}",
                 R"("name":"p","labels":{"subak.gpu/account":"ml.vision","subak.gpu/job":"p",)"
                 R"("subak.gpu/user":"ana"},"annotations":{"subak.gpu/status":"x",)"
                 R"("subak.gpu/created-by":"ana"})",
                 kClaim + R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])"));
  EXPECT_EQ(again.patch, "");
}

TEST(PolicyClaims, KeepTheirGate) {
  const std::string claim = pod("{}", kName, kClaim);
  expect_bypass(decide_text(review_text(claim), Endpoint::kValidate), Bypass::kGateMissing);
  const std::string gated =
      pod("{}", kName, kClaim + R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])");
  EXPECT_EQ(decide_text(review_text(gated), Endpoint::kValidate).verdict, Verdict::kUntouched);
  expect_bypass(
      decide_text(review_text(claim, "team-a", "ana", "UPDATE", gated), Endpoint::kValidate),
      Bypass::kGateRemoved);
}

TEST(PolicyClaims, MayBeDeniedOrLetThrough) {
  AdmissionConfig config;
  config.device_claims = DeviceClaims::kDeny;
  for (const std::string& object :
       {pod("{}", kName, kClaim), pod(container(kGpu, "1"), kName, kClaim),
        pod(container("deviceclass.resource.kubernetes.io/h100", "1"))}) {
    const Decision d = create(object, "team-a", config);
    EXPECT_EQ(d.verdict, Verdict::kDenied);
    EXPECT_EQ(d.because, Because::kDeviceClaim);
    EXPECT_EQ(d.code, 403);
    EXPECT_THAT(d.message, HasSubstr("want GPUs asked for by resources.limits"));
  }
  config.device_claims = DeviceClaims::kWarn;
  const Decision d = create(pod("{}", kName, kClaim), "team-a", config);
  EXPECT_EQ(d.verdict, Verdict::kUntouched);
  EXPECT_EQ(d.because, Because::kDeviceClaim);
  ASSERT_EQ(d.warnings.size(), 1u);
  EXPECT_THAT(d.warnings[0], HasSubstr("does not wait for them (deviceClaims: warn)"));
  const Decision beside = create(pod(container(kGpu, "1"), kName, kClaim), "team-a", config);
  EXPECT_THAT(beside.patch, HasSubstr("does not wait for them"));
}

// --- an address that names no cluster of ours ----------------------------------------------------

TEST(PolicyUnknownCluster, IsNeverAllowedInSilence) {
  const auto at = [](const std::string& object, UnknownCluster what, std::string_view ns = "x") {
    AdmissionConfig config;
    config.unknown_cluster = what;
    return decide_text(review_text(object, ns), Endpoint::kMutate, config, "c9");
  };
  const std::string gpu = pod(container(kGpu, "1"));
  const Decision warned = at(gpu, UnknownCluster::kWarn);
  EXPECT_EQ(warned.verdict, Verdict::kUntouched);
  EXPECT_THAT(warned.warnings.at(0), HasSubstr(R"(names cluster "c9", Subak knows c1)"));
  for (const std::string& object : {gpu, pod("{}", kName, kClaim)}) {
    const Decision denied = at(object, UnknownCluster::kDeny);
    EXPECT_EQ(denied.verdict, Verdict::kDenied);
    EXPECT_EQ(denied.because, Because::kUnknownCluster);
    EXPECT_EQ(denied.code, 403);
  }
  EXPECT_EQ(at(pod("{}"), UnknownCluster::kDeny).verdict, Verdict::kUntouched);
  EXPECT_TRUE(at(pod("{}"), UnknownCluster::kWarn).warnings.empty());
  EXPECT_EQ(at(gpu, UnknownCluster::kDeny, "kube-system").because, Because::kExemptNamespace);
}

// --- what is repeated of what was sent -----------------------------------------------------------

TEST(PolicyEcho, IsCutAndSaysSo) {
  const std::string value(20'000, 'v');
  const Decision d = create(pod(
      container(kGpu, "1"), R"("name":"p","annotations":{"subak.gpu/topology":")" + value + "\"}"));
  EXPECT_EQ(d.verdict, Verdict::kDenied);
  EXPECT_THAT(d.message, HasSubstr("vvv... (19744 more bytes)\", want any, node"));
  EXPECT_LE(d.message.size(), limits::kMaxMessageBytes);
}

TEST(PolicyEcho, ALongUserNameIsShortenedAndStaysItsOwn) {
  const auto user = [](std::string name) {
    const std::string patch =
        decide_text(review_text(pod(container(kGpu, "1")), "team-a", name)).patch;
    const std::string key = R"("subak.gpu/user":")";
    const std::size_t begin = patch.find(key) + key.size();
    return patch.substr(begin, patch.find('"', begin) - begin);
  };
  const std::string a = user(std::string(5000, 'a') + "1"), b = user(std::string(5000, 'a') + "2");
  EXPECT_EQ(a.size(), limits::kMaxNameBytes);
  EXPECT_NE(a, b);
  const Decision own = decide_text(review_text(
      pod(container(kGpu, "1"), R"("name":"p","annotations":{"subak.gpu/user":")" + a + "\"}"),
      "team-a", std::string(5000, 'a') + "1"));
  EXPECT_EQ(own.because, Because::kGated);
}

// The engine accepts the same jobs, and the pod's owner reads by when it may have to end.
TEST(PolicyAccount, BudgetsHoldADefaultTimeLimit) {
  const auto warning = [](const char* ns) {
    const Decision d = decide_text(review_text(pod(container(kGpu, "2")), ns, "ana"));
    EXPECT_EQ(d.verdict, Verdict::kPatched) << ns;
    return d.warnings.size() == 1 ? d.warnings[0] : "";
  };
  EXPECT_THAT(warning("team-k"), HasSubstr("holds GPU-hours of its budgets for 2h; a minute"));
  // The policy has a default of a day, of which the month holds a part.
  EXPECT_THAT(warning("team-m"), HasSubstr("holds GPU-hours of its budgets for 1d; a minute"));
  const std::string limit = R"("name":"p","annotations":{"subak.gpu/time-limit":"1h"})";
  const std::string limited = pod(container(kGpu, "2"), limit);
  EXPECT_TRUE(decide_text(review_text(limited, "team-k", "ana")).warnings.empty());
  // Without a default, a period of paid.month ends some time; the budget of paid never does.
  View view = *fixed_view();
  view.policy.default_time_limit_ms = 0;
  const auto judge = [&view](const char* ns) {
    const std::string text = review_text(pod(container(kGpu, "2")), ns, "ana");
    const test::Parsed parsed(text);
    return decide(view, {}, "", Endpoint::kMutate, parsed.review());
  };
  EXPECT_EQ(judge("team-m").verdict, Verdict::kPatched);
  EXPECT_THAT(judge("team-m").warnings.at(0), HasSubstr("until a period ends"));
  EXPECT_EQ(judge("team-k").verdict, Verdict::kPatched);
  expect_denied(judge("team-e"), Because::kOverLimit, 403, "is not set");
}

// The webhook refuses what the account may not use, and lists what it may.
TEST(PolicyPriority, IsAClassOfTheAccount) {
  View view = *fixed_view();
  view.policy.priority_classes = {{"batch", 0, false, {}}, {"prod", 9, true, {"other"}}};
  const auto create = [&](const std::string& value) {
    const std::string text = test::review_text(
        pod(container(kGpu, "1"),
            R"("name":"p","annotations":{"subak.gpu/priority":")" + value + "\"}"));
    const test::Parsed parsed(text);
    return decide(view, {}, "", Endpoint::kMutate, parsed.review());
  };
  EXPECT_EQ(create("batch").because, Because::kGated);
  for (const char* value : {"prod", "9", "high", ""}) {
    const Decision d = create(value);
    EXPECT_EQ(d.because, Because::kInvalidValue) << value;
    EXPECT_THAT(d.message, HasSubstr("metadata.annotations[subak.gpu/priority]"));
    EXPECT_THAT(d.message, HasSubstr("want a priority class that is for ml.vision: batch"));
  }
}

}  // namespace
}  // namespace subak
