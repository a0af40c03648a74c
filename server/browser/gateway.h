// Answers the requests of browsers on the HTTP port, except /metrics, /healthz and /readyz (class
// `Gateway`):
//   POST /subak.v1.SERVICE/METHOD   a read of the API, as JSON (reads.h, connect.h)
//   GET  /live?topics=...           server-sent events (live.h)
//   GET, POST /login, POST /logout  exchange a token for a session, and end it (sign_in.h)
//   GET  any other path             the console's files, or the routes of server/http
//
// The gateway admits a request by these rules, in this order:
// - The host is one of the service's own (http_handler(), which calls the gateway).
// - A connection from another machine uses TLS, and the service has a token file. A connection from
//   this machine needs neither.
// - No page of another origin caused the call, the stream or the sign-in.
// - Calls and streams need the same rights as in the gRPC API: a token or a session if there is a
//   token file, else nothing. From another machine, pages need a session too.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/listener.h"
#include "server/api/common/sessions.h"
#include "server/browser/calls.h"
#include "server/browser/live.h"
#include "server/browser/shared_calls.h"
#include "server/http/assets.h"
#include "server/http/routes.h"

namespace subak::browser {

// The parts of the service that the gateway uses.
struct GatewayPorts {
  // Answers /metrics, /healthz, /readyz and all paths that the gateway does not know.
  HttpRoute routes;
  // True: the service has a token file.
  bool wants_token = false;
  // Returns the number of the last durable fact, once the API is open.
  std::function<std::uint64_t()> sequence;
  // Must outlive the gateway.
  const Clock* clock = nullptr;
  // The console's files.
  Assets assets{console_assets()};
};

// The gateway of one process. Threads: any may call handle(); one thread calls the other members.
class Gateway {
 public:
  explicit Gateway(GatewayPorts ports);
  ~Gateway();  // close()
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Answers a request. It calls `done` once, at once or later on another thread. It does not block.
  void handle(const HttpRequest& request, const HttpReplier& done);
  // Opens calls, events and sign-ins. Before open(), the gateway answers them with "unavailable".
  // `sessions` must outlive close().
  void open(std::shared_ptr<grpc::Channel> channel, api::Sessions& sessions);
  // Ends all streams and calls. Call it before the API stops.
  void close();

 private:
  void sign_in(const HttpRequest& request, api::Sessions& sessions, const HttpReplier& done);
  void sign_out(const HttpRequest& request, api::Sessions& sessions, const HttpReplier& done);
  void call(const HttpRequest& request, const HttpReplier& done);
  void live(const HttpRequest& request, api::Sessions& sessions, const HttpReplier& done);
  void page(const HttpRequest& request, const HttpReplier& done);
  // True if the visitor may see pages.
  bool may_see(const HttpRequest& request) const;
  // Reads a topic for the hub. It blocks the hub's thread.
  Answered read_topic(const Topic& topic);

  const GatewayPorts ports_;
  // nullptr: the gateway is not open.
  std::atomic<api::Sessions*> sessions_{nullptr};
  Calls calls_;
  SharedCalls shared_calls_;
  Live live_;
};

// Returns how long the listener waits for the answer to a request: limits::kBrowserCallMs and a
// little more for calls, limits::kHttpAnswerMs for all other paths.
DurationMs answer_ms_of(std::string_view target);

}  // namespace subak::browser
