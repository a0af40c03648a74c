// A small HTTP/1.1 server, with TLS or without. It supports keep-alive and pipelining, and bounds
// each request, wait and number of connections. Other files do not see Asio and Beast, which
// listener.cc uses.
//
// Limits (core/limits.h), and the effect beyond each:
//   kMaxHttpHeaderBytes   431 and close
//   kMaxReviewBytes       of a body: reads it, drops it and answers 400; the connection stays open
//   kMaxHttpDrainBytes    of a body: 400 and close
//   kHttpReadMs           for a request: the connection is closed
//   kHttpIdleMs           between requests: the connection is closed
//   kMaxHttpConnections, kMaxHttpConnectionsPerPeer (of one address)
//                         closes the connection that has owed a complete request for longest, idle
//                         or slow; if all are being answered, the new one
// Bytes that are not HTTP: 400 and close.
//
// Threads: each thread may serve each connection, so a slow request occupies one thread and delays
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
#include "net/probe.h"

namespace subak {

// A complete request. It points into the connection's buffers and is invalid after the handler
// returns.
struct HttpRequest {
  // The method as received: "POST".
  std::string_view method;
  // The path with its query: "/mutate/c1?timeout=5s".
  std::string_view target;
  // The body. kBodyPadding readable bytes follow it (admission/review.h).
  std::span<const char> body;
  // The Host header as received; empty: there was none.
  std::string_view host = {};
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
};

// Called on an I/O thread: it must not block. With several threads it is called concurrently. An
// exception becomes a 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// A handler for answers that another thread makes. The handler calls the second argument once, from
// any thread, at once or later. After answer_ms the listener answers 503 by itself; a later call
// has no effect. A call after the listener has stopped has no effect either.
using HttpReplier = std::function<void(HttpResponse)>;
using AsyncHttpHandler = std::function<void(const HttpRequest&, HttpReplier)>;

// The address of a listener, and its limits. Durations are in ms.
struct ListenerOptions {
  // An IP address, not a name. A wildcard listens on all addresses.
  std::string host = "127.0.0.1";
  // 0: the system chooses a port, which Listener::port() returns.
  std::uint16_t port = 0;
  // The number of threads that serve requests, at least 1. One more thread accepts connections.
  int threads = 1;
  // The name of its threads in top; at most 15 characters.
  const char* thread_name = "http";
  // The certificate to serve with; nullptr: plain HTTP.
  std::shared_ptr<CertificateStore> tls;
  // A request with a longer body is answered 400 without a call of the handler.
  std::size_t max_body_bytes = limits::kMaxReviewBytes;
  // How many connections may be open at once, without reserved ones:
  // from all addresses, and from one.
  std::size_t max_connections = limits::kMaxHttpConnections;
  std::size_t max_per_peer = limits::kMaxHttpConnectionsPerPeer;
  // How long a connection may wait between two requests.
  DurationMs idle_ms = limits::kHttpIdleMs;
  // How long the handshake, reading a request or writing an answer may take.
  DurationMs read_ms = limits::kHttpReadMs;
  // How long an AsyncHttpHandler may take to answer.
  DurationMs answer_ms = limits::kHttpAnswerMs;
  // How often time-outs are checked.
  DurationMs tick_ms = kSecondMs;
  // How often the files of `tls` are checked.
  DurationMs certificate_poll_ms = 5 * kSecondMs;
  // How long requests in flight may still take after stop() is called.
  DurationMs stop_grace_ms = 2 * kSecondMs;
};

// Counters since the start. Threads: any.
struct ListenerCounters {
  // In this order: complete requests; time-outs of a connection; requests answered 400 or 431;
  // failed handshakes.
  std::atomic<std::uint64_t> requests{0}, timeouts{0}, bad_requests{0}, tls_failures{0};
};

// Owns the socket, the threads and all connections. Any thread may call the methods, one at a time.
class Listener {
 public:
  // Opens nothing until start(). The handler is called until stop() has returned.
  Listener(ListenerOptions options, HttpHandler handler);
  // The same, with a handler whose answers another thread makes.
  static std::unique_ptr<Listener> async(ListenerOptions options, AsyncHttpHandler handler);
  ~Listener();  // stops
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds and starts the threads. The error names host and port, or the certificate.
  std::optional<Error> start();
  // Returns the actual port, after start().
  std::uint16_t port() const;
  // Stops accepting, closes idle connections, answers requests in flight, then ends the threads.
  void stop();
  // Valid for the life of the listener. Threads: any.
  const ListenerCounters& counters() const;
  // Returns the counts of its connections now.
  ConnectionStats connections() const;
  // Requests "/" from itself over a new connection, within the reserved limit; any answer counts.
  // Blocks for twice `patience` at most. Between start() and stop(), one at a time.
  ProbeResult probe(DurationMs patience);

 private:
  struct Impl;
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
