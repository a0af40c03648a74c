#include "admission/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "denied.h"
#include "fixture.h"
#include "kube/pod.h"

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

std::string annotated(std::string_view annotations, std::string_view resource = kGpu,
                      std::string_view amount = "1") {
  return pod(container(resource, amount),
             R"("name":"p","annotations":{)" + std::string(annotations) + "}");
}
std::string labelled(std::string_view labels) {
  return pod(container(kGpu, "1"), R"("name":"p","labels":{)" + std::string(labels) + "}");
}
Decision create(const std::string& object, std::string_view ns = "team-a",
                std::string_view user = "ana") {
  return decide_text(review_text(object, ns, user));
}

TEST(Policy, GatesAGpuPod) {
  const Decision d = create(pod(container(kGpu, "1")));
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  EXPECT_EQ(d.because, Because::kGated);
  EXPECT_EQ(d.patch,
            R"([{"op":"add","path":"/metadata/labels","value":{"subak.gpu/account":"ml.vision",)"
            R"("subak.gpu/job":"p","subak.gpu/user":"ana"}},)"
            R"({"op":"add","path":"/metadata/annotations","value":{"subak.gpu/created-by":"ana"}},)"
            R"({"op":"add","path":"/spec/schedulingGates","value":[{"name":"subak.gpu/queue"}]}])");
  EXPECT_TRUE(d.warnings.empty());
}

TEST(Policy, KeepsWhatIsThere) {
  const Decision d = create(pod(container(kGpu, "1"), R"("name":"p","labels":{"app":"x"})",
                                R"(,"schedulingGates":[{"name":"example.com/other"}])"));
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/metadata/labels/subak.gpu~1account")"));
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/spec/schedulingGates/-","value":{"name")"));
}

TEST(Policy, TheSamePodAgainGetsNoPatch) {
  const std::string done = pod(
      container(kGpu, "1"),
      R"("name":"p","labels":{"subak.gpu/account":"ml.vision","subak.gpu/job":"p","subak.gpu/user":"ana"},)"
      R"("annotations":{"subak.gpu/created-by":"ana"})",
      R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])");
  for (const Endpoint e : {Endpoint::kMutate, Endpoint::kValidate}) {
    const Decision d = decide_text(review_text(done), e);
    EXPECT_EQ(d.verdict, Verdict::kUntouched);
    EXPECT_EQ(d.because, Because::kUnchanged);
    EXPECT_EQ(d.patch, "");
  }
}

TEST(Policy, APodWithoutMetadataStillGetsAPatchThatApplies) {
  const Decision d = create(R"({"spec":{"containers":[)" + container(kGpu, "1") + "]}}");
  EXPECT_TRUE(d.patch.starts_with(R"([{"op":"add","path":"/metadata","value":{}},)"));
}

TEST(Policy, UsersThatAreNoLabelsBecomeAnnotations) {
  const Decision d = create(pod(container(kGpu, "1")), "team-a", "ana@example.com");
  EXPECT_THAT(
      d.patch,
      HasSubstr(R"("path":"/metadata/annotations","value":{"subak.gpu/user":"ana@example.com",)"));
  EXPECT_THAT(create(pod(container(kGpu, "1")), "team-a", "oidc:ana").patch, HasSubstr("oidc-ana"));
}

