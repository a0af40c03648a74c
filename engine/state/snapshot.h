// Writes a state as facts that rebuild it in an empty state: for a checkpoint, a copy or a
// forecast.
//
// The facts have no number (0). Their order is fixed: a job comes after its account, and a meter
// after the jobs, whose holds would otherwise count twice. Threads: none.
#pragma once

#include <cstdint>
#include <functional>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/requests.h"
#include "engine/state/state.h"
#include "model/fact.h"

namespace subak::state {

// Which parts of a state are passed on.
enum class SnapshotParts : std::uint8_t {
  // All of it, for a checkpoint.
  kAll,
  // All but the remembered requests.
  kWithoutRequests,
  // For a forecast: also without books and unneeded ended jobs.
  kToLookAhead,
};

using FactSink = std::function<void(fact::Body)>;

// Passes the state on. O(state).
void snapshot(const State& s, const FactSink& sink, SnapshotParts what = SnapshotParts::kAll);
// The three other parts of snapshot(): the facts before the live jobs, those between the live jobs
// and the requests (SnapshotParts::kAll), and those after the requests. None costs O(live jobs).
void snapshot_before_live(const State& s, const FactSink& sink, SnapshotParts what);
void snapshot_books(const State& s, const FactSink& sink, SnapshotParts what);
void snapshot_last(const State& s, const FactSink& sink, SnapshotParts what);

// The capacity side of one node's bill up to `as_of`. The node exists.
fact::NodeBilled billed(const State& s, NodeId id, TimeMs as_of);
// A remembered request.
fact::RequestSnapshot request_snapshot(const RequestKey& key, const RememberedRequest& request);

}  // namespace subak::state
