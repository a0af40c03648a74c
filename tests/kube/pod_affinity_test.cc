// What Subak reads of a pod's rules about other pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "kube/pod.h"
#include "pods.h"

namespace subak {
namespace {

using test::container;
using ::testing::ElementsAre;

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
  const std::string spread = R"(,"topologySpreadConstraints":[{"whenUnsatisfiable":")";
  EXPECT_EQ(unread("", spread + R"(DoNotSchedule"}])"), "spec.topologySpreadConstraints[0]");
}

TEST(PodConstraints, RulesThatOnlyPreferAreNamed) {
  const auto named = [](const std::string& affinity, const std::string& more = "") {
    const Read r(related(affinity, more));
    EXPECT_TRUE(r.pod.not_read.constraints.empty());
    return r.pod.not_read.preferences;
  };
  const std::string term = R"({"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}]})";
  EXPECT_THAT(named(R"("podAffinity":)" + term + R"(,"podAntiAffinity":)" + term),
              ElementsAre("spec.affinity.podAffinity", "spec.affinity.podAntiAffinity"));
  EXPECT_THAT(named("", R"(,"topologySpreadConstraints":[{"whenUnsatisfiable":"ScheduleAnyway"}])"),
              ElementsAre("spec.topologySpreadConstraints[0]"));
}

// A pod with one topology spread constraint.
std::string spread(const std::string& more, const std::string& selector,
                   const std::string& keys = "") {
  return test::pod(container("nvidia.com/gpu", "1"),
                   R"("name":"p","namespace":"n","labels":{"app":"a","v":"1"})" + keys,
                   R"(,"topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"zone",)"
                   R"("whenUnsatisfiable":"DoNotSchedule","labelSelector":)" +
                       selector + more + "}]");
}
const std::string kApp = R"({"matchLabels":{"app":"a"}})";

TEST(PodConstraints, TopologySpreadThatSelectsThePodIsRead) {
  const auto read = [](const std::string& more, const std::string& selector = kApp) {
    const Read r(spread(more, selector));
    EXPECT_TRUE(r.pod.not_read.constraints.empty()) << more;
    EXPECT_EQ(r.pod.shape.spread.size(), 1U);
    return r.pod.shape.spread.at(0);
  };
  const TopologySpread plain = read("");
  EXPECT_EQ(plain, (TopologySpread{"zone", 2, 0, false, false, plain.group}));
  EXPECT_GE(plain.group, 0);
  EXPECT_EQ(read(R"(,"minDomains":3)").min_domains, 3);
  EXPECT_TRUE(read(R"(,"nodeAffinityPolicy":"Ignore")").any_node);
  EXPECT_FALSE(read(R"(,"nodeAffinityPolicy":"Honor")").any_node);
  EXPECT_TRUE(read(R"(,"nodeTaintsPolicy":"Honor")").only_tolerated);
  EXPECT_EQ(read("").group, plain.group) << "the same selector is the same group";
  EXPECT_NE(read("", R"({"matchLabels":{"v":"1"}})").group, plain.group);
  EXPECT_EQ(
      read("", R"({"matchExpressions":[{"key":"app","operator":"In","values":["a"]}]})").group,
      plain.group);
  // A key that the pod lacks has no effect; the value of another key is part of the group.
  EXPECT_EQ(read(R"(,"matchLabelKeys":["none"])").group, plain.group);
  EXPECT_NE(read(R"(,"matchLabelKeys":["v"])").group, plain.group);
  EXPECT_EQ(read(R"(,"matchLabelKeys":["v"])").group,
            read("", R"({"matchLabels":{"app":"a","v":"1"}})").group);
}