TEST(Policy, LeavesAlone) {
  const auto because = [](const std::string& object, std::string_view ns = "team-a") {
    const Decision d = create(object, ns);
    EXPECT_EQ(d.verdict, Verdict::kUntouched);
    EXPECT_TRUE(d.patch.empty());
    return d.because;
  };
  const std::string gpu = pod(container(kGpu, "1"));
  EXPECT_EQ(because(pod(R"({"name":"c"})")), Because::kNoGpu);
  EXPECT_EQ(because(pod(container(kGpu, "0"))), Because::kNoGpu);
  EXPECT_EQ(because(pod(container("rdma/hca", "1"))), Because::kNoGpu);
  EXPECT_EQ(because(gpu, "kube-system"), Because::kExemptNamespace);
  EXPECT_EQ(because(gpu, "nvidia-gpu-operator"), Because::kExemptNamespace);
  EXPECT_EQ(because(gpu, "nvidia-team"), Because::kUnmanaged) << "a name that begins alike";
  EXPECT_EQ(because(gpu, "kube-system-2"), Because::kUnmanaged);
  EXPECT_EQ(because(gpu, "nobody"), Because::kUnmanaged);
  EXPECT_EQ(because(gpu, "team-o"), Because::kObserve);
  EXPECT_EQ(
      create(annotated(R"("kubernetes.io/config.mirror":"x")"), "team-a", "system:node:n1").because,
      Because::kMirrorPod);
  EXPECT_EQ(decide_text(review_text(gpu), Endpoint::kMutate, {}, "c9").because,
            Because::kUnknownCluster);
  EXPECT_EQ(decide_text(review_text(gpu), Endpoint::kMutate, {}, "").because, Because::kGated);
  EXPECT_EQ(decide_text(review_text(gpu, "team-a", "ana", "DELETE")).because, Because::kNotOurs);
  EXPECT_EQ(decide_text(review_text(gpu, "team-a", "ana", "UPDATE", gpu)).because,
            Because::kNotOurs);
  EXPECT_EQ(decide_text(review_text(gpu, "team-a", "ana", "CREATE", "null",
                                    R"({"group":"apps","version":"v1","kind":"Deployment"})"))
                .because,
            Because::kNotOurs);
}

// Marks of a group without a size: the pod is gated, and its people hear at once what is missing.
TEST(Policy, WarnsOfAGroupWithoutASize) {
  const Decision d = create(
      pod(container(kGpu, "1"), R"("name":"p","labels":{"training.kubeflow.org/job-name":"g"})"));
  EXPECT_EQ(enum_name(d.because), "gated");
  ASSERT_EQ(d.warnings.size(), 1u);
  EXPECT_THAT(d.warnings[0], HasSubstr("subak.gpu/gang-size"));
}

TEST(Policy, WarnSaysWhatEnforceWouldDo) {
  const Decision gate = create(pod(container(kGpu, "1")), "team-w");
  EXPECT_EQ(gate.verdict, Verdict::kUntouched);
  EXPECT_EQ(gate.because, Because::kWarn);
  EXPECT_EQ(gate.patch, "");
  ASSERT_EQ(gate.warnings.size(), 1u);
  EXPECT_THAT(gate.warnings[0], HasSubstr("would be queued"));
  const Decision deny = create(pod(container(kGpu, "0.5")), "team-w");
  EXPECT_EQ(deny.verdict, Verdict::kUntouched);
  EXPECT_THAT(deny.warnings.at(0), HasSubstr("would be denied: spec.containers[0]"));
  EXPECT_EQ(create(pod("{}"), "team-w").because, Because::kNoGpu);
  const Decision bypass =
      create(pod(container(kGpu, "1"), R"("name":"p")", R"(,"nodeName":"n")"), "team-w");
  EXPECT_EQ(bypass.bypass, Bypass::kNodeName);
  EXPECT_EQ(bypass.verdict, Verdict::kUntouched);
}

