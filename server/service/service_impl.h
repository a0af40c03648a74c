// The parts of the service. Threads: the thread that starts or stops the service calls the
// functions, unless a comment names another. Any thread may call the const functions. Private to
// server/service; other code uses service.h.
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
  // The member `fatal` first writes the file with the last durable fact, and then calls `f`.
  Impl(Config c, std::function<void(const Error&)> f) : config(std::move(c)) {
    fatal = [this, end = std::move(f)](const Error& error) {
      if (known) known->write();
      end(error);
    };
  }

  // Starts the parts in the order of the diagram in service.h. After an error, it makes no further
  // parts.
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
  // Makes this process lead, or makes it follow another leader. It also starts `follower`.
  std::optional<Error> begin();
  // Starts the runtime and the reader of a changed half-life, and applies the configuration. If
  // this process took the lead from a process at work (SharedStore::took_over()), it only logs how
  // its configuration differs.
  std::optional<Error> lead();
  // Works as lead(), on the standby's thread, after this process has taken the lead. It also labels
  // the pod, and starts the edges and the notifier.
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
  // Blocks until the follower has answered a read or has failed, or until a stop is requested.
  void await_first_read();
  // Starts the prober of all listeners, and ends the reviewer's prober.
  void start_prober();
  // Returns the figures of all listeners that exist.
  std::vector<metrics::ListenerState> listeners() const;
  // Stops the parts in the reverse order of their start. It skips parts that were not made.
  void stop();
  // Handles each durable batch, on the loop's thread.
  void released(const Released& batch);
  // Counts the events of a batch that this process has committed, for the metrics. It reads the
  // topologies of placed jobs from the follower (Events::look_up()). It also reports spent budgets
  // to the log and to the edges.
  void count(const Released& batch);
  // If a user name of an edge at its API server has changed, sends all these user names to the
  // other replicas.
  void tell_known_as(const View& view);
  // Collects the state for the metrics page. It runs on the threads of the HTTP port.
  metrics::ShellState shell_state() const;
  // Returns the warnings for GetStatus, each of which is one sentence.
  std::vector<std::string> warnings() const;

  Config config;
  // Ends the process.
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
  // `store`, if it is shared; else nullptr.
  SharedStore* shared = nullptr;
  // nullptr: the store is a file.
  std::unique_ptr<DurableMark> known;
  // nullptr: this process has not led yet.
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
  // nullptr: the store is a file.
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
