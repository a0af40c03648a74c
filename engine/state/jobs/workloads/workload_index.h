// Counts the live jobs of each workload, and finds its queued jobs. A workload is the Kubernetes
// object whose pods are several jobs, such as a Deployment.
//
// Jobs of one workload in two accounts are two groups, since each account has an order of its own.
// Threads: one at a time; GangIndex owns the object.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/block_set.h"
#include "core/ids.h"
#include "model/job.h"

namespace subak::state {

// The groups of all clusters.
class WorkloadIndex {
 public:
  // The fields of a job that the index reads. `leaf` is the user's account, or the job's account if
  // the job has no user. The job is not done.
  struct Member {
    JobId id;
    AccountId leaf;
    JobState state = JobState::kIncomplete;
  };
  // The jobs of one workload in one account.
  struct Group {
    // The workload, as the first job of the group named it.
    std::shared_ptr<const Workload> workload;
    // All jobs, the jobs in state kRunning, and the jobs that wait.
    std::size_t jobs = 0, running = 0, waiting = 0;
    // The jobs in state kQueued.
    BlockSet<JobId> queued;
  };
  // Returns the group of the job; nullptr if the job was not added. O(log groups).
  const Group* find(const Member& job, const Workload& workload) const;
  // Replaces both lists by the queued jobs of each group that has at least two of them. `jobs` has
  // the jobs, group by group. `ends` has for each group the index after its last job (QueueGroups).
  // O(groups + these jobs).
  void copy_queued(std::vector<JobId>& jobs, std::vector<std::size_t>& ends) const;

  // Adds a job. Returns the object that the jobs of the group share, which equals *workload.
  // remove() needs the same arguments, so call it before the job's state or account changes.
  std::shared_ptr<const Workload> add(const Member& job, std::shared_ptr<const Workload> workload);
  void remove(const Member& job, const Workload& workload);

  // Asserts that the other index has the same groups.
  void check_same(const WorkloadIndex& other) const;

 private:
  struct Key {
    ClusterId cluster;
    AccountId leaf;
    // Workload::uid.
    std::string uid;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  // No group is empty.
  std::map<Key, Group> groups_;
};

}  // namespace subak::state