TEST(PolicyAccount, OnlyWithinTheNamespacesSubtree) {
  EXPECT_THAT(create(labelled(R"("subak.gpu/account":"ml.vision.lab")")).patch,
              ::testing::Not(HasSubstr("account")));
  EXPECT_EQ(create(labelled(R"("subak.gpu/account":"ml.vision.lab")")).because, Because::kGated);
  expect_denied(
      create(labelled(R"("subak.gpu/account":"ml.speech")")), Because::kOutsideSubtree, 403,
      R"(metadata.labels[subak.gpu/account]: account "ml.speech" is not within "ml.vision")");
  expect_denied(create(labelled(R"("subak.gpu/account":"ml")")), Because::kOutsideSubtree, 403, "");
  expect_denied(create(labelled(R"("subak.gpu/account":"ml.visionary")")), Because::kUnknownAccount,
                403, R"(there is no account "ml.visionary"; write "ml.vision")");
  expect_denied(
      create(pod(container(kGpu, "1")), "orphan"), Because::kUnknownAccount, 403,
      R"(metadata.namespace: "orphan" belongs to no account; an operator adds it, beside )"
      "those that the account has, with: subak account set PATH --namespaces A,B,orphan");
  expect_denied(create(pod(container(kGpu, "1")), "team-d"), Because::kDraining, 403, "draining");
}

TEST(PolicyAccount, LimitsOfTheWholePath) {
  EXPECT_EQ(create(pod(container(kGpu, "16"))).verdict, Verdict::kPatched);
  expect_denied(create(pod(container(kGpu, "17"))), Because::kOverLimit, 403,
                "asks for 17 GPUs, but account ml.vision may have at most 16");
  expect_denied(
      create(pod(container(kGpu, "8"),
                 R"("name":"p","labels":{"subak.gpu/job":"j","subak.gpu/gang-size":"3"})")),
      Because::kOverLimit, 403, "24 GPUs (3 pods of 8)");
  const auto three = [](std::string_view resource, std::string_view amount) {
    return pod(container(resource, amount),
               R"("name":"p","labels":{"subak.gpu/job":"j","subak.gpu/gang-size":"3"})");
  };
  expect_denied(create(three(kGpu, "22"), "team-b"), Because::kOverLimit, 403,
                "account ml may have at most 64");
  // 129 slices of 125 milli-GPU are 16.125 GPUs.
  expect_denied(create(three("nvidia.com/mig-1g.10gb", "43")), Because::kOverLimit, 403,
                "16.125 GPUs");
}

// The gate asks the judge that submissions ask.
TEST(PolicyAccount, EveryRuleOfThePath) {
  const auto of_product = [](std::string_view gpus, std::string_view product) {
    return pod(container(kGpu, gpus), R"("name":"p")",
               R"(,"nodeSelector":{"nvidia.com/gpu.product":")" + std::string(product) + R"("})");
  };
  expect_denied(create(pod(container(kGpu, "1")), "team-s"), Because::kDraining, 403,
                "account stop is draining");
  constexpr std::string_view kH100 = "NVIDIA-H100-80GB-HBM3";
  expect_denied(create(of_product("5", kH100), "team-t", "bob"), Because::kOverLimit, 403,
                "account typed may have at most 4 (limit NVIDIA-H100-80GB-HBM3=4)");
  EXPECT_EQ(create(of_product("4", kH100), "team-t", "bob").verdict, Verdict::kPatched);
  EXPECT_EQ(create(of_product("8", "NVIDIA-A30"), "team-t", "bob").verdict, Verdict::kPatched);
  EXPECT_EQ(create(pod(container(kGpu, "5")), "team-t", "bob").verdict, Verdict::kPatched);
  expect_denied(create(pod(container(kGpu, "3")), "team-t", "ana"), Because::kOverLimit, 403,
                "account typed/ana may have at most 2");
  EXPECT_EQ(create(pod(container(kGpu, "3")), "team-t", "ana.lee").verdict, Verdict::kPatched)
      << "ana's limit is not a limit of ana.lee";
  expect_denied(create(pod(container(kGpu, "3")), "team-q"), Because::kOverLimit, 403,
                "account tight may borrow at most 0 GPUs beyond its quota");
  EXPECT_EQ(create(pod(container(kGpu, "2")), "team-q").verdict, Verdict::kPatched);
}

