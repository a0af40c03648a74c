// The service's own state: the metrics page, warnings.
#include <utility>

#include "server/service/activity_warnings.h"
#include "server/service/configure.h"
#include "server/service/files.h"
#include "server/service/listeners.h"
#include "server/service/service_impl.h"

namespace subak {

// In the order in which the prober asks them.
std::vector<metrics::ListenerState> Service::Impl::listeners() const {
  std::vector<metrics::ListenerState> out;
  const auto add = [&](const char* name, const ConnectionStats& now) {
    out.push_back(listener_state(name, now, prober->serves(out.size())));
  };
  add("webhook", reviewer.connections());
  add("grpc", api->connections());
  add("http", http.connections());
  return out;
}

metrics::ShellState Service::Impl::shell_state() const {
  metrics::ShellState state;
  state.version = kVersion;
  state.now_ms = clock.wall_ms();
  state.start_ms = start_ms;
  state.uptime_ms = clock.boot_ms() - start_boot_ms;
  state.process = metrics::read_process();
  if (!recovered) {
    state.start = reviewer.start_state();
    state.listeners = reviewer.start_listeners();
    return state;
  }
  state.now_ms = runtime->now_ms();
  state.view = runtime->view();
  state.lead = store->lead();
  state.commit_waits_ms = store->waiting_ms();
  state.database_clock = clock.status();
  state.known_seq = known ? known->missing_seq() : 0;
  if (shared != nullptr) state.config_differences = policy_differences(config, *state.view).size();
  state.runtime = runtime->stats();
  state.follower = follower->stats();
  state.stalled = watchdog->stalled();
  state.drift_gpu_seconds = audit->drift_gpu_seconds();
  state.certificate_end_ms = reviewer.certificate_end_ms();
  state.certificate_change_ms = reviewer.certificate_change_ms();
  state.store_bytes = state_bytes(config.state);
  state.observers = api->observers();
  state.stale_events = api->stale_events();
  state.last_observed = events.last_observed();
  state.listeners = listeners();
  if (has_edges) state.edges = edge_states(edges);
  return state;
}

std::vector<std::string> Service::Impl::warnings() const {
  std::vector<std::string> out;
  if (has_edges) out = edge_warnings(edges);
  for (std::string& one : activity_warnings(activity.figures())) out.push_back(std::move(one));
  for (std::string& one : notice_warnings(notice_figures())) out.push_back(std::move(one));
  if (const std::uint64_t seq = known ? known->missing_seq() : 0; seq > 0) {
    out.push_back(metrics::missing_text(seq, runtime->view()->seq));
  }
  if (shared != nullptr) {
    for (const std::string& difference : policy_differences(config, *runtime->view())) {
      out.push_back("the configuration of this replica says " + difference);
    }
  }
  for (std::string& warning : reviewer.warnings()) out.push_back(std::move(warning));
  return out;
}

}  // namespace subak
