// Reads and writes ProvisioningRequests and their PodTemplates.
#include <gmock/gmock.h>

#include "core/limits.h"
#include "kube/provisioning/provisioning_request.h"

namespace subak {
namespace {

using ::testing::HasSubstr;

constexpr TimeMs kTen = 10 * kHourMs;

ProvisioningRequest request() {
  ProvisioningRequest out;
  out.ns = "ml";
  out.name = "subak-1-42-3";
  out.class_name = "check-capacity.autoscaling.x-k8s.io";
  out.pods = {{"t-0", 2}, {"t-1", 1}};
  out.job = JobId(ClusterId(1), 42);
  out.number = 3;
  out.digest = "77";
  return out;
}

class Provisioning : public ::testing::Test {
 protected:
  json::Value parse(const std::string& text) { return parser_.parse(text); }
  // Reads a request with these conditions: pairs of type and status.
  ProvisioningRequest with(std::initializer_list<std::pair<const char*, const char*>> conditions) {
    std::string list;
    for (const auto& [type, status] : conditions) {
      list += list.empty() ? "" : ",";
      list +=
          std::string(R"({"type":")") + type + R"(","status":")" + status +
          R"(","reason":"Why","message":"because","lastTransitionTime":"1970-01-01T10:00:00Z"})";
    }
    return *read_provisioning_request(
        parse(R"({"metadata":{"namespace":"ml","name":"r","uid":"U",)"
              R"("creationTimestamp":"1970-01-01T09:00:00Z"},"status":{"conditions":[)" +
              list + "]}}"));
  }

 private:
  simdjson::dom::parser parser_;
};

TEST_F(Provisioning, WhatIsWrittenReadsBackTheSame) {
  std::string text = provisioning_request_body(request(), {"batch/v1", "Job", "j", "J"});
  EXPECT_THAT(text, HasSubstr(R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"Job",)"));
  text.replace(text.find(R"("name":"subak)"), 0, R"("uid":"U",)");
  const Result<ProvisioningRequest> read = read_provisioning_request(parse(text));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->ns, "ml");
  EXPECT_EQ(read->name, "subak-1-42-3");
  EXPECT_EQ(read->uid, "U");
  EXPECT_EQ(read->class_name, request().class_name);
  EXPECT_EQ(read->pods, request().pods);
  EXPECT_EQ(read->job, request().job);
  EXPECT_EQ(read->number, 3U);
  EXPECT_EQ(read->digest, "77");
  EXPECT_EQ(read->state, ProvisioningState::kRequested);
  EXPECT_FALSE(read->going);
  EXPECT_EQ(provisioning_name(read->job, read->number), read->name);
}

TEST_F(Provisioning, TheStrongestConditionCounts) {
  using State = ProvisioningState;
  EXPECT_EQ(with({}).state, State::kRequested);
  EXPECT_EQ(with({}).since_ms, 9 * kHourMs) << "since it was made";
  EXPECT_EQ(with({{"Accepted", "True"}, {"Provisioned", "False"}}).state, State::kAccepted);
  EXPECT_EQ(with({{"Provisioned", "True"}, {"Accepted", "True"}}).state, State::kProvisioned);
  EXPECT_EQ(with({{"Accepted", "True"}, {"Failed", "Unknown"}}).state, State::kAccepted);
  EXPECT_EQ(with({{"BookingExpired", "True"}, {"Provisioned", "True"}}).state, State::kExpired);
  EXPECT_EQ(with({{"Provisioned", "True"}, {"CapacityRevoked", "True"}}).state, State::kRevoked);
  EXPECT_EQ(with({{"Else", "True"}}).state, State::kRequested);
  const ProvisioningRequest failed = with({{"Accepted", "True"}, {"Failed", "True"}});
  EXPECT_EQ(failed.state, State::kFailed);
  EXPECT_EQ(failed.since_ms, kTen);
  EXPECT_EQ(failed.reason, "Why");
  EXPECT_EQ(failed.message, "because");
  EXPECT_FALSE(has_ended(State::kProvisioned));
  EXPECT_TRUE(has_ended(State::kExpired));
}

TEST_F(Provisioning, AnUnusableObjectIsRefusedByField) {
  for (const std::string field : {"namespace", "name", "uid"}) {
    for (const std::string& value : {std::string(), std::string(limits::kMaxNameBytes + 1, 'a')}) {
      std::string text = R"({"metadata":{"namespace":"a","name":"a","uid":"a"}})";
      const std::string member = "\"" + field + "\":\"a\"";
      text.replace(text.find(member), member.size(), "\"" + field + "\":\"" + value + "\"");
      const auto read = read_provisioning_request(parse(text));
      ASSERT_FALSE(read);
      EXPECT_EQ(read.error().field, "metadata." + field);
    }
  }
  EXPECT_FALSE(read_provisioning_request(parse("[]")));
}

TEST_F(Provisioning, RequestsOfOthersAreNotSubaks) {
  for (const std::string label : {"", "1-42", "1-42.0", "1-42.x", "x.1", "1-42.1 "}) {
    const auto read = read_provisioning_request(
        parse(R"({"metadata":{"namespace":"a","name":"n","uid":"u","labels":{)"
              R"("subak.gpu/provisioning":")" +
              label + "\"}}}"));
    ASSERT_TRUE(read);
    EXPECT_FALSE(read->is_ours()) << label;
    EXPECT_EQ(read->number, 0U);
  }
}

