// The uids of pods that the edge must look at again, in one set for each cause. Threads: one at a
// time; ClusterCache owns the marks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace subak {

// The sets are sorted, so that a turn works through the pods in the same order in each run.
class PodMarks {
 public:
  // Empties all sets, when a session begins.
  void clear();
  // Drops the marks of a pod that is gone. The outdated mark may stay: the edge then reads the pod
  // and finds that it is gone.
  void forget(const std::string& uid);

  // Pods with Subak's gate that have not ended and are not being deleted.
  const std::set<std::string>& gated() const { return gated_; }
  // Sets the mark of the pod if `is` is true, else clears it.
  void set_gated(const std::string& uid, bool is) { set(gated_, uid, is); }
  // Pods that Subak released and for which the scheduler finds no node.
  const std::set<std::string>& unschedulable() const { return unschedulable_; }
  // Works as set_gated().
  void set_unschedulable(const std::string& uid, bool is) { set(unschedulable_, uid, is); }
  // Takes out the gated pods that cannot start, because no object says how large their gang is.
  std::set<std::string> take_unsized() { return std::exchange(unsized_, {}); }
  // Marks a pod for take_unsized(). Call it each time that the pod is seen, since take_unsized()
  // empties the set.
  void put_unsized(const std::string& uid) { unsized_.insert(uid); }
  // Takes out the gated pods that must wait before the core gets them (PodWait).
  std::set<std::string> take_early() { return std::exchange(early_, {}); }
  // Marks a pod for take_early(), in the same way as put_unsized().
  void put_early(const std::string& uid) { early_.insert(uid); }
  // Takes out the pods without a node that were reported as gone although they exist. The scheduler
  // may place such a pod, or a patch that opens its gate may still be on its way.
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

  std::set<std::string> gated_, unschedulable_, unsized_, early_, withdrawn_, outdated_;
};

}  // namespace subak
