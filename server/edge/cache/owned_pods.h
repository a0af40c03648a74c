// Counts the pods of each controller and of each gang (pods that start together), and the failures
// that a Job has not counted yet. The edge uses the counts to decide between evicting a pod and
// suspending its owner. Only pods with a GpuPodEntry count. An ended pod counts only as a failure.
// Threads: one at a time; ClusterCache owns this object.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/edge/cache/entries.h"

namespace subak {

// The counts of one cluster. ClusterCache calls remove() and add() around each change of a pod.
class OwnedPods {
 public:
  // The counts of one controller. Ended pods count only in `failing`.
  struct Count {
    std::size_t pods = 0;
    std::size_t bound = 0;    // pods with a node that are not being deleted
    std::size_t failing = 0;  // pods with JobPart::failing
  };
  // Forgets all counts and all gangs.
  void clear();

  // add() counts the pod, and remove() takes the pod out of the counts. Both ignore a pod without a
  // controller, and an ended pod that is not failing (JobPart). Call remove() before a change of
  // the entry, and add() after the change: remove() must get the entry as add() got it, or the
  // counts become wrong. If the pod has not ended, add() also opens its gang: see open_gangs().
  void add(const GpuPodEntry& pod);
  void remove(const GpuPodEntry& pod);
  Count of(const std::string& controller) const;  // does not count pods of controllers below it
  // True if at least one pod of this gang has not ended.
  bool has_gang(const std::string& gang_owner) const { return of_gang_.contains(gang_owner); }

  // Returns the open gangs, by GpuPodEntry::gang_owner: those that had pods and whose end is not in
  // the outbox yet.
  const std::set<std::string>& open_gangs() const { return open_gangs_; }
  // Returns the gangs of one owner: its own gang, even if that is not open, and the open gangs of
  // its groups ("uid+group").
  std::vector<std::string> open_gangs_of(const std::string& owner_uid) const;
  // Opens a gang. Call it for a pod that had ended when it was first seen, since add() does not
  // open the gang of an ended pod.
  void open_gang(const std::string& gang_owner) { open_gangs_.insert(gang_owner); }
  // Closes a gang. Call it when the end of the gang is in the outbox.
  void close_gang(const std::string& gang_owner) { open_gangs_.erase(gang_owner); }

 private:
  // The counts by uid of the controller. Controllers whose counts are all 0 have no entry.
  std::unordered_map<std::string, Count> of_controller_;
  // The number of pods that have not ended, by gang_owner. Gangs without such pods have no entry.
  std::unordered_map<std::string, std::size_t> of_gang_;
  std::set<std::string> open_gangs_;
};

}  // namespace subak
