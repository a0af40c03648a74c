// Finds nodes and a later start for a job that does not fit now, and says which other jobs may use
// these nodes until then. The pass makes reservations with it (engine/decide/reservations.h,
// docs/design/0043).
//
// A reservation has whole nodes, and a start: the time by which the last job on the nodes will have
// ended. The start is promised if all these ends follow from trusted time limits
// (state::trusts_limit()). If there is no such start, it is estimated, on the nodes where jobs hold
// the fewest GPUs. A node is in at most one reservation.
//
// Another job may use reserved nodes if its trusted time limit ends it within half of the time
// until the start. If the start is in 4 hours, a job with a limit of 2 hours may run there, but not
// one with 3 hours. Most jobs end before their limits, so the start often comes sooner than
// planned. A job that ran for all 4 hours would prevent that.
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
#include "engine/answers/growth.h"
#include "engine/state/state.h"
#include "placement/fleet/reserved_nodes.h"
#include "placement/search/search.h"

namespace subak::derive {

// Says when nodes become free for one job: when the jobs on them have ended, and these other
// gangs:
//   - gangs for which Subak leaves the node idle, such as for a spare (keepers() of
//     placement/fleet/queries.h)
//   - for a job with a ComputeDomain: gangs with one in the same NVLink domain. At most
//     GangSettings::clique_gangs may share it: with 2, and 2 gangs there, the first end counts.
// The object is valid for one state, which must outlive the object.
class FreeFor {
 public:
  // `start_ms`: the start of the job. Other jobs with a ComputeDomain count in an NVLink domain if
  // they hold nodes there, or if they have reserved nodes there and start at `start_ms` or before.
  // The default counts all such reservations, because a new start must not delay them.
  FreeFor(const State& s, const state::Job& job, TimeMs start_ms = state::kNever);
  // Returns when the node is free, at the earliest now. kNever: the time is not known. Cost: O(1),
  // or O(jobs that hold GPUs in the NVLink domain) if gangs on other nodes must end first.
  TimeMs at(NodeId node) const;
  // Returns when all of the nodes are free.
  TimeMs at(const std::vector<NodeId>& nodes) const;
  // True if `is` returns true for a job that holds the node, or for a gang on other nodes that must
  // end first.
  bool any(NodeId node, const std::function<bool(const state::Job&)>& is) const;
  // True if at() is a guess: a job or gang that must end first has no trusted time limit.
  bool is_guess(NodeId node) const;
  // True if a job holds anything on one of the nodes, such as CPU without a GPU, or if a gang on
  // another node must end first.
  bool is_held(const std::vector<NodeId>& nodes) const;

 private:
  std::vector<JobId> beside(NodeId node) const;
  void add_too_many(NodeId node, std::vector<JobId>& out) const;
  TimeMs end_of(JobId job) const;

