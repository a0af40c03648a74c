// Decisions about the ranks of a gang: which pod gets which, and which pods their owner announces
// for later.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/must.h"
#include "core/stored_size.h"
#include "engine/decide/decide.h"
#include "placement/gpus/eligibility.h"

namespace subak::decide {
namespace {

std::uint64_t pods_of(const in::GangSeen& i) {
  std::uint64_t pods = 0;
  for (const PodGroup& group : i.groups) pods += group.count;
  return pods;
}

// The size of a block of pods, of which the first ones must be present.
std::uint64_t part_of(const in::GangSeen& i) { return i.each == 0 ? pods_of(i) : i.each; }

std::optional<Error> check_seen(const in::GangSeen& i) {
  if (i.ns.empty() || i.gang.empty()) {
    return Error{ErrorCode::kInvalid, "gang", i.ns + "/" + i.gang, "want namespace and gang"};
  }
  const bool all_ask = std::none_of(i.groups.begin(), i.groups.end(), [](const PodGroup& group) {
    return group.shape.kind == GpuKind::kNone;
  });
  if (!all_ask) {
    return Error{ErrorCode::kInvalid, "groups", "none",
                 "want pods that ask for GPUs: no others are in a gang"};
  }
  if (i.each != 0 && pods_of(i) % i.each != 0) {
    return Error{ErrorCode::kInvalid, "each", std::to_string(i.each),
                 "want a divisor of the " + std::to_string(pods_of(i)) + " pods"};
  }
  if (i.least == 0 || i.least > part_of(i)) {
    return Error{ErrorCode::kInvalid, "least", std::to_string(i.least),
                 "want 1 to " + std::to_string(part_of(i))};
  }
  return std::nullopt;
}

// True if no pod is at the rank and no pod of this shape is expected there.
bool is_news(const Decision& d, const state::Job& job, std::uint32_t rank, const PodShape& shape) {
  if (rank >= job.pods.size()) return true;
  const state::Pod& pod = job.pods[rank];
  if (pod.is_live()) return false;
  return !pod.is_expected() || !(state::shape_of(d.s.fleet(), pod) == shape);
}

// The groups of the ranks from `first` to before `end`.
std::vector<PodGroup> groups_of(const in::GangSeen& i, std::uint64_t first, std::uint64_t end) {
  std::vector<PodGroup> out;
  std::uint64_t at = 0;
  for (const PodGroup& group : i.groups) {
    const std::uint64_t from = std::max(first, at),
                        to = std::min<std::uint64_t>(end, at + group.count);
    must(to <= end && from >= first, "the groups are cut to the ranks that were asked for");
    if (from < to) out.push_back({static_cast<std::uint32_t>(to - from), group.shape});
    at += group.count;
  }
  return out;
}

// Returns the pods that come later: in each block, the pods after the first `least`.
std::vector<fact::PodsExpected> later_pods(const in::GangSeen& i, JobId id) {
  std::vector<fact::PodsExpected> later;
  const std::uint64_t part = part_of(i);
  for (std::uint64_t first = 0; first < pods_of(i); first += part) {
    if (i.least == part) break;
    must(i.least > 0 && i.least < part, "some of a block are present and some come later");
    const std::uint64_t from = first + i.least;
    later.push_back({id, static_cast<std::uint32_t>(from), groups_of(i, from, first + part)});
  }
  return later;
}

bool any_news(const Decision& d, const state::Job& job, const fact::PodsExpected& expected) {
  std::uint32_t rank = expected.first;
  for (const PodGroup& group : expected.groups) {
    for (std::uint32_t n = 0; n < group.count; ++n, ++rank) {
      if (is_news(d, job, rank, group.shape)) return true;
    }
  }
  return false;
}

// Returns the stored size of the gang's request. Neighbouring pods with the same request count
// once.
std::size_t bytes_of(const Decision& d, const state::Job& job, const in::GangSeen& i) {
  std::size_t bytes = 0;
  const PodShape* before = nullptr;
  std::uint32_t rank = 0;
  for (const PodGroup& group : i.groups) {
    for (std::uint32_t n = 0; n < group.count; ++n, ++rank) {
      const bool here = rank < job.pods.size() && job.pods[rank].is_live();
      const PodShape& shape = here ? state::shape_of(d.s.fleet(), job.pods[rank]) : group.shape;
      if (before == nullptr || !(*before == shape)) bytes += stored_bytes(shape);
      before = &shape;
    }
  }
  return bytes;
}

// Does the same for the request after the pods have moved.
std::size_t bytes_of(const Decision& d, const state::Job& job, const fact::PodsRanked& ranked) {
  std::vector<const state::Pod*> pods;
  for (std::uint32_t r = 0; r < job.gang_size; ++r) pods.push_back(&job.pods[r]);
  for (const fact::PodsRanked::Move& m : ranked.moves) {
    must(m.rank < job.gang_size && m.from < job.gang_size, "pods move among the ranks");
    pods[m.rank] = &job.pods[m.from];
  }
  std::size_t bytes = 0;
  const PodShape* before = nullptr;
  for (const state::Pod* pod : pods) {
    const PodShape& shape = state::shape_of(d.s.fleet(), *pod);
    if (before == nullptr || !(*before == shape)) bytes += stored_bytes(shape);
    before = &shape;
  }
  return bytes;
}

// True if the pod asks for no more than the hold has, on a node that it may use.
bool fits_place(const Decision& d, const state::Pod& place, const PodShape& pod) {
  must(place.holds_slot() && place.is_expected(), "the hold is for a pod that has not come");
  PodShape kept = state::shape_of(d.s.fleet(), place);
  if (kept == pod) return true;
  const NodeSpec* const node = d.s.fleet().node(place.slot.node);
  const bool less = pod.cpu_milli <= kept.cpu_milli && pod.memory_bytes <= kept.memory_bytes;
  const bool same = pod.kind == kept.kind && pod.gpus == kept.gpus &&
                    pod.milligpu == kept.milligpu && pod.profile == kept.profile &&
                    pod.extended == kept.extended && pod.host_ports == kept.host_ports;
  return less && same && node != nullptr && eligibility::matches(pod, *node);
}

}  // namespace

std::optional<std::uint32_t> kept_place(const Decision& d, const state::Job& job,
                                        const PodRecord& pod) {
  if (job.state != JobState::kStarting) return std::nullopt;
  must(job.ranks() <= job.pods.size(), "each rank has a pod");
  const auto is_its = [&](std::uint32_t r) {
    const state::Pod& place = job.pods[r];
    return place.is_expected() && place.holds_slot() && fits_place(d, place, pod.shape);
  };
  const auto wanted = static_cast<std::uint32_t>(std::max(pod.rank, 0));
  if (wanted < job.ranks() && is_its(wanted)) return wanted;
  for (std::uint32_t r = 0; r < job.ranks(); ++r) {
    if (is_its(r)) return r;
  }
  return std::nullopt;
}

std::uint32_t rank_for(const state::Job& job, const PodRecord& pod) {
  const auto is_free = [&](std::uint32_t r) {
    return r >= job.pods.size() || !job.pods[r].is_live();
  };
  if (job.waits()) {
    const auto wanted = static_cast<std::uint32_t>(std::max(pod.rank, 0));
    if (wanted < job.gang_size && is_free(wanted)) return wanted;
    for (std::uint32_t r = 0; r < job.gang_size; ++r) {
      if (is_free(r)) return r;
    }
  }
  std::uint32_t rank = job.gang_size;
  while (!is_free(rank)) ++rank;
  must(rank >= job.gang_size, "a pod without a free rank waits behind the gang");
  return rank;
}

std::uint32_t order_of(const PodRecord& pod) {
  const bool ranked = !pod.gang.empty() && pod.rank >= 0;
  return ranked ? static_cast<std::uint32_t>(pod.rank) + 1 : 0;
}

void order_ranks(Decision& d, JobId id) {
  const state::Job& job = d.s.jobs().at(id);
  if (job.gang_size < 2 || !job.is_whole()) return;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t r = 0; r < job.gang_size; ++r) {
    if (job.pods[r].is_live() && !job.pods[r].is_expected()) ranks.push_back(r);
  }
  // The order is unsigned, so 0 - 1 is the largest number: pods without an order come last.
  const auto place = [&](std::uint32_t r) { return job.pods[r].order - 1; };
  std::vector<std::uint32_t> from = ranks;
  std::stable_sort(from.begin(), from.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
  fact::PodsRanked ranked{id, {}};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (from[i] != ranks[i]) ranked.moves.push_back({from[i], ranks[i]});
  }
  must(ranked.moves.size() != 1, "one pod alone cannot change its rank among the others");
  if (ranked.moves.empty() || check_bytes(bytes_of(d, job, ranked))) return;
  if (job.state == JobState::kQueued) {
    d.emit(fact::JobMoved{id, JobState::kIncomplete, Cause::kNone, {}, JobState::kIncomplete});
  }
  d.emit(std::move(ranked));
  must(job.is_whole() && job.waits(), "a gang whose ranks changed still has all its pods");
}