// A limit on waiting jobs denies no pod: its job waits beside the queue.
TEST(PolicyAccount, LimitsOnJobsAndUsers) {
  const auto limited = [](std::string_view gpus, std::string_view limit) {
    return pod(container(kGpu, gpus), R"("name":"p","annotations":{"subak.gpu/time-limit":")" +
                                          std::string(limit) + "\"}");
  };
  EXPECT_EQ(create(limited("2", "2h"), "team-l").verdict, Verdict::kPatched);
  expect_denied(create(limited("1", "121m"), "team-l"), Because::kOverLimit, 403,
                "metadata.annotations[subak.gpu/time-limit]: was 2h1m, but account short allows "
                "time limits of at most 2h; write a shorter time limit");
  expect_denied(create(pod(container(kGpu, "1")), "team-l"), Because::kOverLimit, 403,
                "subak.gpu/time-limit]: is not set, but account short allows");
  expect_denied(create(limited("3", "1h"), "team-l"), Because::kOverLimit, 403,
                "asks for 3 GPUs, but account short allows each user at most 2 GPUs at once");
}

std::string controlled(std::string_view gpus, std::string_view controls = "true") {
  return pod(container(kGpu, gpus),
             R"("name":"p","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j",)"
             R"("uid":"u","controller":)" +
                 std::string(controls) + "}]");
}

// It may take the place of one that was there before; only the core knows.
TEST(PolicyAccount, ADrainLetsPodsOfControllersWait) {
  for (const char* ns : {"team-d", "team-s"}) {
    const Decision d = create(controlled("1"), ns);
    EXPECT_EQ(enum_name(d.because), "gated") << ns;
    EXPECT_THAT(d.patch, HasSubstr("subak.gpu/queue"));
    ASSERT_EQ(d.warnings.size(), 1U);
    EXPECT_EQ(d.warnings[0],
              std::string("account ") + (ns == std::string("team-d") ? "old" : "stop") +
                  " is draining and accepts no new jobs: this pod waits until an operator resumes "
                  "it, unless it belongs to a job that was there before");
  }
  expect_denied(create(controlled("1", "false"), "team-d"), Because::kDraining, 403, "draining");
  expect_denied(create(pod(container(kGpu, "1")), "team-d"), Because::kDraining, 403, "draining");
  EXPECT_TRUE(create(controlled("1")).warnings.empty());
  expect_denied(create(controlled("17")), Because::kOverLimit, 403, "at most 16");
}

TEST(PolicyAccount, UserIsTheCreator) {
  EXPECT_EQ(create(labelled(R"("subak.gpu/user":"ana")")).because, Because::kGated);
  expect_denied(create(labelled(R"("subak.gpu/user":"bob")")), Because::kUserMismatch, 403,
                R"(was "bob", but "ana" creates this; write "ana")");
  const Decision by_controller = create(labelled(R"("subak.gpu/user":"bob")"), "team-a",
                                        "system:serviceaccount:kube-system:job-controller");
  EXPECT_EQ(by_controller.because, Because::kGated);
  EXPECT_THAT(by_controller.patch, ::testing::Not(HasSubstr("subak.gpu/user")));
  expect_denied(create(annotated(R"("subak.gpu/user":"a/b")"), "team-a", "system:x"),
                Because::kInvalidValue, 422, "want a user name");
  const std::string by_break_glass =
      review_text(labelled(R"("subak.gpu/user":"bob")"), "team-a", "ana", "CREATE", "null",
                  R"({"group":"","version":"v1","kind":"Pod"})", R"(["subak:break-glass"])");
  EXPECT_EQ(decide_text(by_break_glass).because, Because::kGated);
}

