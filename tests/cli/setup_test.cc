// What is applied to a cluster, and what is said of one.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/setup/manifests.h"

namespace subak::cli {
namespace {

ManifestOptions options() {
  ManifestOptions o;
  o.cluster = "main";
  o.url = "https://10.0.0.5:9443";
  o.ca_pem = "-----BEGIN CERTIFICATE-----\n";
  o.user = "system:serviceaccount:subak-system:subak";
  o.break_glass_group = "subak:break-glass";
  o.kubernetes_minor = kPoliciesMinor;
  return o;
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

std::string print(const ManifestOptions& o) {
  const auto text = manifests(o);
  EXPECT_TRUE(text.ok()) << text.error().message();
  return text.ok() ? *text : "";
}

TEST(Manifests, NothingIsLeftToFillIn) {
  auto o = options();
  o.image = "registry.example.com/subak:0.1.0";
  for (const int minor : {29, 30, 36}) {
    o.kubernetes_minor = minor;
    const std::string text = print(o);
    for (const char* mark :
         {"/CLUSTER", "HOST:", "caBundle: \"\"", "image: IMAGE", "name: CLUSTER"}) {
      std::string lines;
      for (std::size_t at = text.find(mark); at != std::string::npos;
           at = text.find(mark, at + 1)) {
        const std::size_t begin = text.rfind('\n', at) + 1;
        if (text.compare(begin, 1, "#") != 0) lines += text.substr(begin, 80);
      }
      EXPECT_EQ(lines, "") << mark;
    }
    EXPECT_NE(text.find("url: https://10.0.0.5:9443/mutate/main\n"), std::string::npos);
  }
}

TEST(Manifests, WhatTheApiServerCanIsLeftToIt) {
  auto o = options();
  o.kubernetes_minor = 29;
  EXPECT_EQ(count(print(o), "kind: ValidatingAdmissionPolicy\n"), 0U);
  EXPECT_EQ(count(print(o), "name: subak-update\n"), 1U);
  EXPECT_EQ(count(print(o), "failurePolicy: Ignore"), 2U);  // of warn
  o.kubernetes_minor = 30;
  EXPECT_GT(count(print(o), "kind: ValidatingAdmissionPolicy\n"), 3U);
  EXPECT_EQ(count(print(o), "kind: MutatingAdmissionPolicy\n"), 0U);
  EXPECT_EQ(count(print(o), "failurePolicy: Ignore"), 2U);
  o.kubernetes_minor = 36;
  EXPECT_EQ(count(print(o), "kind: MutatingAdmissionPolicy\n"), 1U);
  EXPECT_EQ(count(print(o), "failurePolicy: Ignore"), 4U);
}

TEST(Manifests, WhoIsTrustedAndWhatCounts) {
  auto o = options();
  o.user = "kubernetes-admin";
  o.break_glass_group = "sre";
  o.gpu_kinds = {"amd.com/gpu", "example.com/npu"};
  o.kubernetes_minor = 36;
  const std::string text = print(o);
  EXPECT_EQ(count(text, "system:serviceaccount:subak-system:subak"), 0U);
  EXPECT_EQ(count(text, "subak:break-glass'"), 0U);
  EXPECT_EQ(
      count(text, "{kind: User, apiGroup: rbac.authorization.k8s.io, name: \"kubernetes-admin\"}"),
      1U);
  EXPECT_EQ(count(text, "{kind: User, user: {name: \"kubernetes-admin\"}}"), 1U);
  EXPECT_EQ(
      count(text, "k.startsWith('nvidia.com/mig-')"),
      count(text, "k.startsWith('nvidia.com/mig-') || k in ['amd.com/gpu', 'example.com/npu']"));
  EXPECT_EQ(count(text, "k.startsWith('nvidia.com/')"),
            count(text, "k.startsWith('nvidia.com/') || k in ['amd.com/gpu', 'example.com/npu']"));
}

TEST(Manifests, ByPartsAndInTheCluster) {
  auto o = options();
  o.url = "";
  o.parts = {ManifestPart::kWebhooks};
  const std::string text = print(o);
  EXPECT_EQ(count(text, "url: https"), 0U);
  EXPECT_EQ(
      count(text, "service: {namespace: subak-system, name: subak, path: /mutate/main, port: 443}"),
      2U);
  EXPECT_EQ(count(text, "kind: ClusterRole\n"), 0U);
  o.parts = {ManifestPart::kService};
  EXPECT_EQ(print(o), "");  // no image
}

TEST(Manifests, AValueThatWouldMeanSomethingElseIsRefused) {
  const auto wrong = [](auto change) {
    auto o = options();
    change(o);
    const auto text = manifests(o);
    return text.ok() ? std::string("accepted") : text.error().field;
  };
  EXPECT_EQ(wrong([](auto& o) { o.cluster = "a b"; }), "--cluster");
  EXPECT_EQ(wrong([](auto& o) { o.cluster = ""; }), "--cluster");
  EXPECT_EQ(wrong([](auto& o) { o.user = "x' || true || '"; }), "--as");
  EXPECT_EQ(wrong([](auto& o) { o.break_glass_group = "a\nb"; }), "--break-glass-group");
  EXPECT_EQ(wrong([](auto& o) { o.gpu_kinds = {"gpu"}; }), "--gpu-kinds");
  EXPECT_EQ(wrong([](auto& o) { o.url = "http://10.0.0.5"; }), "--url");
  EXPECT_EQ(wrong([](auto& o) { o.image = "a\" b"; }), "--image");
  EXPECT_EQ(wrong([](auto& o) { o.kubernetes_minor = 28; }), "--kubernetes");
}

}  // namespace
}  // namespace subak::cli
