// Where an API server is, and what it answers: kubeconfig, answers to calls, streams of watches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/edge/client/answer.h"
#include "server/edge/client/kubeconfig.h"
#include "server/edge/client/watch_stream.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- kubeconfig ----------------------------------------------------------------------------------

std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: prod\n"
         "contexts:\n- name: other\n  context: {cluster: none, user: nobody}\n"
         "- name: prod\n  context: {cluster: c1, user: u1}\n"
         "clusters:\n- name: c1\n  cluster: {" +
         cluster + "}\nusers:\n- name: u1\n  user: {" + user + "}\n";
}
Result<KubeAccess> read(const std::string& cluster, const std::string& user) {
  return read_kubeconfig(kubeconfig(cluster, user), "/etc/subak", "");
}
const std::string kServer = "server: \"https://10.0.0.1:6443/\"";

TEST(Kubeconfig, CertificatesInPlaceAndByPath) {
  const auto in_place =
      read(kServer + ", certificate-authority-data: Y2E=, certificate-authority: x",
           "client-certificate-data: Y2VydA==, client-key-data: a2V5");
  ASSERT_TRUE(in_place.ok()) << in_place.error().message();
  EXPECT_EQ(in_place->server, "https://10.0.0.1:6443");
  EXPECT_EQ(in_place->authority.pem, "ca");
  EXPECT_EQ(in_place->authority.path, "") << "what stands there wins over the path";
  EXPECT_EQ(in_place->certificate.pem, "cert");
  EXPECT_EQ(in_place->key.pem, "key");
  const auto by_path = read(kServer + ", certificate-authority: pki/ca.crt, tls-server-name: api",
                            "client-certificate: /a/b.crt, client-key: b.key");
  ASSERT_TRUE(by_path.ok());
  EXPECT_EQ(by_path->authority.path, "/etc/subak/pki/ca.crt");
  EXPECT_EQ(by_path->certificate.path, "/a/b.crt");
  EXPECT_EQ(by_path->key.path, "/etc/subak/b.key");
  EXPECT_EQ(by_path->tls_server_name, "api");
}

TEST(Kubeconfig, TokensAndPlugins) {
  EXPECT_EQ(read(kServer, "token: abc")->token, "abc");
  const auto file = read(kServer, "token: abc, tokenFile: t");
  EXPECT_EQ(file->token, "");
  EXPECT_EQ(file->token_path, "/etc/subak/t");
  const auto exec = read(
      kServer,
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, provideClusterInfo: true, "
      "args: [eks, get-token], env: [{name: A, value: b}], installHint: get it}");
  ASSERT_TRUE(exec.ok()) << exec.error().message();
  ASSERT_TRUE(exec->exec);
  EXPECT_EQ(exec->exec->command, "aws");
  EXPECT_THAT(exec->exec->args, ElementsAre("eks", "get-token"));
  EXPECT_THAT(exec->exec->env, ElementsAre(std::pair<std::string, std::string>("A", "b")));
  EXPECT_TRUE(exec->exec->wants_cluster);
  EXPECT_TRUE(read(kServer, "").ok()) << "nobody in particular";
}

std::string refused(const std::string& cluster, const std::string& user) {
  const auto access = read(cluster, user);
  return access.ok() ? "accepted" : access.error().message();
}

TEST(Kubeconfig, RefusesWhatItWouldNotDo) {
  EXPECT_THAT(refused(kServer + ", proxy-url: \"http://p\"", ""),
              HasSubstr("clusters[c1].cluster.proxy-url"));
  EXPECT_THAT(refused(kServer, "username: a, password: b"), HasSubstr("users[u1].user.username"));
  EXPECT_THAT(refused(kServer, "as: admin"), HasSubstr("users[u1].user.as"));
  EXPECT_THAT(refused(kServer, "auth-provider: {name: gcp}"), HasSubstr("exec plugin"));
  EXPECT_THAT(refused(kServer, "client-certificate: a"), HasSubstr("users[u1].user.client-key"));
  EXPECT_THAT(refused(kServer, "token: \"a b\""), HasSubstr("users[u1].user.token"));
  EXPECT_THAT(refused(kServer, "token: [a]"), HasSubstr("want a text"));
  EXPECT_THAT(refused(kServer, "client-key-data: \"!\", client-certificate: a"),
              HasSubstr("client-key-data"));
  EXPECT_THAT(refused(kServer, "exec: {command: a, apiVersion: v0}"), HasSubstr("exec.apiVersion"));
  EXPECT_THAT(
      refused(kServer,
              "exec: {command: a, apiVersion: client.authentication.k8s.io/v1, args: {a: b}}"),
      HasSubstr("exec.args"));
  EXPECT_THAT(refused(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1}"),
              HasSubstr("exec.command"));
  EXPECT_THAT(refused(kServer + ", insecure-skip-tls-verify: true, certificate-authority: x", ""),
              HasSubstr("insecure"));
}

