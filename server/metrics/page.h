// The page at /metrics. Two halves: what the View and the counters say, on the caller's thread, and
// what only an engine knows (a row per account, domains, slices, the bill), on the follower's. The
// names are the contract of the dashboards; docs/operations.md lists them. Label sets are bounded:
// accounts, clusters, products and profiles as configured, the rest from closed vocabularies. Users
// have series of their own only if asked for. Threads: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/view.h"
#include "server/metrics/events.h"
#include "server/metrics/exposition.h"
#include "server/runtime/follower.h"
#include "server/runtime/runtime.h"

namespace subak::metrics {

struct ShellState {
  std::shared_ptr<const View> view;
  RuntimeStats runtime;
  FollowerStats follower;
  bool stalled = false;
  std::string version;
  // Of the last recomputation of balances from the ledger's rows; none before the first.
  std::optional<std::int64_t> drift_gpu_seconds;
};

// Everything but the engine's half.
void write_shell(Exposition& out, const ShellState& state, const Events& events);
// The engine's half as of `now` (not before Engine::now()).
void write_engine(Exposition& out, const Engine& engine, TimeMs now, bool users);

// Parts of the above.
void write_state(Exposition& out, const ShellState& state);  // jobs, clusters, GPUs, health
void write_events(Exposition& out, const Events& events);    // counters and histograms
void write_accounts(Exposition& out, const Engine& engine, TimeMs now, bool users);
void write_fleet(Exposition& out, const Engine& engine, TimeMs now);

}  // namespace subak::metrics
