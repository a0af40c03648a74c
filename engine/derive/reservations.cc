#include "engine/derive/reservations.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/must.h"
#include "engine/derive/entitled_place.h"
#include "engine/state/planned_end.h"
#include "model/bounds/pass_limits.h"
#include "placement/fleet/queries.h"

namespace subak::derive {
namespace {

// True if all GPUs of this many nodes are less than the job asks for.
bool are_too_few(const State& s, Search& search, const state::Job& job, std::size_t nodes) {
  const MilliGpu of_node = search.largest_node_gpus() * kMilliPerGpu;
  return of_node != 0 &&
         static_cast<MilliGpu>(nodes) * of_node < state::least_milligpu(s.fleet(), job);
}

// The longest time that it holds its nodes, from state::sure_end(). kNever: not known.
DurationMs sure_length(const State& s, const state::Job& job) {
  const TimeMs end_ms = state::sure_end(s, job);
  must(end_ms >= s.now(), "a job that starts now ends later");
  return end_ms == state::kNever ? state::kNever : end_ms - s.now();
}

// The times at which planned drains of the cluster begin, each once, the first
// limits::kMaxDrainTimes.
std::vector<TimeMs> drain_times(const State& s, ClusterId cluster) {
  std::vector<TimeMs> times;
  for (const auto& [from_ms, node] : s.nodes().planned_drains()) {
    if (s.fleet().cluster_of(node) != cluster || (!times.empty() && times.back() == from_ms)) {
      continue;
    }
    if (times.size() == limits::kMaxDrainTimes) break;
    must(times.empty() || times.back() < from_ms, "planned drains are in order of time");
    times.push_back(from_ms);
  }
  return times;
}

// The time by which another job must be gone from the reserved nodes. 0: no other job may use them.
TimeMs usable_until(const State& s, const state::Reservation& r) {
  if (r.estimated || r.start_ms <= s.now()) return 0;
  const TimeMs until_ms = s.now() + (r.start_ms - s.now()) / 2;
  must(until_ms >= s.now() && until_ms < r.start_ms, "other jobs are gone before the start");
  return until_ms;
}

// Excludes the nodes where the cluster's scheduler refused the job: no start is planned there.
void reserve_refused(const State& s, JobId job, ReservedNodes& reserved) {
  for (const state::RefusedNode& refused : s.node_backoff().nodes_of(job)) {
    reserved.reserve({&refused.node, 1}, JobId(job.cluster(), 0));
  }
}

// Nodes, sorted by the time at which the whole node is free.
using FreeNodes = std::vector<std::pair<TimeMs, NodeId>>;

// Returns the earliest start on these nodes, without the nodes in `closed`.
std::optional<Start> first_place(const State& s, Search& search, const state::Job& job,
                                 const ReservedNodes& closed, const FreeFor& free,
                                 FreeNodes nodes) {
  const JobId nobody(job.id.cluster(), 0);
  if (nodes.empty() || are_too_few(s, search, job, nodes.size())) return std::nullopt;
  std::vector<TimeMs> ends;  // each once
  std::sort(nodes.begin(), nodes.end());
  for (const auto& [end_ms, node] : nodes) {
    if (ends.empty() || ends.back() != end_ms) ends.push_back(end_ms);
  }
  const auto place_by = [&](TimeMs t) {
    ReservedNodes reserved = closed;
    for (auto it = nodes.rbegin(); it != nodes.rend() && it->first > t; ++it) {
      reserved.reserve({&it->second, 1}, nobody);
    }
    return search.drain_set(FleetView(s.fleet(), reserved), job.shape);
  };
  must(std::is_sorted(ends.begin(), ends.end()), "the ends are in order");
  std::vector<NodeId> place = place_by(ends.back());
  if (place.empty()) return std::nullopt;
  auto low = ends.begin();  // no placement is possible before
  auto high = ends.end();
  while (true) {
    high = std::min(high, std::lower_bound(low, ends.end(), free.at(place)));
    if (low >= high) break;
    const auto middle = low + (high - low) / 2;
    std::vector<NodeId> sooner = place_by(*middle);
    if (sooner.empty()) {
      low = middle + 1;
    } else {
      place = std::move(sooner);
      high = middle;
    }
  }
  if (std::any_of(place.begin(), place.end(), [&](NodeId n) { return free.is_guess(n); })) {
    return std::nullopt;
  }
  const TimeMs start_ms = free.at(place);
  must(start_ms <= ends.back(), "the start is when the last of these nodes is free, or sooner");
  return Start{std::move(place), start_ms, false};
}

}  // namespace

std::optional<Start> promised_start(const State& s, Search& search, const state::Job& job,
                                    TimeMs before_ms) {
  const ClusterId cluster = job.id.cluster();
  const FreeFor free(s, job);
  ReservedNodes closed;
  reserve_for_others(s, job.id, closed);
  reserve_refused(s, job.id, closed);
  FreeNodes nodes;
  std::vector<NodeId> others;
  for (const NodeId node : s.fleet().nodes(cluster)) {
    if (closed.owner_of(node)) continue;
    const TimeMs end_ms = free.at(node);
    if (end_ms < before_ms) {
      nodes.push_back({end_ms, node});
    } else {
      others.push_back(node);
    }
  }
  if (are_too_few(s, search, job, nodes.size())) return std::nullopt;
  std::erase_if(nodes, [&](const auto& one) {
    if (!free.is_guess(one.second)) return false;
    others.push_back(one.second);
    return true;
  });
  must(nodes.size() + others.size() <= s.fleet().nodes(cluster).size(),
       "a node is free in time or is not");
  closed.reserve(others, JobId(cluster, 0));
  // First tries starts before the first planned drain, then starts before the next one, on nodes
  // that are not drained before that time, and so on.
  std::vector<TimeMs> drains = drain_times(s, cluster);
  drains.push_back(state::kNever);
  const DurationMs length_ms = sure_length(s, job);
  for (const TimeMs drain_ms : drains) {
    const auto is_in_time = [&](TimeMs free_ms, NodeId node) {
      const TimeMs from_ms = s.nodes().drain_times(node).from_ms;
      if (from_ms != 0 && from_ms < drain_ms) return false;
      return drain_ms == state::kNever || length_ms <= drain_ms - free_ms;
    };
    ReservedNodes shut = closed;
    FreeNodes in_time;
    for (const auto& [free_ms, node] : nodes) {
      if (is_in_time(free_ms, node)) {
        in_time.push_back({free_ms, node});
      } else {
        shut.reserve({&node, 1}, JobId(cluster, 0));
      }
    }
    if (auto start = first_place(s, search, job, shut, free, std::move(in_time))) return start;
  }
  return std::nullopt;
}

std::optional<Start> estimated_start(const State& s, Search& search, const state::Job& job) {
  ReservedNodes closed;
  reserve_for_others(s, job.id, closed);
  reserve_refused(s, job.id, closed);
  for (const auto& [from_ms, node] : s.nodes().planned_drains()) {
    if (!gone_before_drains(s, job, {node}, s.now())) {
      closed.reserve({&node, 1}, JobId(job.id.cluster(), 0));
    }
  }
  std::vector<NodeId> place = search.drain_set(FleetView(s.fleet(), closed), job.shape);
  if (place.empty()) return std::nullopt;
  const TimeMs start_ms = FreeFor(s, job).at(place);
  must(start_ms >= s.now(), "an estimated start is not in the past");
  return Start{std::move(place), start_ms, true};
}

FreeFor::FreeFor(const State& s, const state::Job& job, TimeMs start_ms)
    : s_(s),
      job_(job.id),
      most_(state::uses_compute_domain(s.fleet(), s.jobs().at(job.id))
                ? s.policy().gangs.clique_gangs
                : 0) {
  if (most_ == 0) return;
  for (const state::Reservation& r : s.clusters().at(job.id.cluster()).reservations) {
    if (r.job == job.id || r.start_ms > start_ms ||
        !state::uses_compute_domain(s.fleet(), s.jobs().at(r.job)))
      continue;
    std::set<std::uint32_t> domains;
    for (const NodeId node : r.nodes) domains.insert(wired_domain(s.fleet(), node));
    for (const std::uint32_t domain : domains) ++promised_[domain];
  }
}

void FreeFor::add_too_many(NodeId node, std::vector<JobId>& out) const {
  std::vector<JobId> gangs = computing_beside(s_.fleet(), node);
  std::erase(gangs, job_);
  const auto promised = promised_.find(wired_domain(s_.fleet(), node));
  const std::size_t beside = gangs.size() + (promised == promised_.end() ? 0 : promised->second);
  must(most_ > 0, "only gangs with a ComputeDomain are counted");
  if (beside < most_) return;
  std::sort(gangs.begin(), gangs.end(),
            [&](JobId a, JobId b) { return std::pair(end_of(a), a) < std::pair(end_of(b), b); });
  gangs.resize(std::min(gangs.size(), beside - most_ + 1));
  out.insert(out.end(), gangs.begin(), gangs.end());
}

std::vector<JobId> FreeFor::beside(NodeId node) const {
  std::vector<JobId> out = keepers(s_.fleet(), node);
  std::erase(out, job_);
  if (most_ > 0) add_too_many(node, out);
  return out;
}

TimeMs FreeFor::end_of(JobId job) const { return s_.jobs().at(job).run().end_ms; }

TimeMs FreeFor::at(NodeId node) const {
  TimeMs at = std::max(s_.allocations().free_at(node), s_.now());
  for (const JobId job : beside(node)) at = std::max(at, end_of(job));
  return at;
}

TimeMs FreeFor::at(const std::vector<NodeId>& nodes) const {
  TimeMs at = s_.now();
  for (const NodeId node : nodes) at = std::max(at, this->at(node));
  return at;
}

bool FreeFor::any(NodeId node, const std::function<bool(const state::Job&)>& is) const {
  const auto held = s_.allocations().jobs_on(node);
  const std::vector<JobId> others = beside(node);
  return std::any_of(held.begin(), held.end(), [&](const state::Job* job) { return is(*job); }) ||
         std::any_of(others.begin(), others.end(), [&](JobId id) { return is(s_.jobs().at(id)); });
}

bool FreeFor::is_guess(NodeId node) const {
  return any(node, [&](const state::Job& job) { return !state::trusts_limit(s_, job); });
}

bool FreeFor::is_held(const std::vector<NodeId>& nodes) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return any(node, [](const state::Job&) { return true; });
  });
}