void decide(Decision& d, const in::GangSeen& i) {
  const state::Cluster* const cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  if (auto error = check_seen(i)) return d.refuse(*error, i.gang);
  const JobId id = d.s.jobs().gangs().of_gang(cluster->id, i.ns + "/" + i.gang, i.owner);
  if (!id) return;
  const state::Job& job = d.s.jobs().at(id);
  if (job.origin != JobOrigin::kPods || !job.waits()) return;
  if (pods_of(i) != job.gang_size && job.replaced_alone()) return;  // some became jobs of their own
  if (pods_of(i) != job.gang_size) {
    return d.refuse({ErrorCode::kInvalid, "groups", std::to_string(pods_of(i)),
                     "want as many pods as the gang has: " + std::to_string(job.gang_size)},
                    i.gang);
  }
  std::vector<fact::PodsExpected> later = later_pods(i, id);
  std::erase_if(later, [&](const fact::PodsExpected& e) { return !any_news(d, job, e); });
  if (later.empty()) return;
  must(job.waits() && pods_of(i) == job.gang_size, "expected pods are of a waiting gang");
  if (auto error = check_bytes(bytes_of(d, job, i))) return d.refuse(*error, i.gang);
  if (job.state == JobState::kQueued) {
    d.emit(fact::JobMoved{id, JobState::kIncomplete, Cause::kNone, {}, JobState::kIncomplete});
  }
  for (fact::PodsExpected& expected : later) d.emit(std::move(expected));
  settle(d, id);
}

}  // namespace subak::decide
