#include "engine/state/jobs/workloads/workload_index.h"

#include <algorithm>

#include "core/must.h"

namespace subak::state {

const WorkloadIndex::Group* WorkloadIndex::find(const Member& job, const Workload& workload) const {
  const auto it = groups_.find({job.id.cluster(), job.leaf, workload.uid});
  return it == groups_.end() ? nullptr : &it->second;
}

void WorkloadIndex::copy_queued(std::vector<JobId>& jobs, std::vector<std::size_t>& ends) const {
  jobs.clear();
  ends.clear();
  for (const auto& [key, group] : groups_) {
    if (group.queued.size() < 2) continue;
    for (const JobId id : group.queued) jobs.push_back(id);
    ends.push_back(jobs.size());
  }
}

std::shared_ptr<const Workload> WorkloadIndex::add(const Member& job,
                                                   std::shared_ptr<const Workload> workload) {
  must(workload != nullptr && job.state != JobState::kDone, "a live job of a workload");
  Group& group = groups_[{job.id.cluster(), job.leaf, workload->uid}];
  if (group.workload == nullptr) group.workload = workload;
  ++group.jobs;
  if (job.state == JobState::kRunning) ++group.running;
  if (is_waiting(job.state)) ++group.waiting;
  if (job.state == JobState::kQueued) group.queued.insert(job.id);
  return *group.workload == *workload ? group.workload : workload;
}

void WorkloadIndex::remove(const Member& job, const Workload& workload) {
  const auto it = groups_.find({job.id.cluster(), job.leaf, workload.uid});
  must(it != groups_.end(), "a live job of a workload is in its group");
  Group& group = it->second;
  if (--group.jobs == 0) {
    groups_.erase(it);
    return;
  }
  if (job.state == JobState::kRunning) --group.running;
  if (is_waiting(job.state)) --group.waiting;
  if (job.state == JobState::kQueued) group.queued.erase(job.id);
}

void WorkloadIndex::check_same(const WorkloadIndex& other) const {
  must(groups_.size() == other.groups_.size(), "each group has a job");
  for (const auto& [key, group] : groups_) {
    const auto it = other.groups_.find(key);
    must(it != other.groups_.end(), "the jobs of a workload are in its group");
    const Group& same = it->second;
    must(group.jobs == same.jobs && group.running == same.running && group.waiting == same.waiting,
         "the jobs of a workload are counted");
    must(std::equal(group.queued.begin(), group.queued.end(), same.queued.begin(),
                    same.queued.end()),
         "a group has the jobs that are queued");
  }
}

}  // namespace subak::state
