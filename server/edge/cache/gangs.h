// Finds out from a pod's owner (the object that creates it) to which gang the pod belongs. A gang
// is a set of pods that start together. ClusterCache calls these functions, which only read the
// cache of owners. Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/pod.h"
#include "model/input.h"
#include "server/edge/cache/entries.h"
#include "server/edge/cache/owner_cache.h"

namespace subak {

// Finds the gang of a pod from the pod's owner. It writes the gang and its size into `pod`. For a
// pod of a LeaderWorkerSet, it also writes into `entry` how many pods of its group ask for no GPUs.
// Returns false if the cache does not have the owner yet.
// If the pod's own labels state the gang, find_gang() only decides what identifies this gang: its
// name alone, or its name and the owner that creates all its pods (docs/design/0073).
bool find_gang(const OwnerCache& owners, Pod& pod, PodEntry& entry);
// Returns the uid of the owner that creates all pods of the gang that a pod states, even a pod
// without GPUs. Empty: the pod states no gang, its gang has several owners, or the cache does not
// have the owner.
std::string creator_of_stated_gang(const OwnerCache& owners, const Pod& pod);
// Returns the owners for which a pod must wait: uids, "namespace/name" of a LeaderWorkerSet, or the
// group_key() of a group.
// Empty: the pod need not wait. Only a pod with Subak's gate may have to wait, since the size of a
// gang matters only until the gates open.
std::vector<std::string> awaited_owners(const OwnerCache& owners, const Pod& pod);
// Returns the owner that creates all pods of the pod's gang (GpuPodEntry::gang_owner). `record`:
// the record of the pod. Empty: there is no such owner, or the edge does not watch it and so cannot
// report its end.
std::string gang_owner_of(const OwnerCache& owners, const Pod& pod, const PodRecord& record);
// Sets the user and the workload of the pod's record, which follow from the objects above the pod.
// A workload is an object whose pods are several jobs, such as a Deployment. A pod has a workload
// if it starts by itself. A pod also has one if its gang is one group of a LeaderWorkerSet, or one
// Job of a JobSet. The `gang` of the record must be set.
void put_makers(const OwnerCache& owners, const Pod& pod, PodRecord& record);
// Returns the group_key() of the first group that the pod names; empty: it names none.
std::string named_group(const Pod& pod);
// True if the pod's controller is of a kind that the edge watches in this cluster.
bool has_read_owner(const OwnerCache& owners, const Pod& pod);
// True if the pod's Indexed Job was scaled down and no longer needs the pod's index. Such a pod
// counts as finished, not as lost. False for pods of other owners.
bool is_left_out(const OwnerCache& owners, const PodEntry& entry);
// True if the gang's owner may create pods of this gang again. This holds if the owner exists and
// has not ended, or if the edge has no complete list of such owners yet.
bool makes_more(const OwnerCache& owners, const std::string& gang_owner);

// Returns the members of a gang that its owner creates only when the first members run or are
// ready (docs/design/0037). Example: a LeaderWorkerSet creates the workers when their leader is
// Ready. `pod` is a first member, and `first` is its record. nullopt: there are no late
// members. Admission may have changed the request of `first`; the owner's template does not
// show that. So a late member of the same template gets the shape of `first`. Implemented in
// late_pods.cc.
std::optional<in::GangSeen> late_pods(const OwnerCache& owners, const std::string& cluster,
                                      const Pod& pod, const PodRecord& first);

}  // namespace subak
