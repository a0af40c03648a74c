// Finds where and when a job that does not fit now can start, and which jobs may not use these
// nodes until the start (docs/design/0043).
//
// A reservation names whole nodes, and the time at which the last job on these nodes will have
// ended by its time limit. A node is in one reservation at most. If the end of some job is only a
// guess, the start cannot be promised. The reservation then takes the nodes with the shortest wait,
// and its start is an estimate.
//
// Another job may use a reserved node if the job surely ends within half of the time until the
// start. The job may use only half of this time, because most jobs end well before their limits. So
// reserved nodes are often free earlier. A job that used all of the time would prevent an earlier
// start.
//
// Threads: one at a time; pure functions, except for the cache of the search, which does not change
// results.
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

// Says when nodes are free for one job. FreeFor counts the jobs that hold the nodes. FreeFor also
// counts gangs on other nodes that must end first:
//   - gangs for which the node is left idle (keepers() of placement/fleet/queries.h)
//   - for a job with a ComputeDomain: gangs with a ComputeDomain in the same NVLink domain, if they
//     are more than Policy::clique_gangs allows; only the gangs that end first must end
// The object is valid for one state, which must outlive the object.
class FreeFor {
 public:
  // Other jobs with a ComputeDomain count if `start_ms` is not before the start of their
  // reservation. By default, all jobs with a ComputeDomain count, because a search for a start must
  // not delay them.
  FreeFor(const State& s, const state::Job& job, TimeMs start_ms = state::kNever);
  // Returns when the node is free, at the earliest now. kNever: the time is not known. The call
  // costs O(1), or O(jobs that hold GPUs in the domain) if gangs on other nodes must end first.
  TimeMs at(NodeId node) const;
  // Returns when all of the nodes are free.
  TimeMs at(const std::vector<NodeId>& nodes) const;
  // True if `is` is true for some job that holds the node, or that must end first on another node.
  bool any(NodeId node, const std::function<bool(const state::Job&)>& is) const;
  // True if a job that holds the node, or that must end first, has no trusted time limit.
  bool is_guess(NodeId node) const;
  // True if a job holds a part of the nodes, even without a GPU, or if a job on another node must
  // end first.
  bool is_held(const std::vector<NodeId>& nodes) const;

 private:
  std::vector<JobId> beside(NodeId node) const;
  void add_too_many(NodeId node, std::vector<JobId>& out) const;
  TimeMs end_of(JobId job) const;

  const State& s_;
  const JobId job_;
  // The value of Policy::clique_gangs. 0: the job uses no ComputeDomain.
  const std::size_t most_;
  // For each NVLink domain, the number of other jobs with a ComputeDomain that have reserved nodes
  // there.
  std::map<std::uint32_t, std::size_t> promised_;
};

// A start of a job on certain nodes.
struct Start {
  // The nodes, ascending; at least one.
  std::vector<NodeId> nodes;
  // When the last job on these nodes is expected to end. kNever: the time is not known.
  TimeMs start_ms = 0;
  // True: the end of a job on these nodes is a guess.
  bool estimated = false;
};
// Returns the earliest start of a queued job before `before_ms`, by time limits alone. The start is
// on nodes that are not reserved for another job, and the job ends before the planned drains of
// these nodes. nullopt: there is no such start.
// Cost: O(nodes), and one search for each binary digit of the number of job ends. The same cost
// repeats for each of the first limits::kMaxDrainTimes times at which drains begin.
std::optional<Start> promised_start(const State& s, Search& search, const state::Job& job,
                                    TimeMs before_ms);
// Returns the start on the nodes with the shortest wait for the job. Use estimated_start() if there
// is no promised start. Cost: one search.
std::optional<Start> estimated_start(const State& s, Search& search, const state::Job& job);
// Returns the milli-GPU that are held on these nodes.
MilliGpu held_on(const State& s, const std::vector<NodeId>& nodes);
// True if all nodes are present, ready and open.
bool all_open(const State& s, const std::vector<NodeId>& nodes);
// True if the job would end before the planned drain of each node that has one. The job would start
// at `start_ms`, or when the node is free if that is later.
bool gone_before_drains(const State& s, const state::Job& job, const std::vector<NodeId>& nodes,
                        TimeMs start_ms);

// Marks in `reserved` the nodes that other jobs of the job's cluster have reserved.
void reserve_for_others(const State& s, JobId job, ReservedNodes& reserved);
// Returns the nodes whose planned drain begins before `end_ms`. A job that ends by `end_ms` must
// avoid only these nodes.
ReservedNodes draining_before(const State& s, TimeMs end_ms);

// The nodes that a job may not use if it starts now. These nodes depend on the job's end: they are
// the nodes that are drained before the end, and a part of the reserved nodes. Jobs with the same
// nodes share one set, which the first call makes. The state must outlive the object. A returned
// set is valid until a reservation changes. No reservation may be added while the object exists.
class ReservedUntil {
 public:
  enum class Part {
    // All of State::reserved_nodes().
    kAll,
    // Nodes that are reserved for jobs within their quota. Jobs within quota may use all other
    // reserved nodes.
    kFirm,
    // Reserved nodes whose reservation needs them before the job would end.
    kInUse,
  };
  ReservedUntil(const State& s, Part part);

  // Returns the nodes that a job with this end may not use.
  const ReservedNodes& from(TimeMs end_ms);
  // Returns the reserved nodes that a job with this end may not use. Planned drains do not count.
  const ReservedNodes& beside_drains(TimeMs end_ms);
  // A job that ends after this time may use no reserved node. 0: no job may use a reserved node.
  TimeMs last() const { return last_ms_; }

 private:
  const ReservedNodes& made(TimeMs end_ms, bool with_drains);

  const State& s_;
  const Part part_;
  // The times by which a job must end so that it may use a reserved node; ascending, each once.
  std::vector<TimeMs> ends_;
  TimeMs last_ms_ = 0;
  // The sets of nodes that were computed. The key is the number of `ends_` that a job misses, and
  // whether planned drains count.
  std::map<std::pair<std::ptrdiff_t, bool>, ReservedNodes> made_;
  // The version of State::reserved_nodes() for which made_ is valid.
  std::uint64_t made_at_ = 0;
};

// The objects with which reads search for placements. The caller owns the search and its cache.
struct Places {
  // A search in the fleet of the state.
  Search& search;
  // Returns whether the next pass would start this queued job. nullopt: the result is not known.
  // The function may be empty.
  std::function<std::optional<bool>(JobId)> starts_next;
};

}  // namespace subak::derive
