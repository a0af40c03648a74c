// The ranks of a gang's pods, from the pods' own numbers.
#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/must.h"
#include "core/names.h"
#include "engine/state/jobs/jobs.h"

namespace subak::state {

std::string Job::unknown_ranks() const {
  const bool parts = asked != nullptr && asked->segment > 0 && !asked->prefer;
  if (origin != JobOrigin::kPods || !parts || gang_size <= asked->segment) return "";
  const std::string why = ", and its segments of " + std::to_string(asked->segment) +
                          " follow ranks: want label " + std::string(names::kRank) +
                          ", or the index of its controller";
  std::vector<std::pair<std::uint32_t, const Pod*>> ordered;
  for (const Pod& pod : std::span(pods).first(ranks())) {
    if (!pod.is_live() || pod.is_expected()) continue;
    if (pod.order == 0) return "pod " + pod.name + " has no rank" + why;
    ordered.emplace_back(pod.order, &pod);
  }
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(ordered.begin(), ordered.end(), less);
  const auto twice =
      std::adjacent_find(ordered.begin(), ordered.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == ordered.end()) return "";
  return "pods " + twice->second->name + " and " + std::next(twice)->second->name +
         " have the same rank" + why;
}

void Jobs::rank_pods(Job& job, std::span<const fact::PodsRanked::Move> moves) {
  std::vector<Pod> moved;
  moved.reserve(moves.size());
  for (const fact::PodsRanked::Move& m : moves) {
    Pod& pod = job.pods.at(m.from);
    must(m.from < job.gang_size && pod.is_live() && pod.state == PodState::kWaiting,
         "pods that wait change places");
    moved.push_back(std::exchange(pod, Pod{}));
  }
  for (std::size_t i = 0; i < moves.size(); ++i) {
    must(moves[i].rank < job.gang_size, "a rank is one of the gang's");
    Pod& seat = job.pods.at(moves[i].rank);
    must(!seat.is_live() && !seat.is_expected(), "a pod comes to a rank that another has left");
    seat = std::move(moved[i]);
    uids_[job.id.cluster()][seat.uid] = {job.id, moves[i].rank};
  }
}

}  // namespace subak::state
