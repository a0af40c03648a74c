// The accounts that are suggested for a cluster's namespaces.
#include "cli/setup/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/limits.h"

namespace subak::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

NamespaceFacts with_pods(std::size_t pods, const std::string& group = "") {
  NamespaceFacts facts;
  facts.gpu_pods = pods;
  facts.group = group;
  return facts;
}
NamespaceFacts with_quota(const std::string& hard, bool whole = true) {
  NamespaceFacts facts;
  facts.quotas = {{"q", "requests.nvidia.com/gpu", hard, whole}};
  return facts;
}

// The rows alone.
std::string rows_of(const Suggestion& s) { return s.text.substr(s.text.find("accounts:")); }
std::string rows(const Namespaces& all, const SuggestOptions& o = {}, const KnownAccounts& k = {}) {
  return rows_of(suggest(all, k, o));
}

TEST(Suggest, OneForEachNamespaceWithGpus) {
  const Namespaces all{
      {"b", with_pods(1)},           {"a", with_pods(2)},           {"web", {}},
      {"kube-system", with_pods(3)}, {"none-yet", with_quota("0")}, {"c", with_quota("8")}};
  const Suggestion s = suggest(all, {}, {});
  EXPECT_EQ(
      rows_of(s),
      "accounts:\n"
      "- {path: a, shares: 1, namespaces: [a]}  # 2 pods with GPUs\n"
      "- {path: b, shares: 1, namespaces: [b]}  # 1 pod with GPUs\n"
      "- {path: c, shares: 1, namespaces: [c]}  # ResourceQuota q: requests.nvidia.com/gpu=8\n");
  EXPECT_EQ(s.namespaces, 3u);
  EXPECT_THAT(s.text, HasSubstr("# Accounts for 3 of 6 namespaces"));
  EXPECT_THAT(s.text, HasSubstr("# without a new account: the platform pays for these system "
                                "namespaces:\n#   kube-system\n"));
  SuggestOptions o;
  o.all = true;
  EXPECT_THAT(rows(all, o), HasSubstr("- {path: web, shares: 1, namespaces: [web]}\n"));
  EXPECT_THAT(rows(all, o), Not(HasSubstr("kube-system")));
}

TEST(Suggest, NothingIsAFileOfNothing) {
  EXPECT_EQ(rows(Namespaces{}), "accounts: []\n");
  EXPECT_EQ(rows({{"web", {}}}), "accounts: []\n");
}

TEST(Suggest, NamespacesOfOneValueComeBelowOneAccount) {
  const Namespaces all{{"a", with_pods(1, "ml")},     {"b", with_pods(1, "ml")},
                       {"c", with_pods(1, "Team.A")}, {"d", with_pods(1, "team-a")},
                       {"ml", with_pods(1)},          {"e", with_pods(0, "web")}};
  SuggestOptions o;
  o.group_key = "team";
  const Suggestion s = suggest(all, {}, o);
  EXPECT_EQ(rows_of(s),
            "accounts:\n"
            "- {path: ml, shares: 1}  # team=ml\n"
            "- {path: ml-2, shares: 1, namespaces: [ml]}  # 1 pod with GPUs\n"
            "- {path: ml.a, shares: 1, namespaces: [a]}  # 1 pod with GPUs\n"
            "- {path: ml.b, shares: 1, namespaces: [b]}  # 1 pod with GPUs\n"
            "- {path: team-a, shares: 1}  # team=team-a\n"
            "- {path: team-a-2, shares: 1}  # team=Team.A\n"
            "- {path: team-a-2.c, shares: 1, namespaces: [c]}  # 1 pod with GPUs\n"
            "- {path: team-a.d, shares: 1, namespaces: [d]}  # 1 pod with GPUs\n");
  EXPECT_THAT(s.text, HasSubstr("# renamed:\n#   ml -> ml-2\n#   team=Team.A -> team-a-2\n"));
}

