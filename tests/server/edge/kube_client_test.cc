// The client against the stand-in of an API server, which is a process of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "kube/release.h"
#include "server/edge/client/client.h"
#include "server/edge/client/credentials.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Lives until it is destroyed: the server ends with its standard input.
class Server {
 public:
  explicit Server(std::vector<std::string> args = {}) {
    args.insert(args.begin(), {"python3", STANDIN});
    std::vector<char*> words;
    for (std::string& arg : args) words.push_back(arg.data());
    words.push_back(nullptr);
    int in[2], out[2];
    EXPECT_EQ(pipe(in) + pipe(out), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execv("/usr/bin/python3", words.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    stdin_ = in[1];
    std::string line;
    for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
    close(out[0]);
    port_ = line.substr(line.find('=') + 1);
  }
  ~Server() {
    close(stdin_);
    waitpid(child_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  KubeAccess access(const std::string& scheme = "http") const {
    KubeAccess a;
    a.server = scheme + "://127.0.0.1:" + port_;
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

Got get_by(KubeClient& client, const KubeCall& call) {
  std::optional<Got> got;
  EXPECT_TRUE(client.call(call, [&](const CallAnswer& a, std::string_view body) {
    got = Got{a, std::string(body)};
  }));
  while (!got) client.turn(100);
  return *got;
}

class KubeClientTest : public ::testing::Test {
 protected:
  // Turns until it holds; a test that hangs is ended by its time limit.
  template <class Holds>
  void until(const Holds& holds) {
    while (!holds()) client.turn(100);
  }
  Got get(const KubeCall& call) { return get_by(client, call); }
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
  const Got none = get_by(other, {"GET", "/"});
  EXPECT_EQ(none.answer.outcome, Outcome::kUnknown);
  EXPECT_THAT(none.answer.message, HasSubstr("no connection to http://127.0.0.1:1"));
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

// --- who is who, over TLS ------------------------------------------------------------------------

// Self-signed certificates: each is its own authority.
class KubeTlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = (std::filesystem::temp_directory_path() / "subak-tls-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    make("api", "/CN=api", "DNS:api.test");
    for (const char* who : {"ana", "bob"}) make(who, std::string("/CN=") + who, "DNS:client.test");
    run("openssl ec -aes256 -passout pass:secret -in " + path("ana.key") + " -out " +
        path("locked.key"));
    std::ofstream(path("people.crt")) << contents("ana.crt") << contents("bob.crt");
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static std::string path(const std::string& file) { return folder + "/" + file; }
  static std::string contents(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(path(file)).rdbuf();
    return text.str();
  }
  static void run(const std::string& command) {
    ASSERT_EQ(std::system((command + " 2>/dev/null").c_str()), 0) << command;
  }
  static void make(const std::string& file, const std::string& subject, const std::string& names) {
    run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj " +
        subject + " -addext subjectAltName=" + names + " -keyout " + path(file + ".key") +
        " -out " + path(file + ".crt"));
  }
  static std::vector<std::string> tls() { return {"--tls", path("api.crt"), path("api.key")}; }
  static std::vector<std::string> tls_of_people() {
    return {"--tls", path("api.crt"), path("api.key"), "--client-ca", path("people.crt")};
  }
  static KubeAccess right(const Server& server) {
    KubeAccess access = server.access("https");
    access.tls_server_name = "api.test";
    access.authority.path = path("api.crt");
    return access;
  }
  static Got list(const KubeAccess& access) {
    KubeClient client(access);
    return get_by(client, {"GET", "/api/v1/pods"});
  }
  // Who the server took us for in the last call before.
  static std::string seen_as(KubeClient& client) {
    get_by(client, {"GET", "/api/v1/pods"});
    const std::string seen = get_by(client, {"GET", "/standin/seen"}).body;
    const std::string last = seen.substr(seen.rfind("\"peer\""));
    return last.substr(9, last.find('"', 9) - 9);
  }

  static std::string folder;
};
std::string KubeTlsTest::folder;

TEST_F(KubeTlsTest, TheServerMustProveWhoItIs) {
  const Server server(tls());
  EXPECT_EQ(list(right(server)).answer.outcome, Outcome::kDone);
  KubeAccess in_place = right(server);
  in_place.authority = {contents("api.crt"), ""};
  EXPECT_EQ(list(in_place).answer.outcome, Outcome::kDone);
  KubeAccess blind = server.access("https");
  blind.insecure = true;
  EXPECT_EQ(list(blind).answer.outcome, Outcome::kDone);

  KubeAccess other_ca = right(server);
  other_ca.authority.path = path("bob.crt");
  KubeAccess no_ca = right(server);
  no_ca.authority = {};
  KubeAccess by_address = right(server);
  by_address.tls_server_name.clear();
  KubeAccess other_name = right(server);
  other_name.tls_server_name = "other.test";
  for (const KubeAccess& access : {other_ca, no_ca, by_address, other_name}) {
    const Got refused = list(access);
    EXPECT_EQ(refused.answer.outcome, Outcome::kUnknown);
    EXPECT_THAT(refused.answer.message, HasSubstr("could not be verified"));
  }
  KubeAccess no_pem = right(server);
  no_pem.authority.path = path("api.key");
  EXPECT_THAT(list(no_pem).answer.message, HasSubstr("certificate-authority"));
}

TEST_F(KubeTlsTest, NothingIsSentToWhoIsNotTheServer) {
  const Server server(tls());
  KubeAccess wrong = right(server);
  wrong.authority.path = path("bob.crt");
  wrong.token = "s3cret";
  EXPECT_EQ(list(wrong).answer.outcome, Outcome::kUnknown);
  KubeClient client(right(server));
  EXPECT_EQ(get_by(client, {"GET", "/standin/seen"}).body, "[]");
  get_by(client, {"GET", "/api/v1/pods"});
  EXPECT_THAT(get_by(client, {"GET", "/standin/seen"}).body, HasSubstr("Bearer t1"));
}

TEST_F(KubeTlsTest, WeProveWhoWeAre) {
  const Server server(tls_of_people());
  const Got nobody = list(right(server));
  EXPECT_EQ(nobody.answer.outcome, Outcome::kUnknown);
  EXPECT_THAT(nobody.answer.message, HasSubstr("the connection to https://127.0.0.1:"));
  KubeAccess ana = right(server);
  ana.certificate.path = path("ana.crt");
  ana.key.path = path("ana.key");
  KubeClient client(ana);
  EXPECT_EQ(seen_as(client), "ana");
  client.set_certificate(contents("bob.crt"), contents("bob.key"));
  EXPECT_EQ(seen_as(client), "bob") << "not on the connection that is ana's";
  client.set_certificate("", "");
  EXPECT_EQ(seen_as(client), "ana");
  ana.key.path = path("bob.key");
  EXPECT_THAT(list(ana).answer.message, HasSubstr("client-certificate"));
  ana.key.path = path("locked.key");
  EXPECT_THAT(list(ana).answer.message, HasSubstr("without a password"));
}

TEST_F(KubeTlsTest, APluginSaysWhoWeAre) {
  const Server server(tls_of_people());
  std::string printed = R"({"apiVersion":"client.authentication.k8s.io/v1",)"
                        R"("kind":"ExecCredential","status":{)";
  append_json_member(printed, "token", "t2");
  append_json_member(printed, "clientCertificateData", contents("bob.crt"));
  append_json_member(printed, "clientKeyData", contents("bob.key"));
  std::ofstream(path("printed")) << printed << "}}";
  KubeAccess access = right(server);
  access.token.clear();
  access.exec = ExecPlugin{"cat", {path("printed")}, {}, "client.authentication.k8s.io/v1", "", {}};
  Credentials credentials(access);
  KubeClient client(access);
  while (!credentials.known()) {
    const auto now = credentials.refresh(1'800'000'000'000, false);
    ASSERT_TRUE(now.ok()) << now.error().message();
    if (now->has_value()) {
      client.set_token((**now).token);
      client.set_certificate((**now).certificate, (**now).key);
    }
    client.turn(1);
  }
  EXPECT_EQ(seen_as(client), "bob");
  EXPECT_THAT(get_by(client, {"GET", "/standin/seen"}).body, HasSubstr("Bearer t2"));
}

}  // namespace
}  // namespace subak
