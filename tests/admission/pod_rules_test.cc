// The warnings about rules of a pod about other pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/policy.h"
#include "tests/admission/fixture.h"

namespace subak {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> warnings(const std::string& spec) {
  const std::string object =
      test::pod(test::container("nvidia.com/gpu", "8"), R"("name":"p","labels":{"app":"a"})", spec);
  return test::decide_text(test::review_text(object, "team-b"), Endpoint::kMutate, {}).warnings;
}

std::string spread(const std::string& app, const std::string& when) {
  return R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"kubernetes.io/hostname",)"
         R"("labelSelector":{"matchLabels":{"app":")" +
         app + R"("}},"whenUnsatisfiable":")" + when + R"("}])";
}

TEST(PodRuleWarnings, SayWhatIsNotRead) {
  EXPECT_THAT(warnings(""), IsEmpty());
  EXPECT_THAT(warnings(spread("b", "DoNotSchedule")),
              ElementsAre("spec.topologySpreadConstraints[0] is not read: kube-scheduler decides "
                          "whether the node that Subak chooses suits it"));
  EXPECT_THAT(
      warnings(spread("a", "ScheduleAnyway")),
      ElementsAre("spec.topologySpreadConstraints[0] only prefers, and is not read: it does "
                  "not affect which node Subak chooses"));
  EXPECT_THAT(
      warnings(R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
               R"([{"topologyKey":"zone","labelSelector":{},"namespaceSelector":{}}]}})"),
      ElementsAre("spec.affinity.podAffinity is not read: kube-scheduler decides whether the node "
                  "that Subak chooses suits it"));
}

TEST(PodRuleWarnings, SayWhichPodsATopologySpreadCounts) {
  EXPECT_THAT(
      warnings(spread("a", "DoNotSchedule")),
      ElementsAre("spec.topologySpreadConstraints: Subak counts only pods on GPUs that have "
                  "the same constraint. kube-scheduler counts all pods that the selector "
                  "selects"));
}

}  // namespace
}  // namespace subak
