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

std::string key_of(const std::string& gang, const std::string& owner) {
  return owner.empty() || gang.empty() ? gang : gang + "\n" + owner;
}

std::string without_owner(const std::string& key) { return key.substr(0, key.find('\n')); }

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

std::vector<std::string> NonGpuMembers::see(const std::string& uid, const Pod& pod, WatchKind kind,
                                            const std::string& creator) {
  const bool counts = !pod.asks_gpu() && is_there(pod, kind);
  return move(uid, counts ? key_of(gang_stated_by(pod), creator) : std::string());
}

std::vector<std::string> NonGpuMembers::move(const std::string& uid, const std::string& gang) {
  const auto known = gangs_.find(uid);
  const std::string before = known == gangs_.end() ? std::string() : known->second;
  if (before == gang) return {};
  std::vector<std::string> changed;
  if (!before.empty()) {
    gangs_.erase(known);
    if (--counts_[before] == 0) ++without_;
    changed.push_back(without_owner(before));
  }
  if (!gang.empty()) {
    gangs_.emplace(uid, gang);
    const auto [count, is_new] = counts_.try_emplace(gang);
    if (!is_new && count->second == 0) --without_;
    ++count->second;
    changed.push_back(without_owner(gang));
  }
  if (without_ > limits::kMaxFormerGangs) {
    std::erase_if(counts_, [](const auto& one) { return one.second == 0; });
    without_ = 0;
  }
  return changed;
}

std::optional<std::uint32_t> NonGpuMembers::members_of(const std::string& gang) const {
  const auto count = counts_.find(gang);
  return count == counts_.end() ? std::nullopt : std::optional(count->second);
}

void NonGpuMembers::leave_out_of(Pod& pod) const {
  const std::string gang = gang_stated_by(pod);
  const std::string of_owner = key_of(gang, pod.gang.owner);
  const std::optional<std::uint32_t> named = members_of(gang);
  const std::optional<std::uint32_t> owned = of_owner == gang ? std::nullopt : members_of(of_owner);
  if (named || owned) leave_out_non_gpu_members(pod, named.value_or(0) + owned.value_or(0));
}

}  // namespace subak