TEST(PolicyValues, Impossible) {
  expect_denied(create(pod(container(kGpu, "0.5"))), Because::kInvalidValue, 422,
                "want a whole number");
  expect_denied(create(pod(container(kGpu, "1\",\"nvidia.com/gpu.shared\":\"1"))),
                Because::kTwoGpuKinds, 422, "want one GPU kind");
  expect_denied(create(annotated(R"("subak.gpu/topology":"nvlnk")")), Because::kInvalidValue, 422,
                R"(metadata.annotations[subak.gpu/topology]: was "nvlnk", want any, node, nvlink)");
  expect_denied(create(annotated(R"("subak.gpu/time-limit":"x","subak.gpu/segment":"y")")),
                Because::kInvalidValue, 422, "(and 1 more mistakes)");
}

TEST(PolicyValues, KeysOfGangs) {
  expect_denied(
      create(annotated(R"("subak.gpu/mixed-products":"yes")")), Because::kInvalidValue, 422,
      R"(metadata.annotations[subak.gpu/mixed-products]: was "yes", want "true" or "false")");
  expect_denied(create(annotated(R"("subak.gpu/balanced":"true","subak.gpu/topology":"any")")),
                Because::kInvalidValue, 422, "want it beside topology nvlink");
  expect_denied(create(annotated(R"("subak.gpu/spare":"2","subak.gpu/topology":"rack")")),
                Because::kInvalidValue, 422, "want it beside topology nvlink");
  EXPECT_EQ(create(annotated(R"("subak.gpu/spare":"1","subak.gpu/topology":"nvlink")")).because,
            Because::kGated);
  EXPECT_EQ(create(annotated(R"("subak.gpu/mixed-products":"true")")).because, Because::kGated);
  EXPECT_EQ(
      create(annotated(R"("subak.gpu/balanced":"true","subak.gpu/topology":"nvlink")")).because,
      Because::kGated);
}

TEST(PolicyValues, HardSegmentsNeedRanks) {
  const std::string gang =
      R"("subak.gpu/job":"g","subak.gpu/gang-size":"4","subak.gpu/segment":"2")";
  expect_denied(
      create(annotated(gang)), Because::kInvalidValue, 422,
      R"(metadata.annotations[subak.gpu/segment]: was "2", want a rank for each pod of the )"
      "gang, as segments follow ranks: label subak.gpu/rank (0, 1, ...)");
  const std::string job =
      R"("name":"p","labels":{"batch.kubernetes.io/job-name":"j"},"annotations":{)";
  expect_denied(create(pod(container(kGpu, "1"), job + gang + "}")), Because::kInvalidValue, 422,
                "completionMode: Indexed of its Job, or label subak.gpu/rank");
  expect_denied(create(annotated(gang + R"(,"subak.gpu/rank":"10000")")), Because::kInvalidValue,
                422, "want its place in the gang, from 0 to 9999");
  const auto is_gated = [](const std::string& annotations) {
    return create(annotated(annotations)).because == Because::kGated;
  };
  EXPECT_TRUE(is_gated(gang + R"(,"subak.gpu/rank":"3")"));
  EXPECT_TRUE(is_gated(gang + R"(,"batch.kubernetes.io/job-completion-index":"3")"));
  EXPECT_TRUE(is_gated(gang + R"(,"subak.gpu/topology":"prefer:nvlink")")) << "a wish";
  EXPECT_TRUE(is_gated(R"("subak.gpu/job":"g","subak.gpu/gang-size":"2","subak.gpu/segment":"2")"))
      << "all are one segment";
  EXPECT_TRUE(is_gated(R"("subak.gpu/segment":"2")")) << "its owner may say how many there are";
  // Its own webhook may number it after ours.
  const std::string set = R"("name":"p","labels":{"leaderworkerset.sigs.k8s.io/name":"l"},)"
                          R"("annotations":{"leaderworkerset.sigs.k8s.io/size":"4",)"
                          R"("subak.gpu/segment":"2"})";
  EXPECT_EQ(create(pod(container(kGpu, "1"), set)).because, Because::kGated);
}

