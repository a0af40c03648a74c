// When something becomes due by itself, without anybody saying anything.
// Threads: none; pure functions.
#pragma once

#include <optional>
#include <utility>

#include "core/quantity.h"
#include "engine/state/state.h"

namespace subak::derive {

// The UTC midnight after this instant.
TimeMs midnight_after(TimeMs t);

// A ledger row that a closed day asks for: what is bound is charged up to each midnight.
struct DueRow {
  state::PodPlace place;
  TimeMs midnight = 0;  // where the row ends
  TimeMs due_ms = 0;    // when it is written: limits::kDayOpenMs later
};
// The next one of this cluster. None if nothing is bound, or while the cluster's list is not
// complete: who is gone meanwhile is not known yet. O(log pods).
std::optional<DueRow> next_row(const State& s, ClusterId cluster);

// The first hold that ends, but those of clusters of which it is not known what happens there.
std::optional<std::pair<TimeMs, JobId>> next_hold_end(const State& s);

// The first job that is to be asked to end, or is there beyond the end that it was taken to have; but
// those of clusters of which it is not known what happens there. O(clusters).
std::optional<std::pair<TimeMs, JobId>> next_end(const State& s);

// The earliest of: an end that is due, a hold that runs out, a bar that ends, a drain that begins or ends, a
// clique that is kept no longer, a day that ends, a row that is due. None
// if nothing ever happens by itself. O(clusters).
std::optional<TimeMs> next_deadline(const State& s);

}  // namespace subak::derive
