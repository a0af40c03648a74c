#include "server/edge/cache/gangs.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

#include "core/limits.h"

namespace subak {
namespace {

std::int64_t number_of(Text text) {
  std::int64_t n = -1;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  return ec == std::errc() && end == text.data() + text.size() ? n : -1;
}

// Returns the pod's LeaderWorkerSet and sets its uid; nullptr: it is not known.
const OwnerEntry* find_worker_set(const OwnerCache& owners, const Pod& pod, std::string& uid) {
  uid = owners.worker_set(namespaced_name(pod.ns, worker_set_of(pod)));
  return uid.empty() ? nullptr : owners.find(uid);
}

// Finds the pod's LeaderWorkerSet. A pod stays with the first one that was found, since another of
// the same name may exist before the pod is gone.
bool find_group(const OwnerCache& owners, Pod& pod, PodEntry& entry) {
  std::string uid =
      entry.gpu ? entry.gpu->gang_owner.substr(0, entry.gpu->gang_owner.find('+')) : "";
  std::uint32_t without_gpus = entry.gpu ? entry.gpu->without_gpus : 0;
  std::string now;
  const OwnerEntry* const set = find_worker_set(owners, pod, now);
  if (uid.empty() || uid == now) {
    if (set == nullptr) return false;
    uid = now;
    without_gpus = set->without_gpus;
  }
  const bool alone = set != nullptr ? set->replaced_alone : entry.gpu && entry.gpu->runs_alone;
  join_worker_set(pod, uid, without_gpus, alone);
  if (!entry.gpu) entry.gpu = std::make_unique<GpuPodEntry>();
  entry.gpu->without_gpus = without_gpus;
  return true;
}

}  // namespace

// k8s.io/api batch/v1: the annotations of an Indexed Job's pods, and JobTrackingFinalizer.
void read_job_part(const Pod& pod, json::Value object, Cause cause, GpuPodEntry& gpu) {
  const auto said = [&pod](Text name) { return number_of(find_text(pod.annotations, name)); };
  gpu.of_job.index = said("batch.kubernetes.io/job-completion-index");
  gpu.of_job.index_failures =
      std::max<std::int64_t>(said("batch.kubernetes.io/job-index-failure-count"), 0);
  bool is_uncounted = false;
  const auto metadata = json::member(object, "metadata");
  const auto finalizers = metadata ? json::member(*metadata, "finalizers") : std::nullopt;
  if (finalizers) {
    json::each_item(*finalizers, [&](std::size_t, json::Value finalizer) {
      if (json::text(finalizer) == "batch.kubernetes.io/job-tracking") is_uncounted = true;
    });
  }
  gpu.of_job.failing = is_uncounted && (gpu.ended ? cause != Cause::kFinished : gpu.going);
}

namespace {

std::uint32_t size_of(const OwnerEntry& owner, std::string_view role) {
  for (const auto& [name, size] : owner.gangs.of_role) {
    if (name == role) return size;
  }
  return 1;
}

// Returns the owner of an operator's kind, such as PyTorchJob, that controls the pod or the pod's
// Job; nullptr: there is none. It sets `uid`.
const OwnerEntry* find_operator_owner(const OwnerCache& owners, const Pod& pod, std::string& uid) {
  const auto is_its = [](const OwnerEntry* owner) {
    return owner != nullptr && owner->row->watch == OwnerWatch::kIfServed;
  };
  uid = pod.owner.uid;
  const OwnerEntry* const owner = owners.find(uid);
  if (owner == nullptr || is_its(owner)) return owner;
  uid = owner->parent;
  const OwnerEntry* const parent = owners.find(uid);
  return is_its(parent) ? parent : nullptr;
}

// Joins the gang of the operator's owner. Without a size, as the owner cannot be read, the pod stays
// as it is.
void join_operator(const OwnerEntry& owner, const std::string& uid, Pod& pod) {
  if (owner.gangs.of_role.empty()) return;
  join_owner(pod, uid, size_of(owner, role_of(*owner.row, pod)), owner.replaced_alone);
}

// A pod that states the size of its gang is in the gang of the topmost owner: the launcher of an
// MPIJob has a Job as its controller, and its workers have the MPIJob.
void move_to_operator(const OwnerCache& owners, Pod& pod) {
  std::string uid;
  if (pod.gang.owner.empty() || find_operator_owner(owners, pod, uid) == nullptr) return;
  pod.gang.owner = shortened(uid, limits::kMaxNameBytes);
}

// If one owner creates all pods of a gang that is only named, the owner's uid is part of the gang's
// identity. So two runs of one name are two gangs. Returns false if the cache does not have an owner
// of the pod yet.
bool move_to_creator(const OwnerCache& owners, Pod& pod, const PodEntry& entry) {
  const std::string name = named_gang(pod);
  if (name.empty() || pod.owner.uid.empty()) return true;
  const OwnerEntry* const owner = owners.find(std::string(pod.owner.uid));
  const bool outlives = owner == nullptr && entry.gpu && entry.told != 0;
  // A pod that outlives its owner stays in its gang.
  const std::string creator =
      outlives ? entry.gpu->gang_owner : owners.creator_of_gang(pod, name, pod.gang.size);
  pod.gang.owner = shortened(creator, limits::kMaxNameBytes);
  if (outlives || !creator.empty()) return true;
  const bool of_jobs = has_key(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  return owner != nullptr && (!of_jobs || owners.find(owner->parent) != nullptr);
}

// Finds the first group that the pod names and that exists, and joins it. kUnseen: none exists,
// though the edge watches such groups.
enum class GroupFound : std::uint8_t { kNone, kUnseen, kFound };
GroupFound find_pod_group(const OwnerCache& owners, Pod& pod) {
  GroupFound found = GroupFound::kNone;
  for (const PodGroupRef& ref : pod_groups_of(pod)) {
    if (owners.is_known(ref.kind)) found = GroupFound::kUnseen;
    const std::string key = group_key(ref.kind, pod.ns, ref.name);
    const std::string uid = owners.group(key);
    const OwnerEntry* const group = uid.empty() ? nullptr : owners.find(uid);
    if (group == nullptr) continue;
    const auto part = std::find_if(group->gangs.of_role.begin(), group->gangs.of_role.end(),
                                   [&](const auto& one) { return one.first == ref.part; });
    if (part != group->gangs.of_role.end()) join_pod_group(pod, ref, uid, part->second);
    return GroupFound::kFound;
  }
  return found;
}

// Does the same as find_gang(), but does not look above the owner with the templates.
bool find_own_gang(const OwnerCache& owners, Pod& pod, PodEntry& entry) {
  if (!worker_set_of(pod).empty()) return find_group(owners, pod, entry);
  if (!asks_size(pod)) {
    move_to_operator(owners, pod);
    return move_to_creator(owners, pod, entry);
  }
  std::string uid;
  if (const OwnerEntry* const of_operator = find_operator_owner(owners, pod, uid)) {
    join_operator(*of_operator, uid, pod);
    return true;
  }
  const GroupFound group = find_pod_group(owners, pod);
  if (group != GroupFound::kNone) return group == GroupFound::kFound;
  if (pod.owner.uid.empty()) return true;
  const OwnerEntry* const owner = owners.find(std::string(pod.owner.uid));
  if (owner == nullptr) return false;
  const Text role = find_text(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  if (role.empty()) {
    // The remaining pods of a gang are the gang, even if only one remains.
    const bool was =
        entry.gpu && !entry.gpu->gang_told.key.empty() && entry.gpu->gang_told.key[0] != ' ';
    const bool is_rest = owner->together != Together::kNone && (owner->done > 0 || was);
    join_gang(pod, size_of(*owner, ""), true, owner->replaced_alone, is_rest);
    return true;
  }
  const OwnerEntry* const set = owners.find(owner->parent);
  if (set == nullptr) return false;
  join_gang(pod, size_of(*set, role), set->together == Together::kEachJob, set->replaced_alone);
  if (pod.gang.size > 1) pod.gang.rank = rank_in(set->ranks, pod);
  return true;
}

}  // namespace

bool find_gang(const OwnerCache& owners, Pod& pod, PodEntry& entry) {
  const bool found = find_own_gang(owners, pod, entry);
  if (!pod.gang.owner.empty()) pod.gang.owner = owners.topmost(pod.gang.owner);
  return found;
}

std::string creator_of_stated_gang(const OwnerCache& owners, const Pod& pod) {
  if (stated_gang_size(pod) < 2 || pod.owner.uid.empty()) return {};
  const std::string name = named_gang(pod);
  if (!name.empty()) return owners.topmost(owners.creator_of_gang(pod, name, pod.gang.size));
  std::string uid;
  return find_operator_owner(owners, pod, uid) != nullptr ? owners.topmost(uid) : std::string();
}

bool has_read_owner(const OwnerCache& owners, const Pod& pod) {
  const OwnerKindRow* const row = find_owner_kind(pod.owner.api_version, pod.owner.kind);
  return row != nullptr && row->watch != OwnerWatch::kForMaker && owners.is_known(row->kind);
}

bool is_left_out(const OwnerCache& owners, const PodEntry& entry) {
  if (!entry.gpu || entry.gpu->of_job.index < 0) return false;
  const OwnerEntry* const owner = owners.find(entry.gpu->owner_uid);
  if (owner == nullptr || owner->together == Together::kNone) return false;
  return owner->indexes > 0 && entry.gpu->of_job.index >= owner->indexes;
}

bool makes_more(const OwnerCache& owners, const std::string& gang_owner) {
  const std::size_t plus = gang_owner.find('+');
  const bool of_group = plus != std::string::npos;
  if (!owners.is_known(of_group ? OwnerKind::kLeaderWorkerSet : OwnerKind::kJob)) return true;
  const OwnerEntry* const owner = owners.find(gang_owner.substr(0, plus));
  if (owner == nullptr) return false;
  if (!of_group) return !owner->ended;
  std::uint32_t group = 0;
  const char* const end = gang_owner.data() + gang_owner.size();
  const auto read = std::from_chars(gang_owner.data() + plus + 1, end, group);
  return read.ec != std::errc() || read.ptr != end || group < owner->groups;
}

std::vector<std::string> awaited_owners(const OwnerCache& owners, const Pod& pod) {
  if (!pod.gated()) return {};
  if (const Text set = worker_set_of(pod); !set.empty()) {
    if (!owners.is_known(OwnerKind::kLeaderWorkerSet)) return {};
    return {namespaced_name(pod.ns, set)};
  }
  std::vector<std::string> awaited;
  if (std::string maker = owners.awaited_maker(pod); !maker.empty())
    awaited.push_back(std::move(maker));
  for (const PodGroupRef& ref : pod_groups_of(pod)) {
    if (owners.is_known(ref.kind)) awaited.push_back(group_key(ref.kind, pod.ns, ref.name));
  }
  const bool of_jobs = has_key(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  if (of_jobs && !owners.is_known(OwnerKind::kJobSet)) return awaited;
  if (!has_read_owner(owners, pod)) return awaited;
  const OwnerEntry* const owner = owners.find(std::string(pod.owner.uid));
  if (owner == nullptr || of_jobs) awaited.emplace_back(pod.owner.uid);
  if (owner != nullptr && of_jobs) awaited.push_back(owner->parent);
  return awaited;
}

std::string gang_owner_of(const OwnerCache& owners, const Pod& pod, const PodRecord& record) {
  if (record.owner.empty()) return {};
  if (!worker_set_of(pod).empty()) return record.owner;
  const OwnerKindRow* const row = find_owner_kind(pod.owner.api_version, pod.owner.kind);
  const bool of_job = row != nullptr && row->kind == OwnerKind::kJob && !pod.gang.of_pod_group;
  const OwnerEntry* const owner = of_job ? nullptr : owners.find(record.owner);
  const bool of_operator = owner != nullptr && !owner->row->is_group;
  if (!of_job && !of_operator) return {};
  return record.owner.substr(0, record.owner.find('+'));
}

namespace {

Workload workload_of(const OwnerCache& owners, const Pod& pod, const PodRecord& record) {
  if (const Text name = worker_set_of(pod); !name.empty()) {
    // The set of the pod's gang, even if another set of this name exists by now.
    const std::string uid = record.owner.substr(0, record.owner.find('+'));
    if (uid.empty()) return {};
    return {std::string(row_of(OwnerKind::kLeaderWorkerSet).name), std::string(name), uid};
  }
  if (record.gang.empty()) {
    Workload top = owners.topmost_controller(pod);
    const OwnerEntry* const owner = owners.find(top.uid);
    const bool one_pod = owner != nullptr && owner->row->kind == OwnerKind::kJob && owner->one_pod;
    return one_pod ? Workload() : top;
  }
  const OwnerEntry* const job = owners.find(std::string(pod.owner.uid));
  const OwnerEntry* const set = job == nullptr ? nullptr : owners.find(job->parent);
  if (set == nullptr || set->together != Together::kEachJob) return {};
  return {std::string(set->kind()), set->name, shortened(job->parent, limits::kMaxNameBytes)};
}

}  // namespace

void put_makers(const OwnerCache& owners, const Pod& pod, PodRecord& record) {
  record.user = owners.maker_of(pod);  // a template may name anybody
  if (pod.asks_gpu()) record.owners.workload = workload_of(owners, pod, record);
}

std::string named_group(const Pod& pod) {
  const std::vector<PodGroupRef> groups = pod_groups_of(pod);
  if (groups.empty()) return {};
  return group_key(groups.front().kind, pod.ns, groups.front().name);
}

}  // namespace subak
