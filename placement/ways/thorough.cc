// Places gangs of several shapes pod by pod: one pod may leave no room for the next, although
// another node would. It tries at most kPlaceTries nodes, so it is exact for small gangs and few
// nodes, and ends in a large fleet.
#include <algorithm>
#include <vector>

#include "core/limits.h"
#include "placement/ways/ways.h"

namespace subak {
namespace {

// The area that all pods of one segment must share: a node, a rack, an NVLink domain, or a half of
// a node.
struct Place {
  std::uint32_t group = kNoArea;
  std::int64_t half = -1;
  bool operator==(const Place&) const = default;
};

// A candidate for the next pod.
struct Option {
  GpuMask gpus = kAllGpus;
  Place place;
};

// A depth-first search: it tries each pod on each node that the pod may use, until all pods are
// placed.
class PodByPod {
 public:
  PodByPod(GangAttempt& a, const Bounds& bounds, const Runs& all)
      : a_(a), q_(a.query()), bounds_(bounds), all_(all) {
    bounds_.any_skew = true;
  }

  bool run() {
    if (!find_nodes()) return false;
    for (std::size_t k = 0; k < all_.size(); ++k) {
      for (std::uint32_t n = 0; n < all_[k].count; ++n) {
        pods_.push_back({all_[k].pods, all_[k].index, all_[k].rank + n, 1});
        run_of_.push_back(k);
      }
    }
    must(pods_.size() == q_.pods(), "each pod of the gang is tried");
    const std::size_t size = q_.segment;
    places_.resize(size > 0 ? (pods_.size() + size - 1) / size : 1);
    return put_rest(0, ProductId());
  }

 private:
  // Finds, for each run, the nodes with room for one of its pods. Returns false if a run has no
  // such node.
  bool find_nodes() {
    Ignore ignore = q_.ignore;
    ignore.headroom = true;  // the rule counts less once the gang's own GPUs are taken
    nodes_.resize(all_.size());
    for (std::size_t k = 0; k < all_.size(); ++k) {
      q_.each_node(nullptr, [&](NodeIndex i) {
        if (a_.cap(bounds_, all_[k], i, kAllGpus, 1, ignore) > 0) nodes_[k].push_back(i);
        return nodes_[k].size() >= tries_;
      });
      if (nodes_[k].empty()) return false;
      must(nodes_[k].size() <= tries_, "no more nodes are listed than may be tried");
    }
    return true;
  }

  // Writes into `out` the options for one pod on the node. Of GPUs that are equally good for the
  // pod, it lists only one.
  void find_options(const Run& run, NodeIndex i, std::vector<Option>& out) const {
    out.clear();
    const NodeState& n = q_.node(i);
    const PodShape& pod = *run.pods->shape;
    const Topology topology = q_.topology;
    const bool part =
        pod.kind == GpuKind::kFraction || (pod.kind == GpuKind::kShared && pod.gpus == 1);
    const bool gpu = pod.kind != GpuKind::kNone;
    const bool halves =
        topology == Topology::kNvlink && gpu && n.split && pod.kind != GpuKind::kMig;
    Place place;
    if (topology == Topology::kNode) place.group = i;
    if (topology == Topology::kNvlink && gpu) place.group = n.domain;
    if (topology == Topology::kRack && gpu) place.group = n.groups[0];
    for (std::int64_t d = 0; d < (halves ? inner_domains(n.spec) : 1); ++d) {
      const GpuMask allowed = halves ? inner_domain_mask(n.spec, d) : kAllGpus;
      place.half = halves ? d : -1;
      if (!part) {
        out.push_back({allowed, place});
        continue;
      }
      const std::vector<std::int32_t>& free = a_.room(i).gpu_free;
      for (std::size_t k = 0; k < free.size(); ++k) {
        const auto end = free.begin() + static_cast<std::ptrdiff_t>(k);
        const bool known = std::find(free.begin(), end, free[k]) != end;
        const GpuMask one = GpuMask{1} << k;
        if (free[k] > 0 && (allowed & one) != 0 && (halves || !known)) out.push_back({one, place});
      }
    }
  }

  // True if the pod before is alike, so that it may have the node with the lower index of the two.
  // Only if the ranks do not matter, and if nothing but the nodes of the pods decides.
  bool alike_before(std::size_t next) const {
    return a_.rules().any() && q_.segment == 0 && next > 0 && run_of_[next] == run_of_[next - 1];
  }

  // Places the pod `next` and all pods after it. `product`: the product of the pods before it;
  // none: any product.
  bool put_rest(std::size_t next, ProductId product) {
    if (next == pods_.size()) return a_.rules().hold();
    const Run& one = pods_[next];
    const bool gpu = !without_gpu(one);
    Place& place = places_[q_.segment > 0 ? one.rank / q_.segment : 0];
    const Place before = place;
    const std::size_t mark = a_.trial().mark();
    must(mark == next, "a pod comes when all before it are on trial");
    std::vector<Option> options;
    for (const NodeIndex i : nodes_[run_of_[next]]) {
      if (alike_before(next) && i < a_.trial().slots()[pods_[next - 1].rank].node.value) continue;
      if (tries_ == 0) return false;
      --tries_;
      if (gpu && bounds_.one_product && product && q_.node(i).product != product) continue;
      find_options(one, i, options);
      for (const Option& option : options) {
        const bool apart = before.group != kNoArea && option.place.group != kNoArea;
        if (apart && option.place != before) continue;
        place = option.place.group == kNoArea ? before : option.place;
        const bool ok = a_.place(bounds_, one, i, option.gpus) &&
                        put_rest(next + 1, gpu ? q_.node(i).product : product);
        if (ok) return true;
        place = before;
        a_.trial().undo_to(mark);
      }
    }
    return false;
  }

  GangAttempt& a_;
  const Query& q_;
  Bounds bounds_;
  const Runs& all_;
  std::size_t tries_ = limits::kPlaceTries;    // nodes that it may still look at
  std::vector<std::vector<NodeIndex>> nodes_;  // of each run: nodes with one of its pods now
  std::vector<Run> pods_;                      // one run per pod, in the order of the runs
  std::vector<std::size_t> run_of_;            // of these
  std::vector<Place> places_;                  // of each segment's pods placed so far; none: any
};

}  // namespace

bool thoroughly(GangAttempt& a, const Bounds& bounds, const Runs& all) {
  if ((all.size() < 2 && !a.rules().any()) || a.query().topology == Topology::kNvlinkExclusive)
    return false;
  must(a.trial().mark() == 0, "a thorough search begins with no pod on trial");
  return PodByPod(a, bounds, all).run();
}

}  // namespace subak