// What was applied once is not asked for again, and what comes later goes where its like went.
TEST(Suggest, TheSecondTimeOnlyWhatIsNew) {
  SuggestOptions o;
  o.group_key = "team";
  Namespaces all{{"c", with_pods(1, "Team.A")}, {"d", with_pods(1, "team-a")}};
  const KnownAccounts known{{"team-a", "team-a-2", "team-a.d", "team-a-2.c"},
                            {{"c", "team-a-2.c"}, {"d", "team-a.d"}}};
  const Suggestion again = suggest(all, known, o);
  EXPECT_EQ(rows_of(again), "accounts: []\n");
  EXPECT_EQ(again.kept, 2u);
  EXPECT_THAT(again.text, HasSubstr("#   c (team-a-2.c)\n#   d (team-a.d)\n"));
  all["new"] = with_pods(1, "Team.A");
  EXPECT_EQ(rows(all, o, known),
            "accounts:\n- {path: team-a-2.new, shares: 1, namespaces: [new]}  # 1 pod with GPUs\n");
}

TEST(Suggest, WhatSomebodyElseHasKeepsItsName) {
  const Namespaces all{{"ml", with_pods(1)}};
  EXPECT_THAT(rows(all, {}, {{"ml"}, {{"other", "ml"}}}), HasSubstr("- {path: ml-2, "));
}

TEST(Suggest, ALabelledNamespaceKeepsItsAccountWhichIsMade) {
  NamespaceFacts labelled = with_pods(1);
  labelled.account = "ml.vision";
  NamespaceFacts wrong = with_pods(1);
  wrong.account = "ML/ana";
  const Namespaces all{{"a", labelled}, {"b", wrong}, {"ml", with_pods(1)}};
  const Suggestion s = suggest(all, {}, {});
  EXPECT_EQ(rows_of(s),
            "accounts:\n"
            "- {path: ml}  # a namespace's label names this account\n"
            "- {path: ml-2, shares: 1, namespaces: [ml]}  # 1 pod with GPUs\n"
            "- {path: ml.vision}  # a namespace's label names this account\n");
  EXPECT_THAT(s.text, HasSubstr("left out: the namespace's label is not the path of an account:\n# "
                                "  b (subak.gpu/account: ML/ana)"));
  EXPECT_THAT(rows(all, {}, {{"ml", "ml.vision"}, {}}), Not(HasSubstr("label names this account")));
  const KnownAccounts told{{}, {{"a", "ml.vision"}}};  // by the service, which sees the label
  EXPECT_THAT(rows(all, {}, told),
              HasSubstr("- {path: ml.vision}  # a namespace's label names this account\n"));
}

TEST(Suggest, QuotasBecomeLimitsOnRequest) {
  SuggestOptions o;
  o.limits = true;
  NamespaceFacts two = with_quota("16");
  two.quotas.push_back({"r", "requests.nvidia.com/gpu", "8", true});
  two.quotas.push_back(
      {"s", "requests.nvidia.com/gpu", "2", false});  // of some pods, or no whole GPUs
  EXPECT_THAT(rows({{"a", two}}, o), HasSubstr("shares: 1, limit: gpu=8, namespaces"));
  EXPECT_THAT(rows({{"a", two}}), Not(HasSubstr("limit")));
  EXPECT_THAT(rows({{"a", with_quota("2", false)}}, o), Not(HasSubstr("limit")));
  EXPECT_THAT(rows({{"a", with_quota("1e30")}}, o), HasSubstr("limit: gpu=1000000,"));
}

TEST(Suggest, NamesThatYamlOrTheFileTakesForSomethingElse) {
  const Namespaces all{{"1e3", with_pods(1)}, {"no", with_pods(1)}, {"none", with_pods(1)}};
  const Suggestion s = suggest(all, {}, {});
  EXPECT_THAT(rows_of(s), HasSubstr("{path: \"1e3\", shares: 1, namespaces: [\"1e3\"]}"));
  EXPECT_THAT(rows_of(s), HasSubstr("{path: \"no\", "));
  EXPECT_THAT(rows_of(s), Not(HasSubstr("none")));
  EXPECT_EQ(s.unnamed, 1u);
  SuggestOptions o;
  o.cluster = "main";
  EXPECT_THAT(rows(all, o), HasSubstr("namespaces: [\"main/none\"]"));
}

