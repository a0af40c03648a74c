// Writes the page at /metrics, which docs/metrics.md describes. The functions here write values of
// the present state, as the routes of the HTTP port collect it (server/http/routes.h). The class
// Events counts events.
//
// Dashboards depend on the names of the metrics, so no name changes. Each label has a bounded
// number of values: limits::kMetricAccounts bounds accounts, and the configuration bounds clusters,
// products and profiles. The page has series for each user only if the configuration says so.
//
// Threads: write_state() reads the View, so any thread may call it. write_fleet(), write_accounts()
// and write_activity() read an engine, so only the thread of the follower, the engine that serves
// reads, may call them. All are pure functions, except read_process().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "engine/answers/view.h"
#include "engine/engine.h"
#include "server/activity/book.h"
#include "server/metrics/families.h"
#include "server/runtime/clock/database_clock.h"
#include "server/runtime/follower.h"
#include "server/runtime/runtime.h"
#include "server/yaml/price_list.h"

namespace subak::metrics {

// The resources that the process uses. A value is 0 if it cannot be read.
struct ProcessState {
  // User and system time since the start of the process.
  double cpu_seconds = 0;
  // The resident memory of the process now.
  std::uint64_t resident_bytes = 0;
};
// Reads the present values from the kernel.
ProcessState read_process();

// The connections and health of one listener.
struct ListenerState {
  // "webhook", "grpc" or "http".
  std::string name;
  // The number of open connections, and the limit of that number.
  std::size_t open = 0, limit = 0;
  // The number of connections that were refused at the limit, and the number that were closed to
  // make room for others. Both only rise.
  std::uint64_t refused = 0, evicted = 0;
  // True: the listener answered the last probe.
  bool serves = false;
};

// The figures of an edge of this service, the code that follows one cluster. The counters begin at
// the edge's start.
struct EdgeState {
  // The cluster's name in the configuration; empty: the only cluster.
  std::string cluster;
  // True: the edge's watches are open, and the core has the complete list.
  bool follows = false;
  // The number of lists that the edge has begun.
  std::uint64_t lists = 0;
  // The number of writes that were done, by kind.
  std::vector<std::pair<std::string, std::uint64_t>> writes;
  // The number of writes that the edge gave up because the API server refused them for too long, by
  // the server's reason.
  std::map<std::string, std::uint64_t> refused;
  // `opened_outside`: the number of gates that the edge opened on pods that Subak does not manage.
  // `unreadable`: the number of objects that the edge could not read. `not_taken`: the number of
  // updates that the core refused. `events`: the number of Events that the edge sent.
  std::uint64_t opened_outside = 0, unreadable = 0, not_taken = 0, events = 0;
  // The number of ComputeDomains that Subak made, and the number of their nodes that are not ready
  // for five minutes.
  std::size_t domains = 0, late_domain_nodes = 0;
  // The number of pods that wait until the core has room for them.
  std::size_t put_off = 0;
  // The clock error of the node whose clock is furthest off, in ms. Positive: the clock is behind;
  // negative: it is ahead.
  DurationMs clock_behind_ms = 0;
};

// The figures of a receiver of notices, since the start of the process.
struct NoticeState {
  // The receiver's name in the receivers file.
  std::string receiver;
  // The numbers of notices that the receiver took, and of notices that were lost.
  std::uint64_t sent = 0, lost = 0;
  // The number of requests that failed.
  std::uint64_t failed = 0;
  // The number of notices that wait now.
  std::size_t waiting = 0;
};

// Describes the data by which the webhook decides after a start, until there is a View. There is no
// View yet if a shared store is unreachable at the start.
struct StartState {
  // True: the store was unreachable.
  bool away = false;
  // True: there is a copy of earlier data (LastCopy), or there is a View by now. False: the webhook
  // gates all GPU pods.
  bool has_copy = false;
  // The age of the copy. Without a copy: the time since the start.
  DurationMs age_ms = 0;
};

// The state of the service outside the engine, as of one scrape.
struct ShellState {
  // The service's own time (Runtime::now_ms).
  TimeMs now_ms = 0;
  // The newest View; nullptr: there is none yet.
  std::shared_ptr<const View> view;
  // The state of the start; set only while there is no View.
  std::optional<StartState> start;
  // The leader, as last seen.
  Leadership lead;
  // How long a commit has waited for the database (Store::waiting_ms); 0: no commit waits.
  DurationMs commit_waits_ms = 0;
  // The clock of the database; nullopt: there is no database, or no sample of its clock yet.
  std::optional<DatabaseClockStatus> database_clock;
  // The last durable fact that this replica knows, if the database lacks that fact; 0: the database
  // has the fact, or this replica knows none.
  std::uint64_t known_seq = 0;
  // How many values of the policy in force differ from those of this configuration.
  std::size_t config_differences = 0;
  // The figures of the loop.
  RuntimeStats runtime;
  // The figures of the follower.
  FollowerStats follower;
  // True: the loop has work but makes no progress.
  bool stalled = false;
  // The version of this program.
  std::string version;
  ProcessState process;
  // When the service started, by the wall clock.
  TimeMs start_ms = 0;
  // The time since the start, by the boot clock. So a change of the wall clock does not affect this
  // time.
  DurationMs uptime_ms = 0;
  // The drift that the last run of LedgerAudit found; nullopt: no run has finished.
  std::optional<std::int64_t> drift_gpu_seconds;
  // When the webhook's certificate expires; nullopt: there is none.
  std::optional<TimeMs> certificate_end_ms;
  // When the webhook's certificate changes to the next CA; 0: there is no next CA.
  TimeMs certificate_change_ms = 0;
  // The size of the state file, including its log; 0: the state is in a database.
  std::uint64_t store_bytes = 0;
  // Two maps by the name that an edge gave for its cluster (empty: the only cluster). `observers`:
  // the number of open Observe streams. `last_observed`: when the last event arrived.
  std::map<std::string, std::size_t> observers;
  std::map<std::string, TimeMs> last_observed;
  // The number of events that were refused because a newer session follows the cluster of the
  // event.
  std::uint64_t stale_events = 0;
  // The state of each listener that exists.
  std::vector<ListenerState> listeners;
  // The figures of each edge of this service.
  std::vector<EdgeState> edges;
};

// The state of a webhook-only replica. The replica sets these members of `shell`: version, now_ms,
// start_ms, uptime_ms, process, listeners and certificate_end_ms.
struct ReplicaState {
  // The members that the replica does not set have their defaults.
  ShellState shell;
  // True: a copy from the leader is in use.
  bool has_copy = false;
  // The time since the replica last heard from the leader; 0 while they are connected.
  DurationMs age_ms = 0;
  // The numbers of copies from the leader that the replica accepted and refused.
  std::uint64_t copies = 0, refused = 0;
};
// Writes the replica's page, except what Events::admission_text() returns.
void write_replica(Families& out, const ReplicaState& state);

// Returns a warning that the database lacks the fact `known`, and says what to do. `last`: the last
// fact of the database.
std::string missing_text(std::uint64_t known, std::uint64_t last);

// Writes the metrics of notices. Without receivers, there are none.
void write_notices(Families& out, const std::vector<NoticeState>& receivers);
// Writes all metrics except those of notices, of the engine and of Events.
void write_state(Families& out, const ShellState& state);
// write_fleet() and write_accounts() write the metrics of the engine as of `now`, which must not be
// before Engine::now(). write_accounts() also returns the metrics of accounts as text, because text
// is faster for them (measured in docs/design/0008). `most`: how many accounts have series.
// `users`: users have series too.
void write_fleet(Families& out, const Engine& engine, const Survey& survey, TimeMs now);
std::string write_accounts(Families& out, const Engine& engine, const Survey& survey, TimeMs now,
                           bool users, std::size_t most = limits::kMetricAccounts);
// Writes the metrics of activity and prices. It runs on the follower's thread too. The figures of
// an account include its users, but not the accounts below it. At most limits::kMetricAccounts
// accounts have series of their own; all others are one account, "(others)".
void write_activity(Families& out, const Engine& engine, const ActivityFigures& figures,
                    const PriceList& prices, TimeMs now);

}  // namespace subak::metrics
