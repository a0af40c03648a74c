// Reads the objects by which a pod gets its volumes, and says on which nodes the pod can use them.
// The edge, which watches a cluster, adds these nodes to the pod's request (server/edge/volumes).
//
// A pod names PersistentVolumeClaims. A bound PersistentVolumeClaim names a PersistentVolume, which
// may be usable on some nodes only, such as those of one zone. A PersistentVolumeClaim without a
// volume names a StorageClass. The class says whether the volume is made at once, or on the node to
// which the scheduler binds the first pod (`WaitForFirstConsumer`).
// Source: k8s.io/api core/v1 and storage/v1.
// Threads: any; pure functions and plain values.
#pragma once

#include <string>
#include <vector>

#include "kube/json.h"
#include "model/request.h"

namespace subak {

// A volume of a pod that comes from a PersistentVolumeClaim.
struct PodVolume {
  // The name of the PersistentVolumeClaim in the pod's namespace.
  std::string claim;
  // True: Kubernetes makes the PersistentVolumeClaim for this pod, from a template in the pod.
  bool of_template = false;
};
// Returns the volumes of a pod or pod template, in the order of its spec. At most
// limits::kMaxPodListItems are returned.
std::vector<PodVolume> read_pod_volumes(json::Value pod);

// A PersistentVolumeClaim.
struct VolumeClaim {
  // The name of its PersistentVolume. Empty: it has none yet.
  std::string volume;
  // The name of its StorageClass. Empty: it has none.
  std::string storage_class;
  // True: it had a PersistentVolume that no longer exists.
  bool lost = false;
  friend bool operator==(const VolumeClaim&, const VolumeClaim&) = default;
};
// Reads a PersistentVolumeClaim.
VolumeClaim read_volume_claim(json::Value object);

// Returns the nodes on which the PersistentVolume can be used, as required node affinity. Empty:
// any node.
std::vector<AffinityTerm> read_volume_nodes(json::Value object);

// A StorageClass.
struct StorageClass {
  // True: a PersistentVolume is made when the first pod is bound, not when the
  // PersistentVolumeClaim is made.
  bool waits_for_pod = false;
  // The nodes for which the class makes volumes. Empty: any node.
  std::vector<AffinityTerm> nodes;
  friend bool operator==(const StorageClass&, const StorageClass&) = default;
};
// Reads a StorageClass.
StorageClass read_storage_class(json::Value object);

// Returns terms that match a node if both lists match it. An empty list matches any node. The
// result has a term for each pair, so it may be longer than the affinity of a pod may be.
std::vector<AffinityTerm> both_of(const std::vector<AffinityTerm>& a,
                                  const std::vector<AffinityTerm>& b);

}  // namespace subak
