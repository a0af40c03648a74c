// The object cache of one cluster, like client-go's informer cache. The edge
// (server/edge/cluster/edge.h), which follows the cluster, fills the cache from its watches. The
// cache has an entry for each pod, node and owner (an object that creates pods), as the edge last
// saw that object. The cache also has the updates that the core, the engine that decides, has not
// got yet (outbox.h). ClusterCache itself stores the pods. ClusterCache owns the caches of the
// other kinds of objects, and combines their data with the pods.
//
// An entry is small: the cache sends the resource requests of a pod to the core, and does not store
// them. While a pod has Subak's scheduling gate, the pod's entry also has the data that a patch
// needs to remove ("open") the gate. The cache reads no clock and does no I/O. Threads: only the
// edge's thread.
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
#include "model/policy.h"
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
#include "server/edge/domains/domain_cache.h"
#include "server/edge/volumes/pod_needs.h"

namespace subak {

// Times of the type TimeMs are the service's time (UTC). Arguments named `monotonic_ms` are times
// of a clock that never goes back. The cache puts updates for the core into outbox(), and never
// calls the core.
class ClusterCache {
 public:
  // `cluster`: the name of the cluster, which is in each update. `fatal_conditions`,
  // `topology_labels` and `node_labels`: see KubeNodeOptions. `extra`: resources that count as
  // whole GPUs. `other_schedulers`: the schedulers of other queue managers. A pod that names one of
  // them belongs to that queue manager. `system_namespaces`: the value of
  // Policy::system_namespaces.
  ClusterCache(std::string cluster, ExtraGpuResources extra,
               std::vector<std::string> other_schedulers,
               std::vector<std::string> fatal_conditions = default_fatal_conditions(),
               std::vector<std::string> topology_labels = {}, NodeLabelKeys node_labels = {},
               const std::vector<std::string>& system_namespaces = {});
  ClusterCache(const ClusterCache&) = delete;
  ClusterCache& operator=(const ClusterCache&) = delete;

  // Drops all entries of pods, nodes and namespaces, and all updates. So the core gets all these
  // objects again from the next lists. Call it when a session begins: the edge then reports the
  // complete cluster to the core again. The entries of owners stay, since the core gets only owners
  // that wait suspended.
  void forget_told();

  // The updates for the core. The edge takes an update out with Outbox::next(). If the edge cannot
  // send the update, it puts the update back.
  Outbox& outbox() { return outbox_; }
  const Outbox& outbox() const { return outbox_; }
  NodeCache& nodes() { return nodes_; }
  const NodeCache& nodes() const { return nodes_; }
  // The labels of namespaces that name an account. The edge passes its list and watch of namespaces
  // directly to this cache.
  NamespaceCache& namespaces() { return namespaces_; }
  OwnerCache& owners() { return owners_; }
  // The ResourceClaims and volumes of pods, and the devices of nodes. The edge passes its lists and
  // watches of ResourceSlices, DeviceClasses, ResourceClaims, ResourceClaimTemplates,
  // PersistentVolumeClaims, PersistentVolumes and StorageClasses directly to these caches.
  PodNeeds& needs() { return needs_; }
  const OwnerCache& owners() const { return owners_; }
  // Pods that the edge must look at again, in one set for each cause.
  PodMarks& marks() { return marks_; }
  const PodMarks& marks() const { return marks_; }

  // A list of pods begins at `began_ms`. Call see_pod() for each pod of the list, then
  // complete_pods().
  void begin_pods(TimeMs began_ms) {
    pod_list_.begin();
    pod_list_ms_ = began_ms;
    needs_.claims().begin_pods();
  }
  // Takes an event on a pod, but ignores an event that is older than the pod's entry. A pod that
  // requests no GPUs and never had the gate gets no GpuPodEntry.
  void see_pod(const WatchEvent& event, std::int64_t monotonic_ms);
  // The list is complete: drops each pod that the list did not name. A pod that requests no GPUs
  // now may have requested some in an earlier session. The cache reports such a pod to the core as
  // gone.
  // `heard_ms`: the last time at which the watch showed that the cache was up to date. The end of a
  // dropped pod is the later of two times: `heard_ms`, and the start of the last list that named
  // the pod, even if that list failed later.
  // Returns false, and drops no pod, if the list is not believed (ListRound::believe()).
  bool complete_pods(TimeMs heard_ms);
  // Takes an event on a node. A node that cannot be read counts in unreadable(). The end of a
  // deleted node is `now_ms`, or the node's last sign of life if the node was silent.
  void see_node(const WatchEvent& event, TimeMs now_ms);
  // Takes an event on an owner. `collection`: the path of its kind.
  void see_owner(const WatchEvent& event, const std::string& collection);
  // Drops the owners that the last list of the collection did not name. Call it when that list is
  // complete.
  void complete_owners(const std::string& collection);
  // see_answered_pod() and see_answered_owner() take an object from the answer to a call. Both
  // functions update only objects that have an entry. The reason: the watch may already have
  // reported a later state than the answer, even the end of the object.
  void see_answered_pod(json::Value pod, std::int64_t monotonic_ms);
  void see_answered_owner(json::Value owner, const std::string& collection);
  // The ComputeDomains of the cluster. The edge passes its lists and watches of them directly to
  // this cache.
  DomainCache& domains() { return domains_; }
  const DomainCache& domains() const { return domains_; }
  // Puts each pod that has waited for its owner for limits::kOwnerMs into the outbox, without the
  // data of the owner. Call it in each turn.
  void adopt_orphans(std::int64_t monotonic_ms);

