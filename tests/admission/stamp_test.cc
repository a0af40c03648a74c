// The annotation that says who made an object.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.h"
#include "kube/owners/maker.h"

namespace subak {
namespace {

using test::container;
using test::decide_text;
using test::pod;
using test::review_text;
using ::testing::HasSubstr;

constexpr std::string_view kJob = R"({"group":"batch","version":"v1","kind":"Job"})";
constexpr const char* kOfBob = R"("annotations":{"subak.gpu/created-by":"bob","x":"y"})";

std::string job(const std::string& metadata) {
  return R"({"metadata":{"name":"j")" + (metadata.empty() ? "" : "," + metadata) +
         R"(},"spec":{}})";
}

Decision stamp(const std::string& object, const std::string& operation = "CREATE",
               const std::string& before = "null") {
  const test::Parsed parsed(review_text(object, "team-a", "ana", operation, before, kJob));
  return decide_stamp(parsed.review());
}

TEST(Stamp, ANewOwnerGetsItsMaker) {
  const Decision d = stamp(job(""));
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  EXPECT_EQ(d.because, Because::kStamped);
  EXPECT_EQ(d.patch, R"([{"op":"add","path":"/metadata/annotations","value":)"
                     R"({"subak.gpu/created-by":"ana"}}])");
  EXPECT_THAT(stamp("{}").patch, HasSubstr(R"({"op":"add","path":"/metadata","value":{}})"));
}

TEST(Stamp, AValueOfTheCallerIsReplaced) {
  EXPECT_EQ(stamp(job(kOfBob)).patch,
            R"([{"op":"add","path":"/metadata/annotations/subak.gpu~1created-by","value":"ana"}])");
  EXPECT_EQ(stamp(job(R"("annotations":{"subak.gpu/created-by":"ana"})")).verdict,
            Verdict::kUntouched);
  EXPECT_EQ(stamp(job(R"("annotations":{"subak.gpu/created-by":7})")).verdict, Verdict::kPatched);
}

TEST(Stamp, AnUpdateKeepsWhatWas) {
  EXPECT_EQ(
      stamp(job(""), "UPDATE", job(kOfBob)).patch,
      R"([{"op":"add","path":"/metadata/annotations","value":{"subak.gpu/created-by":"bob"}}])");
  EXPECT_EQ(stamp(job(kOfBob), "UPDATE", job("")).patch,
            R"([{"op":"remove","path":"/metadata/annotations/subak.gpu~1created-by"}])")
      << "an owner of before gets no maker by an edit";
  EXPECT_EQ(stamp(job(kOfBob), "UPDATE", job(kOfBob)).because, Because::kUnchanged);
  EXPECT_EQ(stamp(job(""), "DELETE").because, Because::kNotOurs);
  EXPECT_EQ(stamp("null").because, Because::kNotOurs);
}

Decision make_pod(const std::string& metadata, std::string_view user = "ana") {
  return decide_text(review_text(pod(container("nvidia.com/gpu", "1"), R"("name":"p")" + metadata),
                                 "team-a", user),
                     Endpoint::kMutate);
}

TEST(Stamp, AGpuPodGetsItsMaker) {
  EXPECT_THAT(make_pod("").patch, HasSubstr(R"("subak.gpu/created-by":"ana")"));
  EXPECT_THAT(make_pod(std::string(",") + kOfBob).patch,
              HasSubstr(R"("path":"/metadata/annotations/subak.gpu~1created-by","value":"ana")"));
  const std::string controller = "system:serviceaccount:kube-system:job-controller";
  EXPECT_THAT(make_pod("", controller).patch,
              HasSubstr(R"("subak.gpu/created-by":")" + controller + "\""));
  EXPECT_TRUE(make_pod("").warnings.empty());
}

TEST(Stamp, ATrustedCallerMayNameTheUser) {
  const std::string for_bob = R"(,"labels":{"subak.gpu/user":"bob"})";
  EXPECT_THAT(make_pod(for_bob, AdmissionConfig().own_user).patch,
              HasSubstr(R"("subak.gpu/created-by":"bob")"));
}

TEST(Makers, NamesOfPeopleAndControllers) {
  EXPECT_EQ(person_name("ana@example.com"), "ana@example.com");
  EXPECT_EQ(person_name("oidc:ana"), "oidc-ana");
  EXPECT_EQ(person_name("system:admin"), "");
  EXPECT_EQ(person_name(""), "");
  EXPECT_TRUE(may_be_controller("system:kube-controller-manager", "a"));
  EXPECT_TRUE(may_be_controller("system:serviceaccount:kubeflow:training-operator", "a"));
  EXPECT_FALSE(may_be_controller("system:serviceaccount:a:default", "a"));
  EXPECT_FALSE(may_be_controller("ana", "a"));
  EXPECT_FALSE(may_be_controller("", "a"));
}

}  // namespace
}  // namespace subak
