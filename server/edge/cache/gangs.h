// Finds the gangs of pods from the pods' owners. Pure functions over the cache of owners.
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

// Finds how many pods start together if only the owner says so. It writes the number into `pod`,
// and the gang's owner into `entry`, and returns true.
// It returns false if the owner is not known yet.
// A pod whose labels state the gang stays unchanged.
bool find_gang(const OwnerCache& owners, Pod& pod, PodEntry& entry);
// Returns the owners for which a pod must wait: uids, or "namespace/name" of a LeaderWorkerSet.
// Empty: the pod need not wait. The owner only matters while Subak's gate is closed.
std::vector<std::string> awaited_owners(const OwnerCache& owners, const Pod& pod);
// True if the pod's Indexed Job now has fewer indexes and no longer needs this one. Then the pod is
// not lost.
// False for pods of other owners.
bool is_left_out(const OwnerCache& owners, const PodEntry& entry);
// True if, as far as known, the gang's owner exists and creates its pods again.
bool makes_more(const OwnerCache& owners, const std::string& gang_owner);

// late_pods.cc: returns the members of a gang that are created only when the first members run
// (docs/design/0037). It derives them from the first pod and its owner. nullopt: there are none.
// Admission may change the request of each pod. The existing first pods show the change, the
// owner's template does not. So members of the same template get the shape of the first pods.
std::optional<in::GangSeen> late_pods(const OwnerCache& owners, const std::string& cluster,
                                      const Pod& pod, const PodRecord& first);

}  // namespace subak
