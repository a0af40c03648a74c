#include "engine/state/jobs/gang_index.h"

#include <algorithm>
#include <iterator>

#include "core/must.h"

namespace subak::state {

JobId GangIndex::of_gang(ClusterId cluster, const std::string& name,
                         const std::string& owner) const {
  const auto it = gangs_.find({cluster, name, owner});
  if (it == gangs_.end()) return JobId();
  must(it->second.cluster() == cluster, "a gang is within its cluster");
  return it->second;
}

JobId GangIndex::of_owner(ClusterId cluster, const std::string& name,
                          const std::string& owner) const {
  const std::string uid = owner.substr(0, owner.find('+'));
  if (uid.empty()) return JobId();
  for (auto it = gangs_.lower_bound({cluster, name, uid}); it != gangs_.end(); ++it) {
    const Key& key = it->first;
    if (key.cluster != cluster || key.name != name || !key.owner.starts_with(uid)) return JobId();
    if (key.owner == uid || key.owner[uid.size()] == '+') return it->second;
  }
  return JobId();
}

JobId GangIndex::of_parked(ClusterId cluster, const std::string& owner) const {
  if (parked_.empty()) return JobId();
  const auto it = parked_.find({cluster, "", owner.substr(0, owner.find('+'))});
  return it == parked_.end() ? JobId() : it->second;
}

std::vector<JobId> GangIndex::apart(ClusterId cluster, const std::string& name,
                                    const std::string& owner) const {
  const auto found = apart_.find({cluster, name, owner});
  if (found == apart_.end()) return {};
  must(!found->second.empty(), "no gang is remembered for nothing");
  return {found->second.begin(), found->second.end()};
}

std::vector<JobId> GangIndex::unassigned(ClusterId cluster, const std::string& ns) const {
  std::vector<JobId> out;
  const auto of_ns = unassigned_.find(ns);
  if (of_ns == unassigned_.end()) return out;
  must(!of_ns->second.empty(), "no namespace is remembered for nothing");
  std::copy_if(of_ns->second.begin(), of_ns->second.end(), std::back_inserter(out),
               [&](JobId id) { return id.cluster() == cluster; });
  return out;
}

namespace {

bool has_workload(const Job& job) {
  return job.pod_origin != nullptr && job.pod_origin->workload != nullptr &&
         job.state != JobState::kDone;
}

WorkloadIndex::Member member_of(const Job& job) { return {job.id, job.leaf, job.state}; }

}  // namespace

const WorkloadIndex::Group* GangIndex::siblings(const Job& job) const {
  if (!has_workload(job)) return nullptr;
  const auto* const group = workloads_.find(member_of(job), *job.pod_origin->workload);
  must(group != nullptr, "a live job of a workload is in its group");
  return group;
}

void GangIndex::join_workload(Job& job) {
  if (!has_workload(job)) return;
  job.pod_origin->workload = workloads_.add(member_of(job), job.pod_origin->workload);
}

void GangIndex::leave_workload(const Job& job) {
  if (has_workload(job)) workloads_.remove(member_of(job), *job.pod_origin->workload);
}

GangIndex::Key GangIndex::key_of(const Job& job) {
  return {job.id.cluster(), job.name, job.pod_origin ? job.pod_origin->owner : std::string()};
}

void GangIndex::add(const Job& job) {
  must(job.state != JobState::kDone, "a job that is indexed lives");
  if (job.gang && !job.ends_for_good()) gangs_[key_of(job)] = job.id;
  if (job.is_apart()) apart_[key_of(job)].insert(job.id);
  if (job.parking() != Parking::kNone)
    parked_[{job.id.cluster(), "", job.pod_origin->owner}] = job.id;
  if (job.from_pods() && job.leaf == kUnassigned) unassigned_[job.ns()].insert(job.id);
}

void GangIndex::forget_gang(const Job& job) {
  if (gangs_.empty()) return;
  const auto gang = gangs_.find(key_of(job));
  if (gang != gangs_.end() && gang->second == job.id) gangs_.erase(gang);
}

void GangIndex::assigned(const Job& job) {
  if (unassigned_.empty()) return;
  const auto of_ns = unassigned_.find(job.ns());
  if (of_ns == unassigned_.end()) return;
  of_ns->second.erase(job.id);
  if (of_ns->second.empty()) unassigned_.erase(of_ns);
}

void GangIndex::end(const Job& job) {
  must(job.state == JobState::kDone, "a job that has ended is done");
  forget_gang(job);
  assigned(job);
  if (job.parking() != Parking::kNone) {
    const auto parked = parked_.find({job.id.cluster(), "", job.pod_origin->owner});
    if (parked != parked_.end() && parked->second == job.id) parked_.erase(parked);
  }
  if (!job.is_apart()) return;
  const auto of_gang = apart_.find(key_of(job));
  must(of_gang != apart_.end() && of_gang->second.erase(job.id) == 1, "who is apart is indexed");
  if (of_gang->second.empty()) apart_.erase(of_gang);
}

void GangIndex::check(const JobTable& jobs) const {
  for (const auto& [key, id] : gangs_) {
    const Job& job = jobs.at(id);
    must(job.gang && key == key_of(job), "a gang is found by its identity");
    must(job.state != JobState::kDone && !job.ends_for_good(), "members join who may still start");
  }
  for (const auto& [key, id] : parked_) {
    const Job& job = jobs.at(id);
    must(job.parking() != Parking::kNone && key.owner == job.pod_origin->owner,
         "a parked job is found by its owner");
  }
  std::size_t apart = 0, unassigned = 0;
  WorkloadIndex workloads;
  for (const auto& [id, job] : jobs.all()) {  // any order: each is judged by itself
    if (job.state == JobState::kDone) continue;
    if (has_workload(job)) workloads.add(member_of(job), job.pod_origin->workload);
    const auto of_gang = apart_.find(key_of(job));
    const bool indexed = of_gang != apart_.end() && of_gang->second.contains(id);
    must(indexed == job.is_apart(), "who is apart is indexed");
    apart += indexed ? 1 : 0;
    const auto of_ns = unassigned_.find(job.ns());
    const bool waits = of_ns != unassigned_.end() && of_ns->second.contains(id);
    must(waits == (job.from_pods() && job.leaf == kUnassigned), "who has no account is indexed");
    unassigned += waits ? 1 : 0;
  }
  for (const auto& [key, ids] : apart_) apart -= ids.size();
  for (const auto& [ns, ids] : unassigned_) unassigned -= ids.size();
  must(apart == 0 && unassigned == 0, "no other job is indexed");
  workloads.check_same(workloads_);
}

}  // namespace subak::state