  const State& s_;
  const JobId job_;
  // The value of GangSettings::clique_gangs. 0: the job uses no ComputeDomain.
  const std::size_t most_;
  // For each NVLink domain, the number of other jobs with a ComputeDomain whose reservation has
  // nodes there and starts in time to count (see the constructor).
  std::map<std::uint32_t, std::size_t> promised_;
};

// Returns how long a job of the cluster waits before it may get a reservation. This is the policy's
// patience, or the mean time until a held GPU becomes free (state::HoldLengths) if that is less. So
// gangs do not wait for hours where all jobs are short. The result is at least
// limits::kLeastPatienceMs, unless the patience is shorter. 0: no job may get a reservation.
// Source: docs/design/0005.
DurationMs patience(const State& s, ClusterId cluster);

// A start of a job on certain nodes.
struct Start {
  // The nodes, ascending; at least one.
  std::vector<NodeId> nodes;
  // When the last job on these nodes is expected to end. kNever: the time is not known.
  TimeMs start_ms = 0;
  // True: the end of a job on these nodes is a guess.
  bool estimated = false;
};
// Returns the earliest promised start of a queued job before the time `before_ms`; nullopt if
// there is none. Its nodes are not reserved for another job, the scheduler has not refused
// the job on them, and the job ends before their planned drains. The function makes one try
// for each begin of a planned drain, at most limits::kMaxDrainTimes, and one for the time
// after. Each try costs O(log(ends of jobs)) placement searches, and O(nodes) more for each
// search.
std::optional<Start> promised_start(const State& s, Search& search, const state::Job& job,
                                    TimeMs before_ms);
// Returns the estimated start, for a job without a promised one. Its nodes are those on which jobs
// hold the fewest GPUs, among the nodes that could serve the job (Search::drain_set()). It leaves
// out the same nodes as promised_start(). nullopt: no nodes could serve the job. Cost: one
// placement search.
std::optional<Start> estimated_start(const State& s, Search& search, const state::Job& job);
// Returns the milli-GPU that jobs hold on these nodes.
MilliGpu held_on(const State& s, const std::vector<NodeId>& nodes);
// True if the number of healthy GPUs of the node is unknown and has been so for a short time only
// (NodeSpec::gpus_unknown_ms). In addition, the node must be ready and neither cordoned nor
// drained.
bool is_unknown(const State& s, NodeId node);
// True if the reservation may stay on its nodes: for each node, is_unknown() is true, or Subak may
// place pods on it (Fleet::takes_pods()). If all pods of the job ask for GPUs, each node must also
// have GPUs.
bool may_stay(const State& s, const state::Reservation& r);
// True if the job would end before each planned drain of these nodes. The function assumes that the
// job starts at `start_ms`, or when the node is free if that is later.
bool gone_before_drains(const State& s, const state::Job& job, const std::vector<NodeId>& nodes,
                        TimeMs start_ms);

// Marks in `reserved` the nodes that other jobs of the job's cluster have reserved.
void reserve_for_others(const State& s, JobId job, ReservedNodes& reserved);
// Returns the nodes whose planned drain begins before `end_ms`. A job that would end at `end_ms`
// may not start on these nodes.
ReservedNodes draining_before(const State& s, TimeMs end_ms);

// Nodes by the gang that was on them.
using NodesOfGangs = std::map<JobId, std::vector<NodeId>>;
// Returns the nodes of finished pods for each gang that has finished and running pods. No other job
// may start there until limits::kGangFinishMs after the gang's first pod finished. So the nodes of
// the gang become free together (docs/design/0127). O(such gangs).
NodesOfGangs nodes_of_finishing_gangs(const State& s);

// Says which nodes a job may not use if it starts now and ends at a given time. These are nodes
// that will be drained before that, nodes of finishing gangs, and a part of the reserved nodes.
// Jobs with nearly equal ends share one set, which the first call computes. The state must outlive
// the object. A set is valid until a reservation changes. Add no reservation while the object
// exists.
class ReservedUntil {
 public:
  enum class Part {
    // All of State::reserved_nodes().
    kAll,
    // Nodes that are reserved for jobs within their quota. Jobs within quota may use all other
    // reserved nodes.
    kFirm,
    // For jobs that fill gaps: reserved nodes that the job would not leave within half of the time
    // until their start, and all nodes of estimated starts.
    kInUse,
  };
  ReservedUntil(const State& s, Part part);

  // Returns the nodes that a job may not use if it ends at `end_ms`.
  const ReservedNodes& from(TimeMs end_ms);
  // Returns the reserved nodes that a job may not use if it ends at `end_ms`. Planned drains do not
  // count.
  const ReservedNodes& beside_drains(TimeMs end_ms);
  // For Part::kInUse: a job that ends after this time may use no reserved node. 0: no job may use a
  // reserved node. For the other parts the result is always 0.
  TimeMs last() const { return last_ms_; }
  // True if the object has nodes of finishing gangs.
  bool has_finishing() const { return !finishing_.empty(); }

 private:
  const ReservedNodes& made(TimeMs end_ms, bool with_drains);

  const State& s_;
  const Part part_;
  const NodesOfGangs finishing_;
  // The times at which the set of nodes changes, ascending, each once: the begins of planned
  // drains. For Part::kInUse also the times by which a job must leave reserved nodes.
  std::vector<TimeMs> ends_;
  TimeMs last_ms_ = 0;
  // The sets of nodes that were computed. The key is the number of `ends_` before the job's end,
  // and whether planned drains count.
  std::map<std::pair<std::ptrdiff_t, bool>, ReservedNodes> made_;
  // The version of State::reserved_nodes() for which made_ is valid.
  std::uint64_t made_at_ = 0;
};

// What reads, such as Engine::explain(), need to find out whether there is room for a job. The
// caller owns the search and its cache.
struct Places {
  // A search in the fleet of the state.
  Search& search;
  // Returns whether the next pass would start this queued job. nullopt: the result is not known.
  // The function may be empty.
  std::function<std::optional<bool>(JobId)> starts_next;
  // Which jobs would start on nodes that may come. nullptr: not known.
  const Growth* growth = nullptr;
};

}  // namespace subak::derive
