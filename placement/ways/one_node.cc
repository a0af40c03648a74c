// Places all runs on one node: the tightest of the tightest domain. Best fit goes by GPUs, then by
// CPU (CpuAsk), so that CPU stays beside the GPUs that are free elsewhere.
#include <algorithm>

#include "core/limits.h"
#include "placement/trial/alike.h"
#include "placement/ways/ways.h"

namespace subak {

std::int64_t units_of(const Runs& runs) {
  must(!runs.empty(), "some pods are counted");
  std::int64_t units = 0;
  for (const Run& r : runs) {
    if (r.index.same_filter(runs[0].index)) units += r.count * r.pods->shape->gpus;
  }
  return units;
}

CpuAsk cpu_ask(const Query& q, const Runs& runs) {
  if (q.ignore.cpu || q.scene.nothing_held) return {};
  std::int64_t milli = 0;
  for (const Run& r : runs) {
    if (r.index.same_filter(runs[0].index)) milli += r.count * r.pods->shape->cpu_milli;
  }
  return {std::min(milli, limits::kMaxCpuMilli), std::max<std::int64_t>(1, units_of(runs))};
}

namespace {

// Searches with the index: domains in best-fit order, and inside a domain its nodes in that order.
bool on_one_node_indexed(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  const Query& q = a.query();
  const Index& x = runs[0].index;
  const std::int64_t units = units_of(runs);
  if (bounds.fragments && units > 0 && x.times_on_fragments(units) == 0) return false;
  const CpuAsk ask = cpu_ask(q, runs);
  std::vector<DomainKey> order;
  return x.visit(units, units, ask, [&](const DomainKey& d) {
    order.clear();
    for (const NodeIndex m : q.members(d.domain)) {
      if (x.free(m) < units) continue;
      const std::int64_t cpu = q.scene.nothing_held ? 0 : cpu_left(q.scene.room(m));
      order.push_back({q.weight(x, m), cpu, m, 0});
    }
    std::sort(order.begin(), order.end(),
              [&](const DomainKey& l, const DomainKey& r) { return ask.before(l, r); });
    return std::any_of(order.begin(), order.end(), [&](const DomainKey& node) {
      return a.fits_all(bounds, runs, node.low, kAllGpus) &&
             a.place_all(bounds, runs, node.low, kAllGpus);
    });
  });
}

// Searches by the GPU states of nodes, for pods whose index does not count free amounts.
bool on_one_node_alike(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  const PodShape& pod = *runs[0].pods->shape;
  const std::int64_t count = runs[0].count;
  const auto rank = [&](const NodeSpec& spec, const Room& room, std::int64_t weight, auto&& offer) {
    if (pods_that_fit(spec, room, pod, kAllGpus, count, kOnlyGpus) < count) return;
    const bool none = pod.kind == GpuKind::kNone;
    offer({none ? (spec.gpus > 0 ? 1 : 0) : tightest_gpu(spec, room, pod), weight}, count);
  };
  return visit_alike(a, bounds, runs[0].index, rank, [&](NodeIndex i, const auto&) {
    return a.fits_all(bounds, runs, i, kAllGpus) && a.place_all(bounds, runs, i, kAllGpus);
  });
}

// Returns the best-fit key of a node for the run.
FitKey node_key(const GangAttempt& a, const Run& run, NodeIndex i) {
  const Query& q = a.query();
  const NodeSpec& spec = q.node(i).spec;
  const std::int64_t w = q.weight(run.index, i);
  const PodShape& pod = *run.pods->shape;
  if (!q.scene.nothing_held) {
    switch (pod.kind) {
      case GpuKind::kNone:
        return {spec.gpus > 0 ? 1 : 0, w, i, 0, 0};
      case GpuKind::kShared:
      case GpuKind::kFraction:
        return {tightest_gpu(spec, a.room(i), pod), w, i, 0, 0};
      case GpuKind::kWhole:
      case GpuKind::kMig:
        break;
    }
  }
  const FitKey d = q.domain_key(run.index, q.node(i).domain);
  return {d[0], d[1], d[2], w, i};
}

}  // namespace

bool on_one_node(GangAttempt& a, const Bounds& bounds, const Runs& runs, Area area) {
  must(!runs.empty(), "some pods are placed on a node");
  const Query& q = a.query();
  if (q.indexed(runs[0], area)) return on_one_node_indexed(a, bounds, runs);
  if (area == nullptr && q.by_state) return on_one_node_alike(a, bounds, runs);
  NodeIndex best = 0;
  FitKey best_key{};
  q.each_node(area, [&](NodeIndex i) {
    if (!a.eligible(bounds, runs[0].index, i)) return false;
    if (!a.fits_all(bounds, runs, i, kAllGpus)) return false;
    const FitKey key = node_key(a, runs[0], i);
    if (best == 0 || key < best_key) best = i, best_key = key;
    return q.scene.all_open;  // any node will do
  });
  return best != 0 && a.place_all(bounds, runs, best, kAllGpus);
}

}  // namespace subak
