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
  // User and system time since the start of the process.
  double cpu_seconds = 0;
  // Memory that is resident now.
  std::uint64_t resident_bytes = 0;
};
// Reads them from the kernel now.
ProcessState read_process();

// The connections and health of one listener.
struct ListenerState {
  // "webhook", "grpc" or "http".
  std::string name;
  // Connections that are open, and how many may be.
  std::size_t open = 0, limit = 0;
  // Connections refused at the limit, and connections closed to make room. Both only rise.
  std::uint64_t refused = 0, evicted = 0;
  // The last probe was answered.
  bool serves = false;
};

// An edge of this service. Counters run since its start.
struct EdgeState {
  // As the configuration names it; empty: the only cluster.
  std::string cluster;
  // Its watches are alive, and the core has the complete list.
  bool follows = false;
  // Complete lists that it began.
  std::uint64_t lists = 0;
  // Writes that were done, by kind.
  std::vector<std::pair<std::string, std::uint64_t>> writes;
  // Releases given up, by reason.
  std::map<std::string, std::uint64_t> refused;
  // Gates that it opened where pods are not managed, objects that it could not read, updates that
  // the core refused, and events that it sent.
  std::uint64_t opened_outside = 0, unreadable = 0, not_taken = 0, events = 0;
  // Pods that wait until there is room for them.
  std::size_t put_off = 0;
  // The clock error of the node with the largest one; negative: its clock is ahead.
  DurationMs clock_behind_ms = 0;
};

// A start with a shared store, which may be away: the basis of the webhook until there is a View.
struct StartState {
  // The store was found to be away.
  bool away = false;
  // There is a copy, or a View by now. Otherwise GPU pods are gated.
  bool has_copy = false;
  // The age of the copy. Without one: the time since the start.
  DurationMs age_ms = 0;
};

// The state of the service outside the engine.
struct ShellState {
  // The service's own time (Runtime::now_ms).
  TimeMs now_ms = 0;
  // nullptr: there is none yet.
  std::shared_ptr<const View> view;
  // Only while there is no View.
  std::optional<StartState> start;
  // The leader as last seen.
  Leadership lead;
  // How long a commit waits for the database (Store::waiting_ms); 0: none waits.
  DurationMs commit_waits_ms = 0;
  // None: there is no database.
  std::optional<DatabaseClockStatus> database_clock;
  // The last durable sequence that this replica knows, if the database lacks it; 0: it lacks
  // nothing.
  std::uint64_t known_seq = 0;
  // How many values differ between the policy in force and this configuration.
  std::size_t config_differences = 0;
  // Those of the loop.
  RuntimeStats runtime;
  // Those of the follower.
  FollowerStats follower;
  // The loop has work and makes no progress.
  bool stalled = false;
  // The version of this program.
  std::string version;
  ProcessState process;
  // When the service started, by the wall clock.
  TimeMs start_ms = 0;
  // By the boot clock, so that a change of the wall clock does not count.
  DurationMs uptime_ms = 0;
  // Drift of the last recomputation of balances from the ledger's rows; none before the first.
  std::optional<std::int64_t> drift_gpu_seconds;
  // Expiry of the webhook's certificate.
  std::optional<TimeMs> certificate_end_ms;
  // When that certificate changes to the next CA; 0: there is no next one.
  TimeMs certificate_change_ms = 0;
  // The size of the state file and its log; 0: the state is in a database.
  std::uint64_t store_bytes = 0;
  // By cluster as an edge names it, empty for the only one: open Observe streams, and when the last
  // event came.
  std::map<std::string, std::size_t> observers;
  std::map<std::string, TimeMs> last_observed;
  // Events refused because a newer session follows their cluster.
  std::uint64_t stale_events = 0;
  // One for each listener that exists.
  std::vector<ListenerState> listeners;
  // One for each edge of this service.
  std::vector<EdgeState> edges;
};

// A webhook-only replica. Of the shell's state it has version, now, start, uptime, process,
// listeners and certificate.
struct ReplicaState {
  // Its other members are at their default.
  ShellState shell;
  // A copy from the leader is in use.
  bool has_copy = false;
  // The time since the leader was last heard; 0 while it is connected.
  DurationMs age_ms = 0;
  // Copies from the leader that were taken and refused.
  std::uint64_t copies = 0, refused = 0;
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
