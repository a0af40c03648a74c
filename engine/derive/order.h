// The order of the queue: which job a pass would take next, and next.
// Threads: none; pure functions. What they return is the caller's.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/queue_picture.h"
#include "engine/state/state.h"

namespace subak::derive {

// The order in which a pass at `t` would take the queue if all fitted, at most `most` of it.
std::vector<JobId> queue_order(const State& s, TimeMs t, std::size_t most);
// All of it, as of the state's time. O(n log n) in the jobs that wait.
QueuePicture queue_picture(const State& s);
// What another thread needs to make that picture itself (Engine::copy_queue). O(jobs + accounts).
void copy_queue(const State& s, QueueCopy& into);

}  // namespace subak::derive
