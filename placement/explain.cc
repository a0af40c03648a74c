// Why a gang has no place: every reason that binds, as data. Structural reasons first, then
// capacity. Slow on purpose (it walks the nodes several times); nobody asks it for each job of a
// pass.
#include <algorithm>
#include <map>
#include <string>

#include "core/text.h"
#include "placement/eligibility.h"
#include "placement/finder.h"
#include "placement/mig.h"

namespace subak {
namespace {

constexpr std::size_t kMaxBlockers = 8;
constexpr Ignore kOnlyGpus{true, true, true, true, true};

std::string gpus_text(MilliGpu milli) {
  std::string out = std::to_string(milli / kMilliPerGpu);
  const MilliGpu rest = milli % kMilliPerGpu;
  if (rest != 0) out += '.' + std::to_string(kMilliPerGpu + rest).substr(1);
  return out;
}

std::string kind_text(const PodShape& pod) {
  if (pod.kind == GpuKind::kMig) return "mig-" + pod.profile;
  return pod.products.empty() ? kAnyProduct : pod.products.front();
}

class Explainer {
 public:
  Explainer(Fleet::Impl& impl, const Shape& shape, ShapeId id, JobId owner, const Fleet& fleet)
      : impl_(impl), shape_(shape), id_(id), owner_(owner), fleet_(fleet) {}

  std::vector<Reason> run() {
    for (const Pods& p : shape_.pods) no_matching(p);
    const bool matching = reasons_.empty();
    if (matching && !fleet_.fits_empty_fleet(id_)) exceeds_fleet();
    if (matching) {
      for (const Pods& p : shape_.pods) wrong_slices(p);
      topology();
      node_resources();
      for (const Pods& p : shape_.pods) conditions(p);
      for (const Pods& p : shape_.pods) capacity(p);
      reserved();
    }
    if (reasons_.empty()) together();
    std::stable_sort(reasons_.begin(), reasons_.end(),
                     [](const Reason& a, const Reason& b) { return a.token < b.token; });
    return std::move(reasons_);
  }

 private:
  template <class F>
  void each(F&& fn) const {
    for (NodeIndex i = 0; i < impl_.nodes.size(); ++i) {
      const auto& n = impl_.nodes[i];
      if (n && n->present && n->cluster == shape_.cluster) fn(i, *n);
    }
  }
  bool matches(const Pods& p, NodeIndex i) const { return p.filter->matches[i]; }
  bool open(const Pods& p, NodeIndex i) const { return p.filter->free[i] >= 0; }
  bool kept_for_other(const NodeState& n) const { return n.earmark && n.earmark != owner_; }

  bool works(Ignore ignore, bool ignore_earmarks) const {
    const GangRequest& r = shape_.request;
    const auto attempt = [&](Topology topology, std::uint32_t segment) {
      Finder finder(impl_, shape_, owner_, World::kNow, ignore, ignore_earmarks);
      return finder.attempt(topology, segment);
    };
    return attempt(r.topology, r.segment) || (r.prefer && attempt(Topology::kAny, 0));
  }
  bool works_anywhere() const {
    Finder finder(impl_, shape_, owner_, World::kNow, kOnlyGpus, true);
    return finder.attempt(Topology::kAny, 0);
  }

  Reason& add(ReasonToken token, std::string subject, std::int64_t need, std::int64_t have,
              std::string detail) {
    for (Reason& r : reasons_) {
      if (r.token == token && r.subject == subject) return r;
    }
    return reasons_.emplace_back(
        Reason{token, std::move(subject), need, have, std::move(detail), {}});
  }

