// A small HTTP/1.1 server, with TLS or without: keep-alive, pipelining, a bound on everything. Asio
// and Beast stay in listener.cc.
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
// Threads: any of the threads serves any connection, so a slow request occupies one thread and
// delays only its own connection. Accepting and time-outs have a thread of their own.
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

// Points into the connection's buffers; invalid after the handler returns.
struct HttpRequest {
  std::string_view method;     // "POST"
  std::string_view target;     // "/mutate/c1?timeout=5s"
  std::span<const char> body;  // followed by kBodyPadding readable bytes (admission/review.h)
  std::string_view host = {};  // the Host header as received; empty: there was none
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string headers = {};  // further ones, whole lines: "\r\nName: value" each
};

// Called on an I/O thread: it must not block. With several threads it is called concurrently. An
// exception becomes a 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// For answers that another thread makes. The handler calls the second argument once, from any
// thread, at once or later. After answer_ms the listener has answered 503, and the call does
// nothing, as after the listener has stopped.
using HttpReplier = std::function<void(HttpResponse)>;
using AsyncHttpHandler = std::function<void(const HttpRequest&, HttpReplier)>;

struct ListenerOptions {
  std::string host = "127.0.0.1";  // an address, not a name
  std::uint16_t port = 0;          // 0: the system chooses
  int threads = 1;
  const char* thread_name = "http";       // in top; at most 15 characters
  std::shared_ptr<CertificateStore> tls;  // nullptr: plain HTTP
  std::size_t max_body_bytes = limits::kMaxReviewBytes;
  std::size_t max_connections = limits::kMaxHttpConnections;
  std::size_t max_per_peer = limits::kMaxHttpConnectionsPerPeer;
  DurationMs idle_ms = limits::kHttpIdleMs;
  DurationMs read_ms = limits::kHttpReadMs;
  DurationMs answer_ms = limits::kHttpAnswerMs;  // of an AsyncHttpHandler
  DurationMs tick_ms = kSecondMs;                // how often time-outs are checked
  DurationMs certificate_poll_ms = 5 * kSecondMs;
  DurationMs stop_grace_ms = 2 * kSecondMs;  // for requests in flight when stop() is called
};

struct ListenerCounters {
  std::atomic<std::uint64_t> requests{0}, timeouts{0}, bad_requests{0}, tls_failures{0};
};

// Any thread may call the methods, one at a time.
class Listener {
 public:
  Listener(ListenerOptions options, HttpHandler handler);
  static std::unique_ptr<Listener> async(ListenerOptions options, AsyncHttpHandler handler);
  ~Listener();  // stops
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds and starts the threads. The error names host and port, or the certificate.
  std::optional<Error> start();
  std::uint16_t port() const;  // the actual port, after start()
  // Stops accepting, closes idle connections, answers requests in flight, then ends the threads.
  void stop();
  const ListenerCounters& counters() const;
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
