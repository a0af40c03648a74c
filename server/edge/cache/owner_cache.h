// The owners of pods (objects that create pods, such as Jobs) and the groups that pods name (a
// PodGroup or Workload). They show which pods form a gang. Threads: one at a time; ClusterCache
// owns the cache.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/node/node.h"
#include "kube/pod.h"
#include "server/edge/cache/entries.h"
#include "server/edge/client/watch_stream.h"
#include "server/edge/parking/parked_owners.h"

namespace subak {

// Returns the name of a group among all groups: "KIND namespace/name".
std::string group_key(OwnerKind kind, std::string_view ns, std::string_view name);

// Entries stay when a session ends. The core gets only one kind of owners: those that wait
// suspended. In a new session, the core gets these owners again from the next list.
class OwnerCache {
 public:
  // `extra`: the resources that count as whole GPUs. `extra` must outlive the cache.
  explicit OwnerCache(const ExtraGpuResources& extra) : extra_(extra) {}

  // What an event on an owner has changed.
  struct Seen {
    // The uid of the owner, even if the owner was deleted.
    std::string uid;
    std::string worker_set;  // "namespace/name", if it is a LeaderWorkerSet; else empty
    std::string group;       // group_key(), if it is a PodGroup or Workload; else empty
    std::string train_job;   // the uid of its parked TrainJob, if it is a JobSet of one; else empty
    // True: the owner was deleted and no longer has an entry.
    bool gone = false;
    // True: the gangs of the owner have changed, so its gated pods must be read again.
    bool outdates = false;
  };
  // A list of the collection begins.
  void begin(const std::string& collection);
  // Takes an event on an owner. `collection`: the path of its kind. It does not compare versions,
  // since a watch sends the versions of an object in order.
  Seen see(const WatchEvent& event, const std::string& collection);
  // Takes an owner from the answer to a call. It only updates an existing entry, since the answer
  // belongs to no list.
  // Returns nullopt, and changes nothing, if the owner has no entry or the entry has a newer
  // version than the answer. The watch would not send the newer version again.
  std::optional<Seen> see_answer(json::Value owner, const std::string& collection);
  // The list of the collection is complete: forgets the owners that the list did not name. Unlike
  // ListRound, it believes every complete list.
  void complete(const std::string& collection);
  // True if at least one list of the kind was complete.
  bool is_known(OwnerKind kind) const { return known_.contains(kind); }

  const OwnerEntry* find(const std::string& uid) const;  // nullptr: it does not exist
  // Returns the uid of the LeaderWorkerSet with this "namespace/name"; empty: it does not exist.
  std::string worker_set(const std::string& name) const;
  // Returns the uid of the PodGroup or Workload with this group_key(); empty: it does not exist.
  std::string group(const std::string& key) const;
  // Returns the person who made the pod (person_name()). If a controller created the pod, this is
  // the person who created the pod's owner, and so on up to the topmost owner. Empty: no person
  // made the pod, or the annotation names::kCreatedBy is missing.
  std::string maker_of(const Pod& pod) const;
  // Returns the uid of an owner that maker_of() needs and a watch will bring soon. Empty: none.
  std::string awaited_maker(const Pod& pod) const;
  // Returns the uid of the topmost owner of the pod that alone creates at least `size` pods of the
  // gang with this name (GangsOfOwner::named). Empty: there is none.
  std::string creator_of_gang(const Pod& pod, const std::string& name, std::uint32_t size) const;
  // Returns the uid of the TrainJob or RayJob that created this owner (OwnerKindRow::is_above), if
  // the edge watches its kind. Else returns `uid`.
  std::string topmost(const std::string& uid) const;
  // Returns the topmost object above the pod whose kind Subak reads, such as the Deployment of the
  // pod's ReplicaSet. A CronJob does not count, since each of its Jobs is a run of its own. Empty:
  // the pod has no controller.
  Workload topmost_controller(const Pod& pod) const;
  // Returns the owners with Subak's mark (annotation subak.gpu/suspended).
  const std::set<std::string>& marked() const { return marked_; }
  // Returns the owners of marked() without those that may wait parked
  // (OwnerEntry::may_wait_parked()). Only these may need a write, so a plan of writes does not read
  // a long queue of parked owners.
  const std::set<std::string>& restless() const { return restless_; }
  // The owners that wait suspended until their turn.
  ParkedOwners& parked() { return parked_; }
  const ParkedOwners& parked() const { return parked_; }
  // Calls ParkedOwners::look() for the owner, which may be gone.
  std::optional<in::OwnerSeen> look_at_parked(const std::string& cluster, const std::string& uid);
  // Calls ParkedOwners::see_pod() for all owners above this pod that are suspended, if the pod has
  // not ended.
  void see_pod_of_parked(const GpuPodEntry& pod, std::int64_t monotonic_ms);
  // Returns the uids of the owners that this owner controls directly, such as the Jobs of a JobSet.
  // For a TrainJob, these are the JobSet and its Jobs. O(result x log n) for n owners in the cache.
  std::vector<std::string> below(const std::string& uid) const;