  static MilliGpu free_milli(const Pods& p, const NodeState& n) {
    if (p.shape->kind == GpuKind::kMig) {
      const int i = mig_index(n.spec, p.shape->profile);
      const MilliGpu each = mig_slice_milligpu(n.spec.product, p.shape->profile).value_or(0);
      return i < 0 ? 0 : n.room.mig_free[static_cast<std::size_t>(i)] * each;
    }
    MilliGpu free = 0;
    const bool whole = p.shape->kind == GpuKind::kWhole;
    for (std::size_t i = 0; i < n.room.gpu_free.size(); ++i) {
      if (!whole || (n.room.whole >> i & 1) != 0) free += n.room.gpu_free[i];
    }
    return free;
  }
  MilliGpu need_milli(const Pods& p) const {
    MilliGpu each = 0;
    each_match(p, [&](const NodeState& n) {
      const MilliGpu here = pod_milligpu(n.spec, *p.shape);
      each = each == 0 ? here : std::min(each, here);
    });
    return each * p.count;
  }
  template <class F>
  void each_match(const Pods& p, F&& fn) const {
    each([&](NodeIndex i, const NodeState& n) {
      if (matches(p, i)) fn(n);
    });
  }

  // The first of the static filters that leaves no node.
  void no_matching(const Pods& p) {
    bool any = false;
    std::int64_t nodes = 0, kind = 0, product = 0, labels = 0;
    each([&](NodeIndex i, const NodeState& n) {
      any = any || matches(p, i);
      ++nodes;
      if (!eligibility::matches_product(p.shape->products, n.spec)) return;
      ++product;
      if (!eligibility::matches_kind(*p.shape, n.spec)) return;
      ++kind;
      labels += eligibility::matches_selector(p.shape->node_selector, n.spec) &&
                eligibility::matches_affinity(p.shape->affinity, n.spec);
    });
    if (any) return;
    const auto none = [&](std::string subject, std::int64_t have, std::string detail) {
      add(ReasonToken::kNoMatchingFlavor, std::move(subject), p.count, have, std::move(detail));
    };
    if (nodes == 0) return none("nodes", 0, "the cluster has no nodes");
    if (product == 0) return none(kind_text(*p.shape), 0, "no node has this GPU product");
    if (kind == 0 && p.shape->kind == GpuKind::kMig) return no_slices(p);
    if (kind == 0) return none(kind_text(*p.shape), 0, "no node offers GPUs in this form");
    if (labels == 0) return none("labels", kind, "no node matches the node selector and affinity");
    none("taints", labels, "every matching node has a taint that is not tolerated");
  }

  void no_slices(const Pods& p) {
    std::string unknown;
    each([&](NodeIndex, const NodeState& n) {
      if (n.spec.mig_gpus > 0 && mig_geometry(n.spec.product) == nullptr) unknown = n.spec.product;
    });
    add(ReasonToken::kMigGeometry, kind_text(*p.shape), p.count * p.shape->gpus, 0,
        unknown.empty() ? "no node is cut into slices of this profile"
                        : "the slices of " + unknown + " have no known geometry");
  }

  void exceeds_fleet() {
    std::int64_t need = 0, have = 0;
    for (const Pods& p : shape_.pods) need += need_milli(p);
    each([&](NodeIndex i, const NodeState& n) {
      const bool any = std::any_of(shape_.pods.begin(), shape_.pods.end(),
                                   [&](const Pods& p) { return matches(p, i); });
      if (any) have += n.spec.gpus * kMilliPerGpu - n.stranded;
    });
    add(ReasonToken::kExceedsFleet, kind_text(*shape_.pods.front().shape), need, have,
        "even the empty fleet could not hold " + std::to_string(shape_.request.pods()) +
            " pods with " + gpus_text(need) + " GPUs as asked (topology " +
            std::string(enum_name(shape_.request.topology)) + ")");
  }

