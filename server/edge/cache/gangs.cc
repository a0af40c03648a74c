#include "server/edge/cache/gangs.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

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

bool find_gang(const OwnerCache& owners, Pod& pod, PodEntry& entry) {
  if (!worker_set_of(pod).empty()) return find_group(owners, pod, entry);
  if (!asks_owner(pod)) return true;
  const OwnerEntry* const owner = owners.find(std::string(pod.owner.uid));
  if (owner == nullptr) return false;
  const auto size_of = [](const OwnerEntry& of, std::string_view role) {
    for (const auto& [name, size] : of.gangs) {
      if (name == role) return size;
    }
    return std::uint32_t{1};
  };
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

bool is_left_out(const OwnerCache& owners, const PodEntry& entry) {
  if (!entry.gpu || entry.gpu->of_job.index < 0) return false;
  const OwnerEntry* const owner = owners.find(entry.gpu->owner_uid);
  if (owner == nullptr || owner->together == Together::kNone) return false;
  return owner->indexes > 0 && entry.gpu->of_job.index >= owner->indexes;
}

bool makes_more(const OwnerCache& owners, const std::string& gang_owner) {
  const std::size_t plus = gang_owner.find('+');
  const bool of_group = plus != std::string::npos;
  if (!owners.is_known(of_group ? kWorkerSetsPath : kJobsPath)) return true;
  const OwnerEntry* const owner = owners.find(gang_owner.substr(0, plus));
  if (owner == nullptr) return false;
  if (!of_group) return !owner->ended;
  std::uint32_t group = 0;
  const char* const end = gang_owner.data() + gang_owner.size();
  const auto read = std::from_chars(gang_owner.data() + plus + 1, end, group);
  return read.ec != std::errc() || read.ptr != end || group < owner->groups;
}

std::vector<std::string> awaited_owners(const OwnerCache& owners, const Pod& pod) {
  const bool of_jobs = has_key(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  const Text set = worker_set_of(pod);
  const bool is_read = owners.is_known(!set.empty() ? kWorkerSetsPath
                                       : of_jobs    ? kJobSetsPath
                                                    : kJobsPath);
  const bool has_owner = !set.empty() || pod.owner.kind == "Job";
  if (!has_owner || !is_read || !pod.gated()) return {};
  std::vector<std::string> awaited{set.empty() ? std::string(pod.owner.uid)
                                               : namespaced_name(pod.ns, set)};
  const OwnerEntry* const owner = owners.find(std::string(pod.owner.uid));
  if (owner != nullptr) awaited.push_back(owner->parent);
  return awaited;
}

}  // namespace subak
