// GPU pods of all clusters that wait for a node and are no Subak jobs, for example in namespaces of
// mode `observe` (engine/answers/unmanaged_pods.h). These pods are not a part of the state, because
// no decision depends on them, and each list of a cluster names all of them again.
//
// Threads: one at a time; Observed owns the object. Any thread may use the result of of().
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "core/ids.h"
#include "engine/answers/unmanaged_pods.h"

namespace subak::state {

// The pending pods of all clusters that Subak does not manage.
class UnmanagedPods {
 public:
  // Returns the present pending pods of a cluster. Never null.
  std::shared_ptr<const UnmanagedPodList> of(ClusterId cluster) const;
  // Returns the record of a pod; nullptr if the pod is unknown. The pointer is valid until the next
  // change.
  const PodRecord* find(ClusterId cluster, const std::string& uid) const;
  // The number of pods of all clusters.
  std::size_t size() const { return size_; }

  // Records that a pod was seen, perhaps again. The newest record counts. A new pod beyond
  // limits::kMaxUnmanagedPods of all clusters is ignored, and its cluster sets
  // UnmanagedPodList::more.
  void seen(ClusterId cluster, const PodRecord& pod);
  // Records that a pod no longer waits. Does nothing if the pod is unknown.
  void gone(ClusterId cluster, const std::string& uid);
  // Drops the pods of a cluster whose list begins, because the list names all pods again.
  void forget(ClusterId cluster);

  // Asserts that the number of pods is right and within the bound.
  void check() const;

 private:
  void change(ClusterId cluster, const std::string& uid, std::shared_ptr<const PodRecord> pod);

  std::map<ClusterId, std::shared_ptr<const UnmanagedPodList>> all_;
  std::size_t size_ = 0;
};

}  // namespace subak::state
