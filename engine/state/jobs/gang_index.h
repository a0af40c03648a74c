// Finds live jobs that consist of pods: by the gang's name, by the owner (the uid of the pods'
// controller), by the namespace, and by the workload. A workload is the Kubernetes object whose
// pods are several jobs, such as a Deployment.
//
// A gang's name belongs to one job at a time, and later pods of the gang join this job. A pod that
// comes after the start of its gang may become a job of its own: it is "apart" from the gang.
// Threads: one at a time; Jobs owns the object.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "engine/state/jobs/job_table.h"
#include "engine/state/jobs/workloads/workload_index.h"

namespace subak::state {

// The gangs of all clusters, the jobs of pods that are apart from their gang, and the jobs without
// an account.
class GangIndex {
 public:
  // Returns the job that a pod of this gang joins. `name` is "namespace/gang", and `owner` is
  // PodRecord::owner. None: the pod needs a new job.
  JobId of_gang(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // Returns a job of a gang with this name whose owner has the same uid. The uid is the part of
  // `owner` before "+". None: there is no such job.
  JobId of_owner(ClusterId cluster, const std::string& name, const std::string& owner) const;
  // Returns the live job that is or was parked with this owner, whatever the job's name. A job is
  // parked while Subak keeps its owner suspended (Job::parking). `owner` is PodRecord::owner; the
  // part before "+" counts. None: there is no such job.
  JobId of_parked(ClusterId cluster, const std::string& owner) const;
  // Returns the live jobs of single pods that are apart from this gang (Job::is_apart), by id.
  std::vector<JobId> apart(ClusterId cluster, const std::string& name,
                           const std::string& owner) const;
  // Returns the jobs of one namespace that consist of pods, are not done and have no account, by
  // id.
  std::vector<JobId> unassigned(ClusterId cluster, const std::string& ns) const;

  // The jobs that have a workload and are not done.
  const WorkloadIndex& workloads() const { return workloads_; }
  // Returns the jobs of the job's workload and account; nullptr: the job has no workload, or is
  // done. O(log workloads).
  const WorkloadIndex::Group* siblings(const Job& job) const;

  // Adds the job to the jobs of its workload, and removes it. Both do nothing if the job has no
  // workload, or is done. Before the job's state or account changes, call leave_workload(), and
  // afterwards join_workload().
  void join_workload(Job& job);
  void leave_workload(const Job& job);
  // Adds a live job that is new or restored. If the job is a gang, of_gang() then finds it by name
  // and owner. A gang that ends for good (Job::ends_for_good()) is not found by its name.
  void add(const Job& job);
  // Frees the name of the job's gang for another job. Does nothing if another job has the name.
  void forget_gang(const Job& job);
  // Call it when the job gets an account. The call removes the job from the jobs without an
  // account.
  void assigned(const Job& job);
  // Removes a job that is done. Call it while the job still has its origin (Job::pod_origin).
  void end(const Job& job);

  // Asserts that exactly the jobs that it should have are indexed. O(jobs).
  void check(const JobTable& jobs) const;

 private:
  struct Key {
    // The cluster, name and owner of a gang. Together they identify the gang.
    ClusterId cluster;
    std::string name, owner;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static Key key_of(const Job& job);

  // For each gang, the job that later members join.
  std::map<Key, JobId> gangs_;
  // For each gang, the jobs of pods that are apart from the gang. No set is empty.
  std::map<Key, std::set<JobId>> apart_;
  // The jobs that are or were parked, by the uid of their owner. `name` of the key is empty.
  std::map<Key, JobId> parked_;
  // The jobs without an account, by namespace. No set is empty.
  std::map<std::string, std::set<JobId>> unassigned_;
  WorkloadIndex workloads_;
};

}  // namespace subak::state
