// The warnings about pods that their nodes could not align, as they are printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/policy.h"
#include "core/error.h"
#include "tests/admission/fixture.h"

namespace subak {
namespace {

using test::container;
using test::decide_text;
using test::review_text;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kGpu[] = "nvidia.com/gpu";

// One container with these lists of resources.
std::string with(const std::string& name, const std::string& limits, const std::string& requests,
                 const std::string& more = "") {
  return R"({"name":")" + name + R"(","resources":{"limits":{)" + limits + R"(},"requests":{)" +
         requests + "}}" + more + "}";
}

Decision decided(const std::string& object, const AdmissionConfig& config = {},
                 const std::string& ns = "team-b") {
  return decide_text(review_text(object, ns), Endpoint::kMutate, config);
}

std::vector<std::string> warnings(const std::string& object) { return decided(object).warnings; }

TEST(Alignment, AlignedPodHasNoWarnings) {
  EXPECT_THAT(warnings(test::pod(container(kGpu, "8"))), IsEmpty());
  EXPECT_THAT(
      warnings(test::pod(container(kGpu, "8\",\"rdma/hca\":\"1\",\"hugepages-2Mi\":\"1Gi"))),
      ElementsAre("ExceedsFleet: asks for hugepages-2Mi, which no node has; it is queued "
                  "until the fleet can hold it"));
}

TEST(Alignment, NamesEachFieldThatPreventsGuaranteedQos) {
  const std::string burst =
      with("a", R"("nvidia.com/gpu":"2","cpu":"8")", R"("cpu":"3","memory":"16Gi")") + "," +
      with("b", "", "");
  EXPECT_THAT(
      warnings(test::pod(burst)),
      ElementsAre("spec.containers[0].resources.requests[cpu]: was \"3\", want \"8\" as the limit: "
                  "only Guaranteed pods are aligned",
                  "spec.containers[0].resources.limits[memory]: is not set, want \"16Gi\" as the "
                  "request: only Guaranteed pods are aligned",
                  "spec.containers[1].resources.limits[cpu]: is not set, want whole CPUs such as "
                  "\"8\": only Guaranteed pods are aligned",
                  "spec.containers[1].resources.limits[memory]: is not set, want an amount such as "
                  "\"64Gi\": only Guaranteed pods are aligned"));
}

TEST(Alignment, InitContainersAndSidecarsDecideTheQosClassToo) {
  const std::string init = R"(,"initContainers":[)" + with("i", R"("cpu":"1","memory":"1Gi")", "") +
                           "," + with("s", R"("cpu":"1")", "", R"(,"restartPolicy":"Always")") +
                           "]";
  EXPECT_THAT(warnings(test::pod(container(kGpu, "2"), R"("name":"p")", init)),
              ElementsAre("spec.initContainers[1].resources.limits[memory]: is not set, want an "
                          "amount such as \"64Gi\": only Guaranteed pods are aligned"));
  const std::string whole = init + R"(,"resources":{"limits":{"cpu":"9","memory":"70Gi"}})";
  EXPECT_THAT(warnings(test::pod(container(kGpu, "2"), R"("name":"p")", whole)), IsEmpty())
      << "the resources of the pod decide";
}

TEST(Alignment, OneGpuNeedsNoAlignment) {
  EXPECT_THAT(warnings(test::pod(with("c", R"("nvidia.com/gpu":"1","cpu":"1500m")", ""))),
              IsEmpty());
}

TEST(Alignment, AsksForWholeCpus) {
  const std::string part = R"("nvidia.com/gpu":"2","cpu":"1500m","memory":"1Gi")";
  const char* const limit =
      "spec.containers[0].resources.limits[cpu]: was \"1500m\", want whole CPUs such as \"2\": "
      "parts of a CPU are not aligned";
  EXPECT_THAT(warnings(test::pod(with("c", part, ""))), ElementsAre(limit));
  EXPECT_THAT(warnings(test::pod(with("c", part, R"("cpu":"1.5")"))), ElementsAre(limit))
      << "the API server copies the limit";
  EXPECT_THAT(
      warnings(test::pod(with("c", part, R"("cpu":"500m")"))),
      ElementsAre("spec.containers[0].resources.requests[cpu]: was \"500m\", want \"1500m\" as the "
                  "limit: only Guaranteed pods are aligned",
                  "spec.containers[0].resources.requests[cpu]: was \"500m\", want whole CPUs such "
                  "as \"1\": parts of a CPU are not aligned"));
}

TEST(Alignment, NetworkCardsAndHugePagesBelongBesideTheGpus) {
  EXPECT_THAT(warnings(test::pod(container(kGpu, "8") + "," + container("rdma/hca", "1"))),
              ElementsAre("spec.containers[1].resources.limits[rdma/hca]: want it in "
                          "spec.containers[0], beside the GPUs: other containers are not aligned"));
  const std::vector<std::string> pages =
      warnings(test::pod(container("hugepages-2Mi", "64Mi") + "," + container(kGpu, "4")));
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[1],
            "spec.containers[0].resources.limits[hugepages-2Mi]: want it in spec.containers[1], "
            "beside the GPUs: other containers are not aligned");
}

TEST(Alignment, PodsThatShareANodeMustNameTheirPorts) {
  const std::string host = R"(,"hostNetwork":true)";
  const std::string open = R"(,"ports":[{"containerPort":29500}])";
  EXPECT_THAT(warnings(test::pod(container(kGpu, "4"), R"("name":"p")", host)),
              ElementsAre("spec.containers[].ports: want each port that the pod opens, such as "
                          "containerPort: 29500: with hostNetwork, pods on one node share all "
                          "ports"));
  EXPECT_THAT(warnings(test::pod(container(kGpu, "4", open), R"("name":"p")", host)), IsEmpty());
  EXPECT_THAT(warnings(test::pod(container(kGpu, "8"), R"("name":"p")", host)), IsEmpty())
      << "no other pod is on its node";
}

// Decides with a cluster in which each kubelet takes a container from one NUMA node of 4 GPUs and 64
// CPUs.
Decision on_numa_nodes(const std::string& object) {
  auto view = std::make_shared<View>(*test::fixed_view());
  auto clusters = std::make_shared<std::vector<ClusterView>>(*view->clusters);
  clusters->front().product_container_gpus = {4};
  clusters->front().largest_node.container_cpu_milli = 64'000;
  view->clusters = clusters;
  const test::Parsed parsed(review_text(object, "team-b"));
  return decide(*view, {}, "c1", Endpoint::kMutate, parsed.review());
}

TEST(Alignment, OneNumaNodeIsTheMost) {
  EXPECT_THAT(on_numa_nodes(test::pod(container(kGpu, "4"))).warnings, IsEmpty());
  EXPECT_THAT(
      on_numa_nodes(test::pod(container(kGpu, "8"))).warnings,
      ElementsAre("spec.containers[0].resources.limits[nvidia.com/gpu]: was \"8\", want at "
                  "most \"4\": the kubelets of all such nodes take them from one NUMA node"));
  EXPECT_THAT(on_numa_nodes(test::pod(container(kGpu, "4") + "," + container(kGpu, "4"))).warnings,
              IsEmpty())
      << "each container is aligned by itself";
  const std::string cpus = R"("nvidia.com/gpu":"2","cpu":"96","memory":"1Gi")";
  EXPECT_THAT(on_numa_nodes(test::pod(with("c", cpus, ""))).warnings,
              ElementsAre("spec.containers[0].resources.limits[cpu]: was \"96\", want at most "
                          "\"64\": no kubelet has more on a NUMA node"));
}

// A pod of a gang of `size` pods.
std::string member(int rank, const std::string& spec = "", const std::string& keys = "",
                   const std::string& containers = container(kGpu, "8")) {
  return test::pod(
      containers,
      R"("name":"p","labels":{"subak.gpu/job":"j","subak.gpu/gang-size":"4","subak.gpu/rank":")" +
          std::to_string(rank) + '"' + keys + "}",
      spec);
}

