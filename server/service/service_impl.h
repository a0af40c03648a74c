// The parts of the service. Private to server/service; others use service.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/listener.h"
#include "server/api/api.h"
#include "server/http/routes.h"
#include "server/leader/durable_mark.h"
#include "server/leader/standby.h"
#include "server/metrics/events.h"
#include "server/metrics/ledger_audit.h"
#include "server/metrics/page.h"
#include "server/runtime/clock/clock.h"
#include "server/runtime/clock/database_clock.h"
#include "server/runtime/follower.h"
#include "server/runtime/input_trace.h"
#include "server/runtime/watchdog.h"
#include "server/service/edges.h"
#include "server/service/prober.h"
#include "server/service/reviewer.h"
#include "server/service/service.h"
#include "server/service/sockets.h"
#include "server/store/postgres/postgres_store.h"

namespace subak {

// Members in the order of their creation; destroyed in the reverse order.
struct Service::Impl {
  // `fatal` writes the last durable sequence before the process ends.
  Impl(Config c, std::function<void(const Error&)> f) : config(std::move(c)) {
    fatal = [this, end = std::move(f)](const Error& error) {
      if (known) known->write();
      end(error);
    };
  }

  // In the order of service.h. Parts after an error are not made.
  std::optional<Error> start();
  // Makes and starts the HTTP port, which answers "recovering" at first.
  std::optional<Error> start_http();
  // Opens the store and makes follower, runtime and API, which are not started.
  std::optional<Error> open_file();
  // As open_file(), for a database. It waits until the database is there; the webhook answers
  // meanwhile.
  std::optional<Error> open_shared();
  // `place`: the database, by which a copy of another one is refused.
  std::optional<Error> review_by_copy(const std::string& place);
  // Makes follower, runtime and API for the open store.
  void make_runtime();
  // Leads or follows, and starts the follower.
  std::optional<Error> begin();
  // Starts the runtime and puts the configuration in.
  std::optional<Error> lead();
  // On the standby's thread, after this process took the lead.
  std::optional<Error> take_over();
  // Logs how this configuration differs from the one in force, and changes nothing.
  std::optional<Error> say_not_put_in();
  // The runtime's figures for the watchdog: a wait for the database is no stall.
  RuntimeStats watched() const;
  // Makes the API server from the configuration.
  void make_api();
  // Makes the edges without starting them.
  Result<std::vector<NamedEdge>> made_edges();
  // Leader only. A standby makes them once, to refuse a wrong configuration at its start.
  std::optional<Error> start_edges();
  // Makes and starts the label. Without a configured pod it does nothing.
  std::optional<Error> start_pod_label();
  // Sets or removes the label that says who leads; later, on the label's own thread.
  void label_pod(bool leads);
  // Blocks until the follower has answered a read, has failed, or a stop was asked.
  void await_first_read();
  // Starts the prober of all listeners; the reviewer's own prober then ends.
  void start_prober();
  // Returns the figures of all listeners that exist.
  std::vector<metrics::ListenerState> listeners() const;
  // In the reverse order of the flow; parts that were not made are skipped.
  void stop();
  // On the loop's thread, for each durable batch.
  void released(const Released& batch);
  // Counts a batch of this process. Placements are looked up by the follower.
  void count(const Released& batch);
  // Sends the user names at the API servers to the other replicas, if one has changed.
  void tell_known_as(const View& view);
  // Collects the state for the metrics page, on the HTTP port's threads.
  metrics::ShellState shell_state() const;
  // Returns the warnings for GetStatus, a sentence each.
  std::vector<std::string> warnings() const;

  Config config;
  // Ends the process.
  std::function<void(const Error&)> fatal;
  // The clock of this machine.
  SystemClock machine;
  // The database's time; the machine's, if the state is a file.
  DatabaseClock clock{machine};
  // When this object was made, by the wall clock and by the boot clock.
  const TimeMs start_ms = clock.wall_ms();
  const std::int64_t start_boot_ms = clock.boot_ms();
  metrics::Events events;
  // As divide_files() divided them.
  ConnectionLimits connections;
  std::unique_ptr<Store> store;
  // `store`, if it is shared; else nullptr.
  SharedStore* shared = nullptr;
  // nullptr: the store is a file.
  std::unique_ptr<DurableMark> known;
  // nullptr until this process leads.
  std::unique_ptr<InputTrace> trace;
  std::unique_ptr<Follower> follower;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<ApiServer> api;
  std::unique_ptr<Watchdog> watchdog;
  std::unique_ptr<metrics::LedgerAudit> audit;
  // nullptr: the store is a file.
  std::unique_ptr<Standby> standby;
  Reviewer reviewer{config, events, clock};
  std::unique_ptr<HttpRoutes> routes;
  std::unique_ptr<Listener> http;
  std::unique_ptr<Prober> prober;
  // Those that were started; empty while another process leads.
  std::vector<NamedEdge> edges;
  // nullptr: no own pod is configured.
  std::unique_ptr<PodLabel> pod_label;
  // What other replicas got last of clusters and names. The loop's thread.
  std::shared_ptr<const std::vector<ClusterView>> told_clusters;
  KnownAs told;
  // The parts above may be used, except the edges.
  std::atomic<bool> recovered{false};
  // The edges may be used too.
  std::atomic<bool> has_edges{false};
};

}  // namespace subak
