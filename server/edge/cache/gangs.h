// What the owners of pods say about the gangs of pods. Pure functions over the cache of owners.
// Threads: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/pod.h"
#include "model/input.h"
#include "server/edge/cache/entries.h"
#include "server/edge/cache/owner_cache.h"

namespace subak {

// Finds how many pods start together if only the owner says so, and writes it into the pod. False:
// the owner is not known yet.
// `entry` gets the gang's owner beside it. A pod whose labels state the gang needs no owner and is
// left as it is.
bool find_gang(const OwnerCache& owners, Pod& pod, PodEntry& entry);
// The owners that a pod without a known owner has to await: uids, or "namespace/name" of a
// LeaderWorkerSet. Empty: it has to await none. The owner only matters while Subak's gate is
// closed.
std::vector<std::string> awaited_owners(const OwnerCache& owners, const Pod& pod);
// True if the pod's Job now has fewer indexes: the pod is not lost, it is no longer wanted.
// Only for pods of an Indexed Job; false for others.
bool is_left_out(const OwnerCache& owners, const PodEntry& entry);
// True if, as far as known, the gang's owner exists and creates its pods again.
bool makes_more(const OwnerCache& owners, const std::string& gang_owner);

// late_pods.cc: the members of a gang that are created only when the first ones run
// (docs/design/0037), as its first pod and its owner show them; nullopt: there are none. Admission
// may change each pod, which only the first pods show. So members of the same template get the
// shape of the first pods.
std::optional<in::GangSeen> late_pods(const OwnerCache& owners, const std::string& cluster,
                                      const Pod& pod, const PodRecord& first);

}  // namespace subak