TEST(Alignment, FirstPodOfAGangWithoutRdmaGetsOneWarning) {
  EXPECT_THAT(
      warnings(member(0)),
      ElementsAre("spec.containers[0].resources.limits[rdma/hca]: is not set, want \"1\", or "
                  "spec.hostNetwork: true: its gang is on several nodes"));
  EXPECT_THAT(warnings(member(1)), IsEmpty()) << "the first pod had it";
  EXPECT_THAT(warnings(member(0, R"(,"hostNetwork":true)")), IsEmpty());
  EXPECT_THAT(warnings(member(0, "", "", container(kGpu, "8\",\"rdma/hca\":\"1"))), IsEmpty());
  EXPECT_THAT(warnings(member(0, "", "", container(kGpu, "2"))), IsEmpty()) << "one node has room";
  EXPECT_THAT(warnings(member(0, "", R"(,"subak.gpu/topology":"nvlink")")), IsEmpty());
  AdmissionConfig off;
  off.alignment = Alignment::kOff;
  EXPECT_THAT(decided(member(0), off).warnings, IsEmpty());
  auto view = std::make_shared<View>(*test::fixed_view());
  auto clusters = std::make_shared<std::vector<ClusterView>>(*view->clusters);
  clusters->front().largest_node.extended.clear();
  view->clusters = clusters;
  const test::Parsed parsed(review_text(member(0), "team-b"));
  EXPECT_THAT(
      decide(*view, {}, "c1", Endpoint::kMutate, parsed.review()).warnings,
      ElementsAre("spec.hostNetwork: is not set, want true, as no node offers RDMA: its gang "
                  "is on several nodes"));
}

