#include "engine/derive/reservations.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/limits.h"
#include "engine/derive/entitled_place.h"

namespace subak::derive {
namespace {

TimeMs free_at(const State& s, NodeId node) {
  return std::max(s.allocations().free_at(node), s.now());
}

// Something there has no limit that is trusted.
bool is_guess(const State& s, NodeId node) {
  const auto held = s.allocations().on(node);
  return std::any_of(held.begin(), held.end(), [&](const state::PodPlace& place) {
    return !s.trusts_limit(s.jobs().at(place.job));
  });
}

KeptNodes of_others(const State& s, JobId job) {
  KeptNodes others;
  for (const state::Reservation& r : s.clusters().at(job.cluster()).reservations) {
    if (r.job != job) others.keep(r.nodes, r.job, s.computes(r.job));
  }
  return others;
}

// All GPUs of so many nodes are less than the job asks for.
bool are_too_few(const State& s, Search& search, const state::Job& job, std::size_t nodes) {
  const MilliGpu of_node = search.largest_node_gpus() * kMilliPerGpu;
  return of_node != 0 && static_cast<MilliGpu>(nodes) * of_node < s.jobs().least_milligpu(job);
}

// How long it holds its nodes at most; State::sure_end() says what is known of that.
DurationMs sure_length(const State& s, const state::Job& job) {
  const TimeMs end_ms = s.sure_end(job);
  return end_ms == state::kNever ? state::kNever : end_ms - s.now();
}

// Times at which planned drains of the cluster begin, each once, the first limits::kMaxDrainTimes.
std::vector<TimeMs> drain_times(const State& s, ClusterId cluster) {
  std::vector<TimeMs> times;
  for (const auto& [from_ms, node] : s.nodes().planned_drains()) {
    if (s.fleet().cluster_of(node) != cluster || (!times.empty() && times.back() == from_ms)) {
      continue;
    }
    if (times.size() == limits::kMaxDrainTimes) break;
    times.push_back(from_ms);
  }
  return times;
}

// By when another job must be gone from its nodes; 0: nobody may use them.
TimeMs usable_until(const State& s, const state::Reservation& r) {
  if (r.estimated || r.start_ms <= s.now()) return 0;
  return s.now() + (r.start_ms - s.now()) / 2;
}

// The NVLink domain of a node in its cluster, by its wires; empty: the node is one by itself.
std::string domain_of(const State& s, NodeId node) {
  const NodeSpec* const spec = s.fleet().node(node);
  if (spec == nullptr) return "";
  return spec->former_clique.empty() ? spec->clique : spec->former_clique;
}

// Others that will use a ComputeDomain in the node's domain.
std::size_t promised_beside(const State& s, const state::Job& job, NodeId node) {
  const auto& made = s.clusters().at(job.id.cluster()).reservations;
  return static_cast<std::size_t>(
      std::count_if(made.begin(), made.end(), [&](const state::Reservation& r) {
        if (r.job == job.id || !s.computes(r.job)) return false;
        return std::any_of(r.nodes.begin(), r.nodes.end(), [&](NodeId kept) {
          return kept == node ||
                 (!domain_of(s, kept).empty() && domain_of(s, kept) == domain_of(s, node));
        });
      }));
}

using FreeNodes = std::vector<std::pair<TimeMs, NodeId>>;  // by when all of them is free

// The earliest place on these of the nodes that are not `closed`. No other is looked at.
std::optional<Start> first_place(const State& s, Search& search, const state::Job& job,
                                 const KeptNodes& closed, FreeNodes nodes) {
  const JobId nobody(job.id.cluster(), 0);
  if (nodes.empty() || are_too_few(s, search, job, nodes.size())) return std::nullopt;
  std::vector<TimeMs> ends;  // each once
  std::sort(nodes.begin(), nodes.end());
  for (const auto& [end_ms, node] : nodes) {
    if (ends.empty() || ends.back() != end_ms) ends.push_back(end_ms);
  }
  const auto place_by = [&](TimeMs t) {
    KeptNodes kept = closed;
    for (auto it = nodes.rbegin(); it != nodes.rend() && it->first > t; ++it) {
      kept.keep({&it->second, 1}, nobody);
    }
    return search.drain_set(Picture(s.fleet(), kept), job.shape);
  };
  std::vector<NodeId> place = place_by(ends.back());
  if (place.empty()) return std::nullopt;
  auto low = ends.begin();  // there is no place before
  auto high = ends.end();
  while (true) {
    high = std::min(high, std::lower_bound(low, ends.end(), free_by(s, job, place)));
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
  const TimeMs start_ms = free_by(s, job, place);
  return Start{std::move(place), start_ms, false};
}

}  // namespace

std::optional<Start> promised_start(const State& s, Search& search, const state::Job& job,
                                    TimeMs before_ms) {
  const ClusterId cluster = job.id.cluster();
  KeptNodes closed = of_others(s, job.id);
  FreeNodes nodes;
  std::vector<NodeId> others;
  for (const NodeId node : s.fleet().nodes(cluster)) {
    if (closed.owner_of(node)) continue;
    const TimeMs end_ms = free_at(s, node);
    if (end_ms < before_ms) {
      nodes.push_back({end_ms, node});
    } else {
      others.push_back(node);
    }
  }
  if (are_too_few(s, search, job, nodes.size())) return std::nullopt;
  std::erase_if(nodes, [&](const auto& one) {
    if (!is_guess(s, one.second)) return false;
    others.push_back(one.second);
    return true;
  });
  closed.keep(others, JobId(cluster, 0));
  // Of starts before the first drain, then of those before the next, on nodes that are not drained earlier.
  std::vector<TimeMs> drains = drain_times(s, cluster);
  drains.push_back(state::kNever);
  const DurationMs length_ms = sure_length(s, job);
  for (const TimeMs drain_ms : drains) {
    const auto is_in_time = [&](TimeMs free_ms, NodeId node) {
      const TimeMs from_ms = s.nodes().drain_times(node).from_ms;
      if (from_ms != 0 && from_ms < drain_ms) return false;
      return drain_ms == state::kNever || length_ms <= drain_ms - free_ms;
    };
    KeptNodes shut = closed;
    FreeNodes in_time;
    for (const auto& [free_ms, node] : nodes) {
      if (is_in_time(free_ms, node)) {
        in_time.push_back({free_ms, node});
      } else {
        shut.keep({&node, 1}, JobId(cluster, 0));
      }
    }
    if (auto start = first_place(s, search, job, shut, std::move(in_time))) return start;
  }
  return std::nullopt;
}

std::optional<Start> estimated_start(const State& s, Search& search, const state::Job& job) {
  KeptNodes closed = of_others(s, job.id);
  for (const auto& [from_ms, node] : s.nodes().planned_drains()) {
    if (!gone_before_drains(s, job, {node}, s.now())) {
      closed.keep({&node, 1}, JobId(job.id.cluster(), 0));
    }
  }
  std::vector<NodeId> place = search.drain_set(Picture(s.fleet(), closed), job.shape);
  if (place.empty()) return std::nullopt;
  const TimeMs start_ms = free_by(s, job, place);
  return Start{std::move(place), start_ms, true};
}

TimeMs all_free_at(const State& s, const std::vector<NodeId>& nodes) {
  TimeMs at = s.now();
  for (const NodeId node : nodes) at = std::max(at, free_at(s, node));
  return at;
}

std::vector<JobId> too_many_beside(const State& s, const state::Job& job,
                                   const std::vector<NodeId>& nodes) {
  std::set<JobId> out;
  const std::size_t most = s.policy().clique_gangs;
  if (most == 0 || !s.computes(job.id)) return {};
  for (const NodeId node : nodes) {
    std::set<std::pair<TimeMs, JobId>> gangs;  // by their ends
    for (const NodeId used : s.fleet().computing_beside({&node, 1}, job.id)) {
      for (const state::PodPlace& place : s.allocations().on(used)) {
        const state::Job& other = s.jobs().at(place.job);
        const bool gpus = other.pods[place.rank].slot.milligpu > 0;
        if (place.job == job.id || !gpus || !s.computes(place.job)) continue;
        gangs.emplace(other.run().end_ms, place.job);
      }
    }
    std::size_t beside = gangs.size() + promised_beside(s, job, node);
    for (auto gang = gangs.begin(); gang != gangs.end() && beside >= most; ++gang, --beside) {
      out.insert(gang->second);
    }
  }
  return {out.begin(), out.end()};
}

TimeMs free_by(const State& s, const state::Job& job, const std::vector<NodeId>& nodes) {
  TimeMs at = all_free_at(s, nodes);
  for (const JobId gang : too_many_beside(s, job, nodes)) {
    at = std::max(at, s.jobs().at(gang).run().end_ms);
  }
  return at;
}

MilliGpu held_on(const State& s, const std::vector<NodeId>& nodes) {
  MilliGpu sum = 0;
  for (const NodeId node : nodes) sum += s.fleet().levels(node).allocated;
  return sum;
}

bool all_open(const State& s, const std::vector<NodeId>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](NodeId node) { return s.fleet().takes_pods(node); });
}

