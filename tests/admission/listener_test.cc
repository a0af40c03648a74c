#include "net/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <thread>

#include "net/self_signed.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
constexpr TimeMs kNow = 1'790'000'000'000;
constexpr DurationMs kPatienceMs = 60'000;

// A blocking client on loopback. Reads end at end of file or after 20 s, so a broken server fails a
// test and does not hang it.
class Client {
 public:
  explicit Client(std::uint16_t port, int host = 1) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval limit{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in from{}, to{};
    from.sin_family = AF_INET;  // 127.0.0.`host`
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + static_cast<std::uint32_t>(host));
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected = connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  // One response with its Content-Length; what came at all if the connection ended before.
  std::string response(bool has_body = true) {
    while (true) {
      const auto head = in_.find("\r\n\r\n");
      if (head != std::string::npos) {
        const auto at = in_.find("Content-Length: ");
        const std::size_t body =
            at < head && has_body ? static_cast<std::size_t>(std::stoul(in_.substr(at + 16))) : 0;
        const std::size_t all = head + 4 + body;
        if (in_.size() >= all) {
          std::string one = in_.substr(0, all);
          in_.erase(0, all);
          return one;
        }
      }
      if (!more()) return std::exchange(in_, {});
    }
  }
  bool at_end() { return in_.empty() && !more(); }
  int fd() const { return fd_; }
  bool connected = false;

 private:
  bool more() {
    char buf[4096];
    const ssize_t n = recv(fd_, buf, sizeof buf, 0);
    if (n > 0) in_.append(buf, static_cast<std::size_t>(n));
    return n > 0;
  }
  int fd_;
  std::string in_;
};

HttpResponse echo(const HttpRequest& r) {
  return {200, "text/plain",
          std::string(r.method) + " " + std::string(r.target) + " " +
              std::string(r.body.data(), r.body.size())};
}
std::string post(std::string_view body, std::string_view more = "") {
  return "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more) + "\r\n" + std::string(body);
}

struct Server {
  explicit Server(ListenerOptions options = {}, HttpHandler handler = echo)
      : listener(std::move(options), std::move(handler)) {
    const auto error = listener.start();
    EXPECT_FALSE(error) << error->message();
  }
  std::uint16_t port() const { return listener.port(); }
  Listener listener;
};