  // Returns the entry of a pod that requests GPUs or has had Subak's gate. nullptr: there is no
  // such pod with this uid.
  const PodEntry* find_gpu_pod(const std::string& uid) const;
  // Returns the counts of the pods of this controller and of the controllers directly below it.
  // Pods without a GpuPodEntry do not count.
  OwnedPods::Count pods_of(const std::string& owner_uid) const;
  // Marks a pod whose last update the core refused. The edge then reads the pod again, and the
  // cache sends the pod again. `as_new`: the cache first sends the pod as gone, so that the core
  // treats the pod as new (pods_beyond()). `uid` may also be that of an owner that waits suspended;
  // the cache then sends the owner again. Does nothing for an unknown object.
  void tell_again(const std::string& uid, bool as_new = false);
  // Calls `take` for each pod whose gate Subak opened and for which the scheduler finds no node.
  // GpuPodEntry::unschedulable_since_ms says since when. `take` must not change the cache.
  void each_unschedulable(
      const std::function<void(const std::string& uid, const PodEntry& pod)>& take) const;
  // Sets the start of the pod's unschedulable time to `monotonic_ms`. The pod must be one for which
  // each_unschedulable() calls `take`.
  void put_off_unschedulable(const std::string& uid, std::int64_t monotonic_ms);

  // True if the cache holds back an object from the core: a pod that waits for its owner, or a
  // silent node whose lease was not read yet.
  bool any_untold() const { return orphans_.size() > 0 || !nodes_.silent().empty(); }
  // Returns the number of pods that exist, with or without GPUs.
  std::size_t pods() const { return pods_.size(); }
  // Counts the pods and nodes that could not be read completely.
  struct Unreadable {
    // The count only rises. An object counts each time that the cache fails to read it.
    std::uint64_t count = 0;
    // Why the last such object could not be read. Empty: there was no such object.
    std::string last;
  };
  const Unreadable& unreadable() const { return unreadable_; }

 private:
  // `with_owner` false: the cache has not seen the pod's owner in time, so it sends the pod without
  // the data of the owner.
  void see_pod(const WatchEvent& event, std::int64_t monotonic_ms, bool with_owner);
  // Works as see_pod(), for a pod that does not come from a list or watch: it was an orphan, or it
  // is the answer to a call. Does nothing if the pod has no entry.
  void see_again(json::Value pod, std::int64_t monotonic_ms, bool with_owner);
  // Takes the pod out of the orphans and reads its stored text again. Does nothing if the pod is no
  // orphan.
  void see_orphan(const std::string& uid, std::int64_t monotonic_ms, bool with_owner);
  // Updates the entry, the counts and the marks of a pod that requests GPUs or has had the gate.
  void see_gpu_pod(const std::string& uid, PodEntry& entry, const Pod& pod, const PodRecord& record,
                   json::Value object, std::int64_t monotonic_ms);
  // If the pod must wait for its owner, adds the pod to the orphans and returns true.
  bool waits_for_owner(const Pod& pod, const WatchEvent& event, std::int64_t monotonic_ms);
  // Updates the pods of a new, changed or deleted owner.
  void take_in(const OwnerCache::Seen& owner);
  // Puts the record into the outbox, unless it equals the last record that the cache put there for
  // this pod.
  void tell_pod(const std::string& uid, const PodRecord& record);
  // If the other members of the gang are created only after this first pod, puts these members into
  // the outbox.
  void tell_late_pods(const std::string& uid, PodEntry& entry, const Pod& pod,
                      const PodRecord& first);
  // If the gated pod is in another gang now, sends the pod as gone, since the core never moves a
  // pod from one gang to another. After that, the caller sends the pod as a member of the new gang.
  // Sets `size_of_owner` of the record if the size of the gang has changed before without an edit
  // of its pods.
  void follow_gang(const std::string& uid, PodEntry& entry, PodRecord& record);
  // Sends the end of the gang, if the gang has no pods left and will get no new pods.
  void tell_if_gone(const std::string& gang_owner);
  // Drops the pod's entry, counts and marks, and puts its end into the outbox. `clock`: News::clock
  // of that update.
  void drop_pod(const std::string& uid, in::PodGone gone, const std::string& clock = {});
  // If the pod is an operand of the GPU Operator in a system namespace, updates the operands of its
  // node (kube/node/operand_pods.h).
  void see_operand(const std::string& uid, const Pod& pod, const WatchEvent& event);
  // Implements NodeCache::MayHavePods.
  bool may_have_pods(const std::string& node) const;
  // Returns when the pod ended. `said_ms`: the end that the pod's status states; 0: the status
  // states no end. If the pod was deleted while its node was silent, the end is not after the
  // node's last sign of life.
  TimeMs end_seen(const PodEntry& entry, TimeMs said_ms) const;
  // Marks the gated pods of this owner to be read again, because a change of the owner has changed
  // their gangs. Pods of the controllers below the owner are marked too.
  void outdate_pods_of(const OwnerCache::Seen& owner);
  // Marks the gated pods of these gangs ("namespace/gang") to be read again, because the number of
  // non-GPU members has changed.
  void outdate_gangs(const std::vector<std::string>& gangs);

  const KubeNodeOptions node_options_;
  const std::vector<std::string> other_schedulers_;
  Policy namespace_policy_;  // only its system namespaces
  Outbox outbox_;
  std::unordered_map<std::string, PodEntry> pods_;  // by uid
  ListRound pod_list_;
  // When the present or the last list of pods began, by the service's time.
  TimeMs pod_list_ms_ = 0;
  PodNeeds needs_;
  DomainCache domains_;
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
