// Deadlines: the times at which the state has to change although no input comes.
// Threads: one at a time; pure functions.
#pragma once

#include <optional>
#include <utility>

#include "core/quantity.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns the UTC midnight after this instant.
TimeMs midnight_after(TimeMs t);

// A ledger row that is due when a day is closed: bound pods are charged up to each midnight.
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

// Returns the first hold that ends, in clusters whose list is complete.
std::optional<std::pair<TimeMs, JobId>> next_hold_end(const State& s);

// Returns the first job that Subak has to ask to end, or that reaches its planned end, in clusters
// whose list is complete. The time is never before an open clock leap is settled (state/leap.h).
// O(clusters).
std::optional<std::pair<TimeMs, JobId>> next_end(const State& s);

// Returns the next deadline. nullopt: nothing changes without an input. O(clusters). The next
// deadline is the earliest of these times:
//   - the end of a job (next_end()), or the end of a hold
//   - the end of a node backoff
//   - the begin or end of a drain
//   - the removal of a node from its former clique
//   - the end of a day, or a due ledger row
//   - GPU-minutes in flight that have fallen far enough for a waiting job, or a budget that allows
//     this job
//   - a turn of the budgets, or a budget of which 80 or 100 percent are spent
//     (accounting/quota/account_budgets.h)
std::optional<TimeMs> next_deadline(const State& s);

}  // namespace subak::derive
