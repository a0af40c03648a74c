#include "server/http/routes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"

namespace subak {
namespace {

constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

HttpResponse plain(int status, std::string_view text) {
  return {status, "text/plain; charset=utf-8", std::string(text) + "\n"};
}

std::optional<std::string> silent_listener(const metrics::ShellState& state) {
  for (const metrics::ListenerState& listener : state.listeners) {
    if (!listener.serves) return listener.name + " does not answer";
  }
  return std::nullopt;
}

// Returns the answer of /readyz during a start. While the database is unreachable, the process is
// ready as soon as a webhook-only replica would be (replica_answer()): it may gate pods without
// harm, but the API server needs a webhook that answers. Before the database was found unreachable,
// the process is not ready; this takes only a moment.
HttpResponse ready_to_start(const metrics::ShellState& state, bool to_lead) {
  if (!state.start || !state.start->away) return plain(503, "recovering");
  if (const auto silent = silent_listener(state)) return plain(503, *silent);
  const auto& [away, has_copy, age_ms] = *state.start;
  if (!has_copy && state.uptime_ms < limits::kFirstCopyMs) {
    return plain(503, "waits for the database, and has no copy to decide reviews by");
  }
  const std::string reviews =
      has_copy ? "decided by a copy of " + format_duration(age_ms - age_ms % kSecondMs) + " ago"
               : "decided without a copy: GPU pods are gated, and no request is refused";
  return plain(to_lead ? 503 : 200,
               "waits for the database: reviews are " + reviews + "; nothing else is served");
}

}  // namespace

void HttpRoutes::handle(std::string_view method, std::string_view target, HttpDone done) const {
  if (method != "GET" && method != "HEAD") return done(plain(405, "only GET and HEAD"));
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/metrics") return metrics(std::move(done));
  if (path == "/healthz") return done(healthz());
  if (path == "/readyz") return done(readyz(target.substr(path.size()) == "?leader"));
  done(plain(404, "not found; there are /metrics, /healthz, /readyz and the console at /"));
}

// The follower's thread writes the engine's half. If it refuses, the page lacks that half and says
// so. A missing page would hide the cause.
void HttpRoutes::metrics(HttpDone done) const {
  const auto page = std::make_shared<metrics::Families>();
  const metrics::ShellState state = sources_.state();
  metrics::write_state(*page, state);
  if (sources_.notices) metrics::write_notices(*page, sources_.notices());
  const auto finish = [page, done = std::move(done), events = sources_.events](std::string text,
                                                                               bool whole) {
    page->gauge("subak_scrape_complete",
                "0 if the reading side refused, so that its families are missing.");
    page->sample({}, whole);
    text += events->text() + page->text();
    done({200, std::string(kMetricsType), std::move(text)});
  };
  const TimeMs asked_ms = state.now_ms;
  const auto activity = std::make_shared<const ActivityFigures>(
      sources_.activity ? sources_.activity() : ActivityFigures());
  const bool queued = sources_.read(
      [page, finish, asked_ms, users = sources_.user_metrics, surveyor = surveyor_, activity,
       prices = sources_.prices](const Engine& engine, const ForecastStarts& starts) {
        const TimeMs now = std::max(asked_ms, engine.now());
        const Survey& survey = surveyor->look(engine, starts.growth.get());
        metrics::write_fleet(*page, engine, survey, now);
        metrics::write_activity(*page, engine, *activity, prices ? *prices : PriceList(), now);
        finish(metrics::write_accounts(*page, engine, survey, now, users), true);
      });
  if (!queued) finish("", false);
}

HttpResponse HttpRoutes::healthz() const {
  if (sources_.state().stalled) return plain(503, "the loop has work and makes no progress");
  return plain(200, "ok");
}

HttpResponse HttpRoutes::readyz(bool to_lead) const {
  const metrics::ShellState state = sources_.state();
  if (!state.view) return ready_to_start(state, to_lead);
  if (state.runtime.failed) return plain(503, "the store failed; the process ends");
  if (state.stalled) return plain(503, "the loop has work and makes no progress");
  if (state.follower.failed) return plain(503, "the reading side failed");
  if (state.follower.reads_answered == 0) return plain(503, "no read has been answered yet");
  if (const auto silent = silent_listener(state)) return plain(503, *silent);
  if (state.runtime.clock.state == ClockState::kWaits) {
    return plain(503, why_not_ready(state.runtime.clock));
  }
  const int if_to_lead = to_lead ? 503 : 200;
  if (state.known_seq > 0) {
    return plain(if_to_lead, metrics::missing_text(state.known_seq, state.view->seq));
  }
  if (!state.runtime.leads) return plain(if_to_lead, "a standby: webhook and reads are served");
  if (state.commit_waits_ms > limits::kDatabaseSlowMs) {
    return plain(if_to_lead, "the database is away: webhook and reads are served");
  }
  return plain(200, "ok");
}

HttpResponse replica_answer(std::string_view method, std::string_view target,
                            const metrics::ReplicaState& state, const metrics::Events& events) {
  if (method != "GET" && method != "HEAD") return plain(405, "only GET and HEAD");
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/metrics") {
    metrics::Families page;
    metrics::write_replica(page, state);
    return {200, std::string(kMetricsType), events.admission_text() + page.text()};
  }
  if (path == "/healthz") return plain(200, "ok");
  if (path != "/readyz") return plain(404, "not found; there are /metrics, /healthz and /readyz");
  if (const auto silent = silent_listener(state.shell)) return plain(503, *silent);
  if (!state.has_copy && state.shell.uptime_ms < limits::kFirstCopyMs) {
    return plain(503, "waits for the leader's first copy");
  }
  return plain(200, "ok");
}

AsyncHttpHandler http_handler(HttpRoute route, std::vector<std::string> hosts) {
  return own_hosts_only(
      [route = std::move(route)](const HttpRequest& request, HttpReplier done) {
        route(request.method, request.target, std::move(done));
      },
      std::move(hosts));
}

AsyncHttpHandler own_hosts_only(AsyncHttpHandler handler, std::vector<std::string> hosts) {
  return [handler = std::move(handler), hosts = std::move(hosts)](const HttpRequest& request,
                                                                  const HttpReplier& to) {
    const HttpReplier done = [to](HttpResponse response) {
      response.headers +=
          "\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY"
          "\r\nReferrer-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin"
          "\r\nCross-Origin-Resource-Policy: same-origin";
      to(std::move(response));
    };
    if (is_own_host(request.host, hosts)) {
      return handler(request, done);
    }
    done(plain(421, "host: was \"" + std::string(request.host.substr(0, limits::kMaxEchoBytes)) +
                        "\", want an IP address, localhost, or a name of httpHosts (--http-host)"));
  };
}

}  // namespace subak
