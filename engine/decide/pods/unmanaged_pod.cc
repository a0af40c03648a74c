// Records which pods wait for a node outside Subak, and that they no longer wait. No decision
// depends on it.
#include <optional>
#include <string>

#include "core/must.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

// True if the pod asks for GPUs, has no node and is no job, so Subak has not decided about it. Pods
// of another queue manager never wait for Subak, in any mode.
bool is_unmanaged(const Decision& d, ClusterId cluster, const PodRecord& pod) {
  const bool waits = pod.node.empty() && pod.ended == Cause::kNone && !pod.other_manager &&
                     pod.shape.kind != GpuKind::kNone;
  return waits && !d.out.reply.error && !d.s.jobs().find(cluster, pod.uid);
}

// The pod that the input reports on. Empty: none.
std::string pod_of(const in::Body& body) {
  if (const auto* seen = std::get_if<in::PodSeen>(&body)) return seen->pod.uid;
  if (const auto* bound = std::get_if<in::PodBound>(&body)) return bound->pod.uid;
  if (const auto* running = std::get_if<in::PodRunning>(&body)) return running->pod.uid;
  if (const auto* gone = std::get_if<in::PodGone>(&body)) return gone->pod.uid;
  return "";
}

}  // namespace

void note_unmanaged(Decision& d) {
  const std::string uid = pod_of(d.input.body);
  if (uid.empty()) return;
  const state::Cluster* const cluster = d.s.clusters().find(*observed_cluster(d.input.body));
  if (cluster == nullptr) return;
  const auto* const seen = std::get_if<in::PodSeen>(&d.input.body);
  must(seen == nullptr || seen->pod.uid == uid, "the report is on this pod");
  const PodRecord* const known = d.observed.unmanaged_pods().find(cluster->id, uid);
  if (seen != nullptr && is_unmanaged(d, cluster->id, seen->pod)) {
    note::UnmanagedPodSeen unmanaged{cluster->id, seen->pod};
    TimeMs& since = unmanaged.pod.created_at_ms;  // if not reported: since it is known
    if (since == 0) since = known != nullptr ? known->created_at_ms : d.s.now();
    d.tell(unmanaged);
  } else if (known != nullptr) {
    d.tell(note::UnmanagedPodGone{cluster->id, uid});
  }
}

}  // namespace subak::decide
