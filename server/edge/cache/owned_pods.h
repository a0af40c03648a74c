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
  void clear();

  // Counts the pod, or no longer. Call remove() before the entry changes, and add() after. A pod
  // without a controller, or an ended one, counts nowhere.
  // add() and remove() must see the same entry, else a count stays behind for ever.
  void add(const GpuPodEntry& pod);
  void remove(const GpuPodEntry& pod);
  Count of(const std::string& controller) const;  // its own, not those of controllers below it
  // True if a pod of that gang is counted.
  bool has_gang(const std::string& gang_owner) const { return of_gang_.contains(gang_owner); }

  // Gangs that had pods and whose end was not sent, by GpuPodEntry::gang_owner.
  const std::set<std::string>& open_gangs() const { return open_gangs_; }
  // Those of one owner: its own, and of its groups ("uid+group").
  std::vector<std::string> open_gangs_of(const std::string& owner_uid) const;
  void open_gang(const std::string& gang_owner) { open_gangs_.insert(gang_owner); }
  void close_gang(const std::string& gang_owner) { open_gangs_.erase(gang_owner); }

 private:
  std::unordered_map<std::string, Count> of_controller_;
  std::unordered_map<std::string, std::size_t> of_gang_;
  std::set<std::string> open_gangs_;
};

}  // namespace subak
