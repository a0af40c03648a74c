// What the HTTP port answers: /metrics, /healthz, /readyz, the console page at / and its data at
// /api/summary. /readyz is well where the webhook and reads are served (one read has been answered), and at a start without the database where the
// webhook is; /readyz?leader only where changes are too. All of it is read-only and without login, so beyond loopback it belongs behind what protects your
// dashboards. Knows nothing of sockets: the listener calls handle().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/listener.h"
#include "engine/engine.h"
#include "server/metrics/events.h"
#include "server/metrics/page.h"
#include "server/metrics/surveyor.h"
#include "server/runtime/follower.h"
#include "server/runtime/ports.h"

namespace subak {

using HttpDone = std::function<void(HttpResponse)>;

// What the routes read. Every function may be called by any thread and does not block.
struct HttpSources {
  std::function<metrics::ShellState()> state;
  // Follower::read.
  std::function<bool(std::function<void(const Engine&)>)> read;
  metrics::Events* events = nullptr;
  const Clock* clock = nullptr;
  bool user_metrics = false;
};

class HttpRoutes {
 public:
  explicit HttpRoutes(HttpSources sources)
      : sources_(std::move(sources)),
        surveyor_(std::make_shared<metrics::Surveyor>(*sources_.clock, *sources_.events)) {}
  // Calls `done` exactly once: at once, or later on the follower's thread. `target` may have a
  // query, which is ignored but for that of /readyz. Only GET and HEAD.
  void handle(std::string_view method, std::string_view target, HttpDone done) const;

 private:
  void metrics(HttpDone done) const;
  void summary(const HttpDone& done) const;
  HttpResponse healthz() const;
  HttpResponse readyz(bool to_lead) const;

  HttpSources sources_;
  std::shared_ptr<metrics::Surveyor> surveyor_;  // reads that are queued may outlive the routes
};

// What a webhook-only replica answers: /metrics, /healthz and /readyz. It is ready when its listeners
// serve and it has a copy; without one too once limits::kFirstCopyMs have passed, since gating without
// a copy is safe and a webhook that nobody answers is not.
HttpResponse replica_answer(std::string_view method, std::string_view target,
                            const metrics::ReplicaState& state, const metrics::Events& events);

// For a listener of its own. Answers only to its own names, so that a web page whose name is made
// to point here (DNS rebinding) reads nothing: IP addresses, localhost, a request without a name,
// and `hosts` (any case). Else 421, which says what to do. No browser takes an answer for another type than it says, or
// shows it inside another page.
using HttpRoute = std::function<void(std::string_view method, std::string_view target, HttpDone)>;
AsyncHttpHandler http_handler(HttpRoute route, std::vector<std::string> hosts);

// host.cc. `host` as the header has it, with or without a port. An address cannot be made to point
// elsewhere, so any is ours; `names` are compared without regard to case or a dot at the end.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

// The console page: static HTML that reads /api/summary.
std::string console_page(std::string_view version);
// Its Content-Security-Policy: its own script and style run, it reads from where it came, and nothing else.
std::string console_policy();
// JSON of what the console shows: totals, clusters, accounts (no users), the head of the queue.
std::string summary_json(const Engine& engine, TimeMs now, std::string_view version);

}  // namespace subak
