// Finds where and when a job that does not fit now can start, and which jobs may not use those
// nodes until then (docs/design/0043).
//
// A reservation names whole nodes, and the time at which the last of their holders will have ended
// by its time limit. A node is in one reservation at most. If some end is only a guess, there is no
// such time. The reservation then takes the nodes with the least to wait for, and its start is an
// estimate.
//
// Another job may use a reserved node if it surely ends within half of the time until the start. It
// may use only half, because most jobs end well before their limits. A job that used the whole time
// would prevent an earlier start of the reservation.
//
// Threads: none; pure functions, but for the memory of the search, which decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "engine/state/state.h"
#include "placement/fleet/reserved_nodes.h"
#include "placement/search/search.h"

namespace subak::derive {

// When nodes are free for one job. It counts the holders of the nodes, and gangs elsewhere that
// must end before:
//   - gangs for which the node is left idle (keepers() of placement/fleet/queries.h)
//   - for a job with a ComputeDomain, the gangs with one in the same NVLink domain beyond
//     Policy::clique_gangs, the first to end
// Valid for one state, which must outlive it.
class FreeFor {
 public:
  // Other jobs with a ComputeDomain count if their reservation starts no later than `start_ms`. The
  // default counts all: a search for a start must delay none of them.
  FreeFor(const State& s, const state::Job& job, TimeMs start_ms = state::kNever);
  // When the node is free, at the earliest now. kNever: not known. O(1); with gangs that must end
  // before, O(the holders in their domain).
  TimeMs at(NodeId node) const;
  // When all of the nodes are free.
  TimeMs at(const std::vector<NodeId>& nodes) const;
  // True if `is` holds for a job that holds the node or must end elsewhere before.
  bool any(NodeId node, const std::function<bool(const state::Job&)>& is) const;
  // True if one of these jobs has no trusted limit.
  bool is_guess(NodeId node) const;
  // True if a job holds something of the nodes, also without a GPU, or a job elsewhere must end
  // before.
  bool is_held(const std::vector<NodeId>& nodes) const;

 private:
  std::vector<JobId> beside(NodeId node) const;
  void add_too_many(NodeId node, std::vector<JobId>& out) const;
  TimeMs end_of(JobId job) const;

  const State& s_;
  const JobId job_;
  // Policy::clique_gangs. 0: the job uses no ComputeDomain.
  const std::size_t most_;
  // For each NVLink domain, the number of other jobs with a ComputeDomain that have reserved nodes
  // there.
  std::map<std::uint32_t, std::size_t> promised_;
};

// A start of a job on certain nodes.
struct Start {
  // Ascending, not empty.
  std::vector<NodeId> nodes;
  // When the last of their holders is expected to end. kNever: not known.
  TimeMs start_ms = 0;
  // True: one of these ends is a guess.
  bool estimated = false;
};
// The earliest start of a queued job before `before_ms`, by time limits alone. It uses nodes that
// are not reserved for another job, and the job ends before their planned drains. nullopt: there is
// none.
// O(nodes), and one search for each binary digit of the number of ends. That repeats for each of
// the first limits::kMaxDrainTimes times at which drains begin.
std::optional<Start> promised_start(const State& s, Search& search, const state::Job& job,
                                    TimeMs before_ms);
// The nodes on which the job has the least to wait for. Use it if there is no promised start. One
// search.
std::optional<Start> estimated_start(const State& s, Search& search, const state::Job& job);
// The GPUs of the nodes that are held.
MilliGpu held_on(const State& s, const std::vector<NodeId>& nodes);
// True if all nodes are present, ready and open.
bool all_open(const State& s, const std::vector<NodeId>& nodes);
// True if the job would end before each planned drain of the nodes. It starts at `start_ms`, or
// when the node is free if that is later.
bool gone_before_drains(const State& s, const state::Job& job, const std::vector<NodeId>& nodes,
                        TimeMs start_ms);

// Marks in `reserved` the nodes that other jobs of the job's cluster have reserved.
void reserve_for_others(const State& s, JobId job, ReservedNodes& reserved);
// Nodes whose planned drain begins before `end_ms`. For a job that ends by then no other node
// matters.
ReservedNodes draining_before(const State& s, TimeMs end_ms);

// The nodes that a job may not use, by its end if it started now: those that are drained before its
// end, and a part of the reserved nodes. Jobs with the same nodes share one set, which the first
// call makes. The state must outlive it. A returned set is valid until a reservation changes. No
// reservation may be added meanwhile.
class ReservedUntil {
 public:
  enum class Part {
    // State::reserved_nodes().
    kAll,
    // Nodes reserved for jobs within their quota. Other reservations give way to jobs within quota.
    kFirm,
    // Reserved nodes that are needed before the job would end.
    kInUse,
  };
  ReservedUntil(const State& s, Part part);

  // The nodes that a job with this end may not use.
  const ReservedNodes& from(TimeMs end_ms);
  // The same without planned drains.
  const ReservedNodes& beside_drains(TimeMs end_ms);
  // A job that ends later may use no reserved node. 0: no job may.
  TimeMs last() const { return last_ms_; }

 private:
  const ReservedNodes& made(TimeMs end_ms, bool with_drains);

  const State& s_;
  const Part part_;
  // The times by which a job must end to use some node; ascending, each once.
  std::vector<TimeMs> ends_;
  TimeMs last_ms_ = 0;
  std::map<std::pair<std::ptrdiff_t, bool>, ReservedNodes> made_;  // by how many of these it misses
  // The version of State::reserved_nodes() for which made_ is valid.
  std::uint64_t made_at_ = 0;
};

// The search for placements of reads. The caller owns it with its cache.
struct Places {
  // Over the fleet of the state.
  Search& search;
  // Whether the next pass would start this queued job. nullopt: not known. The function may be
  // empty.
  std::function<std::optional<bool>(JobId)> starts_next;
};

}  // namespace subak::derive