DurationMs patience(const State& s, ClusterId cluster) {
  const DurationMs most_ms = s.policy().patience_ms;
  const auto rest_ms = s.clusters().at(cluster).hold_lengths.mean_rest_ms();
  if (!rest_ms) return most_ms;
  return std::min(most_ms, std::max(*rest_ms, limits::kLeastPatienceMs));
}

MilliGpu held_on(const State& s, const std::vector<NodeId>& nodes) {
  MilliGpu sum = 0;
  for (const NodeId node : nodes) sum += s.fleet().levels(node).allocated;
  must(sum >= 0, "no node holds less than nothing");
  return sum;
}

bool is_unknown(const State& s, NodeId node) {
  const NodeSpec* const spec = s.fleet().node(node);
  return spec != nullptr && spec->gpus_unknown_ms != 0 && spec->ready && !spec->unschedulable &&
         !s.fleet().drained(node);
}

bool may_stay(const State& s, const state::Reservation& r) {
  const auto& groups = s.fleet().request(s.jobs().at(r.job).shape).groups;
  const bool all_gpus = std::none_of(groups.begin(), groups.end(), [](const PodGroup& group) {
    return group.shape.kind == GpuKind::kNone;
  });
  return std::all_of(r.nodes.begin(), r.nodes.end(), [&](NodeId node) {
    if (is_unknown(s, node)) return true;
    return s.fleet().takes_pods(node) && (!all_gpus || s.fleet().node(node)->gpus > 0);
  });
}

