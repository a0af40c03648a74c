// The order of the queue: which jobs a pass takes next. Implements the reads of Engine with the
// same names. Results belong to the caller.
// Threads: one at a time; pure functions.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/answers/queue_snapshot.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns the first `most` queued jobs in the order in which a pass at `t` would take them if every
// job fitted.
std::vector<JobId> queue_order(const State& s, TimeMs t, std::size_t most);
// Works as the first function, with other rules or shares. The present usage counts. With other
// shares, the call copies the accounts and the waiting jobs.
std::vector<JobId> queue_order(const State& s, const OrderAsIf& as_if, TimeMs t, std::size_t most);
// Returns the complete order as a snapshot, at the state's time. O(n log n) for n waiting jobs.
QueueSnapshot queue_snapshot(const State& s);
// Copies the inputs from which another thread makes a QueueSnapshot (Engine::copy_queue). O(jobs +
// accounts).
void copy_queue(const State& s, QueueCopy& into);

}  // namespace subak::derive