TEST(PolicyValues, MigHasNoPeerToPeer) {
  const std::string mig = "nvidia.com/mig-1g.10gb";
  for (const char* t : {"nvlink", "nvlink-exclusive", "rack", "prefer:nvlink"}) {
    expect_denied(create(annotated(R"("subak.gpu/topology":")" + std::string(t) + "\"", mig)),
                  Because::kMigTopology, 422, "MIG slices (1g.10gb) have no peer-to-peer");
  }
  expect_denied(create(annotated(R"("subak.gpu/segment":"2")", mig)), Because::kMigTopology, 422,
                "subak.gpu/segment");
  EXPECT_EQ(create(annotated(R"("subak.gpu/topology":"node")", mig)).because, Because::kGated);
}

TEST(PolicyValues, NoCardHasTheProfile) {
  expect_denied(
      create(pod(container("nvidia.com/mig-9g.90gb", "1"))), Because::kMigProfile, 422,
      R"(spec.containers[].resources.limits[nvidia.com/mig-9g.90gb]: was "9g.90gb", want )"
      "one of 1g.10gb, 1g.10gb.me, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb");
  expect_denied(create(pod(container("nvidia.com/mig-1g.9gb.shared", "1"))), Because::kMigProfile,
                422, "want one of 1g.10gb");
  // Another card's, or one that a node offers, though no table has it.
  EXPECT_EQ(create(pod(container("nvidia.com/mig-1g.5gb", "1"))).because, Because::kExceedsFleet);
  EXPECT_EQ(create(pod(container("nvidia.com/mig-1g.99gb", "1"))).because, Because::kGated);
}

TEST(PolicyFleet, MoreThanThereIsQueuesWithAWarning) {
  const auto warned = [](const std::string& object, std::string_view ns, std::string_view part) {
    const Decision d = create(object, ns);
    EXPECT_EQ(d.verdict, Verdict::kPatched);
    EXPECT_EQ(d.because, Because::kExceedsFleet);
    ASSERT_FALSE(d.warnings.empty());
    EXPECT_THAT(d.warnings[0], HasSubstr("ExceedsFleet"));
    EXPECT_THAT(d.warnings[0], HasSubstr(std::string(part)));
  };
  warned(pod(container(kGpu, "16")), "team-a", "16 GPUs on one node, the largest has 8");
  warned(pod(container(kGpu, "8"),
             R"("name":"p","labels":{"subak.gpu/job":"j","subak.gpu/gang-size":"5"})"),
         "team-b", "asks for 40 GPUs, 32 are there now");
  warned(pod(container("nvidia.com/mig-1g.10gb", "8")), "team-a",
         "asks for 8 MIG slices 1g.10gb on one node, the largest has 7; it is queued");
  warned(pod(container("nvidia.com/mig-1g.10gb", "57")), "team-a",
         "asks for 57 MIG slices 1g.10gb on one node, the largest has 7, and the GPUs of no node "
         "can be cut into more than 56; it is queued");
  warned(pod(container("nvidia.com/mig-1g.10gb", "7"),
             R"("name":"p","labels":{"subak.gpu/job":"j","subak.gpu/gang-size":"3"})"),
         "team-b", "asks for 21 MIG slices 1g.10gb, 14 are configured");
  warned(pod(container("nvidia.com/mig-3g.40gb", "1")), "team-a", "0 are configured; it is queued");
  warned(pod(container("nvidia.com/mig-3g.40gb", "17")), "team-a",
         "0 are configured, and the GPUs of no node can be cut into more than 16");
  EXPECT_EQ(create(pod(container("nvidia.com/mig-1g.10gb", "7"))).because, Because::kGated);
  warned(pod(container(kGpu, "1"), R"("name":"p")",
             R"(,"nodeSelector":{"nvidia.com/gpu.product":"NVIDIA-A30"})"),
         "team-a", "product NVIDIA-A30");
}