TEST(Kubeconfig, TheServerIsAnAddressAndTokensAreNotSentInTheClear) {
  for (const char* url : {"10.0.0.1:6443", "https://", "ftp://a", "https://a b", "https://u@a",
                          "https://a?b", "http://10.0.0.1", ""}) {
    EXPECT_THAT(refused("server: \"" + std::string(url) + "\"", ""),
                HasSubstr("clusters[c1].cluster.server"))
        << url;
  }
  for (const char* url :
       {"http://127.0.0.1:8080", "http://[::1]:1", "https://[fd00::1]:6443/k8s"}) {
    EXPECT_EQ(refused("server: \"" + std::string(url) + "\"", ""), "accepted") << url;
  }
}

TEST(Kubeconfig, NamesTheEntryThatIsMissing) {
  const auto error = [](const std::string& text, const std::string& context) {
    return read_kubeconfig(text, "/", context).error().message();
  };
  EXPECT_THAT(error(kubeconfig(kServer, ""), "other"), HasSubstr("clusters: was \"none\""));
  EXPECT_THAT(error(kubeconfig(kServer, ""), "new"), HasSubstr("contexts: was \"new\""));
  EXPECT_THAT(error("{}", ""), HasSubstr("current-context"));
  EXPECT_THAT(error("[]", ""), HasSubstr("kubeconfig"));
  EXPECT_THAT(error("a: [", ""), HasSubstr("YAML"));
  EXPECT_THAT(error(std::string(limits::kMaxKubeconfigBytes + 1, ' '), ""), HasSubstr("at most"));
}

TEST(Kubeconfig, InACluster) {
  const auto access = in_cluster_access("fd00::1", "443", "/var/run/secrets/x");
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->token_path, "/var/run/secrets/x/token");
  EXPECT_EQ(access->authority.path, "/var/run/secrets/x/ca.crt");
  EXPECT_EQ(in_cluster_access("", "443", "/x").error().code, ErrorCode::kPrecondition);
}

// --- answers -------------------------------------------------------------------------------------

TEST(Answer, OfAStatus) {
  const CallAnswer a = read_answer(
      409, "", R"({"kind":"Status","reason":"Conflict","message":"it changed","code":409})");
  EXPECT_EQ(a.outcome, Outcome::kConflict);
  EXPECT_EQ(a.reason, "Conflict");
  EXPECT_EQ(a.message, "it changed");
}

TEST(Answer, TooManyRequestsInBothForms) {
  const CallAnswer plain = read_answer(429, "7", "Too many requests, please try again later.\n");
  EXPECT_EQ(plain.outcome, Outcome::kLater);
  EXPECT_EQ(plain.delay_ms, 7000);
  EXPECT_THAT(plain.message, HasSubstr("Too many requests"));
  const CallAnswer budget =
      read_answer(429, "", R"({"kind":"Status","reason":"TooManyRequests","message":"budget"})");
  EXPECT_EQ(budget.reason, "TooManyRequests");
  EXPECT_EQ(budget.delay_ms, 0);
  EXPECT_EQ(read_answer(429, "999999999999", "").delay_ms, limits::kMaxRetryAfterMs);
  EXPECT_EQ(read_answer(429, "-5", "").delay_ms, 0);
  EXPECT_EQ(read_answer(429, "Wed, 21 Oct 2026 07:28:00 GMT", "").delay_ms, 0);
}

TEST(Answer, WhatIsNotSaidIsUnknown) {
  for (const int code : {0, 500, 502, 503, 504}) {
    EXPECT_EQ(read_answer(code, "", "").outcome, Outcome::kUnknown) << code;
  }
  EXPECT_EQ(read_answer(0, "", "").message, "no answer");
  EXPECT_EQ(read_answer(201, "", "{}").outcome, Outcome::kDone);
  EXPECT_EQ(read_answer(404, "", "x").outcome, Outcome::kNotFound);
  EXPECT_EQ(read_answer(410, "", "x").outcome, Outcome::kExpired);
  EXPECT_EQ(read_answer(422, "", "x").outcome, Outcome::kInvalid);
  EXPECT_EQ(read_answer(401, "", "x").outcome, Outcome::kUnauthorized);
  EXPECT_EQ(read_answer(403, "", "x").outcome, Outcome::kRefused);
  EXPECT_LE(read_answer(400, "", std::string(1u << 20, 'x')).message.size(), 1100u);
}

