// The routes of the HTTP port: /metrics, /healthz, /readyz, the console page at / and its data at
// /api/summary. /readyz succeeds once the service answers the webhook and reads (it has answered
// one read). If the service started without the database, the webhook is enough. /readyz?leader
// succeeds only if the service also accepts changes.
//
// All routes are read-only and need no login. If the port is not on loopback only, protect it as
// you protect your dashboards. The routes do not use sockets: the listener calls handle().
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
  // Follower::read(). False: the follower refuses, and does not call the function.
  std::function<bool(std::function<void(const Engine&)>)> read;
  // `events` and `clock` outlive the routes and all reads that the routes queued. Never nullptr.
  metrics::Events* events = nullptr;
  const Clock* clock = nullptr;
  // True: the metrics page also has a series for each user.
  bool user_metrics = false;
};

// The routes of a service with an engine. Threads: any may call handle(), several at once.
class HttpRoutes {
 public:
  explicit HttpRoutes(HttpSources sources)
      : sources_(std::move(sources)),
        surveyor_(std::make_shared<metrics::Surveyor>(*sources_.clock, *sources_.events)) {}
  // Answers GET and HEAD. It calls `done` exactly once, at once or later on the follower's thread.
  // It ignores queries, except that of /readyz.
  void handle(std::string_view method, std::string_view target, HttpDone done) const;

 private:
  // Answers /metrics. The figures of the engine are read on the follower's thread. If the follower
  // refuses the read, the page has only the other figures.
  void metrics(HttpDone done) const;
  // Answers /api/summary on the follower's thread. If the follower refuses the read, it answers
  // that at once.
  void summary(const HttpDone& done) const;
  HttpResponse healthz() const;
  // `to_lead`: the service must also accept changes.
  HttpResponse readyz(bool to_lead) const;

  HttpSources sources_;
  // Shared, because queued reads may outlive the routes.
  std::shared_ptr<metrics::Surveyor> surveyor_;
};

// Answers /metrics, /healthz and /readyz of a webhook-only replica. The replica is ready when its
// listeners serve and it has a copy of the leader's basis. After limits::kFirstCopyMs it is ready
// without a copy too. A replica without a copy gates all GPU pods, which is safe. A webhook without
// a ready replica would not be safe.
HttpResponse replica_answer(std::string_view method, std::string_view target,
                            const metrics::ReplicaState& state, const metrics::Events& events);

// Returns a handler that answers only requests to the service's own names. These are IP addresses,
// localhost, no name at all, and `hosts` (any case). Other requests get 421 with the remedy. So a
// web page whose name points to this service (DNS rebinding) can read no data. Headers forbid
// browsers to guess another type and to show the page in a frame.
using HttpRoute = std::function<void(std::string_view method, std::string_view target, HttpDone)>;
AsyncHttpHandler http_handler(HttpRoute route, std::vector<std::string> hosts);

// True if `host` is one of the service's own names (host.cc). `host` is the header's value, with or
// without a port. Every IP address counts as own, since DNS rebinding needs a name. The comparison
// with `names` ignores case and a dot at the end.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

// Returns the console page: static HTML that reads /api/summary.
std::string console_page(std::string_view version);
// Returns the Content-Security-Policy of the console page. It allows only the page's own script and
// style, and reads from the page's own origin.
std::string console_policy();
// Returns the console's data as JSON: totals, clusters, accounts (no users), and the first jobs of
// the queue.
std::string summary_json(const Engine& engine, TimeMs now, std::string_view version);

}  // namespace subak
