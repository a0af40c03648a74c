// Streams, long bodies and optional TLS of the listener.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "net/listener.h"
#include "net/self_signed.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval limit{60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  void send(std::string_view text) {
    EXPECT_EQ(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // What comes until `end` is in it, or until the connection ends.
  std::string until(std::string_view end) {
    char buffer[4096];
    while (end.empty() || in_.find(end) == std::string::npos) {
      const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      in_.append(buffer, static_cast<std::size_t>(n));
    }
    return std::exchange(in_, {});
  }
  std::string rest() { return until(""); }

 private:
  int fd_;
  std::string in_;
};

HttpStream::Part part(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

class StreamTest : public ::testing::Test {
 protected:
  void start(ListenerOptions options = {}) {
    options.tick_ms = 20;
    listener_ = Listener::async(options, [this](const HttpRequest& request, HttpReplier to) {
      const std::lock_guard lock(mutex_);
      secure_ = request.secure;
      too_large_ = request.too_large;
      header_ = std::string(request.header("x-NAME"));
      HttpResponse out{200, "text/event-stream", ""};
      if (request.target == "/live") out.stream = stream_;
      to(std::move(out));
    });
    const auto error = listener_->start();
    ASSERT_FALSE(error) << error->message();
  }
  void await_end() {
    for (int i = 0; i < 3000 && !stream_->ended(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(stream_->ended());
  }

  std::mutex mutex_;
  bool secure_ = false, too_large_ = false;
  std::string header_;
  std::shared_ptr<HttpStream> stream_ = std::make_shared<HttpStream>(1000);
  std::unique_ptr<Listener> listener_;
};

TEST_F(StreamTest, PartsInOrderUntilTheEnd) {
  start();
  stream_->send(part("early "));
  Client client(listener_->port());
  client.send("GET /live HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string head = client.until("early ");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  for (int i = 0; i < 100; ++i) {
    const std::string text = "part " + std::to_string(i) + ";";
    ASSERT_TRUE(stream_->send(part(text)));
    EXPECT_EQ(client.until(text), text);
  }
  stream_->end();
  EXPECT_EQ(client.rest(), "");
  EXPECT_FALSE(stream_->send(part("late")));
}

TEST_F(StreamTest, AQuietStreamOutlivesTheTimeOuts) {
  ListenerOptions options;
  options.idle_ms = options.read_ms = options.answer_ms = 100;
  start(options);
  Client client(listener_->port());
  client.send("GET /live HTTP/1.1\r\nHost: a\r\n\r\n");
  client.until("\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  ASSERT_TRUE(stream_->send(part("still here")));
  EXPECT_EQ(client.until("here"), "still here");
}

TEST_F(StreamTest, TheProducerLearnsThatThePeerClosed) {
  start();
  {
    Client client(listener_->port());
    client.send("GET /live HTTP/1.1\r\nHost: a\r\n\r\n");
    client.until("\r\n\r\n");
  }
  await_end();
}

TEST_F(StreamTest, AReaderThatReadsNothingIsClosed) {
  ListenerOptions options;
  options.read_ms = 300;
  stream_ = std::make_shared<HttpStream>(1u << 20);
  start(options);
  Client client(listener_->port());
  client.send("GET /live HTTP/1.1\r\nHost: a\r\n\r\n");
  client.until("\r\n\r\n");
  const auto text = part(std::string(100'000, 'x'));
  for (int i = 0; i < 1000 && !stream_->ended(); ++i) {
    stream_->send(text);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  await_end();
}

TEST_F(StreamTest, TheBufferIsBounded) {
  EXPECT_TRUE(stream_->send(part(std::string(1000, 'x'))));
  EXPECT_FALSE(stream_->send(part("y")));
  EXPECT_TRUE(stream_->ended());
  EXPECT_TRUE(stream_->take().empty()) << "nothing is kept for a reader that is gone";
}

TEST_F(StreamTest, AStopEndsStreams) {
  start();
  Client client(listener_->port());
  client.send("GET /live HTTP/1.1\r\nHost: a\r\n\r\n");
  client.until("\r\n\r\n");
  listener_->stop();
  EXPECT_EQ(client.rest(), "");
  EXPECT_TRUE(stream_->ended());
}

TEST_F(StreamTest, AStreamIsLeftOutForHead) {
  start();
  Client client(listener_->port());
  client.send("HEAD /live HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.rest(), HasSubstr("\r\nConnection: close\r\n\r\n"));
}

TEST_F(StreamTest, HeadersAndLongBodiesReachTheHandler) {
  ListenerOptions options;
  options.max_body_bytes = 10;
  options.browsers.passes_too_large = true;
  start(options);
  Client client(listener_->port());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nX-Name: one\r\nContent-Length: 10\r\n\r\n0123456789");
  client.until("\r\n\r\n");
  EXPECT_EQ(header_, "one");
  EXPECT_FALSE(too_large_);
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n0123456789a");
  EXPECT_THAT(client.until("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(too_large_);
  EXPECT_EQ(header_, "");
}

TEST_F(StreamTest, AConnectionBeginsWithOrWithoutTls) {
  const TempFolder folder;
  const auto pair = keep_self_signed(folder.path().string(), {"127.0.0.1"}, 1'790'000'000'000);
  ASSERT_TRUE(pair.ok());
  ListenerOptions options;
  options.tls = CertificateStore::open(pair->files, nullptr).value();
  options.browsers.plain_too = true;
  start(options);
  Client client(listener_->port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.until("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(secure_);
  client.send("GET /live HTTP/1.1\r\nHost: a\r\n\r\n");
  client.until("\r\n\r\n");
  stream_->send(part("plain"));
  EXPECT_EQ(client.until("plain"), "plain");
  EXPECT_EQ(listener_->probe(60'000).kind, ProbeResult::Kind::kServes);
  EXPECT_TRUE(secure_) << "the probe uses TLS";
}

}  // namespace
}  // namespace subak
