// The edge's object cache of a cluster, as client-go's informer cache. It has an entry for each
// pod, node and owner, as seen last, and the updates that the core has not got yet (outbox.h). It
// holds the pods itself, and joins what the caches of other kinds say about them.
//
// An entry is small: the resource requests of a pod are sent and not kept. While the gate is
// closed, the entry also has the data to open it. Reads no clock, does no I/O. Threads: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/node/node.h"
#include "kube/pod.h"
#include "model/input.h"
#include "server/edge/cache/entries.h"
#include "server/edge/cache/list_round.h"
#include "server/edge/cache/namespace_cache.h"
#include "server/edge/cache/node_cache.h"
#include "server/edge/cache/non_gpu_members.h"
#include "server/edge/cache/orphans.h"
#include "server/edge/cache/outbox.h"
#include "server/edge/cache/owned_pods.h"
#include "server/edge/cache/owner_cache.h"
#include "server/edge/cache/pod_marks.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// Times: TimeMs is the service's time (UTC), `monotonic_ms` a clock that never goes back. Updates
// for the core go into outbox(), never directly to it.
class ClusterCache {
 public:
  // `cluster`: its name, which each update carries.
  // `fatal_conditions` and `topology_labels`: as KubeNodeOptions.
  // `extra`: resources that count as whole GPUs. `other_schedulers`: pods of these belong to
  // another queue manager.
  ClusterCache(std::string cluster, ExtraGpuResources extra,
               std::vector<std::string> other_schedulers,
               std::vector<std::string> fatal_conditions = default_fatal_conditions(),
               std::vector<std::string> topology_labels = {});
  ClusterCache(const ClusterCache&) = delete;
  ClusterCache& operator=(const ClusterCache&) = delete;

  // Forgets what the core got. Call when a session begins.
  // Drops all entries of pods, nodes and namespaces, so the next lists send them again. Owners
  // stay: they are not sent.
  void forget_told();

  // The parts of other kinds: their lists and events go to them, but for those below.
  // The updates for the core. The edge takes them out with next() and puts back what it cannot
  // send.
  Outbox& outbox() { return outbox_; }
  const Outbox& outbox() const { return outbox_; }
  NodeCache& nodes() { return nodes_; }
  const NodeCache& nodes() const { return nodes_; }
  // Labels of namespaces that name an account. Its list and watch go to it directly.
  NamespaceCache& namespaces() { return namespaces_; }
  OwnerCache& owners() { return owners_; }
  const OwnerCache& owners() const { return owners_; }
  // Pods that the edge looks at again, by what is wrong with them.
  PodMarks& marks() { return marks_; }
  const PodMarks& marks() const { return marks_; }

  // The lists of each kind. An object that a complete list does not name is gone. `heard_ms` is
  // when the pods were last known to be in the state that was sent. A list that did not end still
  // shows that the pods it named existed when it began. complete_pods() returns false if more than
  // half of the pods would go and this is the first list to say so.
  void begin_pods(TimeMs began_ms) {
    pod_list_.begin();
    pod_list_ms_ = began_ms;
  }
  // An event that is older than the entry is ignored. A pod without GPUs and gate gets no
  // GpuPodEntry.
  void see_pod(const WatchEvent& event, std::int64_t monotonic_ms);
  bool complete_pods(TimeMs heard_ms);
  // An object that cannot be read counts in unreadable(). A deleted node counts as gone at
  // `now_ms`, or earlier if it was silent.
  void see_node(const WatchEvent& event, TimeMs now_ms);
  // `collection`: one of kOwnerPaths.
  void see_owner(const WatchEvent& event, const std::string& collection);
  // Call once the list of the collection is complete: owners that it did not name are gone.
  void complete_owners(const std::string& collection);
  // Takes a pod or an owner from the answer to a call. It only updates existing entries: the answer
  // may be older than the watch, and belongs to no list.
  void see_answered_pod(json::Value pod, std::int64_t monotonic_ms);
  void see_answered_owner(json::Value owner, const std::string& collection);
  // Call in each turn.
  // Sends pods without their owner if it was not seen for limits::kOwnerMs.
  void adopt_orphans(std::int64_t monotonic_ms);

