#include "placement/gpus/eligibility.h"

#include <gtest/gtest.h>

namespace subak::eligibility {
namespace {

NodeSpec node() {
  NodeSpec n;
  n.name = "n1";
  n.product = "NVIDIA-H100-80GB-HBM3";
  n.gpus = 8;
  n.labels = {{"pool", "a"}, {"speed", "200"}, {"word", "fast"}};
  return n;
}

bool one(std::string key, std::string op, std::vector<std::string> values) {
  return matches(Requirement{std::move(key), std::move(op), std::move(values)}, node());
}

TEST(Requirement, Operators) {
  EXPECT_TRUE(one("pool", "In", {"b", "a"}));
  EXPECT_FALSE(one("pool", "In", {"b"}));
  EXPECT_FALSE(one("none", "In", {"a"}));
  EXPECT_FALSE(one("pool", "In", {}));
  EXPECT_TRUE(one("pool", "NotIn", {"b"}));
  EXPECT_FALSE(one("pool", "NotIn", {"a"}));
  EXPECT_TRUE(one("none", "NotIn", {"a"}));  // an absent label is not in the set
  EXPECT_TRUE(one("pool", "Exists", {}));
  EXPECT_FALSE(one("none", "Exists", {}));
  EXPECT_TRUE(one("none", "DoesNotExist", {}));
  EXPECT_FALSE(one("pool", "DoesNotExist", {}));
  EXPECT_FALSE(one("pool", "Like", {"a"}));
}

TEST(Requirement, Comparisons) {
  EXPECT_TRUE(one("speed", "Gt", {"199"}));
  EXPECT_FALSE(one("speed", "Gt", {"200"}));
  EXPECT_TRUE(one("speed", "Lt", {"+201"}));
  EXPECT_FALSE(one("speed", "Lt", {"-201"}));
  EXPECT_FALSE(one("word", "Gt", {"1"}));
  EXPECT_FALSE(one("speed", "Gt", {"1", "2"}));
  EXPECT_FALSE(one("speed", "Gt", {"1x"}));
  EXPECT_FALSE(one("speed", "Gt", {"+-1"}));
  EXPECT_FALSE(one("none", "Lt", {"1"}));
}

TEST(Requirement, NodeName) {
  EXPECT_TRUE(one("metadata.name", "In", {"n1"}));
  EXPECT_FALSE(one("metadata.name", "In", {"n2"}));
  EXPECT_TRUE(one("metadata.name", "NotIn", {"n2"}));
}

TEST(Affinity, TermsAreOredRequirementsAnded) {
  const Requirement a{"pool", "In", {"a"}}, b{"pool", "In", {"b"}}, fast{"word", "Exists", {}};
  const auto ok = [](std::vector<AffinityTerm> terms) { return matches_affinity(terms, node()); };
  EXPECT_TRUE(ok({}));
  EXPECT_TRUE(ok({{{b}}, {{a, fast}}}));
  EXPECT_FALSE(ok({{{a, b}}}));
  EXPECT_FALSE(ok({{}}));  // a term without requirements matches nothing
  EXPECT_TRUE(ok({{}, {{a}}}));
}

TEST(Selector, AllLabelsMustBeEqual) {
  const auto ok = [](std::vector<Label> s) { return matches_selector(s, node()); };
  EXPECT_TRUE(ok({}));
  EXPECT_TRUE(ok({{"pool", "a"}, {"speed", "200"}}));
  EXPECT_FALSE(ok({{"pool", "a"}, {"speed", "100"}}));
  EXPECT_FALSE(ok({{"none", ""}}));
}

TEST(Taints, Tolerations) {
  const Taint hard{"dedicated", "x", "NoSchedule"}, soft{"dedicated", "x", "PreferNoSchedule"};
  const Taint execute{"gone", "", "NoExecute"};
  const auto ok = [](std::vector<Toleration> t, std::vector<Taint> taints) {
    return tolerates_all(t, taints);
  };
  EXPECT_TRUE(ok({}, {}));
  EXPECT_TRUE(ok({}, {soft}));
  EXPECT_FALSE(ok({}, {hard}));
  EXPECT_FALSE(ok({}, {execute}));
  EXPECT_TRUE(ok({{"dedicated", "", "x", ""}}, {hard}));
  EXPECT_TRUE(ok({{"dedicated", "Equal", "x", "NoSchedule"}}, {hard}));
  EXPECT_FALSE(ok({{"dedicated", "Equal", "y", ""}}, {hard}));
  EXPECT_FALSE(ok({{"dedicated", "Equal", "x", "NoExecute"}}, {hard}));
  EXPECT_TRUE(ok({{"dedicated", "Exists", "", ""}}, {hard}));
  EXPECT_FALSE(ok({{"other", "Exists", "", ""}}, {hard}));
  EXPECT_TRUE(ok({{"", "Exists", "", ""}}, {hard, execute}));
  EXPECT_FALSE(ok({{"", "Exists", "", "NoSchedule"}}, {hard, execute}));
  EXPECT_FALSE(ok({{"dedicated", "In", "x", ""}}, {hard}));
}

TEST(Taints, CordonIsATaintToo) {
  const auto ok = [](std::vector<Toleration> t) { return tolerates_cordon(t); };
  EXPECT_FALSE(ok({}));
  EXPECT_TRUE(ok({{"node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"}}));
  EXPECT_FALSE(ok({{"node.kubernetes.io/unschedulable", "Exists", "", "NoExecute"}}));
}

TEST(Product, SuffixesDoNotMatter) {
  NodeSpec n = node();
  const std::vector<std::string> h100 = {"NVIDIA-H100-80GB-HBM3"}, shared = {"NVIDIA-A10-SHARED"};
  EXPECT_TRUE(matches_product({}, n));
  EXPECT_TRUE(matches_product(h100, n));
  n.product += "-SHARED";
  EXPECT_TRUE(matches_product(h100, n));
  EXPECT_FALSE(matches_product(shared, n));
  n.product = "NVIDIA-A10";
  EXPECT_TRUE(matches_product(shared, n));
}

TEST(Kind, WhatTheNodeOffers) {
  NodeSpec n = node();
  PodShape p;
  const auto ok = [&](GpuKind kind) {
    p.kind = kind;
    return matches_kind(p, n);
  };
  EXPECT_TRUE(ok(GpuKind::kWhole));
  EXPECT_TRUE(ok(GpuKind::kFraction));
  EXPECT_FALSE(ok(GpuKind::kShared));
  EXPECT_TRUE(ok(GpuKind::kNone));
  n.replicas = 4;
  EXPECT_FALSE(ok(GpuKind::kWhole));
  EXPECT_FALSE(ok(GpuKind::kFraction));
  EXPECT_TRUE(ok(GpuKind::kShared));
  n.replicas = 0;
  n.mig_gpus = 8;
  n.mig = {{"1g.10gb", 7}};
  p.profile = "1g.10gb";
  EXPECT_FALSE(ok(GpuKind::kWhole));
  EXPECT_TRUE(ok(GpuKind::kMig));
  p.profile = "2g.20gb";
  EXPECT_FALSE(ok(GpuKind::kMig));
  p.profile = "1g.10gb";
  n.product = "Some-Other-Card";
  EXPECT_FALSE(ok(GpuKind::kMig));  // no geometry, no price
}

TEST(HostPorts, Clash) {
  const HostPort any{80, "", ""}, tcp{80, "TCP", "0.0.0.0"}, one_ip{80, "TCP", "10.0.0.1"};
  const HostPort other_ip{80, "TCP", "10.0.0.2"}, udp{80, "UDP", ""}, port{81, "", ""};
  EXPECT_TRUE(clash(any, tcp));
  EXPECT_TRUE(clash(any, one_ip));
  EXPECT_TRUE(clash(one_ip, tcp));
  EXPECT_TRUE(clash(one_ip, one_ip));
  EXPECT_FALSE(clash(one_ip, other_ip));
  EXPECT_FALSE(clash(any, udp));
  EXPECT_FALSE(clash(any, port));
  EXPECT_FALSE(clash(HostPort{}, HostPort{}));
}

}  // namespace
}  // namespace subak::eligibility
