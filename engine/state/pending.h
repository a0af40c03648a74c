// Pods that wait for a node without us (engine/pending_pods.h), of all clusters. Not part of the
// state: nothing is decided by them, and a list says all of them anew.
//
// Threads: none; State owns it. Only state/ changes it. What of() returns is any thread's.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "core/ids.h"
#include "engine/pending_pods.h"

namespace subak::state {

class Pending {
 public:
  // Never null. Holds what was there when it was asked for.
  std::shared_ptr<const PendingPods> of(ClusterId cluster) const;
  // nullptr: it is not there. Holds until the next change.
  const PodRecord* find(ClusterId cluster, const std::string& uid) const;
  std::size_t size() const { return size_; }  // of all clusters

  // Seen, maybe again: its newest word counts. Beyond limits::kMaxPendingPods of all clusters a new
  // one is passed over, and its cluster says that there are more.
  void seen(ClusterId cluster, const PodRecord& pod);
  void gone(ClusterId cluster, const std::string& uid);  // nothing if it was not there
  // A list says all anew.
  void forget(ClusterId cluster);

  // Asserts that it counts right and keeps its bound.
  void check() const;

 private:
  void change(ClusterId cluster, const std::string& uid, std::shared_ptr<const PodRecord> pod);

  std::map<ClusterId, std::shared_ptr<const PendingPods>> all_;
  std::size_t size_ = 0;
};

}  // namespace subak::state