bool gone_before_drains(const State& s, const state::Job& job, const std::vector<NodeId>& nodes,
                        TimeMs start_ms) {
  if (s.nodes().planned_drains().empty()) return true;
  const DurationMs length_ms = sure_length(s, job);
  const FreeFor free(s, job);
  return std::none_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    const TimeMs from_ms = s.nodes().drain_times(node).from_ms;
    return from_ms != 0 && from_ms - std::max(start_ms, free.at(node)) < length_ms;
  });
}

void reserve_for_others(const State& s, JobId job, ReservedNodes& reserved) {
  for (const state::Reservation& r : s.clusters().at(job.cluster()).reservations) {
    must(r.job.cluster() == job.cluster(), "a cluster's reservations are of its jobs");
    if (r.job != job)
      reserved.reserve(r.nodes, r.job, state::uses_compute_domain(s.fleet(), s.jobs().at(r.job)));
  }
}

ReservedNodes draining_before(const State& s, TimeMs end_ms) {
  ReservedNodes draining;
  for (const auto& [from_ms, node] : s.nodes().planned_drains()) {
    if (from_ms >= end_ms) break;
    draining.reserve({&node, 1}, JobId(s.fleet().cluster_of(node), 0));
  }
  return draining;
}

NodesOfGangs nodes_of_finishing_gangs(const State& s) {
  NodesOfGangs out;
  const auto& finishing = s.jobs().sets().finishing();
  // Earlier gangs no longer count.
  const std::pair<TimeMs, JobId> first(s.now() - limits::kGangFinishMs + 1, JobId());
  for (auto it = finishing.lower_bound(first); it != finishing.end(); ++it) {
    const state::Run& run = s.jobs().at(it->second).run();
    if (run.holding > 0) out[it->second] = run.finished_on;
  }
  return out;
}