bool gone_before_drains(const State& s, const state::Job& job, const std::vector<NodeId>& nodes,
                        TimeMs start_ms) {
  if (s.nodes().planned_drains().empty()) return true;
  const DurationMs length_ms = sure_length(s, job);
  return std::none_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    const TimeMs from_ms = s.nodes().drain_times(node).from_ms;
    return from_ms != 0 && from_ms - std::max(start_ms, free_at(s, node)) < length_ms;
  });
}

KeptNodes draining_before(const State& s, TimeMs end_ms) {
  KeptNodes draining;
  for (const auto& [from_ms, node] : s.nodes().planned_drains()) {
    if (from_ms >= end_ms) break;
    draining.keep({&node, 1}, JobId(s.fleet().cluster_of(node), 0));
  }
  return draining;
}

KeptByEnd::KeptByEnd(const State& s, Part part) : s_(s), part_(part) {
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
}

const KeptNodes& KeptByEnd::from(TimeMs end_ms) { return made(end_ms, true); }

const KeptNodes& KeptByEnd::beside_drains(TimeMs end_ms) { return made(end_ms, false); }

const KeptNodes& KeptByEnd::made(TimeMs end_ms, bool with_drains) {
  if (made_at_ != s_.kept().version()) made_.clear();
  made_at_ = s_.kept().version();
  with_drains = with_drains && !s_.nodes().planned_drains().empty();
  if (part_ == Part::kAll && !with_drains) return s_.kept();
  const auto missed = std::lower_bound(ends_.begin(), ends_.end(), end_ms) - ends_.begin();
  const auto [at, fresh] = made_.try_emplace({missed, with_drains});
  if (!fresh) return at->second;
  // A job may not start on its own nodes either if they are drained first.
  KeptNodes kept = with_drains ? draining_before(s_, end_ms) : KeptNodes();
  for (const auto& [id, cluster] : s_.clusters().all()) {
    for (const state::Reservation& r : cluster.reservations) {
      const bool counts = part_ == Part::kAll ||
                          (part_ == Part::kFirm && is_within_quota(s_, s_.jobs().at(r.job))) ||
                          (part_ == Part::kInUse && usable_until(s_, r) < end_ms);
      if (counts) kept.keep(r.nodes, r.job, s_.computes(r.job));
    }
  }
  return at->second = std::move(kept);
}

}  // namespace subak::derive
