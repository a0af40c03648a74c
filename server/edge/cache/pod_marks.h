// Which pods the edge has to look at again, by uid. Threads: none; the cache owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace subak {

// Sets of uids in order, so that the work of a turn is the same in each run.
class PodMarks {
 public:
  // When a session begins.
  void clear();
  // The pod is gone. What has to be read again stays: the reader finds no such pod.
  void forget(const std::string& uid);

  // Pods with Subak's gate that have not ended and are not being deleted.
  const std::set<std::string>& gated() const { return gated_; }
  // Sets the mark, or clears it.
  void set_gated(const std::string& uid, bool is) { set(gated_, uid, is); }
  // Pods whose gate is open and that the scheduler finds no node for.
  const std::set<std::string>& unschedulable() const { return unschedulable_; }
  // As set_gated().
  void set_unschedulable(const std::string& uid, bool is) { set(unschedulable_, uid, is); }
  // Takes out the gated pods that cannot be sent, because no object says how large their gang is.
  std::set<std::string> take_unsized() { return std::exchange(unsized_, {}); }
  // Call for such a pod each time that it is seen: the set is emptied by each take.
  void put_unsized(const std::string& uid) { unsized_.insert(uid); }
  // Takes out at most `most` gated pods that must be read again, since their owner now says
  // something else about their gang, or the core refused their last update.
  std::set<std::string> take_outdated(std::size_t most = SIZE_MAX);
  // Also for a pod whose read has failed, so that the next turn reads it.
  void put_outdated(const std::string& uid) { outdated_.insert(uid); }

 private:
  // Puts the uid into the set, or takes it out.
  static void set(std::set<std::string>& marked, const std::string& uid, bool is);

  std::set<std::string> gated_, unschedulable_, unsized_, outdated_;
};

}  // namespace subak
