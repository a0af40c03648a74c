#include "kube/volume/volume.h"

#include <gmock/gmock.h>

#include "core/limits.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class VolumeTest : public ::testing::Test {
 protected:
  json::Value parse(const std::string& text) { return parser_.parse(text); }

 private:
  simdjson::dom::parser parser_;
};

AffinityTerm in(const std::string& key, std::vector<std::string> values) {
  return {{{key, "In", std::move(values)}}};
}

TEST_F(VolumeTest, APodNamesClaimsDirectlyAndByTemplates) {
  const auto volumes = read_pod_volumes(parse(R"({"metadata":{"name":"train"},"spec":{"volumes":[
      {"name":"a","persistentVolumeClaim":{"claimName":"data"}},
      {"name":"b","ephemeral":{"volumeClaimTemplate":{"spec":{}}}},
      {"name":"c","emptyDir":{}}]}})"));
  ASSERT_THAT(volumes, SizeIs(2));
  EXPECT_EQ(volumes[0].claim, "data");
  EXPECT_FALSE(volumes[0].of_template);
  EXPECT_EQ(volumes[1].claim, "train-b");
  EXPECT_TRUE(volumes[1].of_template);
  EXPECT_THAT(read_pod_volumes(parse(R"({"spec":{"volumes":7}})")), IsEmpty());
  std::string many;
  for (std::size_t i = 0; i < limits::kMaxPodListItems + 5; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"persistentVolumeClaim":{"claimName":"x"}})";
  EXPECT_THAT(read_pod_volumes(parse(R"({"spec":{"volumes":[)" + many + "]}}")),
              SizeIs(limits::kMaxPodListItems));
}

TEST_F(VolumeTest, AClaimNamesItsVolumeOrItsClass) {
  const VolumeClaim bound = read_volume_claim(parse(
      R"({"spec":{"volumeName":"pv1","storageClassName":"fast"},"status":{"phase":"Bound"}})"));
  EXPECT_EQ(bound, (VolumeClaim{"pv1", "fast", false}));
  EXPECT_TRUE(read_volume_claim(parse(R"({"status":{"phase":"Lost"}})")).lost);
}

TEST_F(VolumeTest, NodesOfAVolume) {
  const auto nodes = read_volume_nodes(parse(
      R"({"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}]},
      {"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}}})"));
  EXPECT_THAT(nodes, ElementsAre(in("zone", {"a", "b"}), in("metadata.name", {"n1"})));
  EXPECT_THAT(read_volume_nodes(parse(R"({"spec":{"nodeAffinity":null}})")), IsEmpty());
}

TEST_F(VolumeTest, AStorageClassMayWaitForThePod) {
  EXPECT_FALSE(read_storage_class(parse(R"({"volumeBindingMode":"Immediate"})")).waits_for_pod);
  const StorageClass zonal = read_storage_class(parse(
      R"({"volumeBindingMode":"WaitForFirstConsumer","allowedTopologies":[{"matchLabelExpressions":
      [{"key":"zone","values":["a"]}]}]})"));
  EXPECT_TRUE(zonal.waits_for_pod);
  EXPECT_THAT(zonal.nodes, ElementsAre(in("zone", {"a"})));
}

TEST_F(VolumeTest, BothListsMustMatch) {
  const std::vector<AffinityTerm> any, a{in("zone", {"a"})}, two{in("x", {"1"}), in("x", {"2"})};
  EXPECT_EQ(both_of(any, a), a);
  EXPECT_EQ(both_of(a, any), a);
  EXPECT_EQ(both_of(a, a), a);
  const auto both = both_of(a, two);
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_THAT(both[1].requirements,
              ElementsAre(Requirement{"zone", "In", {"a"}}, Requirement{"x", "In", {"2"}}));
  // A term without requirements matches no node, so a pair with it matches none either.
  EXPECT_THAT(both_of({AffinityTerm{}}, a), ElementsAre(AffinityTerm{}));
}

}  // namespace
}  // namespace subak
