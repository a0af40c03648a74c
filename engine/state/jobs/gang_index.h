// Finds live jobs that are made of pods by the gang's name, the owner (the uid of the pods'
// controller) and the namespace.
//
// A gang name belongs to one job, which later members join. Threads: none; Jobs owns it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "engine/state/jobs/job_table.h"

namespace subak::state {

// The gangs of all clusters, jobs apart from their gang, and jobs without an account.
class GangIndex {
 public:
  // Returns the job that a pod of this gang ("namespace/gang", PodRecord::owner) joins. None: the
  // pod needs a new job.
  JobId of_gang(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // Returns a job of the same gang whose owner has the same uid: the part of the owner before "+".
  // None: there is no such job.
  JobId of_owner(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // Live jobs of one pod each (Job::is_apart) of this gang, by number.
  std::vector<JobId> apart(ClusterId cluster, const std::string& name,
                           const std::string& owner) const;
  // Jobs of one namespace that are made of pods, are not done and have no account, by number.
  std::vector<JobId> unassigned(ClusterId cluster, const std::string& ns) const;

  // Adds a live job that is new, or restored. It gets its gang's name, unless it is ending and will
  // not wait again.
  void add(const Job& job);
  // Frees the job's gang name for another job. Does nothing if another job has the name.
  void forget_gang(const Job& job);
  // Call it when the job has an account, or is about to get one.
  void assigned(const Job& job);
  // Removes a job that is done. Call it while the job still has its origin (Job::pod_origin).
  void end(const Job& job);

  // Asserts that exactly the jobs that it should have are indexed. O(jobs).
  void check(const JobTable& jobs) const;

 private:
  struct Key {
    // All three together name a gang.
    ClusterId cluster;
    std::string name, owner;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static Key key_of(const Job& job);

  // The job that later members join.
  std::map<Key, JobId> gangs_;
  // The jobs apart from each gang. No set is empty.
  std::map<Key, std::set<JobId>> apart_;
  // The jobs without an account, by namespace. No set is empty.
  std::map<std::string, std::set<JobId>> unassigned_;
};

}  // namespace subak::state
