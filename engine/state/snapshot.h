// Writes a state as facts, for a checkpoint, a copy or a forecast. Applied to an empty state, in
// order, these facts rebuild the state.
//
// The facts have number 0. Their order is fixed: a job comes after its account, and the meters come
// after all jobs, because the jobs' holds would otherwise count twice.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/requests.h"
#include "engine/state/state.h"
#include "model/fact.h"

namespace subak::state {

// The parts of a state that a snapshot passes on.
enum class SnapshotParts : std::uint8_t {
  // The complete state, for a checkpoint.
  kAll,
  // The complete state without the remembered requests.
  kWithoutRequests,
  // For a forecast: the state without the remembered requests, the ledger and the books of nodes,
  // and the ended jobs that a forecast does not need.
  kToLookAhead,
};

using FactSink = std::function<void(fact::Body)>;

// Passes the state on to `sink`, as facts. O(state).
void snapshot(const State& s, const FactSink& sink, SnapshotParts what = SnapshotParts::kAll);
// Pass on the facts of snapshot() without live jobs and requests. snapshot_before_live() has the
// facts before the live jobs. snapshot_books() has the facts between the live jobs and the requests
// (SnapshotParts::kAll), and snapshot_last() those after the requests. The cost of these functions
// does not depend on the number of live jobs.
void snapshot_before_live(const State& s, const FactSink& sink, SnapshotParts what);
void snapshot_books(const State& s, const FactSink& sink, SnapshotParts what);
void snapshot_last(const State& s, const FactSink& sink, SnapshotParts what);

// Returns the NodeBilled fact of one node up to `as_of`. The node must exist.
fact::NodeBilled billed(const State& s, NodeId id, TimeMs as_of);
// Returns the fact with the meters of one account.
fact::MetersSnapshot meters_snapshot(AccountId id, const AccountMeters::State& meters);
// Returns the fact of a remembered request.
fact::RequestSnapshot request_snapshot(const RequestKey& key, const RememberedRequest& request);

}  // namespace subak::state