 private:
  using Entries = std::map<std::string, OwnerEntry>;  // by uid
  // Calls fn(uid, entry) for the owner and for each owner above it, while the cache has them.
  template <class F>
  void for_each_above(std::string uid, F&& fn) const;
  // Fills `entry` from the object.
  void read(const WatchEvent& event, OwnerEntry& entry) const;
  // The creator and the controller of one owner. Kinds without an OwnerEntry have a Maker too.
  struct Maker {
    const OwnerKindRow* row = nullptr;
    // The annotation names::kCreatedBy; empty: none.
    std::string created_by;
    // The uid, the name and the kind of the owner's own controller. The texts are empty if there is
    // none, and the kind is nullptr if Subak does not read it.
    std::string parent, parent_name;
    const OwnerKindRow* parent_row = nullptr;
    // As OwnerEntry::list.
    std::uint32_t list = 0;
    friend bool operator==(const Maker&, const Maker&) = default;
  };
  // The result of a walk from a pod to its owner, the owner's owner, and so on. The walk ends at
  // the first object that no controller created.
  struct Ancestry {
    // The name of the caller that created the last object of the walk; empty: not known.
    std::string created_by;
    // The uid of the next owner, if it is not known yet.
    std::string awaited;
  };
  Ancestry ancestry_of(const Pod& pod) const;
  // Continues a walk at the owner `uid`. `row`: its kind; nullptr: a kind that Subak does not read.
  Ancestry walk_up(std::string_view ns, Ancestry walk, std::string uid,
                   const OwnerKindRow* row) const;
  // Updates `makers_` from the object. Returns true if something changed.
  bool see_maker(const WatchEvent& event, const OwnerKindRow& row, const std::string& uid);
  // Gives a parked TrainJob the pods of its JobSet. `set`: nullptr: the JobSet does not exist.
  static void lend(const std::string& uid, OwnerEntry& train_job, const OwnerEntry* set);
  // Calls lend() where an event on this TrainJob or JobSet requires it.
  void lend_after(Seen& seen);
  // Returns the parked TrainJob that created this JobSet; the end: there is none.
  Entries::iterator parked_train_job_of(const OwnerEntry& set);
  // Forgets a deleted owner, and records its deletion in `seen`.
  void drop(Seen& seen);
  // Sets the controller of the owner, also in `children_`.
  void set_parent(const std::string& uid, OwnerEntry& entry, const std::string& parent);
  // Returns the uids of the owners that have this controller, in ascending order.
  std::vector<std::string> children_of(const std::string& uid) const;
  // Updates `marked_` and `restless_` after a change of an entry.
  void index(const std::string& uid, const OwnerEntry& entry);

  const ExtraGpuResources& extra_;
  Entries entries_;
  // The uid of the controller and of the owner, for each entry that has a controller.
  std::set<std::pair<std::string, std::string>> children_;
  std::map<std::string, Maker> makers_;             // by uid
  std::map<std::string, std::string> worker_sets_;  // their uids, by "namespace/name"
  std::map<std::string, std::string> groups_;       // their uids, by group_key()
  std::set<std::string> marked_, restless_;
  ParkedOwners parked_;
  // Kinds with at least one complete list.
  std::set<OwnerKind> known_;
  // The number of lists begun, by kind.
  std::map<OwnerKind, std::uint32_t> lists_;
};

}  // namespace subak
