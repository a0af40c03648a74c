// How many pods each controller and each gang has, without ended ones. Threads: none; the cache
// owns it.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/edge/cache/entries.h"

namespace subak {

class OwnedPods {
 public:
  // Of one controller. Pods that ended do not count.
  struct Count {
    std::size_t pods = 0;
    std::size_t bound = 0;  // with a node and not being deleted
  };
  // Forgets all counts and all gangs.
  void clear();

  // Counts the pod, or no longer. Call remove() before the entry changes, and add() after. A pod
  // without a controller, or an ended one, counts nowhere.
  // add() and remove() must see the same entry, else a count stays behind for ever.
  // add() also opens the gang of the pod: see open_gangs().
  void add(const GpuPodEntry& pod);
  void remove(const GpuPodEntry& pod);
  Count of(const std::string& controller) const;  // its own, not those of controllers below it
  // True if a pod of that gang is counted.
  bool has_gang(const std::string& gang_owner) const { return of_gang_.contains(gang_owner); }

  // Gangs that had pods and whose end was not sent, by GpuPodEntry::gang_owner.
  const std::set<std::string>& open_gangs() const { return open_gangs_; }
  // Those of one owner: its own, and of its groups ("uid+group").
  std::vector<std::string> open_gangs_of(const std::string& owner_uid) const;
  // For a gang whose pods had all ended when they were first seen.
  void open_gang(const std::string& gang_owner) { open_gangs_.insert(gang_owner); }
  // Call once the end of the gang was sent.
  void close_gang(const std::string& gang_owner) { open_gangs_.erase(gang_owner); }

 private:
  // By uid of the controller. Those without pods have no entry.
  std::unordered_map<std::string, Count> of_controller_;
  // The number of pods, by gang_owner. Gangs without pods have no entry.
  std::unordered_map<std::string, std::size_t> of_gang_;
  std::set<std::string> open_gangs_;
};

}  // namespace subak