TEST(PodConstraints, OtherTopologySpreadIsNamed) {
  const auto unread = [](const std::string& text) {
    const Read r(text);
    EXPECT_TRUE(r.pod.shape.spread.empty()) << text;
    return r.pod.not_read.constraints;
  };
  const auto first = ElementsAre("spec.topologySpreadConstraints[0]");
  EXPECT_THAT(unread(spread("", R"({"matchLabels":{"app":"b"}})")), first);
  EXPECT_THAT(
      unread(spread("", R"({"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]})")),
      first);
  EXPECT_THAT(unread(spread(R"(,"newField":1)", kApp)), first);
  EXPECT_THAT(unread(spread(R"(,"minDomains":-1)", kApp)), first);
  EXPECT_THAT(
      unread(spread("", kApp, R"(,"annotations":{"subak.gpu/topology":"nvlink-exclusive"})")),
      ElementsAre("spec.topologySpreadConstraints"));
  // Of two constraints that count all nodes, the second one is not read.
  const std::string one =
      R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":)" +
      kApp + R"(,"nodeAffinityPolicy":"Ignore"})";
  const Read two(test::pod(container("nvidia.com/gpu", "1"), R"("name":"p","labels":{"app":"a"})",
                           R"(,"topologySpreadConstraints":[)" + one + "," + one + "]"));
  EXPECT_EQ(two.pod.shape.spread.size(), 1U);
  EXPECT_THAT(two.pod.not_read.constraints, ElementsAre("spec.topologySpreadConstraints[1]"));
  // More rules than the limit.
  std::string many;
  for (std::size_t i = 0; i <= limits::kMaxPodRules; ++i) {
    many += (i == 0 ? "" : ",") +
            std::string(R"({"maxSkew":1,"topologyKey":"k)" + std::to_string(i) +
                        R"(","whenUnsatisfiable":"DoNotSchedule","labelSelector":)" + kApp + "}");
  }
  const Read most(test::pod(container("nvidia.com/gpu", "1"), R"("name":"p","labels":{"app":"a"})",
                            R"(,"topologySpreadConstraints":[)" + many + "]"));
  EXPECT_EQ(most.pod.shape.spread.size(), limits::kMaxPodRules);
  EXPECT_THAT(most.pod.not_read.constraints, ElementsAre("spec.topologySpreadConstraints[8]"));
}

std::string near(const std::string& terms) {
  return related(R"("podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + terms +
                 "]}");
}
std::string near_term(const std::string& selector, const std::string& more = "") {
  return R"({"topologyKey":"zone","labelSelector":)" + selector + more + "}";
}

TEST(PodConstraints, PodAffinityIsRead) {
  const Read own(near(near_term(kApp)));
  EXPECT_TRUE(own.pod.not_read.constraints.empty());
  ASSERT_EQ(own.pod.shape.near.size(), 1U);
  EXPECT_EQ(own.pod.shape.near[0].key, "zone");
  EXPECT_TRUE(read_near_pods(own.value, own.pod).own);
  // A term that selects other pods: only the edge knows them.
  const Read other(near(near_term(kApp) + "," + near_term(R"({"matchLabels":{"app":"b"}})")));
  EXPECT_TRUE(other.pod.not_read.constraints.empty());
  EXPECT_TRUE(other.pod.shape.near.empty());
  const NearPods terms = read_near_pods(other.value, other.pod);
  EXPECT_FALSE(terms.own);
  ASSERT_EQ(terms.terms.size(), 2U);
  EXPECT_TRUE(selects(terms.terms[1].selector, {{"app", "b"}}));
  EXPECT_FALSE(selects(terms.terms[1].selector, {{"app", "a"}}));
  // If one term is not read, none is.
  for (const char* more : {R"(,"namespaceSelector":{})", R"(,"mismatchLabelKeys":["app"])",
                           R"(,"namespaces":["elsewhere"])"}) {
    const Read r(test::pod(container("nvidia.com/gpu", "1"),
                           R"("name":"p","namespace":"n","labels":{"app":"a"})",
                           R"(,"affinity":{"podAffinity":{)"
                           R"("requiredDuringSchedulingIgnoredDuringExecution":[)" +
                               near_term(kApp) + "," + near_term(kApp, more) + "]}}"));
    EXPECT_THAT(r.pod.not_read.constraints, ElementsAre("spec.affinity.podAffinity")) << more;
    EXPECT_TRUE(r.pod.shape.near.empty());
    EXPECT_TRUE(read_near_pods(r.value, r.pod).terms.empty());
  }
}

}  // namespace
}  // namespace subak
