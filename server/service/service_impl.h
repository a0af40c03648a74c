// The parts of the service as members of one object, and the functions that make, connect, start
// and stop them. service.cc has the start and the stop, service_state.cc the figures for metrics
// and status. Private to server/service; other code uses service.h.
//
// If the store is a file, this process leads: it decides. If processes share a database, one of
// them leads, and each other one is a standby. A standby answers reads and admission reviews. It
// has no edges, notifier or input trace until it takes the lead (server/leader/standby.h).
//
// Threads: the thread that starts or stops the service calls the functions, unless a comment names
// another. Any thread may call the const functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/activity/book.h"
#include "server/activity/observer.h"
#include "server/api/api.h"
#include "server/browser/http_port.h"
#include "server/leader/durable_mark.h"
#include "server/leader/half_life_reader.h"
#include "server/leader/standby.h"
#include "server/metrics/events.h"
#include "server/metrics/ledger_audit.h"
#include "server/metrics/page.h"
#include "server/notify/notifier.h"
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
#include "server/yaml/price_list.h"

namespace subak {

// The members are in the order in which they are created, and are destroyed in the reverse order.
struct Service::Impl {
  // `f` ends the process. Before that, `fatal` writes the file with the last durable fact that this
  // replica knows (DurableMark).
  Impl(Config c, std::function<void(const Error&)> f) : config(std::move(c)) {
    fatal = [this, end = std::move(f)](const Error& error) {
      if (known) known->write();
      end(error);
    };
  }

  // Starts the parts in the order of the diagram in service.h, and then lets a standby watch the
  // lead. After an error, it makes no further parts.
  std::optional<Error> start();
  // Makes the HTTP port and starts it. At first it answers "recovering".
  std::optional<Error> start_http();
  // Opens a store that is a file. Makes the follower, the runtime and the API, without starting
  // them.
  std::optional<Error> open_file();
  // Works as open_file(), for a store that is a database. It waits until the database is reachable.
  // The webhook answers during this wait.
  std::optional<Error> open_shared();
  // Starts the webhook, which decides by the last copy (Reviewer::judge_by_copy()). `place`: a text
  // that identifies the database, so that a copy from another database is refused.
  std::optional<Error> review_by_copy(const std::string& place);
  // Makes the follower, the runtime and the API for the open store.
  void make_runtime();
  // Makes this process the leader if there is none. Otherwise, it becomes a standby, which follows
  // the leader's facts. It starts `follower` in both cases.
  std::optional<Error> begin();
  // Does what every new leader must do: starts the input trace, the runtime and the reader of a
  // changed half-life, and writes an accepted data loss into the audit log. Then it applies the
  // configuration. If this process took the lead from a process at work (SharedStore::took_over()),
  // it only logs how its configuration differs. Otherwise, two replicas with different
  // configurations would change the policy at each failover.
  std::optional<Error> lead();
  // Makes a standby the leader: calls lead(), labels the pod, and starts the edges and the
  // notifier. It runs on the standby's thread, once this process has taken the lead.
  std::optional<Error> take_over();
  // Logs how this configuration differs from the values in force. It changes no value.
  std::optional<Error> say_not_put_in();
  // Returns the runtime's figures for the watchdog. While the store waits for the database, they
  // show no work, since such a wait is no stall.
  RuntimeStats watched() const;
  // Makes and starts the observer of activity, if a Prometheus server is configured.
  void start_observer();
  // Sends an Event about an idle job by the edge of the job's cluster. It runs on the observer's
  // thread.
  void warn_idle(const IdleJob& job);
  // Makes the notifier, if a receivers file is configured. An error: the file has a mistake.
  std::optional<Error> make_notifier();
  // Starts the notifier, if there is one. Only a leader calls it.
  std::optional<Error> start_notifier();
  // Returns the figures of the receivers; empty: none is configured, or another process leads.
  ReceiverFigures notice_figures() const;
  // Returns these figures for the metrics page.
  std::vector<metrics::NoticeState> notice_states() const;
  // Reads the price list. An error: the file cannot be read, or has a mistake.
  std::optional<Error> read_prices();
  // Makes the API server from the configuration.
  void make_api();
  // Makes the edges, without starting them.
  Result<std::vector<NamedEdge>> made_edges();
  // Makes the edges and starts them. Only a leader calls start_edges(). At its start, a standby
  // only makes the edges, so that a wrong configuration stops the start.
  std::optional<Error> start_edges();
  // Makes the PodLabel and starts it. Does nothing if no pod is configured.
  std::optional<Error> start_pod_label();
  // Requests that the thread of the PodLabel sets or removes the label of the leader on the pod.
  void label_pod(bool leads);
  // Blocks until the follower has answered a read, since a service that is ready answers reads. It
  // also returns if the follower has failed, or if a stop is requested.
  void await_first_read();
  // Starts the prober of all listeners, and ends the reviewer's prober.
  void start_prober();
  // Returns the figures of all listeners that exist.
  std::vector<metrics::ListenerState> listeners() const;
  // Stops the parts in the reverse order of their start. It skips parts that were not made.
  void stop();
  // Passes each durable batch to the follower, the API's streams, the notifier and DurableMark. If
  // this process has committed the batch, it also calls count() and tell_known_as(). It runs on the
  // loop's thread.
  void released(const Released& batch);
  // Counts the events of a batch that this process has committed, for the metrics. It reads the
  // topologies of placed jobs from the follower (Events::look_up()). It also reports spent budgets
  // to the log and to the edges.
  void count(const Released& batch);
  // Sends the user names of the edges at their API servers to the other replicas
  // (Leadership::known_as), if one of the names has changed.
  void tell_known_as(const View& view);
  // Collects the state for the metrics page. It runs on the threads of the HTTP port.
  metrics::ShellState shell_state() const;
  // Returns the warnings for GetStatus, each of which is one sentence.
  std::vector<std::string> warnings() const;

