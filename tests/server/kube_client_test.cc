// The client against the stand-in of an API server, which is a process of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "kube/release.h"
#include "server/kube/client.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Lives until it is destroyed: the server ends with its standard input.
class Server {
 public:
  Server() {
    int in[2], out[2];
    EXPECT_EQ(pipe(in) + pipe(out), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execl("/usr/bin/python3", "python3", STANDIN, nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    stdin_ = in[1];
    std::string line;
    for (char c = 0; read(out[0], &c, 1) == 1 && c != '\n';) line += c;
    close(out[0]);
    port_ = line.substr(line.find('=') + 1);
  }
  ~Server() {
    close(stdin_);
    waitpid(child_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  KubeAccess access() const {
    KubeAccess a;
    a.server = "http://127.0.0.1:" + port_;
    a.token = "t1";
    return a;
  }

 private:
  pid_t child_ = 0;
  int stdin_ = -1;
  std::string port_;
};

struct Got {
  CallAnswer answer;
  std::string body;
};

class KubeClientTest : public ::testing::Test {
 protected:
  // Turns until it holds; a test that hangs is ended by its time limit.
  template <class Holds>
  void until(const Holds& holds) {
    while (!holds()) client.turn(100);
  }
  Got get(const KubeCall& call) {
    std::optional<Got> got;
    EXPECT_TRUE(client.call(call, [&](const CallAnswer& a, std::string_view body) {
      got = Got{a, std::string(body)};
    }));
    until([&] { return got.has_value(); });
    return *got;
  }
  Got post(const std::string& path, const std::string& body) {
    return get({"POST", path, body, "application/json"});
  }
  void fault(const std::string& text) { post("/standin/fault", text); }
  std::string make_pod(const std::string& name) {
    return post("/api/v1/namespaces/a/pods",
                R"({"metadata":{"name":")" + name +
                    R"("},"spec":{"schedulingGates":[{"name":"subak.gpu/queue"}]}})")
        .body;
  }
  // Texts like "ADDED p1"; `ended` gets the outcome of its end.
  KubeClient::WatchId watch_pods(const std::string& query) {
    return client.watch(
        "/api/v1/pods?watch=1&" + query,
        [this](const WatchEvent& e) {
          const auto meta = json::member(e.object, "metadata");
          const std::string name(meta ? json::text(*meta, "name") : "");
          if (e.kind != WatchKind::kBookmark) {
            events.push_back(std::string(enum_name(e.kind)) + " " + name);
          }
          complete = complete || e.list_complete;
          version = e.resource_version;
        },
        [this](const CallAnswer& a) { ended.push_back(a.outcome); });
  }

  Server server;
  KubeClient client{server.access()};
  std::vector<std::string> events;
  std::vector<Outcome> ended;
  std::string version;
  bool complete = false;
};

TEST_F(KubeClientTest, CallsAreAnsweredAndSayWhoWeAre) {
  make_pod("p1");
  EXPECT_THAT(get({"GET", "/api/v1/namespaces/a/pods/p1"}).body, HasSubstr(R"("name": "p1")"));
  EXPECT_EQ(get({"GET", "/api/v1/namespaces/a/pods/p2"}).answer.outcome, Outcome::kNotFound);
  const Got twice = post("/api/v1/namespaces/a/pods", R"({"metadata":{"name":"p1"}})");
  EXPECT_EQ(twice.answer.outcome, Outcome::kConflict);
  EXPECT_EQ(twice.answer.reason, "AlreadyExists");
  EXPECT_EQ(twice.body, "");
  client.set_token("t2");
  get({"DELETE", "/api/v1/namespaces/a/pods/p1"});
  const std::string seen = get({"GET", "/standin/seen"}).body;
  EXPECT_THAT(seen, HasSubstr("Bearer t1"));
  EXPECT_THAT(seen, HasSubstr("Bearer t2"));
}

TEST_F(KubeClientTest, AReleaseAppliesOnceToWhatWasRead) {
  const std::string pod = make_pod("p1");
  simdjson::dom::parser parser;
  const auto patch = release_patch(parser.parse(pod), {"n7", "Starting"});
  ASSERT_TRUE(patch.ok());
  const KubeCall call{"PATCH", "/api/v1/namespaces/a/pods/p1", *patch,
                      "application/json-patch+json"};
  const Got opened = get(call);
  EXPECT_EQ(opened.answer.outcome, Outcome::kDone) << opened.answer.message;
  EXPECT_THAT(opened.body, HasSubstr(R"("schedulingGates": [])"));
  EXPECT_THAT(opened.body, HasSubstr(R"("values": ["n7"])"));
  EXPECT_EQ(get(call).answer.outcome, Outcome::kInvalid) << "it is another version now";
}

TEST_F(KubeClientTest, FaultsAreTold) {
  fault(
      R"({"path":"/api/v1/pods","times":1,"code":429,"headers":{"Retry-After":"3"},"body":"Too many"})");
  const Got later = get({"GET", "/api/v1/pods"});
  EXPECT_EQ(later.answer.outcome, Outcome::kLater);
  EXPECT_EQ(later.answer.delay_ms, 3000);
  // A kept connection that is cut is made anew once, so it takes two.
  fault(R"({"path":"/api/v1/pods","times":2,"cut":true})");
  EXPECT_EQ(get({"GET", "/api/v1/pods"}).answer.outcome, Outcome::kUnknown);
  EXPECT_EQ(get({"GET", "/api/v1/pods"}).answer.outcome, Outcome::kDone);
  KubeAccess nowhere;
  nowhere.server = "http://127.0.0.1:1";
  KubeClient other(nowhere);
  std::optional<Outcome> outcome;
  other.call({"GET", "/"}, [&](const CallAnswer& a, std::string_view) { outcome = a.outcome; });
  while (!outcome) other.turn(100);
  EXPECT_EQ(outcome, Outcome::kUnknown);
}

TEST_F(KubeClientTest, PagesOfAList) {
  for (const char* name : {"p1", "p2", "p3"}) make_pod(name);
  std::vector<std::string> names;
  std::string next;
  do {
    const Got page = get({"GET", "/api/v1/pods?limit=2&continue=" + (next.empty() ? "0" : next)});
    simdjson::dom::parser parser;
    const auto list = read_list_page(parser.parse(page.body));
    ASSERT_TRUE(list.ok());
    json::each_item(*list->items, [&](std::size_t, json::Value pod) {
      names.emplace_back(json::text(*json::member(pod, "metadata"), "name"));
    });
    next = list->next;
  } while (!next.empty());
  EXPECT_THAT(names, ElementsAre("p1", "p2", "p3"));
}

TEST_F(KubeClientTest, AWatchGoesOnWhereItWasCut) {
  make_pod("p1");
  watch_pods("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1");
  until([&] { return complete; });
  EXPECT_THAT(events, ElementsAre("ADDED p1"));
  make_pod("p2");
  until([&] { return events.size() == 2; });
  const std::string last = version;
  post("/standin/cut", "");
  until([&] { return ended.size() == 1; });
  get({"DELETE", "/api/v1/namespaces/a/pods/p1"});
  watch_pods("resourceVersion=" + last);
  until([&] { return events.size() == 3; });
  EXPECT_THAT(events, ElementsAre("ADDED p1", "ADDED p2", "DELETED p1"));
}

TEST_F(KubeClientTest, TooOldAVersionIsSaidSo) {
  make_pod("p1");
  post("/standin/expire", "");
  watch_pods("resourceVersion=1");
  until([&] { return !ended.empty(); });
  EXPECT_THAT(ended, ElementsAre(Outcome::kExpired));
}

TEST_F(KubeClientTest, AStoppedWatchSaysNothingMore) {
  const auto id = watch_pods("resourceVersion=0&allowWatchBookmarks=1");
  make_pod("p1");
  until([&] { return !events.empty(); });
  client.stop(id);
  make_pod("p2");
  for (int i = 0; i < 5; ++i) client.turn(20);
  EXPECT_THAT(events, ElementsAre("ADDED p1"));
  EXPECT_TRUE(ended.empty());
}

TEST_F(KubeClientTest, ManyCallsShareFewConnections) {
  constexpr int kCalls = 500;
  int answered = 0, done = 0;
  for (int i = 0; i < kCalls; ++i) {
    client.call({"GET", "/api/v1/pods?limit=1"}, [&](const CallAnswer& a, std::string_view) {
      ++answered;
      done += a.outcome == Outcome::kDone ? 1 : 0;
    });
  }
  EXPECT_EQ(client.calls(), static_cast<std::size_t>(kCalls));
  until([&] { return answered == kCalls; });
  EXPECT_EQ(done, kCalls);
  EXPECT_EQ(client.calls(), 0u);
}

}  // namespace
}  // namespace subak
