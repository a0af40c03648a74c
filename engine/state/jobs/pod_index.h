// Finds the job and rank of a pod by its uid. Uids are unique within a cluster only. A uid belongs
// to one job at a time: if a pod moves to another job, that job then has the uid.
//
// Threads: none; Jobs owns it.
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
  // Returns the place of the pod; nullopt if it is unknown or gone.
  std::optional<PodPlace> find(ClusterId cluster, const std::string& uid) const;

  // Puts the pod with this uid at this rank, wherever it was before.
  void put(const std::string& uid, const PodPlace& place);
  // Removes a pod that is gone. Does nothing if it is not known.
  void erase(ClusterId cluster, const std::string& uid);
  // Removes all pods of a job that has ended, except for those that moved to another job.
  void erase(const Job& job);

  // Asserts that each uid finds a pod of that uid, in a job of its cluster that is not done.
  void check(const JobTable& jobs) const;

 private:
  // For look-ups only: the order has no meaning.
  using Uids = std::unordered_map<std::string, PodPlace>;
  std::map<ClusterId, Uids> uids_;
};

}  // namespace subak::state
