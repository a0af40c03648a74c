// The owners of pods as seen last: Jobs, JobSets and LeaderWorkerSets. Threads: none; the cache
// owns it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/node/node.h"
#include "kube/pod.h"
#include "server/edge/cache/entries.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// Entries outlive a session: nothing of an owner is sent to the core.
class OwnerCache {
 public:
  // `extra` outlives the cache.
  // `extra`: the resources that count as whole GPUs.
  explicit OwnerCache(const ExtraGpuResources& extra) : extra_(extra) {}

  // What an event of an owner changed.
  struct Seen {
    // Of the owner; a deleted owner has it too.
    std::string uid;
    std::string worker_set;  // "namespace/name", if it is a LeaderWorkerSet; else empty
    // The owner was deleted and has no entry any more.
    bool gone = false;
    // Its gangs are not the same as before: its gated pods must be read again.
    bool outdates = false;
  };
  // A list of the collection begins.
  void begin(const std::string& collection) { ++lists_[collection]; }
  // `collection`: one of kOwnerPaths. A deleted owner has `gone`. Versions are not compared: a
  // watch sends them in order.
  Seen see(const WatchEvent& event, const std::string& collection);
  // Takes an owner from the answer to a call: it updates an existing entry, and belongs to no list.
  // nullopt: it is not known, or is older than the entry. The watch does not repeat newer versions.
  std::optional<Seen> see_answer(json::Value owner, const std::string& collection);
  // Forgets the owners of the collection that the list did not name.
  // Every complete list is believed, see ListRound for others.
  void complete(const std::string& collection);
  // True if the collection had a complete list.
  bool is_known(std::string_view collection) const { return known_.contains(collection); }

  const OwnerEntry* find(const std::string& uid) const;  // nullptr: it does not exist
  // The uid of the LeaderWorkerSet of this "namespace/name"; empty: it does not exist.
  std::string worker_set(const std::string& name) const;
  // Owners that carry Subak's mark (annotation subak.gpu/suspended).
  const std::set<std::string>& marked() const { return marked_; }
  // The uids of the owners that this owner controls. O(owners).
  // Only the direct ones, such as the Jobs of a JobSet.
  std::vector<std::string> below(const std::string& uid) const;

 private:
  // Fills `entry` from the object.
  void read(const WatchEvent& event, OwnerEntry& entry) const;

  const ExtraGpuResources& extra_;
  std::map<std::string, OwnerEntry> entries_;       // by uid
  std::map<std::string, std::string> worker_sets_;  // their uids, by "namespace/name"
  std::set<std::string> marked_;
  // Collections with at least one complete list.
  std::set<std::string, std::less<>> known_;
  // The number of lists begun, by collection.
  std::map<std::string, std::uint32_t> lists_;
};

// The key of a LeaderWorkerSet: "namespace/name".
std::string worker_set_key(std::string_view ns, std::string_view name);

}  // namespace subak