ReservedUntil::ReservedUntil(const State& s, Part part)
    : s_(s), part_(part), finishing_(nodes_of_finishing_gangs(s)) {
  for (const auto& [from_ms, node] : s.nodes().planned_drains()) ends_.push_back(from_ms);
  if (part == Part::kInUse) {
    for (const auto& [id, cluster] : s.clusters().all()) {
      for (const state::Reservation& r : cluster.reservations) {
        ends_.push_back(usable_until(s, r));
        last_ms_ = std::max(last_ms_, ends_.back());
      }
    }
  }
  std::sort(ends_.begin(), ends_.end());
  ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
  must(part == Part::kInUse || last_ms_ == 0, "only nodes in use have a last time");
}

const ReservedNodes& ReservedUntil::from(TimeMs end_ms) { return made(end_ms, true); }

const ReservedNodes& ReservedUntil::beside_drains(TimeMs end_ms) { return made(end_ms, false); }

const ReservedNodes& ReservedUntil::made(TimeMs end_ms, bool with_drains) {
  if (made_at_ != s_.reserved_nodes().version()) made_.clear();
  made_at_ = s_.reserved_nodes().version();
  with_drains = with_drains && !s_.nodes().planned_drains().empty();
  if (part_ == Part::kAll && !with_drains && finishing_.empty()) return s_.reserved_nodes();
  const auto missed = std::lower_bound(ends_.begin(), ends_.end(), end_ms) - ends_.begin();
  const auto [at, fresh] = made_.try_emplace({missed, with_drains});
  if (!fresh) return at->second;
  // A job may not start on its own reserved nodes either if they are drained first.
  ReservedNodes reserved = with_drains ? draining_before(s_, end_ms) : ReservedNodes();
  for (const auto& [id, cluster] : s_.clusters().all()) {
    for (const state::Reservation& r : cluster.reservations) {
      const bool counts = part_ == Part::kAll ||
                          (part_ == Part::kFirm && is_within_quota(s_, s_.jobs().at(r.job))) ||
                          (part_ == Part::kInUse && usable_until(s_, r) < end_ms);
      if (counts)
        reserved.reserve(r.nodes, r.job,
                         state::uses_compute_domain(s_.fleet(), s_.jobs().at(r.job)));
    }
  }
  for (const auto& [gang, nodes] : finishing_) reserved.reserve(nodes, gang);
  return at->second = std::move(reserved);
}

}  // namespace subak::derive
