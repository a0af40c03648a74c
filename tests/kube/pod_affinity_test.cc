// What Subak reads of a pod's rules about other pods.
#include <gtest/gtest.h>

#include "kube/pod.h"
#include "pods.h"

namespace subak {
namespace {

using test::container;

// Keeps the document alive beside the pod that points into it.
struct Read {
  explicit Read(const std::string& text) : value(parser.parse(text)), pod(read_pod(value, {})) {}
  simdjson::dom::parser parser;
  json::Value value;
  Pod pod;
};

// Pods of a gang that must be apart, and what else is about other pods.
std::string related(const std::string& affinity, const std::string& more = "") {
  return test::pod(container("nvidia.com/gpu", "1"),
                   R"("name":"p","labels":{"app":"a","tier":"x"})",
                   R"(,"affinity":{)" + affinity + "}" + more);
}
std::string apart(const std::string& selector, const std::string& more = "") {
  return R"("podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":)"
         R"("kubernetes.io/hostname","labelSelector":)" +
         selector + more + "}]}";
}

TEST(PodConstraints, PodsThatExcludeThemselvesFromANodeAreApart) {
  const auto ports = [](const std::string& selector) {
    const Read r(related(apart(selector)));
    EXPECT_TRUE(r.pod.not_read.constraints.empty()) << selector;
    return r.pod.shape.host_ports;
  };
  const auto a = ports(R"({"matchLabels":{"app":"a"}})");
  ASSERT_EQ(a.size(), 1U);
  EXPECT_TRUE(a[0].protocol.starts_with("anti-affinity/"));
  EXPECT_GT(a[0].port, 0);
  EXPECT_EQ(a, ports(R"({"matchLabels":{"app":"a"}})")) << "the same rule is the same entry";
  EXPECT_NE(a, ports(R"({"matchLabels":{"tier":"x"}})"));
  for (const char* selector :
       {"{}", R"({"matchExpressions":[{"key":"app","operator":"In","values":["a","b"]}]})",
        R"({"matchExpressions":[{"key":"app","operator":"Exists"}]})",
        R"({"matchExpressions":[{"key":"app","operator":"NotIn","values":["b"]}]})",
        R"({"matchExpressions":[{"key":"zone","operator":"DoesNotExist"}]})"}) {
    EXPECT_EQ(ports(selector).size(), 1U) << selector;
  }
}

TEST(PodConstraints, RulesAboutOtherPodsAreNamedAsNotRead) {
  const auto unread = [](const std::string& affinity, const std::string& more = "") {
    const Read r(related(affinity, more));
    EXPECT_TRUE(r.pod.shape.host_ports.empty());
    EXPECT_LE(r.pod.not_read.constraints.size(), 1U);
    return r.pod.not_read.constraints.empty() ? std::string()
                                              : std::string(r.pod.not_read.constraints[0]);
  };
  for (const char* selector :
       {R"({"matchLabels":{"app":"b"}})", R"({"matchLabels":{"app":"a","zone":"1"}})",
        R"({"matchExpressions":[{"key":"app","operator":"NotIn","values":["a"]}]})",
        R"({"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]})"}) {
    EXPECT_EQ(unread(apart(selector)), "spec.affinity.podAntiAffinity") << selector;
  }
  EXPECT_EQ(unread(apart("{}", R"(,"namespaceSelector":{})")), "spec.affinity.podAntiAffinity");
  EXPECT_EQ(unread(R"("podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{}]})"),
            "spec.affinity.podAffinity");
  EXPECT_EQ(unread(R"("podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{}]})"),
            "");
  const std::string spread = R"(,"topologySpreadConstraints":[{"whenUnsatisfiable":")";
  EXPECT_EQ(unread("", spread + R"(DoNotSchedule"}])"), "spec.topologySpreadConstraints");
  EXPECT_EQ(unread("", spread + R"(ScheduleAnyway"}])"), "");
}

}  // namespace
}  // namespace subak
