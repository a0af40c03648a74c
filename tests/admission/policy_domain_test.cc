// The claim that the webhook adds to pods whose gang gets a ComputeDomain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/policy.h"
#include "denied.h"
#include "fixture.h"
#include "kube/pod.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kAsks = R"("subak.gpu/compute-domain":"true")";
const std::string kNvlink = R"("subak.gpu/topology":"nvlink")";

std::string keyed_pod(const std::string& keys, const std::string& spec = "",
                      const std::string& gpus = "8") {
  return test::pod(test::container("nvidia.com/gpu", gpus),
                   R"("name":"p","annotations":{)" + keys + "}", spec);
}
std::string in_gang(int pods) {
  return R"(,"subak.gpu/job":"train","subak.gpu/gang-size":")" + std::to_string(pods) + "\"";
}

// The fixed view, in which nodes may offer a channel.
std::shared_ptr<const View> view_with(bool channels, bool more = false) {
  auto view = std::make_shared<View>(*test::fixed_view());
  auto clusters = std::make_shared<std::vector<ClusterView>>(*view->clusters);
  LargestNode& largest = clusters->front().largest_node;
  if (channels) largest.extended.push_back({std::string(names::kChannel), 1});
  largest.more = more;
  view->clusters = std::move(clusters);
  return view;
}
Decision decide_on(const std::string& object, const View& view, const AdmissionConfig& config = {},
                   Endpoint endpoint = Endpoint::kMutate) {
  const test::Parsed parsed(test::review_text(object));
  return decide(view, config, "c1", endpoint, parsed.review());
}

TEST(PolicyDomain, AddsOneClaimToPodAndGpuContainer) {
  const Decision d = decide_on(keyed_pod(kAsks + in_gang(2)), *view_with(true));
  EXPECT_EQ(d.because, Because::kGated);
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/spec/resourceClaims","value":[{"name":)"
                                 R"("subak-compute-domain","resourceClaimTemplateName":)"
                                 R"("subak-train-)"));
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/spec/containers/0/resources/claims",)"
                                 R"("value":[{"name":"subak-compute-domain"}])"));
}

TEST(PolicyDomain, AppendsToListsThatAreThere) {
  const std::string container =
      R"({"name":"a"},{"name":"b","resources":{"limits":{"nvidia.com/gpu":"8"},"claims":[]}})";
  const Decision d = decide_on(test::pod(container, R"("name":"p","annotations":{)" + kAsks + "}",
                                         R"(,"resourceClaims":[])"),
                               *view_with(true));
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/spec/resourceClaims/-","value":{)"));
  EXPECT_THAT(d.patch, HasSubstr(R"("path":"/spec/containers/1/resources/claims/-","value":{)"));
}

TEST(PolicyDomain, AClaimOfItsOwnStaysAlone) {
  const std::string own = R"(,"resourceClaims":[{"name":"x","resourceClaimTemplateName":"own"}])";
  const Decision d = decide_on(keyed_pod(kAsks, own), *view_with(false));
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  EXPECT_THAT(d.patch, Not(HasSubstr("\"/spec/resourceClaims")));
  const std::string ours =
      R"(,"resourceClaims":[{"name":"subak-compute-domain","resourceClaimTemplateName":"subak-t"}])";
  EXPECT_THAT(decide_on(keyed_pod(kAsks, ours), *view_with(true)).patch,
              Not(HasSubstr("\"/spec/resourceClaims")));
}

TEST(PolicyDomain, WithoutTheDriverItIsRefused) {
  for (const Endpoint endpoint : {Endpoint::kMutate, Endpoint::kValidate}) {
    test::expect_denied(
        decide_on(keyed_pod(kAsks), *view_with(false), {}, endpoint), Because::kInvalidValue, 422,
        "metadata.annotations[subak.gpu/compute-domain]: was \"true\", want it in a "
        "cluster that has ComputeDomains");
  }
  EXPECT_EQ(decide_on(keyed_pod(kAsks), *view_with(false, true)).because, Because::kGated)
      << "not all resources of the nodes are known";
}

TEST(PolicyDomain, ItsLimitsAreThoseOfTheDriver) {
  const auto refused = [](const std::string& keys) {
    return decide_on(keyed_pod(kAsks + keys, "", "1"), *view_with(true)).message;
  };
  EXPECT_EQ(refused(in_gang(16)), "");
  EXPECT_THAT(refused(in_gang(19)), HasSubstr("at most 18 pods, not 19"));
  const std::string rank = R"(,"subak.gpu/rank":"0")";
  EXPECT_THAT(refused(in_gang(4) + R"(,"subak.gpu/topology":"rack")"),
              HasSubstr("only inside one NVLink domain"));
  EXPECT_THAT(refused(in_gang(4) + rank + R"(,"subak.gpu/segment":"2")"),
              HasSubstr("only inside one NVLink domain"));
  EXPECT_EQ(refused(in_gang(4) + R"(,"subak.gpu/topology":"prefer:rack")"), "");
  EXPECT_EQ(refused(in_gang(4) + R"(,"subak.gpu/topology":"nvlink-exclusive")"), "");
}

TEST(PolicyDomain, ThePolicyAsksForGangsThatNeedSeveralNodes) {
  AdmissionConfig config;
  config.compute_domains_for_nvlink = true;
  const auto claims = [&](const std::string& object, const View& view) {
    return decide_on(object, view, config).patch.find("resourceClaims") != std::string::npos;
  };
  const auto with = view_with(true);
  EXPECT_TRUE(claims(keyed_pod(kNvlink + in_gang(2)), *with));
  EXPECT_FALSE(claims(keyed_pod(kNvlink + in_gang(2), "", "4"), *with)) << "one node is enough";
  EXPECT_FALSE(claims(keyed_pod(R"("subak.gpu/topology":"rack")" + in_gang(2)), *with));
  EXPECT_FALSE(claims(keyed_pod(kNvlink + in_gang(2)), *view_with(false))) << "no driver";
  EXPECT_FALSE(
      claims(keyed_pod(kNvlink + R"(,"subak.gpu/compute-domain":"false")" + in_gang(2)), *with));
  config.compute_domains_for_nvlink = false;
  EXPECT_FALSE(claims(keyed_pod(kNvlink + in_gang(2)), *with));
}

TEST(PolicyDomain, WithoutAViewTheClaimIsAddedToo) {
  const test::Parsed parsed(test::review_text(keyed_pod(kAsks)));
  const Decision d = decide_without_view({}, Endpoint::kMutate, parsed.review());
  EXPECT_THAT(d.patch, HasSubstr("/spec/resourceClaims"));
}

}  // namespace
}  // namespace subak
