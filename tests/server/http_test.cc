#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/http/routes.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class FixedClock final : public Clock {
 public:
  TimeMs wall_ms() const override { return 5000; }
  std::int64_t monotonic_us() const override { return 0; }
};

class RoutesTest : public ::testing::Test {
 protected:
  RoutesTest() {
    Input input;
    input.time_ms = 1000;
    in::SetCluster cluster;
    cluster.name = "east";
    cluster.reason = "test";
    input.body = cluster;
    engine_.apply(input);
    in::SetAccount account;
    account.spec.path = "ml";
    account.reason = "test";
    input.body = account;
    engine_.apply(input);
    state_.view = engine_.view();
    state_.version = "9.9";
    state_.now_ms = 5000;
    state_.runtime.leads = true;
    state_.follower.reads_answered = 1;
  }
  HttpResponse get(std::string_view target, std::string_view method = "GET") {
    HttpSources sources;
    sources.state = [this] { return state_; };
    sources.read = [this](const Follower::StartsRead& fn) {
      if (reads_) fn(engine_, {std::make_shared<const Forecast>(), {}});
      return reads_;
    };
    sources.events = &events_;
    sources.clock = &clock_;
    const HttpRoutes routes(std::move(sources));
    int answers = 0;
    HttpResponse last;
    routes.handle(method, target, [&](HttpResponse response) {
      ++answers;
      last = std::move(response);
    });
    EXPECT_EQ(answers, 1) << target;
    return last;
  }

  Engine engine_;
  metrics::Events events_;
  metrics::ShellState state_;
  FixedClock clock_;
  bool reads_ = true;
};

TEST_F(RoutesTest, Metrics) {
  const HttpResponse page = get("/metrics?x=1");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.content_type, StartsWith("text/plain; version=0.0.4"));
  EXPECT_THAT(page.body, HasSubstr("subak_account_shares{account=\"ml\"} 1\n"));
  EXPECT_THAT(page.body, HasSubstr("subak_scrape_complete 1\n"));
}

TEST_F(RoutesTest, AShortPageWhenTheFollowerRefuses) {
  reads_ = false;
  const HttpResponse page = get("/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("subak_build_info{version=\"9.9\"} 1\n"));
  EXPECT_THAT(page.body, HasSubstr("subak_scrape_complete 0\n"));
}

TEST_F(RoutesTest, EveryAnswerOfThePortNamesItsTypeForGood) {
  const AsyncHttpHandler handler = http_handler(
      [this](std::string_view, std::string_view target, HttpDone done) { done(get(target)); }, {});
  for (const char* host : {"127.0.0.1", "evil.example.com"}) {
    for (const char* target : {"/", "/metrics", "/healthz", "/no"}) {
      HttpRequest request{"GET", target, {}, {}};
      request.host = host;
      HttpResponse got;
      handler(request, [&](HttpResponse response) { got = std::move(response); });
      EXPECT_THAT(got.headers, HasSubstr("\r\nX-Content-Type-Options: nosniff")) << host << target;
      EXPECT_THAT(got.headers, HasSubstr("\r\nX-Frame-Options: DENY")) << host << target;
    }
  }
}

TEST_F(RoutesTest, Health) {
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/readyz").status, 200);
  state_.stalled = true;
  EXPECT_EQ(get("/healthz").status, 503);
  EXPECT_EQ(get("/readyz").status, 503);
}

TEST_F(RoutesTest, ReadinessNeedsStateStoreAndReader) {
  state_.runtime.failed = true;
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/healthz").status, 200);
  state_.runtime.failed = false;
  state_.follower.failed = true;
  EXPECT_EQ(get("/readyz").status, 503);
  state_.follower.failed = false;
  state_.follower.reads_answered = 0;
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/readyz").body, "no read has been answered yet\n");
  state_.follower.reads_answered = 1;
  state_.runtime.clock = {ClockState::kWaits, 400 * kDayMs, 1};
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_THAT(get("/readyz").body, HasSubstr("400d ahead of the last fact"));
  EXPECT_EQ(get("/healthz").status, 200);
  state_.runtime.clock.state = ClockState::kStepped;
  EXPECT_EQ(get("/readyz").status, 200) << "time runs on";
  state_.view = nullptr;
  EXPECT_EQ(get("/readyz").body, "recovering\n");
  EXPECT_EQ(get("/metrics").status, 200);
}

// What serves reads need not lead; who wants that asks for it.
TEST_F(RoutesTest, ReadinessToLeadIsApart) {
  EXPECT_EQ(get("/readyz?leader").body, "ok\n");
  state_.runtime.leads = false;
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_THAT(get("/readyz").body, HasSubstr("a standby"));
  EXPECT_EQ(get("/readyz?leader").status, 503);
  EXPECT_EQ(get("/healthz").body, "ok\n");
  state_.known_seq = state_.view->seq + 3;
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz?leader").status, 503);
  EXPECT_THAT(get("/readyz?leader").body, HasSubstr("lacks 3 of them"));
  state_.known_seq = 0;
  state_.runtime.leads = true;
  state_.commit_waits_ms = limits::kDatabaseSlowMs + 1;
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_THAT(get("/readyz").body, HasSubstr("the database is away"));
  EXPECT_EQ(get("/readyz?leader").status, 503);
  EXPECT_EQ(get("/healthz").body, "ok\n");
  state_.view = nullptr;
  EXPECT_EQ(get("/readyz?leader").body, "recovering\n");
}

