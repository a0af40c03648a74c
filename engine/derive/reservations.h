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

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "engine/state/state.h"
#include "placement/kept_nodes.h"
#include "placement/search.h"

namespace subak::derive {

// When nodes are free for one job: of what they hold, and of gangs elsewhere that must be gone before: those that keep
// the node though it is idle (Fleet::keepers), and for a job with a ComputeDomain the others in the same NVLink domain
// that are too many beside it (Policy::clique_gangs), the first to end. Holds for one state, which outlives it.
class FreeFor {
 public:
  // Of other jobs with a ComputeDomain that nodes are kept for, those count that start no later than `start_ms`: all
  // where a start is looked for, as it must delay none of them.
  FreeFor(const State& s, const state::Job& job, TimeMs start_ms = state::kNever);
  // At the earliest now; kNever: nobody knows. O(1), where there are such gangs O(what their domain holds).
  TimeMs at(NodeId node) const;
  TimeMs at(const std::vector<NodeId>& nodes) const;  // all of them
  // Who holds the node or must be gone elsewhere.
  bool any(NodeId node, const std::function<bool(const state::Job&)>& is) const;
  // Some of these has no limit that is trusted.
  bool is_guess(NodeId node) const;
  // Some GPU of the nodes is held, or somebody must be gone elsewhere.
  bool is_held(const std::vector<NodeId>& nodes) const;

 private:
  std::vector<JobId> beside(NodeId node) const;
  void add_too_many(NodeId node, std::vector<JobId>& out) const;
  TimeMs end_of(JobId job) const;

  const State& s_;
  const JobId job_;
  const std::size_t most_;  // Policy::clique_gangs; 0: it uses no ComputeDomain
  std::map<std::uint32_t, std::size_t> promised_;  // such jobs that nodes are kept for, by domain
};

struct Start {
  std::vector<NodeId> nodes;  // ascending, not empty
  TimeMs start_ms = 0;        // when the last of what they hold is taken to end; kNever: not known
  bool estimated = false;     // some of these ends is a guess
};
// The earliest start of a queued job on nodes that are kept for nobody else, by time limits alone, if
// it is before `before_ms`. It is gone before its nodes are drained as planned. Nothing: there is none. O(nodes),
// and one search for each binary digit of the number of ends; so for each of the first
// limits::kMaxDrainTimes times at which drains begin.
std::optional<Start> promised_start(const State& s, Search& search, const state::Job& job,
                                    TimeMs before_ms);
// Where there is none: the nodes on which the job has the least to wait for. One search.
std::optional<Start> estimated_start(const State& s, Search& search, const state::Job& job);
// What they hold.
MilliGpu held_on(const State& s, const std::vector<NodeId>& nodes);
// All of them are there, ready and open.
bool all_open(const State& s, const std::vector<NodeId>& nodes);
// The job, started on them at `start_ms`, or when its node is free if that is later, would be gone before any
// of them is drained as planned.
bool gone_before_drains(const State& s, const state::Job& job, const std::vector<NodeId>& nodes,
                        TimeMs start_ms);

// Keeps in `kept` what other jobs of the job's cluster have reserved.
void keep_for_others(const State& s, JobId job, KeptNodes& kept);
// Nodes that are drained as planned before `end_ms`. Of a job that would be gone by then no other is asked.
KeptNodes draining_before(const State& s, TimeMs end_ms);

// What is kept from a job, by when it would be gone if it started now: nodes that are drained before, and of
// reservations one part or another. Made when it is asked for, once for all jobs that the same nodes are
// kept from. The state outlives it; what was returned holds until a reservation changes, none of which is new.
class KeptByEnd {
 public:
  enum class Part {
    kAll,    // State::kept()
    kFirm,   // for jobs within their quota: the others give way to jobs within theirs
    kInUse,  // where the job would not be gone by when the nodes are needed
  };
  KeptByEnd(const State& s, Part part);

  const KeptNodes& from(TimeMs end_ms);
  // Without drains that are planned.
  const KeptNodes& beside_drains(TimeMs end_ms);
  // Who would be gone later uses the nodes of no reservation. 0: nobody may.
  TimeMs last() const { return last_ms_; }

 private:
  const KeptNodes& made(TimeMs end_ms, bool with_drains);

  const State& s_;
  const Part part_;
  std::vector<TimeMs> ends_;  // by when a job must be gone, ascending, each once
  TimeMs last_ms_ = 0;
  std::map<std::pair<std::ptrdiff_t, bool>, KeptNodes> made_;  // by how many of these it misses
  std::uint64_t made_at_ = 0;                                  // version of State::kept()
};

// Where reads look for places: whoever asks has the memory of its searches.
struct Places {
  Search& search;
  // Whether the next pass would start this queued job; nothing: nobody knows. May be empty.
  std::function<std::optional<bool>(JobId)> starts_next;
};

}  // namespace subak::derive
