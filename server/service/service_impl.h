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

// The members are in the order of their creation, and are destroyed in the reverse order.
struct Service::Impl {
  // `fatal` writes the last durable sequence before the process ends.
  Impl(Config c, std::function<void(const Error&)> f) : config(std::move(c)) {
    fatal = [this, end = std::move(f)](const Error& error) {
      if (known) known->write();
      end(error);
    };
  }

  // Starts the parts in the order of service.h. After an error it makes no further parts.
  std::optional<Error> start();
  // Makes and starts the HTTP port, which answers "recovering" at first.
  std::optional<Error> start_http();
  // Opens the store and makes follower, runtime and API, without starting them.
  std::optional<Error> open_file();
  // As open_file(), for a database. It waits until the database is reachable; the webhook answers
  // meanwhile.
  std::optional<Error> open_shared();
  // Starts the webhook by the last copy (Reviewer::judge_by_copy()). `place`: identifies the
  // database, so that a copy of another database is refused.
  std::optional<Error> review_by_copy(const std::string& place);
  // Makes follower, runtime and API for the open store.
  void make_runtime();
  // Makes this process lead, or follow another leader. Starts `follower`.
  std::optional<Error> begin();
  // Starts the runtime and applies the configuration.
  std::optional<Error> lead();
  // Does the same on the standby's thread, after this process took the lead.
  std::optional<Error> take_over();
  // Logs how this configuration differs from the one in force. It changes no value.
  std::optional<Error> say_not_put_in();
  // Returns the runtime's figures for the watchdog, to which a wait for the database is no stall.
  RuntimeStats watched() const;
  // Makes the API server from the configuration.
  void make_api();
  // Makes the edges without starting them.
  Result<std::vector<NamedEdge>> made_edges();
  // Makes and starts the edges. Only a leader calls it. A standby only makes the edges once, to
  // refuse a wrong configuration at its start.
  std::optional<Error> start_edges();
  // Makes and starts the PodLabel. Does nothing if no pod is configured.
  std::optional<Error> start_pod_label();
  // Sets or removes the label of the leader's pod. The label's own thread does so, later.
  void label_pod(bool leads);
  // Blocks until the follower has answered a read or has failed, or until a stop is requested.
  void await_first_read();
  // Starts the prober of all listeners, and ends the reviewer's own prober.
  void start_prober();
  // Returns the figures of all listeners that exist.
  std::vector<metrics::ListenerState> listeners() const;
  // Stops the parts in the reverse order of the start. Skips parts that were not made.
  void stop();
  // Handles each durable batch, on the loop's thread.
  void released(const Released& batch);
  // Counts a batch of this process for the metrics. The follower looks up the placements.
  void count(const Released& batch);
  // Sends the user names at the API servers to the other replicas, if a name has changed.
  void tell_known_as(const View& view);
  // Collects the state for the metrics page, on the HTTP port's threads.
  metrics::ShellState shell_state() const;
  // Returns the warnings for GetStatus, one sentence for each.
  std::vector<std::string> warnings() const;

  Config config;
  // Ends the process.
  std::function<void(const Error&)> fatal;
  // The clock of this machine.
  SystemClock machine;
  // The database's time. If the state is a file, the machine's time.
  DatabaseClock clock{machine};
  // When this object was made, by the wall clock and by the boot clock.
  const TimeMs start_ms = clock.wall_ms();
  const std::int64_t start_boot_ms = clock.boot_ms();
  metrics::Events events;
  // The result of divide_files().
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
  // The edges that were started; empty while another process leads.
  std::vector<NamedEdge> edges;
  // nullptr: no own pod is configured.
  std::unique_ptr<PodLabel> pod_label;
  // The clusters and user names that the other replicas got last. Only the loop's thread uses them.
  std::shared_ptr<const std::vector<ClusterView>> told_clusters;
  KnownAs told;
  // True: other threads may use the parts above, except the edges.
  std::atomic<bool> recovered{false};
  // True: other threads may use the edges too.
  std::atomic<bool> has_edges{false};
};

}  // namespace subak
