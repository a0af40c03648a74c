// The order of the queue: which jobs a pass takes next. Threads: none; pure functions. Results
// belong to the caller.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/answers/queue_snapshot.h"
#include "engine/state/state.h"

namespace subak::derive {

// The order in which a pass at `t` would take the queue if all fitted, the first `most` jobs of it.
std::vector<JobId> queue_order(const State& s, TimeMs t, std::size_t most);
// The whole order as a snapshot, as of the state's time. O(n log n) in the waiting jobs.
QueueSnapshot queue_snapshot(const State& s);
// Copies the inputs from which another thread makes that snapshot (Engine::copy_queue). O(jobs +
// accounts).
void copy_queue(const State& s, QueueCopy& into);

}  // namespace subak::derive
