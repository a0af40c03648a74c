// Adds to a pod what its ResourceClaims, volumes and pod affinity require: GPUs, and the nodes that
// it may use. Threads: one at a time; ClusterCache owns the object.
#pragma once

#include <string>

#include "server/edge/devices/claim_cache.h"
#include "server/edge/near/near_cache.h"
#include "server/edge/volumes/volume_cache.h"

namespace subak {

// Why a gated pod must wait before the core, the engine that decides, gets it. Until then it
// belongs to no job.
struct PodWait {
  // Why Subak does not know which GPUs the pod's ResourceClaims request. Empty: Subak knows, or the
  // pod has no ResourceClaim.
  std::string claim;
  // Which volume of the pod does not exist yet. Empty: none.
  std::string volume;
  // Why its pod affinity gives it no nodes yet. Empty: it need not wait for other pods.
  std::string near;
  bool any() const { return !claim.empty() || !volume.empty() || !near.empty(); }
  friend bool operator==(const PodWait&, const PodWait&) = default;
};

// The caches of one cluster. For each pod that it sees, ClusterCache calls add_to() and then
// NearCache::see_pod().
class PodNeeds {
 public:
  // `extra`: see ClaimCache. `topology_labels`: see NearCache.
  PodNeeds(const ExtraGpuResources& extra, const std::vector<std::string>& topology_labels)
      : claims_(extra), near_(topology_labels) {}
  // The ResourceClaims of pods, and the devices of nodes.
  ClaimCache& claims() { return claims_; }
  // The PersistentVolumeClaims of pods, and the nodes of their volumes.
  VolumeCache& volumes() { return volumes_; }
  // The pods that have nodes, and the domains near them.
  NearCache& near() { return near_; }

  // Adds what the pod's ResourceClaims request, and the nodes of its volumes, to `pod`. `object` is
  // the JSON from which `pod` was read. The domains of its pod affinity follow when its gang is
  // known (near()).
  PodWait add_to(Pod& pod, json::Value object) {
    PodWait out;
    if (!pod.claims.device.empty()) out.claim = claims_.add_gpus(pod, object);
    out.volume = volumes_.add_nodes(pod, object);
    return out;
  }
  // Forgets a pod that has ended or is gone.
  void forget(const std::string& uid) {
    claims_.forget(uid);
    volumes_.forget(uid);
    near_.forget(uid);
  }
  // Forgets all pods, when a session begins.
  void forget_pods() {
    claims_.forget_pods();
    volumes_.forget_pods();
    near_.forget_pods();
  }

 private:
  ClaimCache claims_;
  VolumeCache volumes_;
  NearCache near_;
};

}  // namespace subak
