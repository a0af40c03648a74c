// Orphans: pods of which the edge has not seen the owner (the object that creates them). The edge
// does not send them to the core, the engine that decides, since the owner may say how many pods
// start together. Threads: one at a time; ClusterCache owns this object.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace subak {

// Each orphan has one entry. The entry is removed when the pod is read with its owner, when the
// wait for the owner ends, or when the pod is gone.
class Orphans {
 public:
  // An orphan costs the memory of its text, for at most limits::kOwnerMs.
  struct Orphan {
    std::string text;  // the pod, as JSON
    // When the pod was first seen, by the monotonic clock.
    std::int64_t since_ms = 0;
  };
  // Forgets all pods and all awaited owners.
  void clear();

  // Adds a pod that waits for `owners`: uids, or "namespace/name" of a LeaderWorkerSet. `since_ms`:
  // when the pod was first seen, by the monotonic clock. If the pod is an orphan already, only its
  // text is replaced; its time and owners do not change.
  void add(const std::string& uid, std::string text, std::int64_t since_ms,
           const std::vector<std::string>& owners);
  // Takes the pod out and returns it; nullopt: it is no orphan.
  std::optional<Orphan> take(const std::string& uid);
  // Drops a pod that is gone, or that no longer needs its owner.
  void forget(const std::string& uid) { entries_.erase(uid); }
  // Takes out the awaited owner, and returns the uids of the pods that waited for this owner. These
  // pods stay orphans until take(). The result may also have pods that are no longer orphans.
  std::vector<std::string> awaiting(const std::string& owner);
  // Returns the uids of the pods that have waited for `at_least_ms` or longer.
  // The pods stay orphans.
  std::vector<std::string> waiting_since(std::int64_t now_ms, std::int64_t at_least_ms) const;
  // Forgets each owner for which no orphan waits any more.
  void forget_owners();
  // Returns the number of pods that wait for their owner.
  std::size_t size() const { return entries_.size(); }

 private:
  std::map<std::string, Orphan> entries_;  // by uid
  // For each owner: the uids of the pods that wait for this owner. Some of these pods may no longer
  // be orphans.
  std::multimap<std::string, std::string> awaited_;
};

}  // namespace subak
