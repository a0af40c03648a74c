// The edge's object cache of a cluster, like client-go's informer cache. It has an entry for each
// pod, node and owner, as last seen. It also has the updates that the core has not got yet
// (outbox.h). ClusterCache stores the pods, and combines them with the data of the
// caches of other kinds.
//
// An entry is small: the cache sends the resource requests of a pod to the core, and does not store
// them. While a pod's gate is closed, the entry also has the data to open it. The cache reads no
// clock and does no I/O. Threads: none.
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
// for the core go into outbox(); the cache never calls the core.
class ClusterCache {
 public:
  // `cluster`: the name of the cluster, which is in each update.
  // `fatal_conditions` and `topology_labels`: as KubeNodeOptions.
  // `extra`: resources that count as whole GPUs. `other_schedulers`: pods with one of these
  // schedulers belong to another queue manager.
  ClusterCache(std::string cluster, ExtraGpuResources extra,
               std::vector<std::string> other_schedulers,
               std::vector<std::string> fatal_conditions = default_fatal_conditions(),
               std::vector<std::string> topology_labels = {});
  ClusterCache(const ClusterCache&) = delete;
  ClusterCache& operator=(const ClusterCache&) = delete;

  // Drops all entries of pods, nodes and namespaces, so that the next lists send them to the core
  // again. Call it when a session begins.
  // Owners stay, since the core does not get them.
  void forget_told();

  // The updates for the core. The edge takes them out with next(), and puts back an update that it
  // cannot send.
  Outbox& outbox() { return outbox_; }
  const Outbox& outbox() const { return outbox_; }
  NodeCache& nodes() { return nodes_; }
  const NodeCache& nodes() const { return nodes_; }
  // The labels of namespaces that name an account. The list and watch of namespaces go directly to
  // this cache.
  NamespaceCache& namespaces() { return namespaces_; }
  OwnerCache& owners() { return owners_; }
  const OwnerCache& owners() const { return owners_; }
  // Pods that the edge must look at again, in one set for each cause.
  PodMarks& marks() { return marks_; }
  const PodMarks& marks() const { return marks_; }

  // A list of pods begins.
  // complete_pods() drops the pods that the complete list did not name. `heard_ms` is the last time
  // at which the pods were known to be as the cache reported them. A list that did not end still
  // shows that the pods it named existed when it began. complete_pods() returns false, and drops no
  // pod, if the list is not believed (ListRound::believe()).
  void begin_pods(TimeMs began_ms) {
    pod_list_.begin();
    pod_list_ms_ = began_ms;
  }
  // Takes an event on a pod. It ignores an event that is older than the entry. A pod without GPUs
  // and without the gate gets no GpuPodEntry.
  void see_pod(const WatchEvent& event, std::int64_t monotonic_ms);
  bool complete_pods(TimeMs heard_ms);
  // Takes an event on a node. A node that cannot be read counts in unreadable(). A deleted node
  // counts as gone at `now_ms`, or earlier if it was silent.
  void see_node(const WatchEvent& event, TimeMs now_ms);
  // Takes an event on an owner. `collection`: one of kOwnerPaths.
  void see_owner(const WatchEvent& event, const std::string& collection);
  // Drops the owners that the list of the collection did not name.
  // Call it once the list is complete.
  void complete_owners(const std::string& collection);
  // Take a pod or an owner from the answer to a call. They only update existing entries, since the
  // answer may be older than the watch and belongs to no list.
  void see_answered_pod(json::Value pod, std::int64_t monotonic_ms);
  void see_answered_owner(json::Value owner, const std::string& collection);
  // Sends a pod without its owner if the pod has waited for the owner for limits::kOwnerMs.
  // Call it in each turn.
  void adopt_orphans(std::int64_t monotonic_ms);

