// The page at /metrics; docs/metrics.md describes it. Events has the counters of past events. The
// functions here read all other values. write_state() reads the View and counters, on the caller's
// thread. write_fleet() and write_accounts() read data that only an engine has (accounts, domains,
// slices, the bill), on the follower's thread.
//
// Dashboards depend on the names. Label sets are bounded: accounts by limits::kMetricAccounts,
// clusters, products and profiles by the configuration, all others by closed vocabularies. There
// are series for each user only if that is configured. Threads: pure functions.
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
#include "server/metrics/families.h"
#include "server/runtime/clock/database_clock.h"
#include "server/runtime/follower.h"
#include "server/runtime/runtime.h"

namespace subak::metrics {

// The resources that the process uses. A value that cannot be read is 0.
struct ProcessState {
  // User and system time since the start of the process.
  double cpu_seconds = 0;
  // Memory that is resident now.
  std::uint64_t resident_bytes = 0;
};
// Reads the present values from the kernel.
ProcessState read_process();

// The connections and health of one listener.
struct ListenerState {
  // "webhook", "grpc" or "http".
  std::string name;
  // The number of open connections, and its limit.
  std::size_t open = 0, limit = 0;
  // Connections refused at the limit, and connections closed to make room. Both only rise.
  std::uint64_t refused = 0, evicted = 0;
  // True: the last probe was answered.
  bool serves = false;
};

// The figures of an edge of this service. The counters begin at the edge's start.
struct EdgeState {
  // The cluster's name in the configuration; empty: the only cluster.
  std::string cluster;
  // True: its watches are open, and the core has the complete list.
  bool follows = false;
  // The number of lists that it began.
  std::uint64_t lists = 0;
  // Writes that were done, by kind.
  std::vector<std::pair<std::string, std::uint64_t>> writes;
  // Releases given up, by reason.
  std::map<std::string, std::uint64_t> refused;
  // The numbers of: gates that it opened of pods that Subak does not manage; objects that it could
  // not read; updates that the core refused; Events that it sent.
  std::uint64_t opened_outside = 0, unreadable = 0, not_taken = 0, events = 0;
  // The number of pods that wait until the core has room for them.
  std::size_t put_off = 0;
  // The largest clock error of a node; negative: that clock is ahead.
  DurationMs clock_behind_ms = 0;
};

// The basis of the webhook after a start, until there is a View. A shared store may be unreachable
// at the start.
struct StartState {
  // True: the store was unreachable.
  bool away = false;
  // True: there is a copy, or a View by now. If false, the webhook gates GPU pods.
  bool has_copy = false;
  // The age of the copy. Without a copy: the time since the start.
  DurationMs age_ms = 0;
};

// The state of the service outside the engine.
struct ShellState {
  // The service's own time (Runtime::now_ms).
  TimeMs now_ms = 0;
  // nullptr: there is none yet.
  std::shared_ptr<const View> view;
  // Set only while there is no View.
  std::optional<StartState> start;
  // The leader, as last seen.
  Leadership lead;
  // How long a commit has waited for the database (Store::waiting_ms); 0: no commit waits.
  DurationMs commit_waits_ms = 0;
  // None: there is no database.
  std::optional<DatabaseClockStatus> database_clock;
  // The last durable sequence that this replica knows, if the database lacks it; 0: the database
  // has it.
  std::uint64_t known_seq = 0;
  // How many values differ between the policy in force and this configuration.
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
  // The time since the start by the boot clock, which a change of the wall clock does not affect.
  DurationMs uptime_ms = 0;
  // The drift of the last recomputation of balances from the ledger's rows; none before the first.
  std::optional<std::int64_t> drift_gpu_seconds;
  // Expiry of the webhook's certificate.
  std::optional<TimeMs> certificate_end_ms;
  // When that certificate changes to the next CA; 0: there is no next CA.
  TimeMs certificate_change_ms = 0;
  // The size of the state file and its log; 0: the state is in a database.
  std::uint64_t store_bytes = 0;
  // By the name that an edge gave for its cluster (empty: the only cluster): the number of open
  // Observe streams, and when the last event arrived.
  std::map<std::string, std::size_t> observers;
  std::map<std::string, TimeMs> last_observed;
  // The number of events refused because a newer session follows their cluster.
  std::uint64_t stale_events = 0;
  // The state of each listener that exists.
  std::vector<ListenerState> listeners;
  // The figures of each edge of this service.
  std::vector<EdgeState> edges;
};

// The state of a webhook-only replica. Of ShellState, it sets version, now_ms, start_ms, uptime_ms,
// process, listeners and the end of the certificate.
struct ReplicaState {
  // Other members have their default.
  ShellState shell;
  // True: a copy from the leader is in use.
  bool has_copy = false;
  // The time since the leader was last heard; 0 while it is connected.
  DurationMs age_ms = 0;
  // The numbers of copies from the leader that were accepted and refused.
  std::uint64_t copies = 0, refused = 0;
};
// Writes the replica's page except Events::admission_text().
void write_replica(Families& out, const ReplicaState& state);

// Returns a warning that the database, whose last fact is `last`, lacks `known`, and the remedy.
std::string missing_text(std::uint64_t known, std::uint64_t last);

// Writes all metrics except those of the engine and of Events.
void write_state(Families& out, const ShellState& state);
// Write the metrics of the engine as of `now`, which is not before Engine::now(). write_accounts()
// returns the metrics of accounts as text, because that is faster (measured in docs/design/0008).
void write_fleet(Families& out, const Engine& engine, const Survey& survey, TimeMs now);
std::string write_accounts(Families& out, const Engine& engine, const Survey& survey, TimeMs now,
                           bool users, std::size_t most = limits::kMetricAccounts);

}  // namespace subak::metrics