// To gate is safe, to be taken out of the Service is not.
TEST_F(RoutesTest, AStartWithoutTheDatabaseIsReadyForTheWebhook) {
  state_.view = nullptr;
  state_.start = metrics::StartState{false, true, 61'500};
  EXPECT_EQ(get("/readyz").body, "recovering\n") << "the database answers";
  state_.start->away = true;
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_THAT(get("/readyz").body, HasSubstr("decided by a copy of 1m1s ago"));
  EXPECT_THAT(get("/metrics").body, HasSubstr("subak_static_age_seconds 61.5\n"));
  EXPECT_THAT(get("/metrics").body, HasSubstr("subak_static_known 1\n"));
  EXPECT_EQ(get("/readyz?leader").status, 503);
  EXPECT_EQ(get("/healthz").status, 200);
  state_.start->has_copy = false;
  state_.uptime_ms = limits::kFirstCopyMs - 1;
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_THAT(get("/metrics").body, HasSubstr("subak_static_known 0\n"));
  state_.uptime_ms = limits::kFirstCopyMs;
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_THAT(get("/readyz").body, HasSubstr("GPU pods are gated"));
  EXPECT_EQ(get("/readyz?leader").status, 503);
  state_.listeners = {{"webhook", 1, 2, 0, 0, false}};
  EXPECT_EQ(get("/readyz").body, "webhook does not answer\n");
  state_.start.reset();
  EXPECT_EQ(get("/readyz").body, "recovering\n");
  EXPECT_THAT(get("/metrics").body, ::testing::Not(HasSubstr("subak_static")));
}

TEST_F(RoutesTest, TheRestIsRefused) {
  EXPECT_EQ(get("/").status, 404) << "server/browser has the console";
  EXPECT_THAT(get("/nothing").body, HasSubstr("/metrics, /healthz, /readyz"));
  EXPECT_EQ(get("/metrics", "POST").status, 405);
}

TEST_F(RoutesTest, ReadinessNamesTheListenerThatDoesNotAnswer) {
  state_.listeners = {{"webhook", 1, 2, 0, 0, true}, {"grpc", 1, 2, 0, 0, true}};
  EXPECT_EQ(get("/readyz").status, 200);
  state_.listeners[1].serves = false;
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/readyz").body, "grpc does not answer\n");
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(RoutesTest, AReplicaWaitsForItsFirstCopyButNotForEver) {
  metrics::ReplicaState replica;
  replica.shell.listeners = {{"webhook", 1, 2, 0, 0, true}};
  const auto ready = [&] { return replica_answer("GET", "/readyz", replica, events_); };
  replica.shell.uptime_ms = limits::kFirstCopyMs - 1;
  EXPECT_EQ(ready().status, 503);
  EXPECT_EQ(ready().body, "waits for the leader's first copy\n");
  replica.shell.uptime_ms = limits::kFirstCopyMs;
  EXPECT_EQ(ready().status, 200) << "to gate is safe";
  replica.shell.uptime_ms = 0;
  replica.has_copy = true;
  EXPECT_EQ(ready().status, 200);
  replica.shell.listeners[0].serves = false;
  EXPECT_EQ(ready().body, "webhook does not answer\n");
  EXPECT_EQ(replica_answer("GET", "/healthz", replica, events_).status, 200);
  EXPECT_EQ(replica_answer("GET", "/nothing", replica, events_).status, 404);
  EXPECT_EQ(replica_answer("POST", "/metrics", replica, events_).status, 405);
}

TEST_F(RoutesTest, AReplicasPageHasItsOwnFiguresAlone) {
  metrics::ReplicaState replica;
  replica.has_copy = true;
  replica.age_ms = 61'500;
  replica.copies = 3;
  replica.refused = 2;
  events_.admission("denied", "over_limit", 5);
  const std::string page = replica_answer("GET", "/metrics", replica, events_).body;
  for (const char* line :
       {"subak_static_age_seconds 61.5\n", "subak_static_known 1\n",
        "subak_static_copies_total 3\n", "subak_static_refused_total 2\n",
        "subak_admissions_total{decision=\"denied\",reason=\"over_limit\"} 1\n"}) {
    EXPECT_THAT(page, HasSubstr(line));
  }
  for (const char* leaders : {"subak_leader", "subak_jobs", "subak_placements", "subak_store"}) {
    EXPECT_THAT(page, ::testing::Not(HasSubstr(leaders)));
  }
}

TEST_F(RoutesTest, OnlyItsOwnNamesAreAnswered) {
  HttpSources sources;
  sources.state = [this] { return state_; };
  sources.events = &events_;
  sources.clock = &clock_;
  const HttpRoutes routes(std::move(sources));
  const AsyncHttpHandler handler =
      http_handler([&](std::string_view method, std::string_view target,
                       HttpDone done) { routes.handle(method, target, std::move(done)); },
                   {"Subak.Example.com", "head1"});
  const auto ask = [&](std::string_view host) {
    HttpRequest request{"GET", "/healthz", {}, host};
    HttpResponse answer;
    handler(request, [&](HttpResponse response) { answer = std::move(response); });
    return answer;
  };
  for (const char* own : {"", "localhost", "LOCALHOST:9445", "127.0.0.1", "10.1.2.3:9445", "[::1]",
                          "[fd00::1]:9445", "subak.example.com:9445", "head1", "HEAD1.:80"}) {
    EXPECT_EQ(ask(own).status, 200) << own;
  }
  for (const char* other : {"evil.example", "evil.example:9445", "subak.example.com.evil.example",
                            "127.0.0.1.evil.example", "localhost.evil.example", "[", "[]", ":", ".",
                            "head", "head12", "::1"}) {
    EXPECT_EQ(ask(other).status, 421) << other;
  }
  EXPECT_EQ(ask("evil.example").body,
            "host: was \"evil.example\", want an IP address, localhost, or a name of httpHosts "
            "(--http-host)\n");
  EXPECT_LT(ask(std::string(20'000, 'a')).body.size(), 500u);
}

}  // namespace
}  // namespace subak
