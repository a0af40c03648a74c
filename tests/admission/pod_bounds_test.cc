// What the gate lets pass, the engine takes; what the engine would refuse is denied, with the
// field as it is called in a pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "core/printable.h"
#include "engine/engine.h"
#include "fixture.h"
#include "kube/json.h"
#include "kube/pod.h"
#include "model/bounds/bounds.h"
#include "tests/core/odd_names.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string repeated(std::size_t n, const std::string& item) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += (i == 0 ? "" : ",") + item;
  return out;
}

std::string whole(const std::string& gpus, const std::string& more = "",
                  const std::string& requests = "") {
  return R"({"name":"c","resources":{"limits":{"nvidia.com/gpu":")" + gpus + "\"" + requests +
         "}}" + more + "}";
}

struct Case {
  std::string pod;
  std::string field;  // of the refusal; empty: it is gated
};

std::string pod(const std::string& containers, const std::string& metadata = "",
                const std::string& spec = "") {
  return test::pod(containers, R"("name":"p","uid":"u")" + metadata, spec);
}
std::string annotated(const std::string& key, const std::string& value,
                      const std::string& more = "") {
  return pod(whole("1"),
             R"(,"annotations":{"subak.gpu/)" + key + R"(":")" + value + "\"" + more + "}");
}
std::string labelled(const std::string& labels) {
  return pod(whole("1"),
             R"(,"labels":{)" + labels + R"(},"annotations":{"subak.gpu/gang-size":"8"})");
}
std::string tolerant(std::size_t n, std::size_t bytes) {
  return pod(whole("1"), "",
             R"(,"tolerations":[)" +
                 repeated(n, R"({"key":"k","value":")" + std::string(bytes, 'v') + "\"}") + "]");
}
std::string choosy(std::size_t values, std::size_t bytes) {
  return pod(whole("1"), "",
             R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
             R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":[)" +
                 repeated(values, "\"" + std::string(bytes, 'v') + "\"") + "]}]}]}}}");
}
std::string ports(std::size_t n) {
  std::string list;
  for (std::size_t i = 0; i < n; ++i) {
    list += (i == 0 ? "" : ",") + (R"({"hostPort":)" + std::to_string(1000 + i)) + "}";
  }
  return pod(whole("1", R"(,"ports":[)" + list + "]"));
}
std::string resources(std::size_t n) {
  std::string list;
  for (std::size_t i = 0; i < n; ++i) list += R"(,"x.y/r)" + std::to_string(i) + R"(":"1")";
  return pod(whole("1", "", list));
}

PodRecord record_of(const std::string& text) {
  const Result<PodRecord> record = pod_record_from_json(text);
  EXPECT_TRUE(record.ok());
  return *record;
}

// The same pod as the edge sees it later, gated.
std::optional<Error> reported(const std::string& text) {
  Engine engine;
  const auto apply = [&](in::Body body) { return engine.apply({1000, "", "t", std::move(body)}); };
  apply(in::SetCluster{"c1", Mode::kEnforce, {}, "", false});
  in::SetAccount account;
  account.spec.path = "ml";
  account.spec.namespaces = {"team-a"};
  apply(account);
  PodRecord record = record_of(text);
  record.ns = "team-a";
  record.gated = true;
  return apply(in::PodSeen{"c1", record}).reply.error;
}

void expect(const Case& c) {
  const Decision d = test::decide_text(test::review_text(c.pod));
  const auto error = reported(c.pod);
  if (c.field.empty()) {
    EXPECT_EQ(d.verdict, Verdict::kPatched) << d.message;
    EXPECT_FALSE(error) << error->message();
  } else {
    EXPECT_EQ(d.verdict, Verdict::kDenied) << c.field;
    EXPECT_EQ(d.code, 422) << d.message;
    EXPECT_THAT(d.message, HasSubstr(c.field + ": was \""));
    EXPECT_THAT(d.message, HasSubstr("want"));
    EXPECT_LE(d.message.size(), limits::kMaxMessageBytes);
    EXPECT_TRUE(error) << "refused in vain: " << d.message;
  }
}

TEST(PodBounds, AtTheBoundItIsGatedAndTaken) {
  const std::string memory = R"(,"memory":"1Pi")";
  for (const std::string& text :
       {pod(whole("16")), ports(limits::kMaxPodListItems), pod(whole("1", "", memory)),
        resources(limits::kMaxPodListItems), tolerant(limits::kMaxSelectorTerms, 200),
        tolerant(1, limits::kMaxTextBytes), choosy(limits::kMaxTermValues, 63),
        annotated("user", std::string(limits::kMaxNameBytes, 'u')),
        annotated("job", std::string(limits::kMaxNameBytes, 'j'), R"(,"subak.gpu/gang-size":"2")"),
        annotated("time-limit", "3660d"),
        // Ranks beyond the pods of a gang: they only order (kube/rank.h).
        labelled(R"("training.kubeflow.org/job-name":"j","training.kubeflow.org/replica-type":)"
                 R"("worker","training.kubeflow.org/replica-index":"3")"),
        labelled(
            R"("jobset.sigs.k8s.io/jobset-name":"j","jobset.sigs.k8s.io/job-global-index":"9")"),
        labelled(R"("ray.io/cluster":"r","ray.io/node-type":"worker",)"
                 R"("ray.io/worker-group-replica-index":"7")")}) {
    const auto trusted = test::review_text(text, "team-a", "system:serviceaccount:x:y");
    const Decision d = test::decide_text(trusted);
    EXPECT_EQ(d.verdict, Verdict::kPatched) << d.message;
    const auto error = reported(text);
    EXPECT_FALSE(error) << error->message();
  }
}

