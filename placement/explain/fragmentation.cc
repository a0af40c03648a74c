// Fragmentation as FGD measures it: free GPU amounts that the expected pods cannot use.
// Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
// Gradient Descent", USENIX ATC'23.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/must.h"
#include "placement/search/search_impl.h"

namespace subak {
namespace {

// Returns the milli-GPU that one GPU must have free to be of use to the pod.
MilliGpu need_per_gpu(const NodeSpec& node, const PodShape& pod) {
  switch (pod.kind) {
    case GpuKind::kWhole:
      return kMilliPerGpu;
    case GpuKind::kFraction:
      return pod.milligpu;
    case GpuKind::kShared:
      return replica_milligpu(node);
    case GpuKind::kNone:
    case GpuKind::kMig:
      break;
  }
  return kUnlimited;
}

MilliGpu fragment(const NodeState& n, const Filter& filter, NodeIndex index, const PodShape& pod,
                  MilliGpu gpus_free, MilliGpu slices_free) {
  const MilliGpu all = gpus_free + slices_free;
  if (filter.free[index] < 0 || pod.kind == GpuKind::kNone) return all;
  if (!fits(n.spec, n.room, pod, kAllGpus)) return all;
  if (pod.kind == GpuKind::kMig) {
    const auto i = static_cast<std::size_t>(mig_index(n.spec, pod.profile));
    return all -
           n.room.mig_free[i] * pod_milligpu(n.spec, pod) / std::max<std::int64_t>(1, pod.gpus);
  }
  const MilliGpu need = need_per_gpu(n.spec, pod);
  must(need > 0, "a pod that fits on GPUs needs some of one");
  MilliGpu out = slices_free;
  for (const std::int32_t free : n.room.gpu_free) out += free < need ? free : 0;
  return out;
}

MilliGpu free_slices(const NodeState& n) {
  MilliGpu free = 0;
  PodShape slice;
  slice.kind = GpuKind::kMig;
  slice.gpus = 1;
  for (std::size_t i = 0; i < n.spec.mig.size(); ++i) {
    slice.profile = n.spec.mig[i].profile;
    free += n.room.mig_free[i] * pod_milligpu(n.spec, slice);
  }
  return free;
}

}  // namespace

double Search::fragmentation(std::span<const std::pair<ShapeId, double>> mix) {
  const Fleet::Impl& state = impl_->state;
  double weights = 0;
  for (const auto& [id, weight] : mix) {
    impl_->ask(id);
    weights += weight;
  }
  const ClusterId cluster = mix.empty() ? ClusterId() : state.shape(mix.front().first).cluster;
  double free = 0;
  // Milli-GPU x pods: whole numbers, so the order of the sum does not matter.
  std::vector<double> of_shape(mix.size());
  for (NodeIndex i = 0; i < state.nodes.size(); ++i) {
    const auto& n = state.nodes[i];
    if (mix.empty() || !n || !n->open() || n->cluster != cluster) continue;
    const auto gpus =
        std::accumulate(n->room.gpu_free.begin(), n->room.gpu_free.end(), MilliGpu{0});
    const MilliGpu slices = free_slices(*n);
    if (gpus + slices == 0) continue;
    free += static_cast<double>(gpus + slices);
    for (std::size_t m = 0; m < mix.size(); ++m) {
      const Shape& s = state.shape(mix[m].first);
      const Sought& sought = impl_->at(mix[m].first);
      for (std::size_t k = 0; k < s.pods.size(); ++k) {
        const Pods& p = s.pods[k];
        const MilliGpu lost = fragment(*n, *sought.filters[k], i, *p.shape, gpus, slices);
        of_shape[m] += static_cast<double>(lost) * p.count;
      }
    }
  }
  if (free <= 0 || weights <= 0) return 0;
  for (std::size_t m = 0; m < mix.size(); ++m) {
    of_shape[m] *= mix[m].second / std::max(1u, state.shape(mix[m].first).request().pods());
  }
  std::sort(of_shape.begin(), of_shape.end());  // the numbers of shapes differ after a restart
  return std::accumulate(of_shape.begin(), of_shape.end(), 0.0) / weights / free;
}

}  // namespace subak
