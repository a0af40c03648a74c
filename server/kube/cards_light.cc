// Pods without GPUs that count in a gang, as they say its size themselves: the launcher of an MPI job.
// Nothing holds them back, so they have no rank; the gang waits until they are there.
#include "server/kube/cards.h"

namespace subak {
namespace {

// "namespace/name" of the gang that it says the size of; empty: it says none. The launcher's controller is
// another than the workers', so that does not count.
std::string gang_of(const Pod& pod) {
  const std::string name = stated_gang(pod);
  return name.empty() ? name : std::string(pod.ns) + "/" + name;
}

// One that failed is made again, or its gang will not be whole.
bool is_there(const Pod& pod, WatchKind kind) {
  return kind != WatchKind::kDeleted && pod.deleted_at.empty() && pod.status.phase != "Failed";
}

}  // namespace

void Cards::count_light_member(const std::string& uid, const Pod& pod, WatchKind kind) {
  const bool counts = !pod.asks_gpu() && is_there(pod, kind);
  move_light_member(uid, counts ? gang_of(pod) : std::string());
}

void Cards::move_light_member(const std::string& uid, const std::string& gang) {
  const auto known = light_members_.find(uid);
  const std::string before = known == light_members_.end() ? std::string() : known->second;
  if (before == gang) return;
  if (!before.empty()) {
    light_members_.erase(known);
    if (--light_counts_[before] == 0) light_counts_.erase(before);
    outdate_gang(before);
  }
  if (!gang.empty()) {
    light_members_.emplace(uid, gang);
    ++light_counts_[gang];
    outdate_gang(gang);
  }
}

void Cards::leave_out_light_members(Pod& pod) const {
  const auto count = light_counts_.find(gang_of(pod));
  if (count != light_counts_.end()) subak::leave_out_light_members(pod, count->second);
}

// Gated pods of the gang are read again, as it is smaller or larger now.
void Cards::outdate_gang(const std::string& gang) {
  for (const std::string& uid : gated_) {
    const PodCard& card = pods_.at(uid);
    const std::string told = card.ns + "/" + card.gpu->gang_told;
    if (told.starts_with(gang + " ")) outdated_.insert(uid);
  }
}

}  // namespace subak
