// The PriorityClass that the webhook gives to gated pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
// What Kubernetes sets before the webhook sees a pod of the class "high".
const std::string kHigh =
    R"(,"priorityClassName":"high","priority":500,"preemptionPolicy":"PreemptLowerPriority")";
const std::string kOurs = R"(,"priorityClassName":"subak-gpu","priority":1000000000)";

AdmissionConfig with_class() {
  AdmissionConfig config;
  config.pod_priority_class = "subak-gpu";
  return config;
}

Decision create(const std::string& spec, const std::string& metadata = R"("name":"p")",
                const AdmissionConfig& config = with_class()) {
  return decide_text(review_text(pod(container(kGpu, "1"), metadata, spec)), Endpoint::kMutate,
                     config);
}

TEST(PodClass, ReplacesTheClassOfThePodAndRecordsIt) {
  const Decision d = create(kHigh);
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/metadata/annotations","value":)"
                                 R"({"subak.gpu/created-by":"ana",)"
                                 R"("subak.gpu/own-priority":"500",)"
                                 R"("subak.gpu/own-priority-class":"high"})"));
  EXPECT_THAT(d.patch, HasSubstr(R"({"op":"add","path":"/spec/priorityClassName",)"
                                 R"("value":"subak-gpu"},)"
                                 R"({"op":"remove","path":"/spec/priority"},)"
                                 R"({"op":"remove","path":"/spec/preemptionPolicy"})"));
}

TEST(PodClass, RemovesOnlyWhatIsThere) {
  const Decision d = create("");
  EXPECT_THAT(d.patch, HasSubstr(R"("subak.gpu/own-priority":"0")"));
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/spec/priorityClassName")"));
  EXPECT_THAT(d.patch, Not(HasSubstr("remove")));
}

TEST(PodClass, ThePodAsThePatchMadeItNeedsNoOther) {
  const std::string metadata =
      R"("name":"p","labels":{"subak.gpu/account":"ml.vision","subak.gpu/job":"p",)"
      R"("subak.gpu/user":"ana"},"annotations":{"subak.gpu/own-priority":"500",)"
      R"("subak.gpu/own-priority-class":"high","subak.gpu/created-by":"ana"})";
  const Decision d = create(kOurs + R"(,"schedulingGates":[{"name":"subak.gpu/queue"}])", metadata);
  EXPECT_EQ(d.because, Because::kUnchanged);
  EXPECT_EQ(d.patch, "");
}

TEST(PodClass, PodsOfSystemClassesKeepTheirs) {
  const Decision d = create(R"(,"priorityClassName":"system-node-critical","priority":2000001000)");
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  EXPECT_THAT(d.patch, Not(HasSubstr("priorityClassName")));
}

TEST(PodClass, NothingChangesWithoutAClassInTheConfiguration) {
  EXPECT_THAT(create(kHigh, R"("name":"p")", AdmissionConfig()).patch, Not(HasSubstr("priority")));
}

TEST(PodClass, NobodyElseWritesTheAnnotations) {
  const std::string forged = R"("name":"p","annotations":{"subak.gpu/own-priority":"9"})";
  expect_denied(create(kHigh, forged), Because::kInvalidValue, 422,
                "metadata.annotations[subak.gpu/own-priority]");
  expect_denied(create("", forged, AdmissionConfig()), Because::kInvalidValue, 422,
                "metadata.annotations[subak.gpu/own-priority]");
}

TEST(GangProtection, MarksPodsOfGangsForAutoscalers) {
  AdmissionConfig config;
  config.protect_gangs = true;
  const auto patch = [&](const std::string& notes) {
    return create("", R"("name":"p","annotations":{)" + notes + "}", config).patch;
  };
  const std::string gang = R"("subak.gpu/job":"g","subak.gpu/gang-size":"2")";
  EXPECT_THAT(patch(gang), HasSubstr(R"(karpenter.sh~1do-not-disrupt","value":"true")"));
  EXPECT_THAT(patch(gang),
              HasSubstr(R"(cluster-autoscaler.kubernetes.io~1safe-to-evict","value":"false")"));
  EXPECT_THAT(patch(gang + R"(,"karpenter.sh/do-not-disrupt":"false")"),
              Not(HasSubstr("do-not-disrupt")))
      << "the user decides";
  EXPECT_THAT(patch(R"("a":"b")"), Not(HasSubstr("safe-to-evict"))) << "a single pod";
}

}  // namespace
}  // namespace subak
