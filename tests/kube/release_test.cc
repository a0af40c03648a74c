#include "kube/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/names.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kOurs = R"({"name":"subak.gpu/queue"})";
constexpr std::string_view kTest =
    R"([{"op":"test","path":"/metadata/uid","value":"u1"},)"
    R"({"op":"test","path":"/metadata/resourceVersion","value":"42"},)";
constexpr std::string_view kPin = R"({"key":"metadata.name","operator":"In","values":["n7"]})";

std::string pod(std::string_view spec, std::string_view metadata = "") {
  return R"({"metadata":{"uid":"u1","resourceVersion":"42")" + std::string(metadata) +
         R"(},"spec":{"schedulingGates":[)" + std::string(kOurs) + "]" + std::string(spec) + "}}";
}
std::string affinity(std::string_view terms) {
  return R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
         R"({"nodeSelectorTerms":[)" +
         std::string(terms) + "]}}}";
}

Result<std::string> patch_of(const std::string& text, const Release& release = {"n7", "Starting"}) {
  simdjson::dom::parser parser;
  return release_patch(parser.parse(text), release);
}
// Where the patch adds a list of fields, and where it adds one to a list.
const std::string kTerms =
    "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/";
std::string adds_list(int term) {
  return R"({"op":"add","path":")" + kTerms + std::to_string(term) + R"(/matchFields","value":[)" +
         std::string(kPin) + "]}";
}
std::string adds_one(int term) {
  return R"({"op":"add","path":")" + kTerms + std::to_string(term) + R"(/matchFields/-","value":)" +
         std::string(kPin) + "}";
}

TEST(ReleasePatch, OfAPodWithoutAffinity) {
  EXPECT_EQ(*patch_of(pod("")),
            std::string(kTest) +
                R"({"op":"test","path":"/spec/schedulingGates/0/name","value":"subak.gpu/queue"},)"
                R"({"op":"add","path":"/spec/affinity","value":{"nodeAffinity":)"
                R"({"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)"
                R"([{"matchFields":[)" +
                std::string(kPin) +
                R"(]}]}}}},{"op":"add","path":"/metadata/annotations",)"
                R"("value":{"subak.gpu/status":"Starting"}},)"
                R"({"op":"remove","path":"/spec/schedulingGates/0"}])");
}

TEST(ReleasePatch, NamesTheRequestThatBroughtTheNode) {
  Release release{"n7", "Starting"};
  EXPECT_THAT(*patch_of(pod(""), release), Not(HasSubstr("autoscaling.x-k8s.io")));
  release.request = "subak-1-42-1";
  release.request_class = "a.b";
  EXPECT_THAT(*patch_of(pod(""), release),
              HasSubstr(R"("autoscaling.x-k8s.io/consume-provisioning-request":"subak-1-42-1",)"
                        R"("autoscaling.x-k8s.io/provisioning-class-name":"a.b")"));
}

TEST(ReleasePatch, TakesOnlyOurGateAwayAndKeepsOtherAnnotations) {
  const std::string text =
      R"({"metadata":{"uid":"u1","resourceVersion":"42","annotations":{"a":"b"}},)"
      R"("spec":{"schedulingGates":[{"name":"x.y/z"},)" +
      std::string(kOurs) + "]}}";
  const std::string patch = *patch_of(text);
  EXPECT_THAT(patch, HasSubstr(R"("path":"/spec/schedulingGates/1/name")"));
  EXPECT_THAT(patch, HasSubstr(R"({"op":"remove","path":"/spec/schedulingGates/1"}])"));
  EXPECT_THAT(patch, HasSubstr(R"("path":"/metadata/annotations/subak.gpu~1status")"));
}

TEST(ReleasePatch, ProtectsTheNodeOfAGangUnlessTheUserDecides) {
  const std::string rest = "{\"schedulingGates\":[" + std::string(kOurs) + "]}}";
  const auto patch = [&](const std::string& notes) {
    return *patch_of(R"({"metadata":{"uid":"u1","resourceVersion":"42","annotations":{)" + notes +
                         R"(}},"spec":)" + rest,
                     {"n7", "Starting", true});
  };
  EXPECT_THAT(
      patch(R"("a":"b")"),
      HasSubstr(R"("path":"/metadata/annotations/karpenter.sh~1do-not-disrupt","value":"true")"));
  EXPECT_THAT(patch(R"("a":"b")"), HasSubstr(R"(~1safe-to-evict","value":"false")"));
  EXPECT_THAT(patch(R"("karpenter.sh/do-not-disrupt":"false")"), Not(HasSubstr("do-not-disrupt")));
  EXPECT_THAT(patch(R"("cluster-autoscaler.kubernetes.io/safe-to-evict":"true")"),
              Not(HasSubstr("safe-to-evict")));
}

TEST(ReleasePatch, NarrowsEveryTermThatAcceptsANode) {
  const std::string patch = *patch_of(pod(
      affinity(R"({"matchExpressions":[{"key":"a","operator":"Exists"}]},{},)"
               R"({"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n1"]}]},)"
               R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n7"]}]},)"
               R"({"matchExpressions":[{"key":"a","operator":"Exists"}],"matchFields":[]})")));
  EXPECT_THAT(patch, HasSubstr(adds_list(0)));
  EXPECT_THAT(patch, Not(HasSubstr(kTerms + "1"))) << "an empty one may not gain anything";
  EXPECT_THAT(patch, HasSubstr(adds_one(2)));
  EXPECT_THAT(patch, Not(HasSubstr(kTerms + "3"))) << "it says so already";
  EXPECT_THAT(patch, HasSubstr(adds_list(4)));
}

TEST(ReleasePatch, KeepsOtherKindsOfAffinity) {
  EXPECT_THAT(*patch_of(pod(R"(,"affinity":{"podAffinity":{}})")),
              HasSubstr(R"("path":"/spec/affinity/nodeAffinity","value":{"requiredDuring)"));
  EXPECT_THAT(*patch_of(pod(R"(,"affinity":{"nodeAffinity":{"preferredX":[]}})")),
              HasSubstr(R"(IgnoredDuringExecution","value":{"nodeSelectorTerms":[)"));
}

TEST(ReleasePatch, WithoutANodeNarrowsNothing) {
  const std::string patch = *patch_of(pod(affinity("{}")), {"", "Open"});
  EXPECT_THAT(patch, Not(HasSubstr("affinity")));
  EXPECT_THAT(patch, HasSubstr(R"("op":"remove")"));
}

TEST(ReleasePatch, RefusesWhatCannotBeReleased) {
  EXPECT_EQ(patch_of(R"({"metadata":{"uid":"u1"},"spec":{}})").error().field,
            "metadata.resourceVersion");
  EXPECT_EQ(patch_of("{}").error().field, "metadata.uid");
  const auto gone = patch_of(R"({"metadata":{"uid":"u","resourceVersion":"1"},"spec":{}})");
  EXPECT_EQ(gone.error().code, ErrorCode::kPrecondition);
  EXPECT_EQ(gone.error().field, "spec.schedulingGates");
  EXPECT_THAT(patch_of(pod(affinity("{},{}"))).error().message(), HasSubstr("accepts no node"));
}

TEST(ReleasePatch, TextsAreEscapedAndCut) {
  const std::string patch = *patch_of(pod(""), {"n\"7\\", std::string(100'000, 'x')});
  EXPECT_THAT(patch, HasSubstr(R"("values":["n\"7\\"])"));
  EXPECT_LT(patch.size(), 10'000u);
}

}  // namespace
}  // namespace subak