  // Milli-GPU are free in other slices, but not in slices of this profile.
  void wrong_slices(const Pods& p) {
    if (p.shape->kind != GpuKind::kMig) return;
    std::int64_t slices = 0;
    MilliGpu other = 0;
    each([&](NodeIndex i, const NodeState& n) {
      if (!open(p, i)) return;
      for (std::size_t m = 0; m < n.spec.mig.size(); ++m) {
        const MilliGpu each_slice =
            mig_slice_milligpu(n.spec.product, n.spec.mig[m].profile).value_or(0);
        const bool same = n.spec.mig[m].profile == p.shape->profile;
        (same ? slices : other) += same ? n.room.mig_free[m] : n.room.mig_free[m] * each_slice;
      }
    });
    const std::int64_t need = p.count * p.shape->gpus;
    if (slices >= need || other + free_in(p) < need_milli(p)) return;
    Reason& r = add(ReasonToken::kMigGeometry, kind_text(*p.shape), need, slices,
                    "enough memory units are free, but not as slices of this profile");
    r.blockers = holders(p);
  }

  MilliGpu free_in(const Pods& p) const {
    MilliGpu free = 0;
    each([&](NodeIndex i, const NodeState& n) {
      if (open(p, i) && !kept_for_other(n)) free += free_milli(p, n);
    });
    return free;
  }

  void capacity(const Pods& p) {
    if (p.shape->kind == GpuKind::kNone) return;
    const MilliGpu need = need_milli(p), have = free_in(p);
    if (have >= need) return;
    Reason& r = add(ReasonToken::kWaitingForCapacity, kind_text(*p.shape), need, have,
                    gpus_text(need) + " GPUs are needed, " + gpus_text(have) + " are free");
    r.blockers = holders(p);
  }

  bool enough_gpus() const {
    return std::all_of(shape_.pods.begin(), shape_.pods.end(), [&](const Pods& p) {
      return p.shape->kind == GpuKind::kNone || free_in(p) >= need_milli(p);
    });
  }

  void topology() {
    if (!enough_gpus() || works(kOnlyGpus, true)) return;
    together();
  }

  void together() {
    const Topology t = shape_.request.topology;
    const Pods& p = *std::max_element(
        shape_.pods.begin(), shape_.pods.end(),
        [&](const Pods& a, const Pods& b) { return need_milli(a) < need_milli(b); });
    MilliGpu most = 0;
    const bool area = t == Topology::kNvlink || t == Topology::kNvlinkExclusive;
    std::map<std::uint32_t, MilliGpu> sums;
    each([&](NodeIndex i, const NodeState& n) {
      if (!open(p, i)) return;
      MilliGpu& sum = sums[area ? n.domain : t == Topology::kRack ? n.rack : i];
      sum += free_milli(p, n);
      most = std::max(most, sum);
    });
    const MilliGpu need = t == Topology::kAny ? need_milli(p) / p.count : need_milli(p);
    const bool apart = t != Topology::kAny && works_anywhere();
    Reason& r = add(ReasonToken::kTopologyPlacementFailed, std::string(enum_name(t)), need, most,
                    apart ? "enough GPUs are free, but not as close together as asked"
                          : "enough GPUs are free, but not enough on each node for a pod");
    r.blockers = holders(p);
  }

  // Which resource binds once GPUs are out of the question: the one that fails alone, else those
  // whose absence would let the gang in.
  void node_resources() {
    if (!works(kOnlyGpus, true) || works({}, true)) return;
    struct Resource {
      const char* name;
      bool Ignore::*flag;
    };
    static constexpr Resource kResources[] = {{"cpu", &Ignore::cpu},
                                              {"memory", &Ignore::memory},
                                              {"pods", &Ignore::pods},
                                              {"extended", &Ignore::extended},
                                              {"host-ports", &Ignore::ports}};
    const std::size_t before = reasons_.size();
    for (const Resource& resource : kResources) {
      Ignore only = kOnlyGpus;
      only.*resource.flag = false;
      if (!works(only, true)) lacking(resource.name);
    }
    for (const Resource& resource : kResources) {
      if (reasons_.size() != before) break;
      Ignore without;
      without.*resource.flag = true;
      if (works(without, true)) lacking(resource.name);
    }
    if (reasons_.size() == before) lacking("cpu, memory, pods, extended or host-ports");
  }

