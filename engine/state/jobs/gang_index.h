// Live jobs that are made of pods, by what their pods say: the gang's name, its owner (the uid of
// the pods' controller) and the namespace.
//
// A gang name leads to one job, which later members join. Threads: none; Jobs owns it.
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
  // The job that a pod of this gang ("namespace/gang", PodRecord::owner) joins. None: it needs a
  // new job.
  JobId of_gang(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // A job of the same gang that is as old or older. It has this owner, or some of the owner's
  // indexes (the same uid, "+" and more). None: there is no such job.
  JobId of_owner(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // Live jobs of one pod each (Job::is_apart) of this gang, by number.
  std::vector<JobId> apart(ClusterId cluster, const std::string& name,
                           const std::string& owner) const;
  // Jobs of one namespace that are made of pods, are not done and have no account, by number.
  std::vector<JobId> unassigned(ClusterId cluster, const std::string& ns) const;

  // A live job is new, or restored. It gets its gang's name, unless it ends for good.
  void add(const Job& job);
  // Frees the job's gang name for another job. Nothing if another job has the name.
  void forget_gang(const Job& job);
  // The job has an account, or is about to get one.
  void assigned(const Job& job);
  // The job is done. Call it while the job still has its origin (Job::pod_origin).
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
  // None is empty.
  std::map<Key, std::set<JobId>> apart_;
  // By namespace; none is empty.
  std::map<std::string, std::set<JobId>> unassigned_;
};

}  // namespace subak::state