TEST_F(Provisioning, MorePodSetsThanAllowedAreDropped) {
  std::string sets;
  for (std::size_t i = 0; i <= kMaxPodSets; ++i)
    sets += std::string(i == 0 ? "" : ",") + R"({"count":1,"podTemplateRef":{"name":"t"}})";
  const auto read = read_provisioning_request(parse(
      R"({"metadata":{"namespace":"a","name":"n","uid":"u"},"spec":{"podSets":[)" + sets + "]}}"));
  EXPECT_EQ(read->pods.size(), kMaxPodSets);
}

TEST_F(Provisioning, ATemplateHasWhatDecidesThePlaceAndNoSecret) {
  const std::string pod = R"({"metadata":{"name":"p","uid":"P","labels":{"app":"x"}},"spec":{
    "nodeName":"n","serviceAccountName":"robot","schedulingGates":[{"name":"subak.gpu/queue"}],
    "nodeSelector":{"pool":"h100"},"tolerations":[{"operator":"Exists"}],"priority":5,
    "affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
      {"topologyKey":"zone","matchLabelKeys":["app"],"labelSelector":{"matchLabels":{"app":"x"}}}]}},
    "volumes":[{"name":"s","secret":{"secretName":"key"}},
               {"name":"d","persistentVolumeClaim":{"claimName":"data"}}],
    "initContainers":[{"name":"i","image":"busybox","restartPolicy":"Always"}],
    "containers":[{"name":"c","image":"train","command":["run"],"env":[{"name":"K","value":"v"}],
      "volumeMounts":[{"name":"s","mountPath":"/s"}],
      "resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})";
  const auto body = pod_template_body(parse(pod), "t-0", request(), {"v1", "Pod", "p", "P"});
  ASSERT_TRUE(body);
  EXPECT_EQ(*body,
            R"({"apiVersion":"v1","kind":"PodTemplate","metadata":{"namespace":"ml","name":"t-0",)"
            R"("labels":{"subak.gpu/provisioning":"1-42.3"},"ownerReferences":[{"apiVersion":"v1",)"
            R"("kind":"Pod","name":"p","uid":"P"}]},"template":{"metadata":{"labels":{"app":"x"}},)"
            R"("spec":{"nodeSelector":{"pool":"h100"},"tolerations":[{"operator":"Exists"}],)"
            R"("priority":5,"affinity":{"podAffinity":{)"
            R"("requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",)"
            R"("labelSelector":{"matchLabels":{"app":"x"}}}]}},)"
            R"("volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}],)"
            R"("initContainers":[{"name":"i","image":"busybox","restartPolicy":"Always"}],)"
            R"("containers":[{"name":"c","image":"train",)"
            R"("resources":{"limits":{"nvidia.com/gpu":"8"}}}]}}})");
  const auto none = pod_template_body(parse(R"({"spec":{}})"), "t", request(), {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().field, "spec.containers");
}

}  // namespace
}  // namespace subak
