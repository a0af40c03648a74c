// Pods that the core does not know yet, because their owner was not seen. The owner may say how
// many pods start together. Threads: none; the cache owns it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace subak {

// Each pod has one entry, until it is read with its owner, given up or gone.
class Orphans {
 public:
  // Memory: one text for each pod, for limits::kOwnerMs at most.
  struct Orphan {
    std::string text;  // the pod, as JSON
    // When it was first seen, monotonic.
    std::int64_t since_ms = 0;
  };
  // Forgets all pods and all awaited owners.
  void clear();

  // Adds a pod, or takes its newer text. `owners`: uids of owners, or "namespace/name" of a
  // LeaderWorkerSet, which it awaits if it is new.
  // `since_ms`: monotonic. A known orphan keeps its time and its owners.
  void add(const std::string& uid, std::string text, std::int64_t since_ms,
           const std::vector<std::string>& owners);
  // Takes the pod out; nullopt: it is none.
  std::optional<Orphan> take(const std::string& uid);
  // The pod is gone, or needs its owner no longer.
  void forget(const std::string& uid) { entries_.erase(uid); }
  // Takes out the awaited owner, and returns the pods that awaited it.
  // They stay orphans until take(). Pods that are none any more may be among them.
  std::vector<std::string> awaiting(const std::string& owner);
  // Returns the pods that have waited for this long.
  // By uid. They stay orphans.
  std::vector<std::string> waiting_since(std::int64_t now_ms, std::int64_t at_least_ms) const;
  // Forgets the owners that only pods await that are no orphans any more.
  void forget_owners();
  // Number of pods that wait for their owner.
  std::size_t size() const { return entries_.size(); }

 private:
  std::map<std::string, Orphan> entries_;  // by uid
  // By owner: the uids of the pods that await it. Pods that are no orphans any more may be among
  // them.
  std::multimap<std::string, std::string> awaited_;
};

}  // namespace subak