TEST(PolicyFleet, WhatNoNodeHasIsNamed) {
  const auto warned = [](const std::string& resource, const std::string& amount) {
    const std::string limits =
        R"({"nvidia.com/gpu":"1",")" + resource + R"(":")" + amount + R"("})";
    const Decision d = create(pod(R"({"name":"main","resources":{"limits":)" + limits + "}}"));
    EXPECT_EQ(d.verdict, Verdict::kPatched);
    for (const std::string& warning : d.warnings) {
      if (warning.starts_with("ExceedsFleet: ")) return warning.substr(14, warning.find(';') - 14);
    }
    return std::string();
  };
  EXPECT_EQ(warned("rdma/shared_mlx5", "1"), "asks for rdma/shared_mlx5, which no node has");
  EXPECT_EQ(warned("rdma/hca", "8"), "");
  EXPECT_EQ(warned("rdma/hca", "9"), "asks for 9 rdma/hca on one node, the largest has 8");
  EXPECT_EQ(warned("cpu", "128"), "");
  EXPECT_EQ(warned("cpu", "500"), "asks for 500 CPUs on one node, the largest has 128");
  EXPECT_EQ(warned("memory", "9Ti"),
            "asks for 9437184Mi of memory on one node, the largest has 2097152Mi");
}

TEST(PolicyBypass, WaysAroundTheGate) {
  const auto tried = [](const std::string& object, Bypass way) {
    const Decision d = create(object);
    expect_denied(d, Because::kBypass, 403, "");
    EXPECT_EQ(enum_name(d.bypass), enum_name(way));
  };
  const std::string env = R"({"name":"c","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]})";
  const std::string privileged = R"({"name":"c","securityContext":{"privileged":true}})";
  const std::string name = R"("name":"p")";
  tried(pod(container(kGpu, "1"), name, R"(,"nodeName":"n1")"), Bypass::kNodeName);
  tried(pod(env), Bypass::kVisibleDevices);
  tried(pod(container(kGpu, "1") + "," + env), Bypass::kVisibleDevices);
  tried(pod(privileged), Bypass::kPrivileged);
  tried(pod("{}", name, R"(,"volumes":[{"name":"d","hostPath":{"path":"/dev/nvidia0"}}])"),
        Bypass::kHostPath);
  tried(pod("{}", name, R"(,"runtimeClassName":"nvidia")"), Bypass::kRuntimeClass);
}

TEST(PolicyBypass, WhatComesWithARequestIsFine) {
  const std::string name = R"("name":"p")";
  EXPECT_EQ(create(pod(container(kGpu, "1"), name, R"(,"runtimeClassName":"nvidia")")).because,
            Because::kGated);
  EXPECT_EQ(create(pod(container(kGpu, "8", R"(,"securityContext":{"privileged":true})"))).because,
            Because::kGated);
  EXPECT_EQ(create(pod(container(kGpu, "8",
                                 R"(,"env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}])")))
                .because,
            Because::kGated);
  EXPECT_EQ(create(pod("{}", name, R"(,"nodeName":"n1","runtimeClassName":"gvisor")")).because,
            Because::kNoGpu);
}

TEST(PolicyValidate, AGpuPodMustHaveTheGateByThen) {
  const Decision d = decide_text(review_text(pod(container(kGpu, "1"))), Endpoint::kValidate);
  expect_denied(d, Because::kBypass, 403, "spec.schedulingGates");
  EXPECT_EQ(d.bypass, Bypass::kGateMissing);
}

std::string gated(std::string_view labels, bool gate = true) {
  return pod(container(kGpu, "1"), R"("name":"p","labels":{)" + std::string(labels) + "}",
             gate ? R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])" : "");
}
Decision update(const std::string& before, const std::string& after, std::string_view user = "ana",
                std::string_view groups = "[]") {
  return decide_text(review_text(after, "team-a", user, "UPDATE", before,
                                 R"({"group":"","version":"v1","kind":"Pod"})", groups),
                     Endpoint::kValidate);
}

