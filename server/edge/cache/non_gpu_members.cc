#include "server/edge/cache/non_gpu_members.h"

#include "core/edge_limits.h"

namespace subak {
namespace {

// Returns "namespace/name" of the gang whose size the pod states; empty: it states none. The pod's
// controller does not matter: an MPI launcher and its workers have different controllers.
std::string gang_stated_by(const Pod& pod) {
  const std::string name = stated_gang(pod);
  return name.empty() ? name : std::string(pod.ns) + "/" + name;
}

// A failed pod does not count: it is created again, or its gang does not become complete.
bool is_there(const Pod& pod, WatchKind kind) {
  return kind != WatchKind::kDeleted && pod.deleted_at.empty() && pod.status.phase != "Failed";
}

}  // namespace

void NonGpuMembers::clear() {
  gangs_.clear();
  counts_.clear();
  without_ = 0;
}

std::vector<std::string> NonGpuMembers::see(const std::string& uid, const Pod& pod,
                                            WatchKind kind) {
  const bool counts = !pod.asks_gpu() && is_there(pod, kind);
  return move(uid, counts ? gang_stated_by(pod) : std::string());
}

std::vector<std::string> NonGpuMembers::move(const std::string& uid, const std::string& gang) {
  const auto known = gangs_.find(uid);
  const std::string before = known == gangs_.end() ? std::string() : known->second;
  if (before == gang) return {};
  std::vector<std::string> changed;
  if (!before.empty()) {
    gangs_.erase(known);
    if (--counts_[before] == 0) ++without_;
    changed.push_back(before);
  }
  if (!gang.empty()) {
    gangs_.emplace(uid, gang);
    const auto [count, is_new] = counts_.try_emplace(gang);
    if (!is_new && count->second == 0) --without_;
    ++count->second;
    changed.push_back(gang);
  }
  if (without_ > limits::kMaxFormerGangs) {
    std::erase_if(counts_, [](const auto& one) { return one.second == 0; });
    without_ = 0;
  }
  return changed;
}

void NonGpuMembers::leave_out_of(Pod& pod) const {
  const auto count = counts_.find(gang_stated_by(pod));
  if (count != counts_.end()) leave_out_non_gpu_members(pod, count->second);
}

}  // namespace subak