  // Returns the entry of a pod that requests GPUs or has Subak's gate. nullptr:
  // there is no such pod.
  const PodEntry* find_gpu_pod(const std::string& uid) const;
  // Returns the number of pods of this controller and of the controllers below
  // it, without ended pods.
  std::size_t pods_of(const std::string& owner_uid) const;
  // Returns the number of these pods that have a node and are not being deleted.
  std::size_t bound_below(const std::string& owner_uid) const;
  // Marks a pod to be read and sent again, because the core refused its last update.
  // The edge reads the marked pods. Does nothing for an unknown pod.
  void tell_again(const std::string& uid);
  // Calls `take` for each pod whose gate is open and for which the scheduler finds no node. The
  // entry has the start of this state, as a monotonic time.
  // `take` must not change the cache.
  void each_unschedulable(
      const std::function<void(const std::string& uid, const PodEntry& pod)>& take) const;
  // Restarts the pod's unschedulable time from now.
  // The pod must be one of each_unschedulable().
  void put_off_unschedulable(const std::string& uid, std::int64_t monotonic_ms);

  // True if some pods wait for their owner, or some nodes for their lease.
  bool any_untold() const { return orphans_.size() > 0 || !nodes_.silent().empty(); }
  // Returns the number of pods that exist, with or without GPUs.
  std::size_t pods() const { return pods_.size(); }
  // The objects that could not be read completely.
  struct Unreadable {
    // The count only rises. An object counts each time that it is read.
    std::uint64_t count = 0;
    // Why the last such object could not be read. Empty: all could be read.
    std::string last;
  };
  const Unreadable& unreadable() const { return unreadable_; }

 private:
  // `with_owner` false: the owner was not seen in time, so the cache sends the pod without it.
  void see_pod(const WatchEvent& event, std::int64_t monotonic_ms, bool with_owner);
  // As see_pod(), for an object that is not from a list or watch: an orphan, or the answer to a
  // call. Does nothing without an entry.
  void see_again(json::Value pod, std::int64_t monotonic_ms, bool with_owner);
  // Takes the pod out of the orphans and reads it again. Does nothing if the pod is no orphan.
  void see_orphan(const std::string& uid, std::int64_t monotonic_ms, bool with_owner);
  // Updates the entry of a pod with GPUs or gate, its counts and its marks.
  void see_gpu_pod(const std::string& uid, PodEntry& entry, const Pod& pod, const PodRecord& record,
                   json::Value object, std::int64_t monotonic_ms);
  // True if the pod must wait as an orphan until its owner is seen.
  bool waits_for_owner(const Pod& pod, const WatchEvent& event, std::int64_t monotonic_ms);
  // Updates the pods of a new, changed or deleted owner.
  void take_in(const OwnerCache::Seen& owner);
  // Puts the record into the outbox, unless the core has it already.
  void tell_pod(const std::string& uid, const PodRecord& record);
  // Sends the members of a gang that are created later, if the pod is the first of such a gang.
  void tell_late_pods(const std::string& uid, PodEntry& entry, const Pod& pod,
                      const PodRecord& first);
  // If the pod is in another gang now, sends the pod as gone. After that, the caller sends the pod
  // as a member of the new gang, since the core moves no pod between gangs.
  void leave_gang(const std::string& uid, PodEntry& entry, const PodRecord& record);
  // Sends the end of a gang that has no pods left and will get no new pods.
  void tell_if_gone(const std::string& gang_owner);
  // Drops the pod from the counts and the marks, and sends its end to the core.
  void drop_pod(const std::string& uid, in::PodGone gone, const std::string& clock = {});
  // Implements NodeCache::MayHavePods.
  bool may_have_pods(const std::string& node) const;
  // Returns when the pod ended: `said_ms`, corrected by the state of the pod's node.
  TimeMs end_seen(const PodEntry& entry, TimeMs said_ms) const;
  // Marks pods to be read again, because their owner has changed in a way that concerns them.
  void outdate_pods_of(const OwnerCache::Seen& owner);
  // As outdate_pods_of(), for the gangs of these owners.
  void outdate_gangs(const std::vector<std::string>& gangs);

  const KubeNodeOptions node_options_;
  const std::vector<std::string> other_schedulers_;
  Outbox outbox_;
  std::unordered_map<std::string, PodEntry> pods_;  // by uid
  ListRound pod_list_;
  // When the present or the last list of pods began, by the service's time.
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