// --- watches -------------------------------------------------------------------------------------

std::string event(std::string_view type, std::string_view version, std::string_view more = "") {
  return R"({"type":")" + std::string(type) + R"(","object":{"metadata":{"resourceVersion":")" +
         std::string(version) + "\"" + std::string(more) + "}}}\n";
}

struct Seen {
  std::vector<std::string> events;
  std::optional<Error> error;
};
// The stream in pieces of this many bytes.
Seen feed(const std::string& stream, std::size_t piece) {
  WatchStream watch;
  Seen seen;
  for (std::size_t at = 0; at < stream.size() && !seen.error; at += piece) {
    seen.error = watch.feed(std::string_view(stream).substr(at, piece), [&](const WatchEvent& e) {
      seen.events.push_back(std::string(enum_name(e.kind)) + " " + std::string(e.resource_version) +
                            (e.list_complete ? " complete" : "") +
                            (e.code != 0 ? std::to_string(e.code) : ""));
    });
  }
  if (!watch.between_events()) seen.events.emplace_back("a part");
  return seen;
}

TEST(Watch, BordersOfChunksMeanNothing) {
  const std::string stream =
      event("ADDED", "5") + event("MODIFIED", "6") + "\n" + event("DELETED", "7") +
      event("BOOKMARK", "8", R"(,"annotations":{"k8s.io/initial-events-end":"true"})") +
      event("ADDED", "9", R"(,"annotations":{"k8s.io/initial-events-end":"true"})") +
      R"({"type":"ERROR","object":{"kind":"Status","code":410}})" + "\n" + R"({"type":"AD)";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{64}, stream.size()}) {
    const Seen seen = feed(stream, piece);
    EXPECT_FALSE(seen.error);
    EXPECT_THAT(seen.events, ElementsAre("ADDED 5", "MODIFIED 6", "DELETED 7",
                                         "BOOKMARK 8 complete", "ADDED 9", "ERROR 410", "a part"));
  }
}

TEST(Watch, WhatIsNoEventEndsIt) {
  EXPECT_EQ(feed("x\n", 9).error->field, "event");
  EXPECT_EQ(feed("{\"type\":\"NEW\",\"object\":{}}\n", 99).error->field, "type");
  EXPECT_EQ(feed("{\"type\":\"ADDED\"}\n", 99).error->field, "object");
  EXPECT_EQ(feed("{\"type\":\"ADDED\",\"object\":{}}\n", 99).error->field,
            "object.metadata.resourceVersion");
  const Seen after = feed(event("ADDED", "5") + "x\n" + event("ADDED", "6"), 1000);
  EXPECT_THAT(after.events, ElementsAre("ADDED 5"));
}

TEST(Watch, ALineHasALimit) {
  const std::string pad = ",\"x\":\"" + std::string(limits::kMaxWatchLineBytes - 100, 'a') + "\"";
  EXPECT_FALSE(feed(event("ADDED", "5", pad), 1u << 16).error);
  const std::string endless(limits::kMaxWatchLineBytes + 1, 'a');
  const Seen seen = feed(endless, 1u << 16);
  EXPECT_EQ(seen.error->field, "event");
  EXPECT_THAT(seen.events, ElementsAre()) << "nothing is kept of it";
}

TEST(Watch, PagesOfAList) {
  simdjson::dom::parser parser;
  const std::string first =
      R"({"metadata":{"resourceVersion":"9","continue":"abc"},"items":[{},{}]})";
  const auto page = read_list_page(parser.parse(first));
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->resource_version, "9");
  EXPECT_EQ(page->next, "abc");
  ASSERT_TRUE(page->items);
  const std::string none = R"({"metadata":{"resourceVersion":"9"},"items":null})";
  EXPECT_FALSE(read_list_page(parser.parse(none))->items);
  const std::string odd = R"({"metadata":{"resourceVersion":"9"},"items":{}})";
  EXPECT_EQ(read_list_page(parser.parse(odd)).error().field, "items");
  EXPECT_EQ(read_list_page(parser.parse(std::string("{}"))).error().field, "metadata");
}

}  // namespace
}  // namespace subak
