#include "net/listener_probe.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <string_view>

#include "net/listener_shared.h"

namespace subak {
namespace {

using namespace net;  // NOLINT: the other end of the same connections

constexpr std::string_view kRequest =
    "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
constexpr std::string_view kAnswer = "HTTP/1.1 ";

// nullopt while it is in progress, empty on success.
using Outcome = std::optional<std::string>;

template <class Stream>
struct Question {
  Stream& stream;
  Outcome outcome;
  std::array<char, kAnswer.size()> answer{};

  void ask() {
    asio::async_write(stream, asio::buffer(kRequest), [this](ErrorCodeOf ec, std::size_t) {
      if (ec) return end("request: " + ec.message());
      asio::async_read(stream, asio::buffer(answer), [this](ErrorCodeOf e, std::size_t n) {
        if (e) return end("answer: " + e.message());
        end(std::string_view(answer.data(), n) == kAnswer ? "" : "answer: not HTTP/1.1");
      });
    });
  }
  void end(std::string text) { outcome = std::move(text); }
};

Outcome ask_plain(asio::io_context& io, Socket& socket, DurationMs patience) {
  Question<Socket> question{socket, {}, {}};
  question.ask();
  io.run_for(std::chrono::milliseconds(patience));
  return question.outcome;
}

Outcome ask_tls(asio::io_context& io, Socket& socket, DurationMs patience) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  asio::ssl::stream<Socket&> stream(socket, context);
  Question<asio::ssl::stream<Socket&>> question{stream, {}, {}};
  stream.async_handshake(asio::ssl::stream_base::client, [&question](ErrorCodeOf ec) {
    if (ec) return question.end("TLS: " + ec.message());
    question.ask();
  });
  io.run_for(std::chrono::milliseconds(patience));
  return question.outcome;
}

}  // namespace

std::optional<std::string> ask_http(int fd, bool tls, DurationMs patience) {
  asio::io_context io{1};
  Socket socket(asio::make_strand(io));
  ErrorCodeOf ec;
  socket.assign(tcp::v4(), fd, ec);  // of either family: only reads and writes follow
  if (ec) return ec.message();
  const Outcome outcome = tls ? ask_tls(io, socket, patience) : ask_plain(io, socket, patience);
  socket.release(ec);
  if (!outcome) return "no answer in time";
  if (outcome->empty()) return std::nullopt;
  return outcome;
}

}  // namespace subak
