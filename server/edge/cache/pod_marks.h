// The pods that the edge must look at again, in one set for each cause. The cache marks most of
// them; parts of the edge (server/edge/cluster) take them out in each turn. Threads: one at a time;
// ClusterCache owns the marks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kube/pod.h"
#include "model/input.h"

namespace subak {

// A pod that Subak released, that is on a node, and that is not Ready.
struct NotReadyPod {
  // Since when its condition Ready does not hold, by the clock of its node.
  TimeMs since_ms = 0;
  // Why (why_not_ready()); never empty.
  std::string words;
  // When the pod was reported last, in monotonic ms; 0: never.
  std::int64_t told_ms = 0;
};

// The sets are sorted, so that a turn works through the pods in the same order in each run.
class PodMarks {
 public:
  // Empties all sets, when a session begins.
  void clear();
  // Drops a pod that is gone from gated(), unschedulable() and not_ready(). The sets of the
  // take_...() functions may still have the pod, which does no harm.
  void forget(const std::string& uid);

  // Pods with Subak's gate that have not ended and are not being deleted.
  const std::set<std::string>& gated() const { return gated_; }
  // Pods that Subak released and for which the scheduler finds no node.
  const std::set<std::string>& unschedulable() const { return unschedulable_; }
  // Pods that Subak released and that are not Ready, by uid.
  std::map<std::string, NotReadyPod>& not_ready() { return not_ready_; }
  // Sets all marks above of a pod that was seen. `record`: the record of `pod`. `ours`: Subak
  // released the pod.
  void see(const std::string& uid, const Pod& pod, const PodRecord& record, bool ours);
  // Takes out the gated pods that cannot start, because no object says how large their gang is.
  std::set<std::string> take_unsized() { return std::exchange(unsized_, {}); }
  // Marks a pod for take_unsized(). Call it each time that the pod is seen, since take_unsized()
  // empties the set.
  void put_unsized(const std::string& uid) { unsized_.insert(uid); }
  // Takes out the gated pods that must wait before the core gets them (PodWait).
  std::set<std::string> take_early() { return std::exchange(early_, {}); }
  // Marks a pod for take_early(). Call it when the cause has changed.
  void put_early(const std::string& uid) { early_.insert(uid); }
  // Takes out the pods without a node that the edge reported as gone although they exist. The
  // scheduler may still bind such a pod, if its gate is open or an earlier patch opens it.
  std::set<std::string> take_withdrawn() { return std::exchange(withdrawn_, {}); }
  // Marks a pod for take_withdrawn().
  void put_withdrawn(const std::string& uid) { withdrawn_.insert(uid); }
  // Takes out at most `most` gated pods that must be read again, because their gang may have
  // changed or because the core refused their last update.
  std::set<std::string> take_outdated(std::size_t most = SIZE_MAX);
  // Marks a pod to be read again in the next turn. Call it also after a failed read.
  void put_outdated(const std::string& uid) { outdated_.insert(uid); }

 private:
  // Puts the uid into the set, or takes it out.
  static void set(std::set<std::string>& marked, const std::string& uid, bool is);

  std::map<std::string, NotReadyPod> not_ready_;
  std::set<std::string> gated_, unschedulable_, unsized_, early_, withdrawn_, outdated_;
};

}  // namespace subak