TEST(PolicyUpdate, NobodyElseOpensTheGate) {
  const std::string l = R"("subak.gpu/account":"ml.vision","subak.gpu/job":"p")";
  expect_denied(update(gated(l), gated(l, false)), Because::kBypass, 403, "want the gate kept");
  EXPECT_EQ(update(gated(l), gated(l, false)).bypass, Bypass::kGateRemoved);
  EXPECT_EQ(update(gated(l), gated(l, false), "system:serviceaccount:subak-system:subak").verdict,
            Verdict::kUntouched);
  EXPECT_EQ(update(gated(l), gated(l, false), "eve", R"(["subak:break-glass"])").verdict,
            Verdict::kUntouched);
}

TEST(PolicyUpdate, NobodyElseChangesOurLabels) {
  const std::string l = R"("subak.gpu/account":"ml.vision","subak.gpu/job":"p")";
  const std::string other = R"("subak.gpu/account":"ml.vision.lab","subak.gpu/job":"p")";
  expect_denied(
      update(gated(l), gated(other)), Because::kBypass, 403,
      R"(metadata.labels[subak.gpu/account]: was "ml.vision.lab", want "ml.vision" as before)");
  EXPECT_EQ(update(gated(l), gated(R"("subak.gpu/job":"p")")).message,
            R"(metadata.labels[subak.gpu/account]: want "ml.vision" as before: only Subak changes )"
            "its keys on a pod; create a new pod instead");
  EXPECT_EQ(update(gated(l, false), gated(other, false)).bypass, Bypass::kLabelsChanged);
  EXPECT_EQ(update(gated(l), gated(R"("subak.gpu/job":"p")")).bypass, Bypass::kLabelsChanged);
  EXPECT_EQ(update(gated(l), gated(l + R"(,"subak.gpu/user":"x")")).bypass, Bypass::kLabelsChanged);
  EXPECT_EQ(update(gated(l), gated(l + R"(,"app":"x")")).verdict, Verdict::kUntouched);
  EXPECT_EQ(update(gated(R"("a":"b")", false), gated(R"("a":"c")", false)).verdict,
            Verdict::kUntouched);
}

TEST(PolicyWarnings, UnknownKeysHaveNoEffect) {
  EXPECT_THAT(create(annotated(R"("subak.gpu/topolgy":"node")")).warnings.at(0),
              HasSubstr("no key of Subak"));
}

TEST(PolicyWarnings, AreNeverTooLongAndCutBetweenCharacters) {
  std::string key = "subak.gpu/";
  for (int i = 0; i < 200; ++i) key += "\xc3\xa9";
  const Decision d = create(annotated("\"" + key + "\":\"x\""));
  ASSERT_EQ(d.warnings.size(), 1u);
  EXPECT_LE(d.warnings[0].size(), 256u);
  simdjson::dom::parser parser;
  std::string text;
  append_json_string(text, d.warnings[0]);
  simdjson::dom::element ignored;
  EXPECT_EQ(parser.parse("[" + text + "]").get(ignored), simdjson::SUCCESS);
}

TEST(Policy, EveryReasonAndWayHasAName) {
  EXPECT_EQ(enum_name(Because::kMalformed), "malformed");
  EXPECT_EQ(enum_name(Bypass::kLabelsChanged), "labels_changed");
  EXPECT_EQ(enum_name(Verdict::kBadRequest), "bad_request");
}

TEST(Policy, IsAFunctionOfItsInput) {
  const std::string text = review_text(pod(container(kGpu, "4")));
  EXPECT_EQ(decide_text(text).patch, decide_text(text).patch);
}

TEST(Policy, OtherSchedulersAreTheUsualOnesUntilSaid) {
  EXPECT_EQ(AdmissionConfig().other_schedulers, default_other_schedulers());
}

}  // namespace
}  // namespace subak