TEST(Listener, AnswersAndKeepsTheConnection) {
  Server s;
  Client c(s.port());
  for (int i = 0; i < 3; ++i) {
    c.send(post("hello"));
    EXPECT_EQ(
        c.response(),
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nPOST /x hello");
  }
  EXPECT_EQ(s.listener.connections().accepted, 1u);
  EXPECT_EQ(s.listener.counters().requests, 3u);
}

TEST(Listener, TakesRequestsInAnyPieces) {
  Server s;
  Client c(s.port());
  for (const char ch : post("abc")) c.send({&ch, 1});
  EXPECT_THAT(c.response(), HasSubstr("POST /x abc"));
  c.send(post("one") + post("two"));  // pipelined
  EXPECT_THAT(c.response(), HasSubstr("one"));
  EXPECT_THAT(c.response(), HasSubstr("two"));
  c.send(
      "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_THAT(c.response(), HasSubstr("POST /c abcde"));
}

TEST(Listener, LargeBodiesArePaddedAndWhole) {
  Server s({}, [](const HttpRequest& r) -> HttpResponse {
    char sum = 0;
    for (std::size_t i = 0; i < 64; ++i)
      sum = static_cast<char>(sum | r.body.data()[r.body.size() + i]);
    return {200, "text/plain", std::to_string(r.body.size()) + (sum == 0 ? "" : " ")};
  });
  Client c(s.port());
  for (const std::size_t n : {0u, 1u, 12'000u, 300'000u, 3u << 20}) {
    c.send(post(std::string(n, 'x')));
    EXPECT_THAT(c.response(), HasSubstr("\r\n\r\n" + std::to_string(n)));
  }
}

TEST(Listener, TooLargeABodyIs400AndTheConnectionLivesOn) {
  ListenerOptions o;
  o.max_body_bytes = 1000;
  Server s(o);
  Client c(s.port());
  c.send(post(std::string(1000, 'x')));
  EXPECT_THAT(c.response(), HasSubstr("200 OK"));
  c.send(post(std::string(200'000, 'x')));
  EXPECT_THAT(c.response(), HasSubstr("HTTP/1.1 400 Bad Request"));
  c.send(post("small"));
  EXPECT_THAT(c.response(), HasSubstr("POST /x small"));
}

TEST(Listener, FarTooLargeABodyClosesWithAReason) {
  Server s;
  Client c(s.port());
  c.send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n");
  const std::string r = c.response();
  EXPECT_THAT(r, HasSubstr("400 Bad Request"));
  EXPECT_THAT(r, HasSubstr("Connection: close"));
  EXPECT_THAT(r, HasSubstr("more than 67108864 bytes"));
  EXPECT_TRUE(c.at_end());
}

TEST(Listener, OtherBytesAre400) {
  Server s;
  Client c(s.port());
  c.send("\x16\x03\x01nonsense\r\n\r\n");
  EXPECT_THAT(c.response(), HasSubstr("400 Bad Request"));
  EXPECT_TRUE(c.at_end());
  Client d(s.port());
  d.send("GET / HTTP/1.1\r\nX: " + std::string(40'000, 'a') + "\r\n\r\n");
  EXPECT_THAT(d.response(), HasSubstr("431 Request Header Fields Too Large"));
  EXPECT_TRUE(d.at_end());
  EXPECT_EQ(s.listener.counters().bad_requests, 2u);
}

TEST(Listener, HeadConnectionCloseAndHttp10) {
  Server s;
  Client c(s.port());
  c.send("HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(c.response(false), HasSubstr("Content-Length: 8\r\n\r\n"));
  c.send("GET /g HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(c.response(), HasSubstr("Connection: close"));
  EXPECT_TRUE(c.at_end());
  Client d(s.port());
  d.send("GET /g HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(d.response().starts_with("HTTP/1.0 200"));
  EXPECT_TRUE(d.at_end());
}

TEST(Listener, ExpectContinue) {
  Server s;
  Client c(s.port());
  c.send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.response(), "HTTP/1.1 100 Continue\r\n\r\n");
  c.send("ok");
  EXPECT_THAT(c.response(), HasSubstr("POST /x ok"));
}

TEST(Listener, SlowAndIdleConnectionsAreClosed) {
  ListenerOptions o;
  o.tick_ms = 5;
  o.idle_ms = 20;
  o.read_ms = 20;
  Server s(o);
  Client idle(s.port());
  EXPECT_TRUE(idle.at_end());
  Client slow(s.port());
  slow.send("POST /x HTT");
  EXPECT_TRUE(slow.at_end());
  EXPECT_EQ(s.listener.counters().timeouts, 2u);
}

TEST(Listener, TheLongestIdleGoesWhenItIsFull) {
  ListenerOptions o;
  o.max_connections = 2;
  Server s(o);
  Client a(s.port()), b(s.port());
  for (Client* c : {&a, &b, &a}) {
    c->send(post("x"));
    EXPECT_THAT(c->response(), HasSubstr("200 OK"));
  }
  Client c(s.port());
  c.send(post("c"));
  EXPECT_THAT(c.response(), HasSubstr("POST /x c"));
  EXPECT_TRUE(b.at_end());
  a.send(post("again"));
  EXPECT_THAT(a.response(), HasSubstr("again"));
  EXPECT_EQ(s.listener.connections().evicted, 1u);
  EXPECT_EQ(s.listener.connections().refused, 0u);
}

// Half a request does not hold the door.
TEST(Listener, WhoIsSlowWithARequestMayGoToo) {
  ListenerOptions o;
  o.max_connections = 3;
  Server s(o);
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 30; ++i) {
    slow.push_back(std::make_unique<Client>(s.port()));
    slow.back()->send("POST /x HTT");
  }
  Client c(s.port());
  c.send(post("c"));
  EXPECT_THAT(c.response(), HasSubstr("POST /x c"));
  EXPECT_TRUE(slow.front()->at_end());
}

TEST(Listener, OneAddressCannotHoldTheOthers) {
  ListenerOptions o;
  o.max_per_peer = 2;
  Server s(o);
  Client other(s.port(), 3);
  other.send(post("o"));
  EXPECT_THAT(other.response(), HasSubstr("200 OK"));
  Client a(s.port(), 2), b(s.port(), 2);
  for (Client* c : {&a, &b}) {
    c->send(post("x"));
    EXPECT_THAT(c->response(), HasSubstr("200 OK"));
  }
  Client c(s.port(), 2);
  c.send(post("c"));
  EXPECT_THAT(c.response(), HasSubstr("POST /x c"));
  EXPECT_TRUE(a.at_end());  // its own, though another's has been idle longer
  other.send(post("again"));
  EXPECT_THAT(other.response(), HasSubstr("again"));
}

TEST(Listener, WhereAllAreBeingAnsweredTheNewOneIsClosedAndTheProbeGetsIn) {
  std::promise<HttpReplier> waiting;
  ListenerOptions o;
  o.max_connections = 1;
  const auto listener = Listener::async(o, [&](const HttpRequest& r, HttpReplier done) {
    if (r.method == "GET") return done({200, "text/plain", "probe"});
    waiting.set_value(done);
  });
  ASSERT_FALSE(listener->start());
  Client a(listener->port());
  a.send(post("a"));
  const HttpReplier done = waiting.get_future().get();
  Client b(listener->port());
  EXPECT_TRUE(b.at_end());
  EXPECT_EQ(listener->connections().refused, 1u);
  for (int i = 0; i < 20; ++i) {
    const ProbeResult result = listener->probe(kPatienceMs);
    EXPECT_EQ(result.kind, ProbeResult::Kind::kServes) << result.detail;
  }
  done({200, "text/plain", "at last"});
  EXPECT_THAT(a.response(), HasSubstr("at last"));
}

TEST(Listener, ProbesTellSilentFromShut) {
  std::promise<HttpReplier> kept;
  ListenerOptions o;
  o.host = "::1";
  const auto listener = Listener::async(
      o, [&](const HttpRequest&, HttpReplier done) { kept.set_value(std::move(done)); });
  ASSERT_FALSE(listener->start());
  const ProbeResult silent = listener->probe(50);
  EXPECT_EQ(silent.kind, ProbeResult::Kind::kSilent);
  EXPECT_EQ(silent.detail, "no answer in time");
  listener->stop();
  EXPECT_EQ(listener->probe(50).kind, ProbeResult::Kind::kShut);
}

TEST(Listener, ASlowRequestHoldsNoOtherConnection) {
  std::promise<void> entered, go;
  std::shared_future<void> gone = go.get_future().share();
  ListenerOptions o;
  o.threads = 2;
  Server s(o, [&](const HttpRequest& r) -> HttpResponse {
    if (r.target != "/x") return {200, "text/plain", "quick"};
    entered.set_value();
    gone.wait();
    return {200, "text/plain", "slow"};
  });
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<Client>(s.port()));
  Client slow(s.port());
  slow.send(post(""));
  entered.get_future().wait();
  for (auto& c : clients) {
    c->send("GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(c->response(), HasSubstr("quick"));
  }
  go.set_value();
  EXPECT_THAT(slow.response(), HasSubstr("slow"));
}

TEST(Listener, AnAnswerThatTakesTooLongIs503) {
  std::promise<HttpReplier> kept;
  ListenerOptions o;
  o.tick_ms = 5;
  o.answer_ms = 20;
  const auto listener = Listener::async(
      o, [&](const HttpRequest&, HttpReplier done) { kept.set_value(std::move(done)); });
  ASSERT_FALSE(listener->start());
  Client c(listener->port());
  c.send(post(""));
  EXPECT_THAT(c.response(), HasSubstr("503 Service Unavailable"));
  kept.get_future().get()({200, "text/plain", "too late"});
  EXPECT_TRUE(c.at_end());
}

TEST(Listener, TheHandlerSeesTheHost) {
  Server s({}, [](const HttpRequest& r) -> HttpResponse {
    return {200, "text/plain", "[" + std::string(r.host) + "]"};
  });
  Client c(s.port());
  c.send("GET / HTTP/1.1\r\nhost: Example.org:80\r\n\r\n");
  EXPECT_THAT(c.response(), HasSubstr("[Example.org:80]"));
  c.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(c.response(), HasSubstr("[]"));
}

TEST(Listener, AnExceptionIsA500) {
  Server s({}, [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("oops"); });
  Client c(s.port());
  c.send(post(""));
  EXPECT_THAT(c.response(), HasSubstr("500 Internal Server Error"));
  c.send(post(""));
  EXPECT_THAT(c.response(), HasSubstr("oops"));
}

TEST(Listener, AnswersMadeByAnotherThread) {
  std::vector<std::thread> threads;
  const auto listener = Listener::async({}, [&](const HttpRequest& r, HttpReplier done) {
    threads.emplace_back([done, target = std::string(r.target)] {
      done({200, "text/plain", target});
    });
  });
  ASSERT_FALSE(listener->start());
  {
    Client c(listener->port());
    c.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(c.response(), HasSubstr("/a"));
    c.send("GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(c.response(), HasSubstr("/b"));
  }
  listener->stop();
  for (auto& t : threads) t.join();
}

TEST(Listener, AnAnswerAfterTheEndDoesNothing) {
  std::promise<HttpReplier> late;
  ListenerOptions o;
  o.tick_ms = 5;
  o.stop_grace_ms = 10;
  auto listener =
      Listener::async(o, [&](const HttpRequest&, HttpReplier done) { late.set_value(done); });
  ASSERT_FALSE(listener->start());
  Client c(listener->port());
  c.send(post(""));
  const HttpReplier done = late.get_future().get();
  listener.reset();
  done({200, "text/plain", "too late"});
  EXPECT_TRUE(c.at_end());
}

TEST(Listener, StopAnswersWhatIsUnderWay) {
  std::promise<void> entered, go;
  auto server =
      std::make_unique<Server>(ListenerOptions{}, [&](const HttpRequest&) -> HttpResponse {
        entered.set_value();
        go.get_future().wait();
        return {200, "text/plain", "done"};
      });
  Client idle(server->port()), busy(server->port());
  busy.send(post(""));
  entered.get_future().wait();
  std::thread stopper([&] { server->listener.stop(); });
  go.set_value();
  EXPECT_THAT(busy.response(), HasSubstr("done"));
  EXPECT_TRUE(busy.at_end());
  EXPECT_TRUE(idle.at_end());
  stopper.join();
  EXPECT_EQ(server->listener.connections().open, 0u);
  EXPECT_FALSE(Client(server->port()).connected);
}

TEST(Listener, TwoThreadsServeManyConnections) {
  ListenerOptions o;
  o.threads = 2;
  Server s(o);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(std::make_unique<Client>(s.port()));
  for (auto& c : clients) c->send(post("x"));
  for (auto& c : clients) EXPECT_THAT(c->response(), HasSubstr("POST /x x"));
  EXPECT_EQ(s.listener.counters().requests, 20u);
}

TEST(Listener, SaysWhyItCannotListen) {
  ListenerOptions o;
  o.host = "not-an-address";
  EXPECT_THAT(Listener(o, echo).start()->message(), HasSubstr("not-an-address"));
  Server s;
  o.host = "127.0.0.1";
  o.port = s.port();
  EXPECT_THAT(Listener(o, echo).start()->message(), HasSubstr(std::to_string(s.port())));
}

// The end of validity that the server's certificate shows, as text.
std::string shown_expiry(std::uint16_t port) {
  Client c(port);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, c.fd());
  std::string expiry;
  if (SSL_connect(ssl) == 1) {
    X509* cert = SSL_get1_peer_certificate(ssl);
    const ASN1_TIME* t = X509_get0_notAfter(cert);
    expiry.assign(reinterpret_cast<const char*>(t->data), static_cast<std::size_t>(t->length));
    X509_free(cert);
    SSL_shutdown(ssl);
  }
  SSL_free(ssl);
  SSL_CTX_free(context);
  return expiry;
}

TEST(ListenerTls, TakesOverANewCertificateWhileServing) {
  std::string name = std::filesystem::temp_directory_path() / "subak-tls-XXXXXX";
  const std::string dir = mkdtemp(name.data());
  const auto made = keep_self_signed(dir, {}, kNow);
  ASSERT_TRUE(made.ok());
  ListenerOptions o;
  o.certificate_poll_ms = 5;
  o.tls = CertificateStore::open(made->files, nullptr).value();
  Server s(o);
  EXPECT_EQ(s.listener.probe(kPatienceMs).kind, ProbeResult::Kind::kServes);
  const std::string before = shown_expiry(s.port());
  EXPECT_NE(before, "");
  ASSERT_TRUE(keep_self_signed(dir, {}, kNow + 3651 * kDayMs).ok());  // too old: made anew
  std::string after = before;
  while (after == before) after = shown_expiry(s.port());  // ends by ctest's time limit, if at all
  EXPECT_NE(after, "");
  Client plain(s.port());
  plain.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  (void)plain.at_end();
  EXPECT_EQ(s.listener.counters().requests, 1u);  // the probe's
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace subak
