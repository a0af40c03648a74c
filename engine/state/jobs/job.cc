#include "engine/state/jobs/job.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/must.h"
#include "core/names.h"

namespace subak::state {

bool Job::is_whole() const {
  if (gang_size == 0 || pods.size() < gang_size) return false;
  return std::all_of(pods.begin(), pods.begin() + gang_size,
                     [](const Pod& p) { return p.is_ready(); });
}

std::size_t Job::pods_live() const {
  return static_cast<std::size_t>(std::count_if(
      pods.begin(), pods.end(), [](const Pod& p) { return p.is_live() && !p.is_expected(); }));
}

void Job::drop_empty_ranks() {
  while (pods.size() > gang_size && !pods.back().is_live()) pods.pop_back();
  must(pods.size() <= gang_size || pods.back().is_live(), "the last rank behind a gang has a pod");
}

bool Job::awaits_parked_pods() const {
  return parking() != Parking::kNone &&
         std::all_of(pods.begin(), pods.end(), [](const Pod& p) { return p.uid.empty(); });
}

bool Job::runs_on() const {
  if (!replaced_alone() || state != JobState::kStarting) return false;
  must(ranks() <= pods.size(), "each rank has a pod");
  return std::any_of(pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(ranks()),
                     [](const Pod& p) { return p.is_bound(); });
}

const Pod* Job::disputing() const {
  must(ranks() <= pods.size(), "each rank has a pod");
  const auto end = pods.begin() + static_cast<std::ptrdiff_t>(ranks());
  const auto it = std::find_if(pods.begin(), end, [](const Pod& p) {
    return p.state == PodState::kWaiting && !p.dispute.empty();
  });
  return it == end ? nullptr : &*it;
}

std::size_t Job::pods_holding() const {
  return static_cast<std::size_t>(
      std::count_if(pods.begin(), pods.end(), [](const Pod& p) { return p.holds_slot(); }));
}

TimeMs Job::backed_off_until(TimeMs t) const {
  TimeMs until = extras().backoff != nullptr ? extras().backoff->until_ms : 0;
  if (extras().unready != nullptr) until = std::max(until, extras().unready->until_ms);
  return until > t ? until : 0;
}

bool Job::awaits_pod() const {
  if (origin != JobOrigin::kPods || gang) return false;
  return (state == JobState::kIncomplete && until_ms != 0) ||
         (state == JobState::kEnding &&
          (stop == Cause::kUnschedulable || stop == Cause::kNotReady));
}

std::string Job::unknown_ranks() const {
  const bool parts = asked != nullptr && asked->terms.segment > 0 && !asked->terms.prefer;
  if (origin != JobOrigin::kPods || !parts || gang_size <= asked->terms.segment) return "";
  const std::string why = ", and its segments of " + std::to_string(asked->terms.segment) +
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

}  // namespace subak::state
