#include "engine/state/jobs/pod_index.h"

#include "core/must.h"

namespace subak::state {

std::optional<PodPlace> PodIndex::find(ClusterId cluster, const std::string& uid) const {
  const auto of_cluster = uids_.find(cluster);
  if (of_cluster == uids_.end()) return std::nullopt;
  const auto it = of_cluster->second.find(uid);
  if (it == of_cluster->second.end()) return std::nullopt;
  must(it->second.job.cluster() == cluster, "a pod's job is in its cluster");
  return it->second;
}

void PodIndex::put(const std::string& uid, const PodPlace& place) {
  must(!uid.empty() && place.job, "a pod with a uid is of a job");
  uids_[place.job.cluster()][uid] = place;
}

void PodIndex::erase(ClusterId cluster, const std::string& uid) { uids_[cluster].erase(uid); }

void PodIndex::erase(const Job& job) {
  must(job.state == JobState::kDone, "the pods of a job leave with it");
  Uids& uids = uids_[job.id.cluster()];
  for (const Pod& pod : job.pods) {
    const auto known = uids.find(pod.uid);
    if (known != uids.end() && known->second.job == job.id) uids.erase(known);
  }
}

void PodIndex::check(const JobTable& jobs) const {
  for (const auto& [cluster, uids] : uids_) {
    for (const auto& [uid, place] : uids) {  // any order: each is judged by itself
      const Job* const job = jobs.find(place.job);
      must(job != nullptr && place.rank < job->pods.size(), "a uid is of a pod");
      must(job->id.cluster() == cluster && job->pods[place.rank].uid == uid,
           "a uid is of a pod of its cluster");
      must(job->state != JobState::kDone, "nothing searches for the pods of an ended job");
    }
  }
}

}  // namespace subak::state