// Answers lists from texts; a list of more pages goes on as long as it is asked.
class Answers final : public KubeCaller {
 public:
  Reply call(const KubeCall& call) override {
    paths.push_back(call.path);
    const std::string collection = call.path.substr(0, call.path.find('?'));
    Reply reply;
    if (collection == refused) {
      reply.answer = {Outcome::kRefused, "Forbidden", "you may not", 0};
      return reply;
    }
    reply.answer.outcome = Outcome::kDone;
    reply.body = bodies.count(collection) ? bodies.at(collection) : R"({"items":[]})";
    return reply;
  }
  void wait(DurationMs) override {}

  std::map<std::string, std::string> bodies;
  std::string refused;
  std::vector<std::string> paths;
};

TEST(ReadNamespaces, PodsAndQuotasOfGpus) {
  Answers api;
  api.bodies["/api/v1/namespaces"] = R"({"items":[
    {"metadata":{"name":"a","labels":{"team":"ml","subak.gpu/account":"x"}}},
    {"metadata":{"name":"b"}}, {"metadata":{"name":"Bad name"}}, {}]})";
  api.bodies["/api/v1/resourcequotas"] = R"({"items":[
    {"metadata":{"name":"q","namespace":"b"},"spec":{"hard":{"requests.nvidia.com/gpu":"8","cpu":"9"}}},
    {"metadata":{"name":"p","namespace":"b"},"spec":{"scopes":["BestEffort"],"hard":{
      "requests.nvidia.com/gpu":"4","requests.amd.com/gpu":"2","requests.nvidia.com/mig-1g.10gb":"1"}}},
    {"metadata":{"name":"q","namespace":"gone"},"spec":{"hard":{"requests.nvidia.com/gpu":"8"}}}]})";
  const std::string pod =
      R"("spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"},)"
      R"("requests":{"nvidia.com/gpu":"1"}}}]})";
  api.bodies["/api/v1/pods"] =
      R"({"items":[{"metadata":{"name":"p","namespace":"a"},)" + pod +
      R"(},{"metadata":{"name":"q","namespace":"a"},"status":{"phase":"Failed"},)" + pod +
      R"(},{"metadata":{"name":"r","namespace":"b"},"spec":{}}]})";
  SuggestOptions o;
  o.group_key = "team";
  o.gpu_kinds = {"amd.com/gpu"};
  const auto read = read_namespaces(api, o);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 2u);
  const NamespaceFacts& a = read->at("a");
  EXPECT_EQ(a.group, "ml");
  EXPECT_EQ(a.account, "x");
  EXPECT_EQ(a.gpu_pods, 1u);
  const NamespaceFacts& b = read->at("b");
  EXPECT_EQ(b.gpu_pods, 0u);
  ASSERT_EQ(b.quotas.size(), 4u);
  EXPECT_EQ(std::count_if(b.quotas.begin(), b.quotas.end(), [](const auto& q) { return q.whole; }),
            1);
  EXPECT_EQ(b.quotas.back().name, "q");
}

TEST(ReadNamespaces, WhatMayNotBeReadIsAnError) {
  for (const char* refused : {"/api/v1/namespaces", "/api/v1/resourcequotas", "/api/v1/pods"}) {
    Answers api;
    api.refused = refused;
    const auto read = read_namespaces(api, {});
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().field, std::string("GET ") + refused);
  }
}

TEST(ReadNamespaces, AListThatNeverEndsIsRefused) {
  Answers api;
  api.bodies["/api/v1/namespaces"] = R"({"metadata":{"continue":"more"},"items":[]})";
  const auto read = read_namespaces(api, {});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(api.paths.size(), limits::kMaxOperatorObjects / limits::kOperatorPage);
}

}  // namespace
}  // namespace subak::cli
