// Routes of pods to MIG slices and shared GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/policy.h"
#include "tests/admission/fixture.h"

namespace subak {
namespace {

using test::container;
using test::decide_text;
using test::review_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kOneGpu[] = "nvidia.com/gpu";
constexpr char kSlices[] = "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb";
constexpr char kSelector[] = "nodeSelector";

AdmissionConfig routes() {
  AdmissionConfig config;
  config.routes = {{"team-b", "", kSlices}, {"", "low", "NVIDIA-H100-80GB-HBM3-SHARED"}};
  return config;
}

Decision routed(const std::string& object, const std::string& ns = "team-b",
                Endpoint endpoint = Endpoint::kMutate) {
  return decide_text(review_text(object, ns), endpoint, routes());
}

TEST(Route, SendsOneGpuToASlice) {
  const Decision d = routed(test::pod(container(kOneGpu, "1")));
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  EXPECT_THAT(d.patch,
              HasSubstr(R"({"op":"add","path":"/spec/nodeSelector","value":)"
                        R"({"nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}})"));
  EXPECT_THAT(
      d.warnings,
      ElementsAre("a route of the cluster sends this pod to "
                  "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb; to choose yourself, name a product in "
                  "nodeSelector[nvidia.com/gpu.product]"));
  const Decision beside = routed(
      test::pod(container(kOneGpu, "1"), R"("name":"p")", R"(,"nodeSelector":{"pool":"a"})"));
  EXPECT_THAT(beside.patch, HasSubstr(R"("path":"/spec/nodeSelector/nvidia.com~1gpu.product")"));
  EXPECT_EQ(routed(test::pod(container(kOneGpu, "1")), "team-b", Endpoint::kValidate).patch, "");
}

TEST(Route, PodWithTheSelectorGetsNoSecondPatch) {
  const std::string selector =
      R"(,"nodeSelector":{"nvidia.com/gpu.product":")" + std::string(kSlices) + R"("})";
  const Decision d = routed(test::pod(container(kOneGpu, "1"), R"("name":"p")", selector));
  EXPECT_THAT(d.patch, Not(HasSubstr(kSelector)));
  EXPECT_THAT(d.warnings, IsEmpty());
}

TEST(Route, PriorityClassMayDecide) {
  const std::string low = R"("name":"p","labels":{"subak.gpu/priority":"low"})";
  EXPECT_THAT(routed(test::pod(container(kOneGpu, "1"), low), "team-a").patch,
              HasSubstr(R"("nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3-SHARED")"));
  EXPECT_THAT(routed(test::pod(container(kOneGpu, "1"), low), "team-b").patch,
              HasSubstr("MIG-1g.10gb"))
      << "the first route counts";
  EXPECT_THAT(routed(test::pod(container(kOneGpu, "1")), "team-a").patch,
              Not(HasSubstr(kSelector)));
}

TEST(Route, LeavesPodsThatNeedWholeOrLinkedGpus) {
  const auto patch = [](const std::string& containers, const std::string& keys = "",
                        const std::string& spec = "") {
    return routed(test::pod(containers, R"("name":"p","labels":{)" + keys + "}", spec)).patch;
  };
  const std::string one = container(kOneGpu, "1");
  EXPECT_THAT(patch(one), HasSubstr(kSelector));
  EXPECT_THAT(patch(container(kOneGpu, "2")), Not(HasSubstr(kSelector)));
  EXPECT_THAT(patch(container("nvidia.com/mig-1g.10gb", "1")), Not(HasSubstr(kSelector)));
  EXPECT_THAT(patch(container(kOneGpu, "1\",\"rdma/hca\":\"1")), Not(HasSubstr(kSelector)));
  EXPECT_THAT(patch(one, R"("subak.gpu/topology":"nvlink")"), Not(HasSubstr(kSelector)));
  EXPECT_THAT(patch(one, R"("subak.gpu/topology":"node")"), HasSubstr(kSelector));
  EXPECT_THAT(patch(one, R"("subak.gpu/compute-domain":"true")"), Not(HasSubstr(kSelector)));
  EXPECT_THAT(patch(one, R"("subak.gpu/job":"j","subak.gpu/gang-size":"2","subak.gpu/rank":"0")"),
              Not(HasSubstr(kSelector)));
  EXPECT_THAT(patch(one, "", R"(,"nodeSelector":{"nvidia.com/gpu.product":"NVIDIA-A10"})"),
              Not(HasSubstr(kSelector)));
  const std::string affinity =
      R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
      R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"nvidia.com/gpu.product",)"
      R"("operator":"NotIn","values":["NVIDIA-A10"]}]}]}}})";
  EXPECT_THAT(patch(one, "", affinity), Not(HasSubstr(kSelector)));
  EXPECT_THAT(routed(test::pod(one), "team-a").patch, Not(HasSubstr(kSelector)));
}

TEST(Route, ShapeIsThatOfTheSlice) {
  AdmissionConfig config;
  config.routes = {{"team-*", "", "NVIDIA-L4-MIG-1g.6gb"}};
  const Decision d = decide_text(review_text(test::pod(container(kOneGpu, "1")), "team-b"),
                                 Endpoint::kMutate, config);
  EXPECT_EQ(d.because, Because::kExceedsFleet);
  EXPECT_THAT(d.warnings.at(0),
              HasSubstr("asks for product NVIDIA-L4, of which there is none now"));
}

}  // namespace
}  // namespace subak
