// Which rank of which job a pod is, by the pod's uid. Uids are unique within a cluster only. A uid
// leads to one job at a time: a pod may go on in another job, which then has the uid.
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
  // nullopt: unknown, or the pod is gone.
  std::optional<PodPlace> find(ClusterId cluster, const std::string& uid) const;

  // The pod with this uid is at this rank from now on, wherever it was before.
  void put(const std::string& uid, const PodPlace& place);
  // The pod is gone. Nothing if it is not known.
  void erase(ClusterId cluster, const std::string& uid);
  // The job has ended: none of its pods is found any more. A pod that went on in another job is.
  void erase(const Job& job);

  // Asserts that each uid leads to a pod of that uid, of a job of its cluster that is not done.
  void check(const JobTable& jobs) const;

 private:
  // For look-ups only: its order means nothing.
  using Uids = std::unordered_map<std::string, PodPlace>;
  std::map<ClusterId, Uids> uids_;
};

}  // namespace subak::state
