// The namespace that kubectl would use.
#include "cli/setup/kube_context.h"

#include <gtest/gtest.h>

namespace subak::cli {
namespace {

constexpr char kOne[] =
    "current-context: prod\n"
    "contexts:\n"
    "- {name: prod, context: {cluster: c, user: u, namespace: team-a}}\n"
    "- {name: plain, context: {cluster: c, user: u}}\n";
constexpr char kTwo[] =
    "current-context: dev\n"
    "contexts:\n"
    "- {name: dev, context: {namespace: team-d}}\n"
    "- {name: prod, context: {namespace: never}}\n";

std::string ns(const std::vector<std::string>& texts, std::string_view context = "") {
  const auto found = context_namespace(texts, context);
  return found ? *found : found.error().message();
}

TEST(KubeContext, TheContextDecides) {
  EXPECT_EQ(ns({kOne}), "team-a");
  EXPECT_EQ(ns({kOne}, "plain"), "default");
  EXPECT_EQ(ns({kTwo}, "dev"), "team-d");
}

TEST(KubeContext, WithoutAContextItIsDefault) {
  EXPECT_EQ(ns({}), "default");
  EXPECT_EQ(ns({""}), "default");
  EXPECT_EQ(ns({"kind: Config\n"}), "default");
}

TEST(KubeContext, TheFirstOfSeveralFilesWins) {
  EXPECT_EQ(ns({kOne, kTwo}), "team-a");
  EXPECT_EQ(ns({kTwo, kOne}), "team-d");
  EXPECT_EQ(ns({kOne, kTwo}, "dev"), "team-d");
  EXPECT_EQ(ns({"kind: Config\n", kTwo}), "team-d");
}

TEST(KubeContext, AFaultIsNamed) {
  EXPECT_EQ(context_namespace({kOne}, "nowhere").error().code, ErrorCode::kNotFound);
  EXPECT_NE(ns({kOne}, "nowhere").find("nowhere"), std::string::npos);
  EXPECT_NE(ns({"contexts:\n- {name: a, context: {namespace: A_b}}\ncurrent-context: a\n"})
                .find("contexts[a].context.namespace"),
            std::string::npos);
  EXPECT_NE(ns({"a: [\n"}).find("kubeconfig line"), std::string::npos);
  EXPECT_NE(ns({"- list\n"}).find("a map with contexts"), std::string::npos);
  EXPECT_EQ(ns({"current-context: a\ncontexts: [{name: a, context: text}]\n"}), "default");
}

TEST(KubeContext, NamesOfNamespaces) {
  for (const char* good : {"a", "team-a", "0", "a1-b2"}) EXPECT_TRUE(is_namespace(good)) << good;
  for (const char* bad : {"", "-a", "a-", "A", "a.b", "a/b", "a b"}) {
    EXPECT_FALSE(is_namespace(bad)) << bad;
  }
  EXPECT_FALSE(is_namespace(std::string(64, 'a')));
}

}  // namespace
}  // namespace subak::cli
