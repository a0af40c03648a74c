// The routes of the HTTP port for programs: /metrics, /healthz and /readyz. The routes for browsers
// are in server/browser. A check that fails answers 503, with the cause as text.
// - /healthz fails only while the loop, the thread that decides, has work and makes no progress.
// - /readyz succeeds if the loop makes progress, all listeners answer, the service has answered a
//   read, and it does not wait for a right clock. While the service waits for its database at a
//   start, /readyz has the same conditions as on a webhook-only replica (replica_answer()).
// - /readyz?leader succeeds only if the service also accepts changes.
//
// All routes are read-only, and need no login. If other machines can reach the port, protect it as
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

// Takes the answer of a route. A route calls it once.
using HttpDone = std::function<void(HttpResponse)>;

// The functions and objects from which the routes read. Any thread may call each function, and no
// function blocks.
struct HttpSources {
  // Returns the present state of the service.
  std::function<metrics::ShellState()> state;
  // Calls Follower::read_expensive_starts(), which runs the function later on the follower's
  // thread. False: the follower refuses the read, and does not call the function.
  std::function<bool(Follower::StartsRead)> read;
  // `events` and `clock` must outlive the routes and all reads that the routes queue. Neither may
  // be nullptr.
  metrics::Events* events = nullptr;
  const Clock* clock = nullptr;
  // Returns the figures of activity. May be null: activity is not observed.
  std::function<ActivityFigures()> activity;
  // Returns the figures of the receivers of notices. May be null: there are none.
  std::function<std::vector<metrics::NoticeState>()> notices;
  // The prices of GPUs and energy; nullptr: there are none.
  std::shared_ptr<const PriceList> prices;
  // True: the metrics page also has a series for each user.
  bool user_metrics = false;
};

// The routes of a service that has an engine. Threads: any, and several may call handle() at the
// same time.
class HttpRoutes {
 public:
  explicit HttpRoutes(HttpSources sources)
      : sources_(std::move(sources)),
        surveyor_(std::make_shared<metrics::Surveyor>(*sources_.clock, *sources_.events)) {}
  // Answers GET and HEAD. It calls `done` exactly once: either before it returns, or later on the
  // follower's thread. It ignores the query of `target`, except for /readyz.
  void handle(std::string_view method, std::string_view target, HttpDone done) const;

 private:
  // Answers /metrics. It reads the figures of the engine on the follower's thread. If the follower
  // refuses the read, the page has only the other figures.
  void metrics(HttpDone done) const;
  HttpResponse healthz() const;
  // `to_lead`: the answer also requires that the service accepts changes.
  HttpResponse readyz(bool to_lead) const;

  HttpSources sources_;
  // The pointer is shared, because queued reads may outlive the routes.
  std::shared_ptr<metrics::Surveyor> surveyor_;
};

// Answers /metrics, /healthz and /readyz of a webhook-only replica. The replica is ready when its
// listeners serve and it has a copy of the data by which the leader's webhook decides. After
// limits::kFirstCopyMs, it is ready even without a copy: it then gates all GPU pods, which is safe.
// If no replica of the webhook were ready, the API server would refuse GPU pods or let them pass
// without a gate (failurePolicy).
HttpResponse replica_answer(std::string_view method, std::string_view target,
                            const metrics::ReplicaState& state, const metrics::Events& events);

// The type of a function that answers requests, such as HttpRoutes::handle().
using HttpRoute = std::function<void(std::string_view method, std::string_view target, HttpDone)>;
// Returns a handler that answers only requests to the service's own names (is_own_host(), with
// `hosts` as the names). A request without a name is answered too. All other requests get 421 with
// a text that says what to do. So if the name of a foreign web page points to this service (DNS
// rebinding), the page can read no data. Headers of each answer forbid browsers to guess another
// content type and to show the page in a frame.
AsyncHttpHandler http_handler(HttpRoute route, std::vector<std::string> hosts);
// Works as http_handler(), for a handler of complete requests.
AsyncHttpHandler own_hosts_only(AsyncHttpHandler handler, std::vector<std::string> hosts);

// True if `host` is one of the service's own names (host.cc): `names`, localhost, or any IP
// address. `host`: the value of the header Host, with or without a port. An empty `host` counts as
// own too. Every IP address counts as own, since DNS rebinding needs a name. The comparison with
// `names` ignores case and a dot at the end.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

}  // namespace subak
