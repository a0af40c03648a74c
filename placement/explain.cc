// explain(), and the reasons that lie in how the fleet is built or kept.
#include <algorithm>
#include <cassert>
#include <string>

#include "core/text.h"
#include "placement/eligibility.h"
#include "placement/explainer.h"
#include "placement/mig.h"

namespace subak {

std::string gpus_text(MilliGpu milli) {
  std::string out = std::to_string(milli / kMilliPerGpu);
  const MilliGpu rest = milli % kMilliPerGpu;
  if (rest != 0) out += '.' + std::to_string(kMilliPerGpu + rest).substr(1);
  while (rest != 0 && out.ends_with('0')) out.pop_back();
  return out;
}

std::string kind_text(const PodShape& pod) {
  if (pod.kind == GpuKind::kMig) return "mig-" + pod.profile;
  return pod.products.empty() ? kAnyProduct : pod.products.front();
}

namespace {

std::vector<std::string> holders(const Scene& scene, const std::vector<NodeId>& nodes) {
  std::map<JobId, MilliGpu> held;
  for (const NodeId id : nodes) {
    for (const Hold& h : scene.load(id.value).holds) {
      if (h.slot.milligpu > 0) held[h.owner] += h.slot.milligpu;
    }
  }
  std::vector<std::pair<MilliGpu, JobId>> order;
  order.reserve(held.size());
  for (const auto& [job, milli] : held) order.emplace_back(-milli, job);
  std::sort(order.begin(), order.end());
  if (order.size() > kMaxBlockers) order.resize(kMaxBlockers);
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const auto& [milli, job] : order) names.push_back(text::job_id_text(job));
  return names;
}

}  // namespace

Explainer::Explainer(Search::Impl& memory, const Shape& shape, const Sought& sought,
                     const Scene& scene, JobId owner, bool fits_empty_fleet,
                     const std::vector<NodeId>& drain)
    : memory_(memory),
      shape_(shape),
      sought_(sought),
      scene_(scene),
      owner_(owner),
      fits_empty_(fits_empty_fleet),
      holders_(holders(scene, drain)) {
  for (std::size_t k = 0; k < shape.pods.size(); ++k) {
    measure(demands_.emplace_back(Demand{&shape.pods[k], sought.filters[k], 0, 0}));
  }
}

std::vector<Reason> Explainer::run() {
  for (const Demand& d : demands_) no_matching(d);
  if (reasons_.empty()) {
    if (!fits_empty_) exceeds_fleet();
    for (const Demand& d : demands_) wrong_slices(d);
    if (enough_gpus() && !works(kOnlyGpus)) together();
    node_resources();
    for (const Demand& d : demands_) conditions(d);
    for (const Demand& d : demands_) capacity(d);
    reserved();
  }
  if (reasons_.empty()) together();
  std::stable_sort(reasons_.begin(), reasons_.end(),
                   [](const Reason& a, const Reason& b) { return a.token < b.token; });
  return std::move(reasons_);
}

Reason& Explainer::add(ReasonToken token, std::string subject, std::int64_t need, std::int64_t have,
                       std::string detail) {
  for (Reason& r : reasons_) {
    if (r.token == token && r.subject == subject) return r;
  }
  return reasons_.emplace_back(
      Reason{token, std::move(subject), need, have, std::move(detail), {}});
}

// The first of the static filters that leaves no node.
void Explainer::no_matching(const Demand& d) {
  const Pods& p = *d.pods;
  bool any = false;
  std::int64_t nodes = 0, product = 0, kind = 0, labels = 0;
  each([&](NodeIndex i, const NodeState& n) {
    any = any || matches(d, i);
    if (any) return;
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

void Explainer::no_slices(const Pods& p) {
  std::string unknown;
  each([&](NodeIndex, const NodeState& n) {
    if (n.spec.mig_gpus > 0 && mig_geometry(n.spec.product) == nullptr) unknown = n.spec.product;
  });
  add(ReasonToken::kMigGeometry, kind_text(*p.shape), p.count * p.shape->gpus, 0,
      unknown.empty() ? "no node is cut into slices of this profile"
                      : "the slices of " + unknown + " have no known geometry");
}

void Explainer::exceeds_fleet() {
  MilliGpu need = 0, all = 0;
  for (const Demand& d : demands_) need += d.need;
  const auto installed = [&](NodeIndex i, const NodeState& n) {
    const bool any = std::any_of(demands_.begin(), demands_.end(),
                                 [&](const Demand& d) { return matches(d, i); });
    const MilliGpu here = any ? n.spec.gpus * kMilliPerGpu - n.stranded : 0;
    all += here;
    return here;
  };
  const MilliGpu most = most_together(installed);
  const GangRequest& r = shape_.request;
  const bool anywhere = r.topology == Topology::kAny || r.prefer || r.segment > 0;
  const MilliGpu have = anywhere ? all : most;
  add(ReasonToken::kExceedsFleet, kind_text(*shape_.pods.front().shape), need, have,
      "even the empty fleet could not hold " + std::to_string(shape_.request.pods()) +
          " pods with " + gpus_text(need) + " GPUs as asked (topology " +
          std::string(enum_name(shape_.request.topology)) + ")");
}

void Explainer::conditions(const Demand& d) {
  const PodShape& pod = *d.pods->shape;
  std::int64_t closed = 0, all = 0;
  std::vector<std::string> names;
  each([&](NodeIndex i, const NodeState& n) {
    if (!matches(d, i)) return;
    ++all;
    if (open(d, i) || !fits(n.spec, scene_.room(i), pod, kAllGpus)) return;
    ++closed;
    if (names.size() < kMaxBlockers) names.push_back(n.spec.name);
  });
  if (closed == 0) return;
  Reason& r =
      add(ReasonToken::kNodeConditions, kind_text(pod), all, all - closed,
          std::to_string(closed) + " matching nodes with room are not ready, cordoned or drained");
  r.blockers = std::move(names);
}

void Explainer::reserved() {
  MilliGpu kept = 0;
  std::vector<JobId> owners;
  for (const Demand& d : demands_) {
    const PodShape& pod = *d.pods->shape;
    each([&](NodeIndex i, const NodeState& n) {
      if (!kept_for_other(i) || !open(d, i)) return;
      if (!fits(n.spec, scene_.room(i), pod, kAllGpus)) return;
      kept += free_for(pod, i);
      owners.push_back(scene_.owner_of(i));
    });
  }
  if (owners.empty()) return;
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  if (owners.size() > kMaxBlockers) owners.resize(kMaxBlockers);
  MilliGpu need = 0;
  for (const Demand& d : demands_) need += d.need;
  Reason& r = add(ReasonToken::kReservedForOther, kind_text(*shape_.pods.front().shape), need, kept,
                  gpus_text(kept) + " free GPUs are kept for jobs that waited longer");
  for (const JobId owner : owners) r.blockers.push_back(text::job_id_text(owner));
}

std::vector<Reason> Search::explain(const Picture& picture, ShapeId shape, JobId owner) {
  const Scene scene(picture);
  assert(!scene.nothing_held);
  if (find(picture, shape, owner)) return {};
  const bool fits_empty = fits_empty_fleet(shape);
  const std::vector<NodeId> drain = drain_set(picture, shape);
  return Explainer(*impl_, impl_->state.shape(shape), impl_->ask(shape), scene, owner, fits_empty,
                   drain)
      .run();
}

}  // namespace subak