  void lacking(const std::string& resource) {
    std::int64_t need = 0, have = 0;
    for (const Pods& p : shape_.pods) {
      const PodShape& s = *p.shape;
      need = std::max(need, resource == "cpu"      ? s.cpu_milli
                            : resource == "memory" ? s.memory_bytes
                                                   : 1);
      each([&](NodeIndex i, const NodeState& n) {
        if (!open(p, i) || !fits(n.spec, n.room, s, kAllGpus, kOnlyGpus)) return;
        const Room& r = n.room;
        const std::int64_t here = resource == "cpu"      ? r.cpu_milli
                                  : resource == "memory" ? r.memory_bytes
                                                         : 0;
        if (here != kUnlimited) have = std::max(have, here);
      });
    }
    Reason& r = add(ReasonToken::kNodeResources, resource, need, have,
                    "GPUs are free, but the nodes that have them lack " + resource);
    for (const Pods& p : shape_.pods) {
      each([&](NodeIndex i, const NodeState& n) {
        if (r.blockers.size() < kMaxBlockers && open(p, i) &&
            fits(n.spec, n.room, *p.shape, kAllGpus, kOnlyGpus)) {
          r.blockers.push_back(n.spec.name);
        }
      });
    }
  }

  void conditions(const Pods& p) {
    std::int64_t closed = 0, all = 0;
    std::vector<std::string> names;
    each([&](NodeIndex i, const NodeState& n) {
      if (!matches(p, i)) return;
      ++all;
      if (open(p, i) || !fits(n.spec, n.room, *p.shape, kAllGpus)) return;
      ++closed;
      if (names.size() < kMaxBlockers) names.push_back(n.spec.name);
    });
    if (closed == 0) return;
    Reason& r = add(
        ReasonToken::kNodeConditions, kind_text(*p.shape), all, all - closed,
        std::to_string(closed) + " matching nodes with room are not ready, cordoned or drained");
    r.blockers = std::move(names);
  }

  void reserved() {
    MilliGpu kept = 0;
    std::vector<JobId> owners;
    for (const Pods& p : shape_.pods) {
      each([&](NodeIndex i, const NodeState& n) {
        if (!open(p, i) || !kept_for_other(n) || !fits(n.spec, n.room, *p.shape, kAllGpus)) return;
        kept += free_milli(p, n);
        owners.push_back(n.earmark);
      });
    }
    if (owners.empty()) return;
    std::sort(owners.begin(), owners.end());
    owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
    Reason& r = add(ReasonToken::kReservedForOther, kind_text(*shape_.pods.front().shape), 0, kept,
                    gpus_text(kept) + " free GPUs are kept for jobs that waited longer");
    for (const JobId owner : owners) {
      if (r.blockers.size() < kMaxBlockers) r.blockers.push_back(text::job_id_text(owner));
    }
  }

  // Jobs on the nodes that would serve, those with most GPUs first.
  std::vector<std::string> holders(const Pods& p) const {
    std::map<JobId, MilliGpu> held;
    each([&](NodeIndex i, const NodeState& n) {
      if (!open(p, i)) return;
      for (const Hold& h : n.holds) {
        if (h.slot.milligpu > 0) held[h.owner] += h.slot.milligpu;
      }
    });
    std::vector<std::pair<MilliGpu, JobId>> order;
    for (const auto& [job, milli] : held) order.emplace_back(-milli, job);
    std::sort(order.begin(), order.end());
    std::vector<std::string> names;
    for (const auto& [milli, job] : order) {
      if (names.size() == kMaxBlockers) break;
      names.push_back(text::job_id_text(job));
    }
    return names;
  }

  Fleet::Impl& impl_;
  const Shape& shape_;
  ShapeId id_;
  JobId owner_;
  const Fleet& fleet_;
  std::vector<Reason> reasons_;
};

}  // namespace

std::vector<Reason> Fleet::explain(ShapeId shape, JobId owner) const {
  if (find(shape, owner)) return {};
  return Explainer(*impl_, impl_->shape(shape), shape, owner, *this).run();
}

}  // namespace subak
