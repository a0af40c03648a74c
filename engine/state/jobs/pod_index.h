// Finds the job and rank of a pod by its uid. A rank is the number of the pod in its job. A uid is
// unique only within its cluster. A uid belongs to one job at a time: if a pod moves to another
// job, the uid belongs to that job from then on.
//
// Threads: one at a time; Jobs owns the object.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "engine/state/jobs/job_table.h"

namespace subak::state {

// The live pods of all clusters.
class PodIndex {
 public:
  // Returns the job and rank of the pod; nullopt if the pod is unknown or gone.
  std::optional<PodPlace> find(ClusterId cluster, const std::string& uid) const;

  // Records that the pod with this uid is at this rank of this job. The pod's earlier job and rank
  // no longer count.
  void put(const std::string& uid, const PodPlace& place);
  // Removes a pod that is gone. Does nothing if the pod is not known.
  void erase(ClusterId cluster, const std::string& uid);
  // Removes all pods of a job that has ended, except for those that moved to another job.
  void erase(const Job& job);

  // Asserts that each uid leads to a pod with this uid, in a job of its cluster that is not done.
  void check(const JobTable& jobs) const;

 private:
  // The job and rank of each pod, by uid. Use the map for look-ups only, because its order has no
  // meaning.
  using Uids = std::unordered_map<std::string, PodPlace>;
  std::map<ClusterId, Uids> uids_;
};

}  // namespace subak::state