  Config config;
  // Ends the process after an error that only a restart repairs.
  std::function<void(const Error&)> fatal;
  // The clock of this machine.
  SystemClock machine;
  // The clock of the database. If the state is in a file, it shows the machine's time.
  DatabaseClock clock{machine};
  // When this object was made, by the wall clock and by the boot clock.
  const TimeMs start_ms = clock.wall_ms();
  const std::int64_t start_boot_ms = clock.boot_ms();
  metrics::Events events;
  // The result of divide_files().
  ConnectionLimits connections;
  std::unique_ptr<Store> store;
  // The same object as `store`, if processes share the store; else nullptr.
  SharedStore* shared = nullptr;
  // The last durable fact that this replica knows. nullptr: the store is a file.
  std::unique_ptr<DurableMark> known;
  // Writes every input into files, for replays. nullptr: this process has not led yet.
  std::unique_ptr<InputTrace> trace;
  ActivityBook activity;
  // nullptr: no prices are configured.
  std::shared_ptr<const PriceList> prices;
  std::unique_ptr<Follower> follower;
  std::unique_ptr<Runtime> runtime;
  // Made with `runtime`. Its thread starts when this process leads.
  std::unique_ptr<HalfLifeReader> half_life;
  std::unique_ptr<ApiServer> api;
  std::unique_ptr<Watchdog> watchdog;
  std::unique_ptr<metrics::LedgerAudit> audit;
  // Follows the leader, or takes the lead. nullptr: the store is a file.
  std::unique_ptr<Standby> standby;
  Reviewer reviewer{config, events, clock};
  browser::HttpPort http;
  std::unique_ptr<Prober> prober;
  // The edges that were started; empty while another process leads.
  std::vector<NamedEdge> edges;
  // Threads that read from the other parts and decide nothing.
  struct Watchers {
    // nullptr: no Prometheus server is configured, or the service has not started.
    std::unique_ptr<ActivityObserver> activity;
    // nullptr: no receivers file is configured.
    std::unique_ptr<Notifier> notifier;
  };
  Watchers watchers;
  // nullptr: no own pod is configured.
  std::unique_ptr<PodLabel> pod_label;
  // The user names that were last sent to the other replicas, and the clusters from which they
  // came. Only the loop's thread uses it.
  struct Told {
    std::shared_ptr<const std::vector<ClusterView>> clusters;
    KnownAs known_as;
  };
  Told told;
  // True: other threads may use all parts above, except the edges.
  std::atomic<bool> recovered{false};
  // True: other threads may use the edges too.
  std::atomic<bool> has_edges{false};
};

}  // namespace subak
