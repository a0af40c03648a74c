// Gangs: their identity, their size, pods behind their ranks, and jobs of single pods.
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "engine/state/jobs/jobs.h"

namespace subak::state {

JobId Jobs::of_gang(ClusterId cluster, const std::string& name, const std::string& owner) const {
  const auto it = gangs_.find({cluster, name, owner});
  return it == gangs_.end() ? JobId() : it->second;
}

const Job* Jobs::of_owner(ClusterId cluster, const std::string& name,
                          const std::string& owner) const {
  const std::string uid = owner.substr(0, owner.find('+'));
  if (uid.empty()) return nullptr;
  for (auto it = gangs_.lower_bound({cluster, name, uid}); it != gangs_.end(); ++it) {
    const GangKey& key = it->first;
    if (key.cluster != cluster || key.name != name || !key.owner.starts_with(uid)) return nullptr;
    if (key.owner == uid || key.owner[uid.size()] == '+') return find(it->second);
  }
  return nullptr;
}

Jobs::GangKey Jobs::key_of(const Job& job) {
  return {job.id.cluster(), job.name, job.pod_origin ? job.pod_origin->owner : std::string()};
}

void Jobs::forget_gang(const Job& job) {
  if (gangs_.empty()) return;
  const auto gang = gangs_.find(key_of(job));
  if (gang != gangs_.end() && gang->second == job.id) gangs_.erase(gang);
}

void Jobs::note_crowd(const Job& job) {
  if (job.pods_behind() > 0) {
    crowded_.insert(job.id);
  } else {
    crowded_.erase(job.id);
  }
}

void Jobs::note_apart(const Job& job) {
  if (!job.is_apart()) return;
  const GangKey key = key_of(job);
  if (job.state != JobState::kDone) {
    apart_[key].insert(job.id);
    return;
  }
  const auto of_gang = apart_.find(key);
  must(of_gang != apart_.end(), "who is by itself is indexed");
  of_gang->second.erase(job.id);
  if (of_gang->second.empty()) apart_.erase(of_gang);
}

std::vector<JobId> Jobs::apart(ClusterId cluster, const std::string& name,
                               const std::string& owner) const {
  const auto found = apart_.find({cluster, name, owner});
  if (found == apart_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void Jobs::seat_pod(Job& job, std::uint32_t from, std::uint32_t rank) {
  must(from >= job.gang_size && rank < job.gang_size, "who waits behind the ranks gets one");
  Pod& waiting = job.pods.at(from);
  Pod& seat = job.pods.at(rank);
  must(waiting.state == PodState::kWaiting && waiting.is_live() && !seat.is_live(),
       "a pod that waits takes a rank that is free");
  seat = std::exchange(waiting, Pod{});
  uids_[job.id.cluster()][seat.uid] = {job.id, rank};
  job.drop_empty_ranks();
  note_crowd(job);
}

void Jobs::resize_gang(Job& job, std::uint32_t size) {
  must(job.from_pods() && job.waits() && !job.shape, "a gang that waits may change its size");
  must(size > 0 && size <= limits::kMaxPodsPerJob, "a gang has a size");
  for (std::size_t rank = size; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].is_expected()) job.pods[rank] = Pod{};  // no longer expected
  }
  job.gang_size = size;
  job.drop_empty_ranks();
  note_crowd(job);
}

}  // namespace subak::state