TEST(PodBounds, BeyondItIsDeniedWithItsField) {
  const Case cases[] = {
      {pod(whole("65")), "spec.containers[].resources.limits[nvidia.com/gpu]"},
      {pod(whole("0", "", R"(,"nvidia.com/mig-1g.10gb":"65")")),
       "spec.containers[].resources.limits[nvidia.com/mig-1g.10gb]"},
      {pod(whole("0", "", R"(,"nvidia.com/gpu.shared":"65")")),
       "spec.containers[].resources.limits[nvidia.com/gpu.shared]"},
      {pod(whole("1", "", R"(,"memory":"1Ei")")), "spec.containers[].resources[memory]"},
      {pod(whole("1", "", R"(,"cpu":"2M")")), "spec.containers[].resources[cpu]"},
      {pod(whole("1", "", R"(,"x.y/z":"2E")")), "spec.containers[].resources"},
      {resources(65), "spec.containers[].resources"},
      {ports(65), "spec.containers[].ports"},
      {tolerant(65, 1), "spec.tolerations"},
      {tolerant(1, 513), "spec.tolerations"},
      {tolerant(40, 500), "spec"},
      {choosy(65, 1), "spec.affinity.nodeAffinity"},
      {choosy(40, 500), "spec"},
      {annotated("user", std::string(254, 'u')), "metadata.annotations[subak.gpu/user]"},
      {annotated("time-limit", "3661d"), "metadata.annotations[subak.gpu/time-limit]"},
  };
  for (const Case& c : cases) expect(c);
}

// Each of a gang's pods may be within its bound and all of them together not: who names a gang by
// hand is told at its first pod, not when the last one is left over.
// A pod says names in its annotations and in what it asks of a node; whoever lets it in shows them.
TEST(PodBounds, WhatItSaysIsPrintable) {
  for (const test::OddName& name : test::kOddNames) {
    std::string quoted;
    append_json_string(quoted, name.text);
    const std::string value = quoted.substr(1, quoted.size() - 2);
    const std::string tolerant =
        pod(whole("1"), "", R"(,"tolerations":[{"key":"k","value":")" + value + "\"}]");
    const Decision d = test::decide_text(test::review_text(tolerant));
    EXPECT_EQ(d.verdict == Verdict::kPatched, name.printable) << printable(name.text);
    for (const char* key : {"user", "account", "topology", "priority", "time-limit"}) {
      const Decision of = test::decide_text(test::review_text(annotated(key, value)));
      // Each key has a form of its own. -2 is a priority.
      if (key != std::string_view("priority") || name.text != "-2") {
        EXPECT_EQ(of.verdict, Verdict::kDenied) << key << printable(name.text);
      }
      EXPECT_TRUE(is_printable(of.message)) << printable(of.message);
    }
    if (name.printable) continue;
    EXPECT_THAT(d.message, HasSubstr("spec.tolerations: was \"" + printable(name.text)));
    EXPECT_THAT(d.message, HasSubstr(std::string(kWantPrintable)));
  }
}

TEST(PodBounds, AGangNamedByHandIsBoundedAsAWhole) {
  const auto member = [](const std::string& size) {
    return pod(whole("1"),
               R"(,"annotations":{"subak.gpu/job":"g","subak.gpu/gang-size":")" + size + "\"}",
               R"(,"tolerations":[)" +
                   repeated(30, R"({"key":"k","value":")" + std::string(480, 'v') + "\"}") + "]");
  };
  EXPECT_EQ(test::decide_text(test::review_text(member("14"))).verdict, Verdict::kPatched);
  const Decision d = test::decide_text(test::review_text(member("150")));
  EXPECT_EQ(d.code, 422);
  EXPECT_THAT(d.message, HasSubstr("bytes in each of 150 pods"));
}

TEST(PodBounds, ALongCreatorIsStampedSoThatItIsTaken) {
  const Decision d =
      test::decide_text(test::review_text(pod(whole("1")), "team-a", std::string(5000, 'u')));
  ASSERT_EQ(d.verdict, Verdict::kPatched) << d.message;
  const std::size_t begin = d.patch.find(R"("subak.gpu/user":")") + 18;
  const std::string stamped = d.patch.substr(begin, d.patch.find('"', begin) - begin);
  EXPECT_EQ(stamped.size(), limits::kMaxNameBytes);  // its end tells it from other long names
  EXPECT_THAT(stamped, StartsWith(std::string(200, 'u')));
}

// Whatever else it says, a pod that runs is charged.
TEST(PodBounds, OfABoundPodOnlyWhatItTakesCounts) {
  for (const std::string& text : {tolerant(500, 500), choosy(500, 500)}) {
    EXPECT_TRUE(bounds::check(record_of(text)));
    std::string bound = text;
    bound.replace(bound.find(R"("spec":{)"), 8, R"("spec":{"nodeName":"n1",)");
    const PodRecord record = record_of(bound);
    EXPECT_EQ(record.node, "n1");
    EXPECT_EQ(record.shape.gpus, 1);
    EXPECT_FALSE(bounds::check(record));
  }
}

}  // namespace
}  // namespace subak
