// Non-GPU pods that count in a gang because they state its size themselves: the launcher of an MPI
// job. They have no gate and so no rank. The gang waits until they exist.
#include "server/edge/cluster/cluster_cache.h"

namespace subak {
namespace {

// Returns "namespace/name" of the gang whose size the pod states; empty: it states none. The
// controller does not count: the launcher's differs from the workers'.
std::string gang_of(const Pod& pod) {
  const std::string name = stated_gang(pod);
  return name.empty() ? name : std::string(pod.ns) + "/" + name;
}

// A failed pod does not count: it is created again, or its gang does not become complete.
bool is_there(const Pod& pod, WatchKind kind) {
  return kind != WatchKind::kDeleted && pod.deleted_at.empty() && pod.status.phase != "Failed";
}

}  // namespace

void ClusterCache::count_non_gpu_member(const std::string& uid, const Pod& pod, WatchKind kind) {
  const bool counts = !pod.asks_gpu() && is_there(pod, kind);
  move_non_gpu_member(uid, counts ? gang_of(pod) : std::string());
}

void ClusterCache::move_non_gpu_member(const std::string& uid, const std::string& gang) {
  const auto known = non_gpu_members_.find(uid);
  const std::string before = known == non_gpu_members_.end() ? std::string() : known->second;
  if (before == gang) return;
  if (!before.empty()) {
    non_gpu_members_.erase(known);
    if (--non_gpu_counts_[before] == 0) non_gpu_counts_.erase(before);
    outdate_gang(before);
  }
  if (!gang.empty()) {
    non_gpu_members_.emplace(uid, gang);
    ++non_gpu_counts_[gang];
    outdate_gang(gang);
  }
}

void ClusterCache::leave_out_non_gpu_members(Pod& pod) const {
  const auto count = non_gpu_counts_.find(gang_of(pod));
  if (count != non_gpu_counts_.end()) subak::leave_out_non_gpu_members(pod, count->second);
}

// Marks the gang's gated pods for reading again, since its size has changed.
void ClusterCache::outdate_gang(const std::string& gang) {
  for (const std::string& uid : gated_) {
    const PodEntry& entry = pods_.at(uid);
    const std::string told = entry.ns + "/" + entry.gpu->gang_told;
    if (told.starts_with(gang + " ")) outdated_.insert(uid);
  }
}

}  // namespace subak