TEST(Alignment, SeveralReplicasAreNoSecondCard) {
  const std::vector<std::string> two = warnings(test::pod(container("nvidia.com/gpu.shared", "2")));
  ASSERT_FALSE(two.empty());
  EXPECT_EQ(
      two.back(),
      "spec.containers[0].resources.limits[nvidia.com/gpu.shared]: was \"2\", want \"1\": "
      "several replicas may be parts of one GPU, and many device plugins refuse more than one");
  EXPECT_THAT(warnings(test::pod(container("nvidia.com/gpu.shared", "1"))), IsEmpty());
  const std::string selector =
      R"(,"nodeSelector":{"nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3-SHARED"})";
  EXPECT_THAT(warnings(test::pod(container(kGpu, "2"), R"("name":"p")", selector)),
              ElementsAre("spec.containers[0].resources.limits[nvidia.com/gpu]: was \"2\", want "
                          "\"1\": several replicas may be parts of one GPU, and many device "
                          "plugins refuse more than one"));
}

TEST(Alignment, NamespacesMayDenyOrSwitchOff) {
  const std::string loose = test::pod(with("c", R"("nvidia.com/gpu":"2","cpu":"2500m")", ""));
  AdmissionConfig config;
  config.alignment = Alignment::kDeny;
  config.alignment_namespaces = {{"team-a", Alignment::kOff}, {"team-*", Alignment::kWarn}};
  EXPECT_THAT(decided(loose, config, "team-a").warnings, IsEmpty());
  EXPECT_EQ(decided(loose, config, "team-b").warnings.size(), 2u);
  config.alignment_namespaces.pop_back();
  const Decision denied = decided(loose, config, "team-b");
  EXPECT_EQ(denied.verdict, Verdict::kDenied);
  EXPECT_EQ(denied.because, Because::kUnaligned);
  EXPECT_EQ(denied.code, 422);
  EXPECT_EQ(denied.message,
            "spec.containers[0].resources.limits[memory]: is not set, want an amount such as "
            "\"64Gi\": only Guaranteed pods are aligned (and 1 more field)");
  EXPECT_EQ(decided(test::pod(container(kGpu, "2")), config, "team-b").verdict, Verdict::kPatched);
}

TEST(Alignment, InModeWarnADenialIsAWarning) {
  AdmissionConfig config;
  config.alignment = Alignment::kDeny;
  const Decision d = decided(
      test::pod(with("c", R"("nvidia.com/gpu":"2","cpu":"2","memory":"1Gi")", R"("cpu":"1")")),
      config, "team-w");
  EXPECT_EQ(d.verdict, Verdict::kUntouched);
  EXPECT_THAT(
      d.warnings,
      ElementsAre("in mode enforce this would be denied: "
                  "spec.containers[0].resources.requests[cpu]: was \"1\", want \"2\" as the "
                  "limit: only Guaranteed pods are aligned"));
}

}  // namespace
}  // namespace subak
