// The page at /metrics; docs/metrics.md describes it. Events has the counters of past events. The
// rest is read here. The View and the counters are read on the caller's thread. Data that only an
// engine has (a row per account, domains, slices, the bill) is read on the follower's.
//
// The names are the contract of the dashboards. Label sets are bounded: accounts by
// limits::kMetricAccounts, clusters, products and profiles as configured, the rest from closed
// vocabularies. Users have series of their own only if configured. Threads: pure functions.
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

// The resources that the process uses; 0 where unreadable.
struct ProcessState {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
};
ProcessState read_process();

// The connections and health of one listener.
struct ListenerState {
  std::string name;  // webhook, grpc, http
  std::size_t open = 0, limit = 0;
  std::uint64_t refused = 0, evicted = 0;
  bool serves = false;
};

// An edge of this service.
struct EdgeState {
  std::string cluster;
  bool follows = false;  // its watches are alive, and the core has the complete list
  std::uint64_t lists = 0;
  std::vector<std::pair<std::string, std::uint64_t>> writes;  // done, by kind
  std::map<std::string, std::uint64_t> refused;               // releases given up, by reason
  std::uint64_t opened_outside = 0, unreadable = 0, not_taken = 0, events = 0;
  std::size_t put_off = 0;         // pods that wait until there is room for them
  DurationMs clock_behind_ms = 0;  // of the node with the largest clock error; ahead: negative
};

// A start with a shared store, which may be away: the basis of the webhook until there is a View.
struct StartState {
  bool away = false;      // the store was found to be away
  bool has_copy = false;  // or there is a View by now; else GPU pods are gated
  DurationMs age_ms = 0;  // of the copy; without one since the start
};

// The state of the service outside the engine.
struct ShellState {
  TimeMs now_ms = 0;  // the service's own (Runtime::now_ms)
  std::shared_ptr<const View> view;
  std::optional<StartState> start;                    // while there is no View
  Leadership lead;                                    // the leader as last seen
  DurationMs commit_waits_ms = 0;                     // Store::waiting_ms
  std::optional<DatabaseClockStatus> database_clock;  // none: there is no database
  // The last durable sequence that this replica knows, if the database lacks it; 0: it lacks
  // nothing.
  std::uint64_t known_seq = 0;
  std::size_t config_differences = 0;  // between the policy in force and this configuration
  RuntimeStats runtime;
  FollowerStats follower;
  bool stalled = false;
  std::string version;
  ProcessState process;
  TimeMs start_ms = 0;  // of the service, by the wall clock
  DurationMs uptime_ms = 0;
  // Drift of the last recomputation of balances from the ledger's rows; none before the first.
  std::optional<std::int64_t> drift_gpu_seconds;
  // Expiry of the webhook's certificate.
  std::optional<TimeMs> certificate_end_ms;
  TimeMs certificate_change_ms = 0;  // when it changes to the next CA; 0: there is no next one
  std::uint64_t store_bytes = 0;
  // By cluster as an edge names it, empty for the only one: open Observe streams, and when the last
  // event came.
  std::map<std::string, std::size_t> observers;
  std::map<std::string, TimeMs> last_observed;
  // Events refused because a newer session follows their cluster.
  std::uint64_t stale_events = 0;
  std::vector<ListenerState> listeners;
  std::vector<EdgeState> edges;
};

// A webhook-only replica. Of the shell's state it has version, now, start, uptime, process,
// listeners and certificate.
struct ReplicaState {
  ShellState shell;
  bool has_copy = false;
  DurationMs age_ms = 0;  // since the leader was last heard; 0 while it is connected
  std::uint64_t copies = 0, refused = 0;  // copies from the leader
};
// Writes the replica's page except Events::admission_text().
void write_replica(Families& out, const ReplicaState& state);

// Returns a warning that the database, whose last fact is `last`, lacks `known`, and the remedy.
std::string missing_text(std::uint64_t known, std::uint64_t last);

// Writes everything except the engine's half and the Events.
void write_state(Families& out, const ShellState& state);
// Writes the engine's half as of `now` (not before Engine::now()). write_accounts() writes accounts
// straight to text and returns that: docs/design/0008 has the measurements.
void write_fleet(Families& out, const Engine& engine, const Survey& survey, TimeMs now);
std::string write_accounts(Families& out, const Engine& engine, const Survey& survey, TimeMs now,
                           bool users, std::size_t most = limits::kMetricAccounts);

}  // namespace subak::metrics
