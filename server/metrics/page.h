// The page at /metrics, docs/metrics.md says what is on it. What happened is in Events; the rest is
// read here: what the View and the counters say, on the caller's thread, and what only an engine
// knows (a row per account, domains, slices, the bill), on the follower's. The names are the
// contract of the dashboards. Label sets are bounded: accounts by limits::kMetricAccounts,
// clusters, products and profiles as configured, the rest from closed vocabularies. Users have
// series of their own only if asked for. Threads: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"
#include "engine/view.h"
#include "server/metrics/families.h"
#include "server/runtime/database_clock.h"
#include "server/runtime/follower.h"
#include "server/runtime/runtime.h"

namespace subak::metrics {

// What the process costs; 0 where it cannot be read.
struct ProcessState {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
};
ProcessState read_process();

struct ListenerState {
  std::string name;  // webhook, grpc, http
  std::size_t open = 0, limit = 0;
  std::uint64_t refused = 0, evicted = 0;
  bool serves = false;
};

// An edge of the service itself.
struct EdgeState {
  std::string cluster;
  bool follows = false;  // its watches are alive, and the core has the whole list
  std::uint64_t lists = 0;
  std::vector<std::pair<std::string, std::uint64_t>> writes;  // done, by kind
  std::map<std::string, std::uint64_t> refused;               // releases given up, by reason
  std::uint64_t opened_outside = 0, unreadable = 0, not_taken = 0, events = 0;
  std::size_t put_off = 0;         // pods that wait until there is room for them
  DurationMs clock_behind_ms = 0;  // of the node whose clock is furthest off; ahead: negative
};

// A start whose store others have too, which may be away: what the webhook judges by until there is a View.
struct StartState {
  bool away = false;      // the store was seen to be
  bool has_copy = false;  // or the View is there by now; else GPU pods are gated
  DurationMs age_ms = 0;  // of the copy; without one since the start
};

struct ShellState {
  TimeMs now_ms = 0;  // the service's own (Runtime::now_ms)
  std::shared_ptr<const View> view;
  std::optional<StartState> start;                    // while there is no View
  Lead lead;                                          // who leads, as it was last seen
  DurationMs commit_waits_ms = 0;                     // Store::waiting_ms
  std::optional<DatabaseClockStatus> database_clock;  // none: there is no database
  // The last fact that this replica knows, where the database lacks it; 0: it lacks nothing.
  std::uint64_t known_seq = 0;
  std::size_t config_differences = 0;  // of the policy in force and this replica's configuration
  RuntimeStats runtime;
  FollowerStats follower;
  bool stalled = false;
  std::string version;
  ProcessState process;
  TimeMs start_ms = 0;  // of the service, as the wall clock showed it
  DurationMs uptime_ms = 0;
  // Of the last recomputation of balances from the ledger's rows; none before the first.
  std::optional<std::int64_t> drift_gpu_seconds;
  // End of the webhook's certificate.
  std::optional<TimeMs> certificate_end_ms;
  TimeMs certificate_change_ms = 0;  // when it changes to the next CA; 0: there is no next one
  std::uint64_t store_bytes = 0;
  // By cluster as an edge names it, empty for the only one: Observe streams that are open, and when
  // the last event came.
  std::map<std::string, std::size_t> observers;
  std::map<std::string, TimeMs> last_observed;
  // Events refused since a newer session follows their cluster.
  std::uint64_t stale_events = 0;
  std::vector<ListenerState> listeners;
  std::vector<EdgeState> edges;
};

// A webhook-only replica: of the shell's state it has version, now, start, uptime, process, listeners
// and certificate.
struct ReplicaState {
  ShellState shell;
  bool has_copy = false;
  DurationMs age_ms = 0;                  // since its leader was heard last, 0 while it is there
  std::uint64_t copies = 0, refused = 0;  // of what the leader told
};
// Its whole page but Events::admission_text().
void write_replica(Families& out, const ReplicaState& state);

// That the database, whose last fact is `last`, lacks `known`, and what to do.
std::string missing_text(std::uint64_t known, std::uint64_t last);

// Everything but the engine's half and the Events.
void write_state(Families& out, const ShellState& state);
// The engine's half as of `now` (not before Engine::now()). The accounts are written straight to
// text, which is returned: docs/design/0008 has the measurements.
void write_fleet(Families& out, const Engine& engine, const Survey& survey, TimeMs now);
std::string write_accounts(Families& out, const Engine& engine, const Survey& survey, TimeMs now,
                           bool users, std::size_t most = limits::kMetricAccounts);

}  // namespace subak::metrics
