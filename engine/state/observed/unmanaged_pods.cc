#include "engine/state/observed/unmanaged_pods.h"

#include <utility>

#include "core/limits.h"
#include "core/must.h"

namespace subak::state {

std::shared_ptr<const UnmanagedPodList> UnmanagedPods::of(ClusterId cluster) const {
  static const auto kNone = std::make_shared<const UnmanagedPodList>();
  const auto it = all_.find(cluster);
  return it == all_.end() ? kNone : it->second;
}

const PodRecord* UnmanagedPods::find(ClusterId cluster, const std::string& uid) const {
  const auto it = all_.find(cluster);
  return it == all_.end() ? nullptr : it->second->by_uid.find(uid);
}

void UnmanagedPods::change(ClusterId cluster, const std::string& uid,
                           std::shared_ptr<const PodRecord> pod) {
  const std::shared_ptr<const UnmanagedPodList> before = of(cluster);
  auto after = std::make_shared<UnmanagedPodList>();
  after->by_uid = before->by_uid.changed({{uid, std::move(pod)}});
  after->more = before->more;
  must(size_ >= before->by_uid.size(), "each pending pod is counted once");
  size_ = size_ - before->by_uid.size() + after->by_uid.size();
  must(size_ <= limits::kMaxUnmanagedPods, "pending pods keep their bound");
  all_[cluster] = std::move(after);
}

void UnmanagedPods::seen(ClusterId cluster, const PodRecord& pod) {
  must(!pod.uid.empty(), "a pod that waits has a uid");
  if (size_ < limits::kMaxUnmanagedPods || find(cluster, pod.uid) != nullptr) {
    return change(cluster, pod.uid, std::make_shared<const PodRecord>(pod));
  }
  if (of(cluster)->more) return;
  auto after = std::make_shared<UnmanagedPodList>(*of(cluster));
  after->more = true;
  all_[cluster] = std::move(after);
}

void UnmanagedPods::gone(ClusterId cluster, const std::string& uid) {
  if (find(cluster, uid) != nullptr) change(cluster, uid, nullptr);
}

void UnmanagedPods::forget(ClusterId cluster) {
  must(size_ >= of(cluster)->by_uid.size(), "each pending pod is counted once");
  size_ -= of(cluster)->by_uid.size();
  all_.erase(cluster);
}

void UnmanagedPods::check() const {
  std::size_t sum = 0;
  for (const auto& [cluster, pods] : all_) sum += pods->by_uid.size();
  must(sum == size_, "each pending pod is counted once");
  must(size_ <= limits::kMaxUnmanagedPods, "pending pods keep their bound");
}

}  // namespace subak::state
