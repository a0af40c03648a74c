// The routes of the HTTP port: /metrics, /healthz, /readyz, the console page at / and its data at
// /api/summary. /readyz succeeds once the webhook and reads are served (one read has been
// answered). At a start without the database, the webhook suffices. /readyz?leader succeeds only if
// changes are served too.
//
// All routes are read-only and need no login, so protect the port beyond loopback as you protect
// your dashboards. The routes do not use sockets: the listener calls handle().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "net/listener.h"
#include "server/metrics/events.h"
#include "server/metrics/page.h"
#include "server/metrics/surveyor.h"
#include "server/runtime/follower.h"
#include "server/runtime/ports.h"

namespace subak {

// Takes the answer of a route. Call it once.
using HttpDone = std::function<void(HttpResponse)>;

// The sources of the routes. Any thread may call each function, and none blocks.
struct HttpSources {
  // Returns the state of the service now.
  std::function<metrics::ShellState()> state;
  // Follower::read. False: it refuses, and the function is not called.
  std::function<bool(std::function<void(const Engine&)>)> read;
  // Both outlive the routes and all reads that they queued. Never nullptr.
  metrics::Events* events = nullptr;
  const Clock* clock = nullptr;
  // The metrics page has a series per user too.
  bool user_metrics = false;
};

// The routes of a service with an engine. Threads: any may call handle(), several at once.
class HttpRoutes {
 public:
  explicit HttpRoutes(HttpSources sources)
      : sources_(std::move(sources)),
        surveyor_(std::make_shared<metrics::Surveyor>(*sources_.clock, *sources_.events)) {}
  // Calls `done` exactly once, at once or later on the follower's thread. Only the query of /readyz
  // has a meaning. Only GET and HEAD.
  void handle(std::string_view method, std::string_view target, HttpDone done) const;

 private:
  // Answers /metrics. The engine's half is read on the follower's thread; if that refuses, the page
  // has the rest alone.
  void metrics(HttpDone done) const;
  // Answers /api/summary on the follower's thread, or at once if that refuses the read.
  void summary(const HttpDone& done) const;
  HttpResponse healthz() const;
  // `to_lead`: changes must be served too.
  HttpResponse readyz(bool to_lead) const;

  HttpSources sources_;
  // Shared, because queued reads may outlive the routes.
  std::shared_ptr<metrics::Surveyor> surveyor_;
};

// Answers for a webhook-only replica: /metrics, /healthz and /readyz. The replica is ready when its
// listeners serve and it has a copy. After limits::kFirstCopyMs it is ready without one too. Gating
// without a copy is safe, and a webhook without any endpoint is not.
HttpResponse replica_answer(std::string_view method, std::string_view target,
                            const metrics::ReplicaState& state, const metrics::Events& events);

// Answers only to its own names: IP addresses, localhost, a request without a name, and `hosts`
// (any case). Otherwise the answer is 421 with the remedy. So a web page whose name is made to
// point here (DNS rebinding) reads nothing. Headers keep browsers from guessing another type and
// from framing the page.
using HttpRoute = std::function<void(std::string_view method, std::string_view target, HttpDone)>;
AsyncHttpHandler http_handler(HttpRoute route, std::vector<std::string> hosts);

// True if `host` is the service's own (host.cc). `host` is the header's value, with or without a
// port. Every IP address counts as own, since an address cannot be made to point elsewhere. `names`
// are compared without regard to case or a dot at the end.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

// Returns the console page: static HTML that reads /api/summary.
std::string console_page(std::string_view version);
// Returns its Content-Security-Policy: only its own script and style run, and it reads only from
// its own origin.
std::string console_policy();
// Returns the console's data as JSON: totals, clusters, accounts (no users), the head of the queue.
std::string summary_json(const Engine& engine, TimeMs now, std::string_view version);

}  // namespace subak
