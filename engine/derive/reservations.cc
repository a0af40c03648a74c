#include "engine/derive/reservations.h"

#include <algorithm>
#include <utility>

#include "engine/derive/entitled_place.h"

namespace subak::derive {
namespace {

TimeMs free_at(const State& s, NodeId node) {
  return std::max(s.allocations().free_at(node), s.now());
}

// Something there has no limit, or has stayed beyond it.
bool is_guess(const State& s, NodeId node) {
  const auto* const held = s.allocations().on(node);
  return held != nullptr && std::any_of(held->begin(), held->end(), [&](const auto& place) {
           const state::Job& job = s.jobs().at(place.job);
           return job.time_limit_ms == 0 || job.overruns > 0;
         });
}

KeptNodes of_others(const State& s, JobId job) {
  KeptNodes others;
  for (const state::Reservation& r : s.clusters().at(job.cluster()).reservations) {
    if (r.job != job) others.keep(r.nodes, r.job);
  }
  return others;
}

// All GPUs of so many nodes are less than the job asks for.
bool are_too_few(const State& s, Search& search, const state::Job& job, std::size_t nodes) {
  const MilliGpu of_node = search.largest_node_gpus() * kMilliPerGpu;
  return of_node != 0 && static_cast<MilliGpu>(nodes) * of_node < s.jobs().least_milligpu(job);
}

// By when another job must be gone from its nodes; 0: nobody may use them.
TimeMs usable_until(const State& s, const state::Reservation& r) {
  if (r.estimated || r.start_ms <= s.now()) return 0;
  return s.now() + (r.start_ms - s.now()) / 2;
}

}  // namespace

std::optional<Start> promised_start(const State& s, Search& search, const state::Job& job,
                                    TimeMs before_ms) {
  const ClusterId cluster = job.id.cluster();
  const JobId nobody(cluster, 0);
  KeptNodes closed = of_others(s, job.id);
  std::vector<std::pair<TimeMs, NodeId>> nodes;  // that could be waited for, by when they are free
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
  if (nodes.empty() || are_too_few(s, search, job, nodes.size())) return std::nullopt;
  closed.keep(others, nobody);
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
  while (true) {
    const auto high = std::lower_bound(low, ends.end(), all_free_at(s, place));
    if (low >= high) break;
    const auto middle = low + (high - low) / 2;
    std::vector<NodeId> sooner = place_by(*middle);
    if (sooner.empty()) {
      low = middle + 1;
    } else {
      place = std::move(sooner);
    }
  }
  const TimeMs start_ms = all_free_at(s, place);
  return Start{std::move(place), start_ms, false};
}

std::optional<Start> estimated_start(const State& s, Search& search, const state::Job& job) {
  const KeptNodes others = of_others(s, job.id);
  std::vector<NodeId> place = search.drain_set(Picture(s.fleet(), others), job.shape);
  if (place.empty()) return std::nullopt;
  const TimeMs start_ms = all_free_at(s, place);
  return Start{std::move(place), start_ms, true};
}

TimeMs all_free_at(const State& s, const std::vector<NodeId>& nodes) {
  TimeMs at = s.now();
  for (const NodeId node : nodes) at = std::max(at, free_at(s, node));
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

KeptNodes kept_from(const State& s, TimeMs end_ms) {
  KeptNodes kept;
  for (const auto& [id, cluster] : s.clusters().all()) {
    for (const state::Reservation& r : cluster.reservations) {
      if (usable_until(s, r) < end_ms) kept.keep(r.nodes, r.job);
    }
  }
  return kept;
}

std::vector<TimeMs> usable_until(const State& s) {
  std::vector<TimeMs> out;
  for (const auto& [id, cluster] : s.clusters().all()) {
    for (const state::Reservation& r : cluster.reservations) out.push_back(usable_until(s, r));
  }
  std::sort(out.begin(), out.end());
  return out;
}

KeptNodes firm_part(const State& s) {
  KeptNodes firm;
  for (const auto& [id, cluster] : s.clusters().all()) {
    for (const state::Reservation& r : cluster.reservations) {
      if (is_within_quota(s, s.jobs().at(r.job))) firm.keep(r.nodes, r.job);
    }
  }
  return firm;
}

}  // namespace subak::derive
