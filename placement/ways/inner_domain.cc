// Places all runs in one of several NVLink domains inside a node: the domain with the fewest free
// GPUs that has room for them. MIG slices need no NVLink, so they may be in any of these domains.
#include <algorithm>
#include <bit>

#include "placement/trial/alike.h"
#include "placement/ways/ways.h"

namespace subak {
namespace {

// Returns what is free on these GPUs: whole GPUs if the index counts, else milli-GPU.
std::int64_t free_on(const Index& x, const Room& r, GpuMask gpus) {
  if (x.counts()) return std::popcount(r.whole & gpus);
  std::int64_t free = 0;
  for (std::size_t gpu = 0; gpu < r.gpu_free.size(); ++gpu) {
    if ((gpus >> gpu & 1) != 0) free += r.gpu_free[gpu];
  }
  return free;
}

bool taken_by_part(const GangAttempt& a, const Bounds& bounds, NodeIndex i, GpuMask gpus) {
  return bounds.taken != nullptr && bounds.taken->any_of(a.query().node(i).domain, gpus);
}

bool in_inner_domain_alike(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  const Run& run = runs[0];
  const PodShape& pod = *run.pods->shape;
  const auto rank = [&](const NodeSpec& spec, const Room& r, std::int64_t weight, auto&& offer) {
    const std::int64_t domains = inner_domains(spec);
    std::vector<std::int64_t> offered;
    for (std::int64_t d = 0; domains > 1 && d < domains; ++d) {
      const GpuMask mask = inner_domain_mask(spec, d);
      if (pods_that_fit(spec, r, pod, mask, run.count, kOnlyGpus) < run.count) continue;
      const std::int64_t free = free_on(run.index, r, mask);
      if (std::find(offered.begin(), offered.end(), free) != offered.end()) continue;
      offered.push_back(free);
      offer({free, weight}, run.count);
    }
  };
  return visit_alike(a, bounds, run.index, rank, [&](NodeIndex i, const auto& key) {
    const NodeSpec& spec = a.query().node(i).spec;
    for (std::int64_t d = 0; d < inner_domains(spec); ++d) {
      const GpuMask mask = inner_domain_mask(spec, d);
      if (taken_by_part(a, bounds, i, mask)) continue;
      if (free_on(run.index, a.room(i), mask) != key[0]) continue;
      if (a.fits_all(bounds, runs, i, mask) && a.place_all(bounds, runs, i, mask)) return true;
    }
    return false;
  });
}

}  // namespace

bool in_inner_domain(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  must(!runs.empty(), "some pods are placed in a domain of a node");
  const Query& q = a.query();
  if (q.fleet.domains.split_nodes() == 0 || std::any_of(runs.begin(), runs.end(), of_slices))
    return false;
  if (q.by_state) return in_inner_domain_alike(a, bounds, runs);
  const Index& x = runs[0].index;
  NodeIndex best = 0;
  GpuMask best_mask = 0;
  FitKey best_key{};
  q.each_node(nullptr, [&](NodeIndex i) {
    const NodeSpec& spec = q.node(i).spec;
    if (inner_domains(spec) <= 1 || !a.eligible(bounds, x, i)) return false;
    for (std::int64_t d = 0; d < inner_domains(spec); ++d) {
      const GpuMask mask = inner_domain_mask(spec, d);
      const FitKey key{free_on(x, a.room(i), mask), q.weight(x, i), i, d, 0};
      if (taken_by_part(a, bounds, i, mask) || (best != 0 && best_key <= key)) continue;
      if (a.fits_all(bounds, runs, i, mask)) best = i, best_mask = mask, best_key = key;
    }
    return best != 0 && q.scene.all_open;
  });
  return best != 0 && a.place_all(bounds, runs, best, best_mask);
}

}  // namespace subak
