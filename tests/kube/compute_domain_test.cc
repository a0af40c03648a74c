// The objects of NVIDIA's DRA driver, and the claims of pods for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "kube/domain/domain_objects.h"
#include "pods.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Domain : public ::testing::Test {
 protected:
  json::Value parse(const std::string& text) {
    texts_.push_back(text);
    return parsers_.emplace_back().parse(texts_.back());
  }
  Pod read(const std::string& containers, const std::string& spec,
           const std::string& metadata = R"("name":"p","namespace":"ml")") {
    return read_pod(parse(test::pod(containers, metadata, spec)), {});
  }

 private:
  std::deque<json::Parser> parsers_;
  std::deque<std::string> texts_;
};

const std::string kOurs =
    R"(,"resourceClaims":[{"name":"subak-compute-domain","resourceClaimTemplateName":"subak-t-1"}])";
const std::string kUses = R"("claims":[{"name":"subak-compute-domain"}])";

std::string gpu_container(const std::string& claims) {
  return R"({"name":"c","resources":{"limits":{"nvidia.com/gpu":"4"},)" + claims + "}}";
}

TEST_F(Domain, ReadsAComputeDomain) {
  const auto domain = read_compute_domain(parse(
      R"({"metadata":{"namespace":"ml","name":"d","uid":"u","resourceVersion":"7",)"
      R"("labels":{"subak.gpu/attempt":"1-42.3"},)"
      R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"j-1"}]},)"
      R"("spec":{"channel":{"resourceClaimTemplate":{"name":"t"}}},"status":{"nodes":[)"
      R"({"name":"n2","status":"NotReady"},{"name":"n1"},{"name":"n3","status":"Ready"},{}]}})"));
  ASSERT_TRUE(domain.ok());
  EXPECT_EQ(domain->claim_template, "t");
  EXPECT_EQ(domain->job, JobId(ClusterId(1), 42));
  EXPECT_EQ(domain->attempt, 3u);
  EXPECT_EQ(domain->owner.uid, "j-1");
  EXPECT_FALSE(domain->going);
  EXPECT_EQ(domain->nodes, 3u);
  EXPECT_THAT(domain->not_ready, ElementsAre("n1", "n2"));
}

TEST_F(Domain, IsOursOnlyWithAWholeLabel) {
  for (const char* label : {"", "1-42", "1-42.", "1-42.x", "1-42.0", "x.1", ".1", "1-42.3.4",
                            "1-42.99999999999", "1-42.-1"}) {
    const auto domain = read_compute_domain(parse(
        R"({"metadata":{"namespace":"a","name":"d","uid":"u","labels":{"subak.gpu/attempt":")" +
        std::string(label) + R"("}}})"));
    ASSERT_TRUE(domain.ok()) << label;
    EXPECT_FALSE(domain->is_ours()) << label;
  }
}

TEST_F(Domain, AnErrorNamesTheField) {
  EXPECT_EQ(read_compute_domain(parse("{}")).error().field, "metadata.namespace");
  EXPECT_EQ(
      read_compute_domain(parse(R"({"metadata":{"namespace":"a","name":"d"}})")).error().field,
      "metadata.uid");
  EXPECT_EQ(read_claim_template(parse(R"({"metadata":{"namespace":"a"}})")).error().field,
            "metadata.name");
  EXPECT_EQ(read_channel_slice(parse(R"({"metadata":{"name":")" + std::string(300, 'x') + "\"}}"))
                .error()
                .field,
            "metadata.name");
}

TEST_F(Domain, ATemplateOfChannelsAsksForNothingElse) {
  const auto of_channel = [this](const std::string& requests) {
    return read_claim_template(
               parse(R"({"metadata":{"namespace":"a","name":"t"},"spec":{"spec":{"devices":{)"
                     R"("requests":[)" +
                     requests + "]}}}}"))
        ->of_channel;
  };
  const std::string channel =
      R"({"name":"c","exactly":{"deviceClassName":"compute-domain-default-channel.nvidia.com"}})";
  EXPECT_TRUE(of_channel(channel));
  EXPECT_FALSE(of_channel(""));
  EXPECT_FALSE(
      of_channel(channel + R"(,{"name":"g","exactly":{"deviceClassName":"gpu.nvidia.com"}})"));
  EXPECT_FALSE(of_channel(channel + R"(,{"name":"g","firstAvailable":[]})"));
}

TEST_F(Domain, AChannelIsDeviceZeroOfTheDriver) {
  const auto has = [this](const std::string& driver, const std::string& type, int id) {
    return read_channel_slice(
               parse(R"({"metadata":{"name":"s"},"spec":{"driver":")" + driver +
                     R"(","nodeName":"n","devices":[{"attributes":{"type":{"string":")" + type +
                     R"("},"id":{"int":)" + std::to_string(id) + "}}}]}}"))
        ->has_channel;
  };
  EXPECT_TRUE(has("compute-domain.nvidia.com", "channel", 0));
  EXPECT_FALSE(has("compute-domain.nvidia.com", "channel", 1));
  EXPECT_FALSE(has("compute-domain.nvidia.com", "daemon", 0));
  EXPECT_FALSE(has("gpu.nvidia.com", "channel", 0));
}

