// Where and when a job would start that does not fit now, and from whom nodes are kept until then
// (docs/design/0043).
//
// A reservation names whole nodes, and the time at which the last of what they hold will have ended by
// its time limit. No node is kept for two jobs. Where some end is only guessed there is no such time:
// the nodes with the least to wait for are kept, and the start is an estimate.
//
// Another job may use a kept node if it is surely gone in half of the time that is left until the start.
// Half, as most jobs end well before their limits: who would fill all of it would keep the reservation
// from moving earlier.
//
// Threads: none; pure functions, but for the memory of the search, which decides nothing.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "engine/state/state.h"
#include "placement/kept_nodes.h"
#include "placement/search.h"

namespace subak::derive {

struct Start {
  std::vector<NodeId> nodes;  // ascending, not empty
  TimeMs start_ms = 0;        // when the last of what they hold is taken to end; kNever: not known
  bool estimated = false;     // some of these ends is a guess
};
// The earliest start of a queued job on nodes that are kept for nobody else, by time limits alone, if
// it is before `before_ms`. Nothing: there is none. O(nodes), and one search for each binary digit of
// the number of ends.
std::optional<Start> promised_start(const State& s, Search& search, const state::Job& job,
                                    TimeMs before_ms);
// Where there is none: the nodes on which the job has the least to wait for. One search.
std::optional<Start> estimated_start(const State& s, Search& search, const state::Job& job);
// When the last of what the nodes hold is taken to end, at the earliest now.
TimeMs all_free_at(const State& s, const std::vector<NodeId>& nodes);
// What they hold.
MilliGpu held_on(const State& s, const std::vector<NodeId>& nodes);
// All of them are there, ready and open.
bool all_open(const State& s, const std::vector<NodeId>& nodes);

// The nodes that are kept from a job which would be gone by `end_ms` if it started now.
KeptNodes kept_from(const State& s, TimeMs end_ms);
// By when a job must be gone to use the nodes of each reservation, ascending; 0: nobody may.
std::vector<TimeMs> usable_until(const State& s);
// What of State::kept() is kept for jobs within their quota: the others give way to jobs within theirs.
KeptNodes firm_part(const State& s);

// Where reads look for places: whoever asks has the memory of its searches.
struct Places {
  Search& search;
  // Whether the next pass would start this queued job; nothing: nobody knows. May be empty.
  std::function<std::optional<bool>(JobId)> starts_next;
};

}  // namespace subak::derive
