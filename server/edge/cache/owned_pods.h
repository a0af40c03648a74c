// Counts the pods of each controller and of each gang, without ended pods. Threads: none;
// ClusterCache owns it.
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
  // The counts of one controller, without ended pods.
  struct Count {
    std::size_t pods = 0;
    std::size_t bound = 0;  // with a node and not being deleted
  };
  // Forgets all counts and all gangs.
  void clear();

  // add() counts the pod, remove() takes it out of the counts. Call remove() before the entry
  // changes, and add() after.
  // Both ignore an ended pod and a pod without a controller.
  // remove() must get the entry as add() got it, or the counts become wrong.
  // add() also opens the gang of the pod: see open_gangs().
  void add(const GpuPodEntry& pod);
  void remove(const GpuPodEntry& pod);
  Count of(const std::string& controller) const;  // without pods of controllers below it
  // True if a pod of that gang is counted.
  bool has_gang(const std::string& gang_owner) const { return of_gang_.contains(gang_owner); }

  // Returns the gangs that had pods and whose end was not sent, by GpuPodEntry::gang_owner.
  const std::set<std::string>& open_gangs() const { return open_gangs_; }
  // Returns the open gangs of one owner: its own, and those of its groups ("uid+group").
  std::vector<std::string> open_gangs_of(const std::string& owner_uid) const;
  // Opens a gang whose pods had all ended when they were first seen.
  void open_gang(const std::string& gang_owner) { open_gangs_.insert(gang_owner); }
  // Closes a gang. Call it once the end of the gang was sent.
  void close_gang(const std::string& gang_owner) { open_gangs_.erase(gang_owner); }

 private:
  // The counts by uid of the controller. Controllers without pods have no entry.
  std::unordered_map<std::string, Count> of_controller_;
  // The number of pods, by gang_owner. Gangs without pods have no entry.
  std::unordered_map<std::string, std::size_t> of_gang_;
  std::set<std::string> open_gangs_;
};

}  // namespace subak
