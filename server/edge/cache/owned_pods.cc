#include "server/edge/cache/owned_pods.h"

namespace subak {
namespace {

bool counts(const GpuPodEntry& pod) {
  return !pod.owner_uid.empty() && (!pod.ended || pod.of_job.failing);
}

std::size_t bound_of(const GpuPodEntry& pod) { return pod.bound && !pod.going ? 1 : 0; }

}  // namespace

void OwnedPods::clear() {
  of_controller_.clear();
  of_gang_.clear();
  open_gangs_.clear();
}

void OwnedPods::add(const GpuPodEntry& pod) {
  if (!counts(pod)) return;
  Count& count = of_controller_[pod.owner_uid];
  count.failing += pod.of_job.failing ? 1 : 0;
  if (pod.ended) return;
  ++count.pods;
  count.bound += bound_of(pod);
  if (pod.gang_owner.empty()) return;
  open_gangs_.insert(pod.gang_owner);
  ++of_gang_[pod.gang_owner];
}

void OwnedPods::remove(const GpuPodEntry& pod) {
  if (!counts(pod)) return;
  Count& count = of_controller_[pod.owner_uid];
  count.failing -= pod.of_job.failing ? 1 : 0;
  if (!pod.ended) {
    --count.pods;
    count.bound -= bound_of(pod);
    if (!pod.gang_owner.empty() && --of_gang_[pod.gang_owner] == 0) of_gang_.erase(pod.gang_owner);
  }
  if (count.pods == 0 && count.failing == 0) of_controller_.erase(pod.owner_uid);
}

OwnedPods::Count OwnedPods::of(const std::string& controller) const {
  const auto found = of_controller_.find(controller);
  return found == of_controller_.end() ? Count() : found->second;
}

std::vector<std::string> OwnedPods::open_gangs_of(const std::string& owner_uid) const {
  std::vector<std::string> gangs{owner_uid};
  const std::string prefix = owner_uid + "+";
  for (auto at = open_gangs_.lower_bound(prefix); at != open_gangs_.end(); ++at) {
    if (!at->starts_with(prefix)) break;
    gangs.push_back(*at);
  }
  return gangs;
}

}  // namespace subak
