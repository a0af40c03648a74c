// Who gets a connection to the gRPC port, and what becomes of it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <thread>

#include "api_fixture.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
constexpr DurationMs kPatienceMs = 60'000;

// A TCP connection from 127.0.0.`host`.
class Caller {
 public:
  explicit Caller(int port, int host = 1) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in from{}, to{};
    from.sin_family = to.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(0x7f000000u + static_cast<std::uint32_t>(host));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  Caller(Caller&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Caller() {
    if (fd_ >= 0) ::close(fd_);
  }
  // What an HTTP/2 client sends first; then our settings come.
  void speak() {
    const std::string preface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
    ASSERT_EQ(::send(fd_, preface.data(), preface.size(), MSG_NOSIGNAL), 33);
    char settings[9];
    EXPECT_EQ(::recv(fd_, settings, sizeof settings, MSG_WAITALL), 9);
  }
  // Waits for the end.
  bool ended() {
    char rest[4096];
    while (true) {
      pollfd wait{fd_, POLLIN, 0};
      if (::poll(&wait, 1, kPatienceMs) != 1) return false;
      if (::recv(fd_, rest, sizeof rest, 0) <= 0) return true;
    }
  }
  bool open() {
    char rest[4096];
    ssize_t n = 1;
    while (n > 0) n = ::recv(fd_, rest, sizeof rest, MSG_DONTWAIT);
    return n < 0 && errno == EAGAIN;
  }

 private:
  int fd_;
};

class ConnectionsTest : public ApiTest {
 protected:
  // A call over a connection of its own.
  grpc::Status call_anew(const std::string& host = "127.0.0.1") {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    connect(grpc::CreateCustomChannel(host + ":" + std::to_string(api_->port()),
                                      grpc::InsecureChannelCredentials(), own));
    v1::ListAccountsResponse out;
    return run([&](auto* c) { return accounts_->ListAccounts(c, {}, &out); });
  }
  void expect_probe_serves() {
    const ProbeResult result = api_->probe(kPatienceMs);
    EXPECT_EQ(result.kind, ProbeResult::Kind::kServes) << result.detail;
  }
  void wait_for_open(std::size_t count) {
    while (api_->connections().open != count) std::this_thread::yield();  // ctest's limit ends it
  }
};

TEST_F(ConnectionsTest, TheOldestThatHasNotSpokenGoesWhenItIsFull) {
  options_.connections = {3, 3};
  ASSERT_FALSE(try_start());
  Caller spoke(api_->port());
  spoke.speak();
  Caller silent(api_->port()), later(api_->port());
  wait_for_open(3);
  EXPECT_TRUE(call_anew().ok());
  EXPECT_TRUE(silent.ended());
  EXPECT_TRUE(spoke.open());
  EXPECT_TRUE(later.open());
  EXPECT_EQ(api_->connections().evicted, 1u);
  EXPECT_EQ(api_->connections().refused, 0u);
}

TEST_F(ConnectionsTest, FullOfThoseThatSpeakTheNewOneIsClosedAndTheProbeGetsIn) {
  options_.connections = {2, 2};
  ASSERT_FALSE(try_start());
  Caller a(api_->port()), b(api_->port());
  a.speak();
  b.speak();
  Caller c(api_->port());
  EXPECT_TRUE(c.ended());
  EXPECT_TRUE(a.open());
  EXPECT_EQ(api_->connections().refused, 1u);
  for (int i = 0; i < 20; ++i) expect_probe_serves();  // more than there is room for at once
}

TEST_F(ConnectionsTest, OneAddressCannotHoldTheOthers) {
  options_.connections = {10, 2};
  ASSERT_FALSE(try_start());
  Caller a(api_->port(), 2), b(api_->port(), 2);
  a.speak();
  b.speak();
  Caller c(api_->port(), 2);
  EXPECT_TRUE(c.ended());
  EXPECT_TRUE(call_anew().ok());
}

TEST_F(ConnectionsTest, AnEndedConnectionMakesRoom) {
  options_.connections = {2, 2};
  ASSERT_FALSE(try_start());
  for (int i = 0; i < 10; ++i) {
    std::optional<Caller> a(api_->port()), b(api_->port());
    a->speak();
    b->speak();
    EXPECT_EQ(api_->connections().open, 2u);
    a.reset();
    b.reset();
    wait_for_open(0);
  }
  EXPECT_EQ(api_->connections().refused, 0u);
}

TEST_F(ConnectionsTest, ServesOverIpv6) {
  options_.address = "[::1]:0";
  ASSERT_FALSE(try_start());
  EXPECT_TRUE(call_anew("[::1]").ok());
  expect_probe_serves();
}

TEST_F(ConnectionsTest, ASecondServerDoesNotShareThePort) {
  ASSERT_FALSE(try_start());
  const int port = api_->port();
  ApiOptions options;
  options.address = "127.0.0.1:" + std::to_string(port);
  ApiServer second(options, ApiDeps{*runtime_, *follower_, *store_, clock_});
  const auto error = second.start();
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr(options.address));
  EXPECT_TRUE(call_anew().ok());
}

// No descriptor is left: accept fails, and goes on once there is one.
TEST_F(ConnectionsTest, AnAcceptWithoutDescriptorsIsTriedAgain) {
  ASSERT_FALSE(try_start());
  ASSERT_TRUE(call_anew().ok());
  std::vector<int> taken;
  rlimit was{};
  getrlimit(RLIMIT_NOFILE, &was);
  const int kept = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const rlimit none{static_cast<rlim_t>(kept) + 1, was.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken.push_back(fd);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(api_->port()));
  (void)::connect(kept, reinterpret_cast<sockaddr*>(&to), sizeof to);
  pollfd connected{kept, POLLOUT, 0};
  EXPECT_EQ(::poll(&connected, 1, kPatienceMs), 1);
  EXPECT_EQ(api_->probe(kPatienceMs).kind, ProbeResult::Kind::kNotAsked);
  setrlimit(RLIMIT_NOFILE, &was);
  for (const int fd : taken) ::close(fd);
  EXPECT_TRUE(call_anew().ok());
  expect_probe_serves();
  ::close(kept);
}

TEST_F(ConnectionsTest, AListenerThatDoesNotAcceptIsShut) {
  ASSERT_FALSE(try_start());
  expect_probe_serves();
  api_->shutdown(0);
  EXPECT_EQ(api_->probe(kPatienceMs).kind, ProbeResult::Kind::kShut);
}

}  // namespace
}  // namespace subak