TEST_F(Domain, WritesWhatItReads) {
  const std::string text = compute_domain_body("ml", "subak-t-1", JobId(ClusterId(1), 42), 3,
                                               {"batch/v1", "Job", "train", "j-1"});
  EXPECT_THAT(text, HasSubstr(R"("numNodes":0)"));
  const json::Value made = parse(text);
  EXPECT_EQ(json::text(made, "apiVersion"), "resource.nvidia.com/v1beta1");
  const auto stored =
      read_compute_domain(parse(text.substr(0, text.find("\"name\"")) + R"("uid":"u",)" +
                                text.substr(text.find("\"name\""))));
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->name, "subak-t-1");
  EXPECT_EQ(stored->claim_template, "subak-t-1");
  EXPECT_EQ(stored->job, JobId(ClusterId(1), 42));
  EXPECT_EQ(stored->attempt, 3u);
  EXPECT_EQ(stored->owner.name, "train");
  EXPECT_THAT(compute_domain_body("a", "b", JobId(ClusterId(1), 1), 1, {}),
              ::testing::Not(HasSubstr("ownerReferences")));
}

TEST_F(Domain, PodsOfOneGangShareAName) {
  const auto named = [this](const std::string& metadata, const char* otherwise = "r1") {
    return domain_name_of(read(test::container("nvidia.com/gpu", "1"), "", metadata), otherwise);
  };
  const std::string gang = R"(,"labels":{"subak.gpu/job":"Train_1","subak.gpu/gang-size":"2"})";
  const std::string first = named(R"("name":"a")" + gang);
  EXPECT_EQ(first, named(R"("name":"b")" + gang, "r2"));
  EXPECT_THAT(first, HasSubstr("subak-train-1-"));
  EXPECT_LE(first.size(), 63u);
  const auto marked = [](const std::string& labels) {
    return R"("generateName":"j-","labels":{)" + labels +
           R"(},"ownerReferences":[{"controller":true,"kind":"Job","name":"j","uid":"j-1"}])";
  };
  const std::string job = marked(R"("job-name":"j","controller-uid":"j-1")");
  EXPECT_EQ(named(job), named(job, "r2"));
  // The Jobs of a JobSet are one gang, whose size only the JobSet states.
  const auto of_set = [&](const char* job_name) {
    return named(marked(R"("jobset.sigs.k8s.io/jobset-name":"s","jobset.sigs.k8s.io/jobset-uid":)"
                        R"("s-1","job-name":")" +
                        std::string(job_name) + "\""));
  };
  EXPECT_EQ(of_set("s-a-0"), of_set("s-a-1"));
  EXPECT_NE(of_set("s-a-0"), named(job));
  EXPECT_NE(named(R"("name":"lone")"), named(R"("name":"lone")", "r2"));
  EXPECT_THAT(named(R"("name":"---")"), ::testing::MatchesRegex("subak-[0-9a-f]{16}"));
}

TEST_F(Domain, OurClaimIsNoDeviceOfItsOwn) {
  const Pod pod = read(gpu_container(kUses), kOurs);
  EXPECT_EQ(pod.claims.domain_template, "subak-t-1");
  EXPECT_EQ(pod.claims.device, "");
  EXPECT_TRUE(pod.terms.compute_domain);
  EXPECT_EQ(pod.terms.topology, Topology::kNvlink);
  ASSERT_EQ(pod.shape.extended.size(), 1u);
  EXPECT_EQ(pod.shape.extended[0].name, names::kChannel);
  EXPECT_TRUE(pod.containers.at(0).has_claims);
}

// A pod without GPUs, another name of the template, or a claim of another name is a user's claim.
TEST_F(Domain, OtherClaimsAreTheUsers) {
  EXPECT_EQ(read(R"({"name":"c"})", kOurs).claims.device, "spec.resourceClaims");
  const Pod other =
      read(gpu_container(kUses), R"(,"resourceClaims":[{"name":"subak-compute-domain",)"
                                 R"("resourceClaimTemplateName":"gpus"}])");
  EXPECT_EQ(other.claims.domain_template, "");
  EXPECT_EQ(other.claims.device, "spec.resourceClaims");
  EXPECT_THAT(other.claims.templates, ElementsAre("gpus"));
  EXPECT_TRUE(other.claims.by_template);
  EXPECT_FALSE(other.terms.compute_domain);
  const Pod by_name = read(gpu_container(R"("claims":[{"name":"x"}])"),
                           R"(,"resourceClaims":[{"name":"x","resourceClaimName":"shared"}])");
  EXPECT_EQ(by_name.claims.device, "spec.containers[0].resources.claims");
  EXPECT_FALSE(by_name.claims.by_template);
  EXPECT_THAT(by_name.claims.templates, IsEmpty());
}

TEST_F(Domain, TheTopologyOfAComputeDomainIsNvlinkUnlessThePodSaysAnother) {
  const auto terms = [this](const std::string& keys) {
    return read(test::container("nvidia.com/gpu", "1"), "",
                R"("name":"p","annotations":{"subak.gpu/compute-domain":"true")" + keys + "}")
        .terms;
  };
  EXPECT_EQ(terms("").topology, Topology::kNvlink);
  EXPECT_EQ(terms(R"(,"subak.gpu/topology":"rack")").topology, Topology::kRack);
  EXPECT_TRUE(terms(R"(,"subak.gpu/topology":"prefer:nvlink")").prefer);
  EXPECT_EQ(read(gpu_container(R"("claims":[{"name":"x"}])"),
                 R"(,"resourceClaims":[{"name":"x","resourceClaimTemplateName":"own"}])",
                 R"("name":"p","annotations":{"subak.gpu/compute-domain":"true"})")
                .terms.topology,
            Topology::kAny);
}

}  // namespace
}  // namespace subak
