// A small HTTP/1.1 server, with TLS or without, for the webhook, the console and the metrics. The
// server supports keep-alive and pipelining, and bounds each request, each wait and the number of
// connections. listener.cc uses Asio and Beast, but callers do not see these libraries.
//
// Limits (core/limits.h, or ListenerOptions), and what happens beyond each limit:
//   kMaxHttpHeaderBytes   431 and close
//   max_body_bytes        of a body: reads the body, drops it and answers 400; the connection stays
//                         open
//   kMaxHttpDrainBytes    of a body: 400 and close
//   kHttpReadMs           to read a request: closes the connection
//   kHttpIdleMs           between requests: closes the connection
//   kMaxHttpConnections, kMaxHttpConnectionsPerPeer (of one address)
//                         closes the connection that has waited longest for its peer or for the
//                         next part of a stream. If there is none, closes the new connection
// Bytes that are not HTTP: 400 and close.
//
// Threads: any thread may serve any connection, so a slow request occupies one thread and delays
// only its own connection. A separate thread accepts connections and checks time-outs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/limits.h"
#include "net/certificates.h"
#include "net/connection_limiter.h"
#include "net/http_stream.h"
#include "net/probe.h"

namespace subak {

// The headers of a request.
class HttpHeaders {
 public:
  // Returns the value of the first header with this name, in upper or lower case; empty: there is
  // none.
  virtual std::string_view find(std::string_view name) const = 0;

 protected:
  ~HttpHeaders() = default;
};

// A complete request. The request points into the connection's buffers and is invalid after the
// handler returns.
struct HttpRequest {
  // The method as received: "POST".
  std::string_view method;
  // The path with its query: "/mutate/c1?timeout=5s".
  std::string_view target;
  // The body. kBodyPadding readable bytes follow it (admission/review.h).
  std::span<const char> body;
  // The Host header as received; empty: there was none.
  std::string_view host = {};
  // All headers; nullptr: none are known.
  const HttpHeaders* headers = nullptr;
  // The address of the connection's other end.
  Peer peer = {};
  // True: the connection uses TLS.
  bool secure = false;
  // True: the body was longer than the limit and is empty here (BrowserOptions).
  bool too_large = false;

  // Returns the value of a header; empty: there is none.
  std::string_view header(std::string_view name) const {
    return headers == nullptr ? std::string_view() : headers->find(name);
  }
};

// An answer. The listener adds Content-Type, Content-Length and Connection.
struct HttpResponse {
  // An HTTP status code.
  int status = 200;
  // The value of Content-Type.
  std::string content_type = "application/json";
  // The body; may be empty. The listener does not send it for a HEAD request.
  std::string body;
  // Further headers, each in the form "\r\nName: value".
  std::string headers = {};
  // The rest of the body, which follows `body` until the stream or the connection ends. nullptr:
  // there is no rest. The connection closes after such an answer.
  std::shared_ptr<HttpStream> stream = nullptr;
};

// A function that answers a request. It runs on an I/O thread, so it must not block. With several
// threads, several calls may run at once. An exception becomes a 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// A handler for answers that another thread makes. The second argument must be called once, from
// any thread, at once or later. After answer_ms the listener answers 503 by itself, and a later
// call has no effect. A call after the listener has stopped has no effect either.
using HttpReplier = std::function<void(HttpResponse)>;
using AsyncHttpHandler = std::function<void(const HttpRequest&, HttpReplier)>;

// Options that only a listener for browsers needs.
struct BrowserOptions {
  // True: with a certificate, the listener also serves connections that begin without TLS.
  bool plain_too = false;
  // True: the handler gets a request with a longer body than max_body_bytes, without its body.
  bool passes_too_large = false;
  // Returns answer_ms for a target; null: it is the same for all targets.
  std::function<DurationMs(std::string_view target)> answer_ms_of = nullptr;
};

// The address of a listener, and its limits. Durations are in ms.
struct ListenerOptions {
  // An IP address, not a name. With a wildcard, the listener listens on all addresses.
  std::string host = "127.0.0.1";
  // 0: the system chooses a port, which Listener::port() returns.
  std::uint16_t port = 0;
  // The number of threads that serve requests, at least 1. One more thread accepts connections.
  int threads = 1;
  // The name of the listener's threads in top; at most 15 characters.
  const char* thread_name = "http";
  // The certificate to serve with; nullptr: plain HTTP.
  std::shared_ptr<CertificateStore> tls;
  // The most bytes of a body. The answer to a request with a longer body is 400, without a call of
  // the handler.
  std::size_t max_body_bytes = limits::kMaxReviewBytes;
  // How many connections may be open at once, from all addresses and from one address. Reserved
  // connections do not count.
  std::size_t max_connections = limits::kMaxHttpConnections;
  std::size_t max_per_peer = limits::kMaxHttpConnectionsPerPeer;
  // How long a connection may wait between two requests.
  DurationMs idle_ms = limits::kHttpIdleMs;
  // How long each of these may take: the handshake, the read of a request, the write of an answer.
  DurationMs read_ms = limits::kHttpReadMs;
  // How long an AsyncHttpHandler may take to answer.
  DurationMs answer_ms = limits::kHttpAnswerMs;
  BrowserOptions browsers = {};
  // How often the listener checks time-outs.
  DurationMs tick_ms = kSecondMs;
  // How often the listener checks the files of `tls`.
  DurationMs certificate_poll_ms = 5 * kSecondMs;
  // How long requests in flight may still take after the call of stop().
  DurationMs stop_grace_ms = 2 * kSecondMs;
};

// Counters since the start. Threads: any.
struct ListenerCounters {
  // In this order: complete requests; time-outs of connections; requests with the answer 400 or
  // 431; failed handshakes.
  std::atomic<std::uint64_t> requests{0}, timeouts{0}, bad_requests{0}, tls_failures{0};
};

// Owns the socket, the threads and all connections. Any thread may call the methods, one at a time.
class Listener {
 public:
  // Opens no socket until start(). The listener may call the handler until stop() has returned.
  Listener(ListenerOptions options, HttpHandler handler);
  // Makes a listener with a handler whose answers another thread makes.
  static std::unique_ptr<Listener> async(ListenerOptions options, AsyncHttpHandler handler);
  ~Listener();  // calls stop()
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds the socket and starts the threads. The error names host and port, or the certificate.
  std::optional<Error> start();
  // Returns the actual port, after start().
  std::uint16_t port() const;
  // Stops accepting, closes idle connections, answers requests in flight, then ends the threads.
  void stop();
  // Returns counters that are valid for the life of the listener. Threads: any.
  const ListenerCounters& counters() const;
  // Returns the present counts of the listener's connections.
  ConnectionStats connections() const;
  // Requests "/" from this listener over a new connection in a reserved slot. Any HTTP answer
  // counts. Blocks for twice `patience` at most. Call it between start() and stop(), one call at a
  // time.
  ProbeResult probe(DurationMs patience);

 private:
  struct Impl;
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
