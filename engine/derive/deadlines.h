// Deadlines: the times at which the state has to change although nothing happens outside.
// Implements Engine::next_deadline(): the caller then sends the input in::Tick.
// Threads: one at a time; pure functions.
#pragma once

#include <optional>
#include <utility>

#include "core/quantity.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns the UTC midnight after this instant.
TimeMs midnight_after(TimeMs t);

// A bound pod is charged up to each UTC midnight. A DueRow is the next such ledger row.
struct DueRow {
  // The pod of the row.
  state::PodPlace place;
  // The end of the row.
  TimeMs midnight = 0;
  // When the row is written: limits::kDayOpenMs after `midnight`.
  TimeMs due_ms = 0;
};
// Returns the next row of this cluster. nullopt: no pod is bound, or the cluster's list is not
// complete. Without a complete list, Subak does not know which pods are gone. O(log pods).
std::optional<DueRow> next_row(const State& s, ClusterId cluster);

// Returns the earliest deadline of a job (Job::until_ms), such as the end of its holds or of its
// pause, with that job. Only clusters whose list of objects is complete count.
std::optional<std::pair<TimeMs, JobId>> next_hold_end(const State& s);

// Returns the earliest time at which Subak has to ask a job to end, or a job reaches its planned
// end, with that job. Only clusters whose list is complete count. While the wall clock has leapt
// and the leap is not settled, no end is due (state/leap.h). O(clusters).
std::optional<std::pair<TimeMs, JobId>> next_end(const State& s);

// Returns the next deadline. nullopt: nothing changes without an input. O(clusters). The next
// deadline is the earliest of these times:
//   - the end of a job (next_end()), or the deadline of a job (next_hold_end())
//   - when Subak may ask the victim of a claim to end (next_ask())
//   - the end of a node backoff
//   - the begin or end of a drain
//   - the removal of a node from its former clique
//   - when the GPUs of a node have been unknown for limits::kGpusUnknownMs
//   - the end of a day, or a due ledger row
//   - when the GPU-minutes in flight have fallen far enough for a waiting job
//   - when a budget has room again for a waiting job, or a finishing gang no longer keeps its nodes
//     from other jobs (nodes_of_finishing_gangs())
//   - when a budget's period ends, or 80 or 100 percent of the budget are spent
//     (accounting/quota/account_budgets.h)
std::optional<TimeMs> next_deadline(const State& s);

}  // namespace subak::derive