  // Returns the pod; nullptr: it does not exist. Only for pods that request GPUs or carry Subak's
  // gate.
  const PodEntry* find_gpu_pod(const std::string& uid) const;
  // Number of pods of this controller, or of the controllers below it, without ended ones.
  std::size_t pods_of(const std::string& owner_uid) const;
  // Number of pods of this controller, or of the controllers below it, that have a node and are not
  // being deleted.
  std::size_t bound_below(const std::string& owner_uid) const;
  // Reads and sends the pod again: the core refused its last update.
  // It only marks the pod: the edge reads the outdated pods. Does nothing for an unknown pod.
  void tell_again(const std::string& uid);
  // Calls `take` for each pod whose gate is open and that the scheduler finds no node for. The pod
  // has the monotonic time since when.
  // `take` must not change the cache.
  void each_unschedulable(
      const std::function<void(const std::string& uid, const PodEntry& pod)>& take) const;
  // Restarts the pod's unschedulable time from now.
  // The pod must be one of each_unschedulable().
  void put_off_unschedulable(const std::string& uid, std::int64_t monotonic_ms);

  // True if some objects wait: pods for their owner, nodes for their lease.
  bool any_untold() const { return orphans_.size() > 0 || !nodes_.silent().empty(); }
  // Number of pods that exist, with or without GPUs.
  std::size_t pods() const { return pods_.size(); }
  // The objects that could not be read completely.
  struct Unreadable {
    // Rises only. The same object counts each time that it is read.
    std::uint64_t count = 0;
    // Why the last one could not. Empty: all could be read.
    std::string last;
  };
  const Unreadable& unreadable() const { return unreadable_; }

 private:
  // `with_owner` false: the owner was not seen in time, and the pod is sent without it.
  void see_pod(const WatchEvent& event, std::int64_t monotonic_ms, bool with_owner);
  // As see_pod(), for an object that is not from a list or watch: an orphan, or the answer to a
  // call. Does nothing without an entry.
  void see_again(json::Value pod, std::int64_t monotonic_ms, bool with_owner);
  // Takes the pod out of the orphans and reads it again. Does nothing if it is none.
  void see_orphan(const std::string& uid, std::int64_t monotonic_ms, bool with_owner);
  // Updates the entry of a pod with GPUs or gate, its counts and its marks.
  void see_gpu_pod(const std::string& uid, PodEntry& entry, const Pod& pod, const PodRecord& record,
                   json::Value object, std::int64_t monotonic_ms);
  // True if the pod is kept back as an orphan until its owner is seen.
  bool waits_for_owner(const Pod& pod, const WatchEvent& event, std::int64_t monotonic_ms);
  // Handles what a new, changed or deleted owner means for its pods.
  void take_in(const OwnerCache::Seen& owner);
  // Puts the record into the outbox, unless the core has it already.
  void tell_pod(const std::string& uid, const PodRecord& record);
  // Sends the members that are created later, if the pod is the first of such a gang.
  void tell_late_pods(const std::string& uid, PodEntry& entry, const Pod& pod,
                      const PodRecord& first);
  // Sends the pod as gone if it is in another gang now. It is sent in that one after it: the core
  // moves no pod.
  void leave_gang(const std::string& uid, PodEntry& entry, const PodRecord& record);
  // Sends the end of a gang that has no pods left and gets no new ones.
  void tell_if_gone(const std::string& gang_owner);
  // Ends the pod: for the core, the counts and the marks.
  void drop_pod(const std::string& uid, in::PodGone gone, const std::string& clock = {});
  // NodeCache::MayHavePods.
  bool may_have_pods(const std::string& node) const;
  // Returns when the pod ended: `said_ms`, corrected by what is known of its node.
  TimeMs end_seen(const PodEntry& entry, TimeMs said_ms) const;
  // Marks pods whose owner says something else about them now; they are read again.
  void outdate_pods_of(const OwnerCache::Seen& owner);
  // As outdate_pods_of(), for the gangs of these owners.
  void outdate_gangs(const std::vector<std::string>& gangs);

  const KubeNodeOptions node_options_;
  const std::vector<std::string> other_schedulers_;
  Outbox outbox_;
  std::unordered_map<std::string, PodEntry> pods_;  // by uid
  ListRound pod_list_;
  // When the running list of pods began, or the last one, by the service's time.
  TimeMs pod_list_ms_ = 0;
  NodeCache nodes_;
  NamespaceCache namespaces_;
  OwnerCache owners_;
  OwnedPods owned_;
  Orphans orphans_;
  NonGpuMembers non_gpu_members_;
  PodMarks marks_;
  Unreadable unreadable_;
};

}  // namespace subak
