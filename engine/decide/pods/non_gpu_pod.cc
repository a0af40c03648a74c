// Decisions about non-GPU pods that Subak does not queue: their use of a node is one sum.
#include "core/limits.h"
#include "core/must.h"
#include "core/stored_size.h"
#include "engine/decide/decide.h"

namespace subak::decide {

// While the cluster's events are not known the sum waits for the list. On a node without GPUs these
// pods are in no job's way.
void sum_non_gpu_pods(Decision& d, NodeId node) {
  if (!d.s.clusters().at(d.s.fleet().cluster_of(node)).synced) return;
  const bool counts = d.s.fleet().node(node)->gpus > 0;
  NodeUse use = counts ? d.observed.non_gpu_pods().use_of(node) : NodeUse();
  if (use == d.s.fleet().others(node)) return;
  d.emit(fact::NodeLoad{node, std::move(use)});
}

void see_non_gpu_pod(Decision& d, ClusterId cluster, const PodRecord& pod) {
  const NodeId node = d.s.nodes().find(cluster, pod.node);
  must(node && pod.shape.kind == GpuKind::kNone, "a non-GPU pod is on a known node");
  const NodeId before = d.observed.non_gpu_pods().node_of(cluster, pod.uid);
  const NodeUse use = d.observed.non_gpu_pods().use_of(node);
  const bool room = use.pods < static_cast<std::int64_t>(limits::kMaxNonGpuPodsPerNode) &&
                    stored_bytes(use) + stored_bytes(pod.shape) <= limits::kMaxNodeBytes;
  if (!room && before != node) {
    return d.refuse({ErrorCode::kExhausted, "node", pod.node,
                     "want at most " + std::to_string(limits::kMaxNonGpuPodsPerNode) +
                         " pods without GPUs on a node, and " +
                         std::to_string(limits::kMaxNodeBytes) + " bytes of what they take"},
                    pod.uid);
  }
  d.tell(note::NonGpuPodSeen{cluster, pod.uid, node, pod.shape});
  must(d.observed.non_gpu_pods().node_of(cluster, pod.uid) == node, "the pod counts on its node");
  if (before && before != node) sum_non_gpu_pods(d, before);
  sum_non_gpu_pods(d, node);
}

bool end_non_gpu_pod(Decision& d, ClusterId cluster, const std::string& uid) {
  const NodeId node = d.observed.non_gpu_pods().node_of(cluster, uid);
  if (!node) return false;
  d.tell(note::NonGpuPodSeen{cluster, uid, NodeId(), {}});
  must(!d.observed.non_gpu_pods().node_of(cluster, uid), "a pod that ended counts nowhere");
  sum_non_gpu_pods(d, node);
  return true;
}

}  // namespace subak::decide
