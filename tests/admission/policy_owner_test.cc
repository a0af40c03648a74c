// Owners of pods: what becomes of Jobs and their like when they are made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/policy.h"
#include "denied.h"
#include "fixture.h"

namespace subak {
namespace {

using test::container;
using test::decide_text;
using test::expect_denied;
using test::pod;
using test::review_text;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kGpu = "nvidia.com/gpu";

constexpr std::string_view kJob = R"({"group":"batch","version":"v1","kind":"Job"})";
constexpr std::string_view kJobSet =
    R"({"group":"jobset.x-k8s.io","version":"v1alpha2","kind":"JobSet"})";
constexpr std::string_view kPyTorch =
    R"({"group":"kubeflow.org","version":"v1","kind":"PyTorchJob"})";

Decision own(const std::string& object, std::string_view kind, std::string_view user = "ana") {
  return decide_text(review_text(object, "team-a", user, "CREATE", "null", kind));
}
std::string job(const std::string& tmpl, std::string_view more = "", std::string_view meta = "") {
  return R"({"metadata":{"name":"j")" + std::string(meta) + R"(},"spec":{"template":)" + tmpl +
         std::string(more) + "}}";
}

TEST(PolicyOwner, AGpuJobStartsSuspended) {
  const Decision d = own(job(pod(container(kGpu, "4"), "")), kJob);
  EXPECT_EQ(d.because, Because::kSuspended);
  EXPECT_EQ(
      d.patch,
      R"([{"op":"add","path":"/spec/suspend","value":true},)"
      R"({"op":"add","path":"/metadata/annotations","value":{"subak.gpu/suspended":"parked"}},)"
      R"({"op":"add","path":"/spec/template/metadata/labels","value":{"subak.gpu/user":"ana"}}])");
}

TEST(PolicyOwner, NothingNewWhereTheAccountDrains) {
  expect_denied(decide_text(review_text(job(pod(container(kGpu, "1"), "")), "team-d", "ana",
                                        "CREATE", "null", kJob)),
                Because::kDraining, 403, "account old is draining");
}

// The Job's counts from its start, that of a pod from when its node has it. A parked Job has not
// started.
TEST(PolicyOwner, ADeadlineThatCountsWhilePodsWaitIsWarnedOf) {
  const std::string gpu = pod(container(kGpu, "4"), "");
  const Decision d = own(job(gpu, R"(,"suspend":true,"activeDeadlineSeconds":60)"), kJob);
  ASSERT_EQ(d.warnings.size(), 1U);
  EXPECT_TRUE(d.warnings[0].starts_with("spec.activeDeadlineSeconds counts while"));
  EXPECT_EQ(d.warnings[0].find("more bytes"), std::string::npos) << "it is not cut";
  EXPECT_TRUE(own(job(gpu, R"(,"activeDeadlineSeconds":60)"), kJob).warnings.empty());
  EXPECT_TRUE(own(job(gpu), kJob).warnings.empty());
  EXPECT_TRUE(own(job(pod("{}", ""), R"(,"activeDeadlineSeconds":60)"), kJob).warnings.empty());
  const std::string own_deadline =
      pod(container(kGpu, "1"), R"("name":"p")", R"(,"activeDeadlineSeconds":60)");
  EXPECT_TRUE(decide_text(review_text(own_deadline)).warnings.empty());
}

// Returns the decision on a Job if the accounts `crowded` have as many gated pods as `after`.
Decision job_where(std::uint32_t after, std::vector<AccountId> crowded, const std::string& object,
                   const std::string& known_as = "edge") {
  View view = *test::fixed_view();
  view.policy.queue.park_after = after;
  auto clusters = std::make_shared<std::vector<ClusterView>>(*view.clusters);
  clusters->front().reports.crowded = std::move(crowded);
  clusters->front().known_as = known_as;
  view.clusters = std::move(clusters);
  const test::Parsed parsed(review_text(object, "team-a", "ana", "CREATE", "null", kJob));
  return decide(view, {}, "c1", Endpoint::kMutate, parsed.review());
}

TEST(PolicyOwner, WaitsSuspendedOnceManyGatedPodsOfItsAccountWait) {
  const std::string gpu = job(pod(container(kGpu, "4"), ""));
  const std::shared_ptr<const View> view = test::fixed_view();
  const AccountsView& accounts = *view->accounts;
  const AccountId vision = accounts.of_path("ml.vision")->id;
  const AccountId lab = accounts.of_path("ml.vision.lab")->id;
  EXPECT_EQ(job_where(1'000, {}, gpu).because, Because::kUnchanged);
  EXPECT_EQ(job_where(1'000, {vision}, gpu).because, Because::kSuspended);
  EXPECT_EQ(job_where(1'000, {lab}, gpu).because, Because::kUnchanged) << "another account";
  const std::string of_lab =
      job(pod(container(kGpu, "4"), R"("annotations":{"subak.gpu/account":"ml.vision.lab"})"));
  EXPECT_EQ(job_where(1'000, {lab}, of_lab).because, Because::kSuspended);
  EXPECT_EQ(job_where(0, {}, gpu).because, Because::kSuspended);
  EXPECT_EQ(job_where(0, {}, gpu, "").because, Because::kUnchanged) << "no edge would resume it";
}

// Pods of other owners may be in the gang, and devices are known only when their claims exist.
TEST(PolicyOwner, SomeOwnersCannotWaitSuspended) {
  const std::string named =
      pod(container(kGpu, "4"), R"("labels":{"subak.gpu/job":"g","subak.gpu/gang-size":"4"})");
  EXPECT_EQ(own(job(named), kJob).because, Because::kUnchanged);
  const std::string marked = R"(,"annotations":{"subak.gpu/suspended":"taken-back"})";
  EXPECT_THAT(own(job(pod(container(kGpu, "4"), ""), "", marked), kJob).patch,
              HasSubstr(R"("path":"/metadata/annotations/subak.gpu~1suspended","value":"parked")"))
      << "a manifest may have the mark of an earlier run";
}

// The size would be stamped as if its people had declared a gang.
TEST(PolicyOwner, NoSizeIsStampedWherePodsRestartByThemselves) {
  const auto set = [](const std::string& of_job, const std::string& policy) {
    return own(R"({"metadata":{"name":"s"},"spec":{)" + policy +
                   R"("replicatedJobs":[{"name":"w","replicas":1,"template":{"spec":{"parallelism":4,)" +
                   of_job + R"("template":)" + pod(container(kGpu, "4"), "") + "}}}]}}",
               kJobSet)
        .patch;
  };
  EXPECT_THAT(set("", ""), HasSubstr("gang-size"));
  EXPECT_THAT(set("", R"("failurePolicy":{"rules":[{"action":"RestartJobSet"}]},)"),
              HasSubstr("gang-size"));
  EXPECT_THAT(set(R"("backoffLimitPerIndex":1,)", ""), Not(HasSubstr("gang-size")));
  EXPECT_THAT(set("", R"("failurePolicy":{"rules":[{"action":"RestartJob"}]},)"),
              Not(HasSubstr("gang-size")));
}

TEST(PolicyOwner, LeavesAlone) {
  const std::string gpu = pod(container(kGpu, "4"), "");
  EXPECT_EQ(own(job(pod("{}", "")), kJob).because, Because::kNoGpu);
  EXPECT_EQ(own(job(gpu, R"(,"suspend":true)"), kJob).because, Because::kUnchanged);
  EXPECT_EQ(
      own(job(gpu, "",
              R"(,"ownerReferences":[{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",)"
              R"("name":"s","uid":"u","controller":true}])"),
          kJob)
          .because,
      Because::kSuspendedAbove);
  EXPECT_EQ(own(job(gpu, "", R"(,"labels":{"kueue.x-k8s.io/queue-name":"q"})"), kJob).because,
            Because::kSuspended);
  EXPECT_EQ(decide_text(review_text(job(gpu), "team-a", "ana", "CREATE", "null", kJob),
                        Endpoint::kValidate)
                .because,
            Because::kUnchanged);
  AdmissionConfig off;
  off.suspend_owners = false;
  EXPECT_EQ(decide_text(review_text(job(gpu), "team-a", "ana", "CREATE", "null", kJob),
                        Endpoint::kMutate, off)
                .because,
            Because::kUnchanged);
}

TEST(PolicyOwner, RefusesWhatItsPodsWouldBeRefusedFor) {
  expect_denied(own(job(pod(container(kGpu, "0.5"), "")), kJob), Because::kInvalidValue, 422,
                "spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]");
  expect_denied(own(job(pod(container(kGpu, "1"), R"("labels":{"subak.gpu/user":"b b"})")), kJob),
                Because::kInvalidValue, 422, "spec.template.metadata.labels[subak.gpu/user]");
}

// The pods are charged to who made the Job, whatever its template says.
TEST(PolicyOwner, ATemplateMayNameAnybody) {
  const Decision d =
      own(job(pod(container(kGpu, "1"), R"("labels":{"subak.gpu/user":"bob"})")), kJob);
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  EXPECT_EQ(d.because, Because::kSuspended);
}

std::string job_set(std::string_view more = "") {
  return R"({"metadata":{"name":"s","annotations":{"a":"b"}},"spec":{"replicatedJobs":[{"name":"w","replicas":2,)"
         R"("template":{"spec":{"parallelism":2,"template":)" +
         pod(container(kGpu, "4"), R"("annotations":{"x":"y"})") + "}}}]" + std::string(more) +
         "}}";
}

TEST(PolicyOwner, AJobSetIsAGangOfAllItsPods) {
  const Decision d = own(job_set(), kJobSet, "system:serviceaccount:argo:wf");
  EXPECT_EQ(
      d.patch,
      R"([{"op":"add","path":"/spec/suspend","value":true},)"
      R"({"op":"add","path":"/metadata/annotations/subak.gpu~1suspended","value":"parked"},)"
      R"({"op":"add","path":"/spec/replicatedJobs/0/template/spec/template/metadata/annotations/subak.gpu~1gang-size","value":"4"}])");
  const Decision ordered =
      own(job_set(R"(,"startupPolicy":{"startupPolicyOrder":"InOrder"})"), kJobSet);
  EXPECT_THAT(ordered.patch, ::testing::Not(HasSubstr("gang-size")));
}

TEST(PolicyOwner, RunPolicyOfKubeflow) {
  const std::string spec = R"("pytorchReplicaSpecs":{"Master":{"replicas":1,"template":)" +
                           pod(container(kGpu, "2"), "") +
                           R"(},"Worker":{"replicas":3,"template":)" +
                           pod(container(kGpu, "2"), "") + "}}";
  const Decision d = own(R"({"metadata":{"name":"t"},"spec":{)" + spec + "}}", kPyTorch);
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/spec/runPolicy","value":{"suspend":true})"));
  EXPECT_THAT(d.patch, HasSubstr(R"("subak.gpu/gang-size":"4")"));
  const Decision has = own(
      R"({"metadata":{"name":"t"},"spec":{"runPolicy":{"cleanPodPolicy":"None"},)" + spec + "}}",
      kPyTorch);
  EXPECT_THAT(has.patch, HasSubstr(R"("path":"/spec/runPolicy/suspend","value":true)"));
  expect_denied(own(R"({"metadata":{},"spec":{"p":{"Worker":{"replicas":9,"template":)" +
                        pod(container(kGpu, "2"), "") + "}}}}",
                    kPyTorch),
                Because::kOverLimit, 403, "18 GPUs (9 pods)");
}

// Its templates are those of the JobSet that its controller makes.
TEST(PolicyOwner, ATrainJobWaitsSuspended) {
  const char* const kind =
      R"({"group":"trainer.kubeflow.org","version":"v1alpha1","kind":"TrainJob"})";
  const Decision d = own(
      R"({"metadata":{"name":"t"},"spec":{"trainer":{"numNodes":2,"resourcesPerNode":{"limits":{"nvidia.com/gpu":4}}}}})",
      kind);
  EXPECT_EQ(d.because, Because::kSuspended);
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/spec/suspend","value":true)"));
  EXPECT_THAT(d.patch, HasSubstr(R"("subak.gpu/suspended":"parked")"));
  const Decision none = own(R"({"metadata":{"name":"t"},"spec":{"trainer":{"numNodes":2}}})", kind);
  EXPECT_EQ(none.because, Because::kNoGpu);
}

// KubeRay refuses a suspended RayJob that keeps its cluster, or that uses a cluster of others.
TEST(PolicyOwner, ARayJobWaitsSuspendedIfItsClusterEndsWithIt) {
  const auto ray = [](const std::string& more) {
    return own(R"({"metadata":{"name":"r"},"spec":{)" + more +
                   R"("rayClusterSpec":{"headGroupSpec":{"template":)" +
                   pod(container(kGpu, "1"), "") + "}}}}",
               R"({"group":"ray.io","version":"v1","kind":"RayJob"})");
  };
  EXPECT_EQ(ray(R"("shutdownAfterJobFinishes":true,)").because, Because::kSuspended);
  EXPECT_EQ(ray("").because, Because::kUnchanged);
  EXPECT_EQ(
      ray(R"("shutdownAfterJobFinishes":true,"clusterSelector":{"ray.io/cluster":"c"},)").because,
      Because::kUnchanged);
}

}  // namespace
}  // namespace subak
