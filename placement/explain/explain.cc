// explain(), and the reasons in the structure of the fleet and in reservations.
#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "core/limits.h"
#include "core/must.h"
#include "core/names.h"
#include "core/text.h"
#include "model/mig.h"
#include "placement/explain/explainer.h"
#include "placement/gpus/eligibility.h"

namespace subak {

std::string gpus_text(MilliGpu milli) {
  std::string out = std::to_string(milli / kMilliPerGpu);
  const MilliGpu rest = milli % kMilliPerGpu;
  if (rest != 0) out += '.' + std::to_string(kMilliPerGpu + rest).substr(1);
  while (rest != 0 && out.ends_with('0')) out.pop_back();
  return out;
}

std::string slices_text(const PodShape& pod, std::int64_t slices) {
  return std::to_string(slices) + (slices == 1 ? " slice of " : " slices of ") + pod.profile;
}

std::string rules_text(const PodShape& pod) {
  std::string text;
  const auto add = [&](const std::string& words) {
    text += (text.empty() ? "" : ", and ") + words;
  };
  for (const PodAffinity& term : pod.near)
    add("its pod affinity wants all its pods on nodes with the same " + term.key);
  for (const TopologySpread& rule : pod.spread) {
    add("its topology spread constraint allows one " + rule.key + " at most " +
        std::to_string(rule.max_skew) + (rule.max_skew == 1 ? " pod" : " pods") +
        " more than another" +
        (rule.min_domains > 1 ? " (minDomains " + std::to_string(rule.min_domains) + ")" : ""));
  }
  return text;
}

std::string kind_text(const PodShape& pod) {
  if (pod.kind == GpuKind::kMig) return "mig-" + pod.profile;
  return pod.products.empty() ? kAnyProduct : pod.products.front();
}

std::int64_t configured_slices(const NodeSpec& node, const PodShape& pod) {
  const int profile = mig_index(node, pod.profile);
  return profile < 0 ? 0 : node.mig[static_cast<std::size_t>(profile)].count;
}

std::string amount_text(const std::string& resource, std::int64_t amount) {
  if (resource == kCpuResource) return gpus_text(amount) + (amount == 1000 ? " CPU" : " CPUs");
  if (resource != kMemoryResource) return std::to_string(amount) + " " + resource;
  const std::int64_t tenths =
      (amount + (std::int64_t{1} << 30) / 20) / ((std::int64_t{1} << 30) / 10);
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) +
         " GiB of memory";
}

namespace {

// Returns the jobs with reserved nodes on which a pod of the gang would fit.
std::vector<std::string> keepers(const Scene& scene, const Shape& shape, const Sought& sought,
                                 JobId owner) {
  std::set<JobId> jobs;
  for (NodeIndex i = 0; scene.reserved != nullptr && i < scene.fleet.nodes.size(); ++i) {
    const JobId keeper = scene.owner_of(i);
    if (!keeper || keeper == owner || !scene.fleet.nodes[i]) continue;
    for (std::size_t k = 0; k < shape.pods.size(); ++k) {
      const bool open = i < sought.filters[k]->free.size() && sought.filters[k]->free[i] >= 0;
      if (open && fits(scene.node(i).spec, scene.room(i), *shape.pods[k].shape, kAllGpus)) {
        jobs.insert(keeper);
      }
    }
  }
  std::vector<std::string> names;
  for (const JobId job : jobs) {
    if (names.size() < limits::kMaxBlockers) names.push_back(text::job_id_text(job));
  }
  return names;
}

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
  if (order.size() > limits::kMaxBlockers) order.resize(limits::kMaxBlockers);
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
      keepers_(keepers(scene, shape, sought, owner)),
      holders_(holders(scene, drain)) {
  must(sought.filters.size() == shape.pods.size(), "each kind of pod has a filter");
  must(!shape.pods.empty(), "a gang that waits has pods");
  for (std::size_t k = 0; k < shape.pods.size(); ++k) {
    Demand& d = demands_.emplace_back();
    d.pods = &shape.pods[k];
    d.filter = sought.filters[k];
    d.backed_off = scene.fleet.backoffs.nodes(*d.pods->shape, d.pods->hash);
    measure(d);
  }
}

std::vector<Reason> Explainer::run() {
  for (const Demand& d : demands_) no_matching(d);
  if (reasons_.empty()) {
    const bool left =
        std::any_of(demands_.begin(), demands_.end(), [](const Demand& d) { return d.left > 0; });
    const bool beside = std::any_of(demands_.begin(), demands_.end(),
                                    [](const Demand& d) { return d.computed_on.has_value(); });
    if ((left || !keepers_.empty()) && works_in(scene_.for_all(), {})) {
      reserved();
    } else if (beside && works_in(scene_.without_reservations().share_compute_domain(), {})) {
      computed();
    } else {
      bool too_large_pod = false, too_much = false;
      for (const Demand& d : demands_) too_large_pod = too_large(d) || too_large_pod;
      for (const Demand& d : demands_) too_much = too_much_for_a_container(d) || too_much;
      too_large_pod = too_large_pod || too_much;
      if (!fits_empty_ && !too_large_pod) exceeds_fleet();
      for (const Demand& d : demands_) wrong_slices(d);
      if (enough_gpus() && !too_much && !works(kOnlyGpus) && !in_one_fabric()) together();
      if (!too_large_pod) node_resources();
      for (const Demand& d : demands_) conditions(d);
      // If the end of no job would help, nodes that take no pods are the only obstacle.
      const bool closed = std::any_of(reasons_.begin(), reasons_.end(), [](const Reason& why) {
        return why.token == ReasonToken::kNodeConditions;
      });
      if (!closed || !holders_.empty()) {
        for (const Demand& d : demands_) capacity(d);
      }
    }
  }
  if (reasons_.empty()) together();
  must(!reasons_.empty(), "a gang that is not placed waits for a reason");
  std::stable_sort(reasons_.begin(), reasons_.end(), [](const Reason& a, const Reason& b) {
    return rank_of(a.token) < rank_of(b.token);
  });
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

// Adds a reason for the first static filter that leaves no node.
void Explainer::no_matching(const Demand& d) {
  if (d.least_per_pod) return;
  const Pods& p = *d.pods;
  std::int64_t nodes = 0, product = 0, kind = 0, linked = 0, labels = 0;
  each([&](NodeIndex i, const NodeState& n) {
    ++nodes;
    if (!eligibility::matches_product(p.shape->products, n.spec)) return;
    ++product;
    if (!eligibility::matches_kind(*p.shape, n.spec)) return;
    ++kind;
    if (!linked_enough(d, i)) return;
    ++linked;
    labels += eligibility::matches_selector(p.shape->node_selector, n.spec) &&
              eligibility::matches_affinity(p.shape->affinity, n.spec);
  });
  must(labels <= linked && linked <= kind && kind <= product && product <= nodes,
       "each filter leaves some of the nodes that the one before left");
  const auto none = [&](std::string subject, std::int64_t have, std::string detail) {
    add(ReasonToken::kNoMatchingFlavor, std::move(subject), p.count, have, std::move(detail));
  };
  if (nodes == 0) return none("nodes", 0, "the cluster has no nodes");
  if (product == 0) return none(kind_text(*p.shape), 0, "no node has this GPU product");
  if (kind == 0 && p.shape->kind == GpuKind::kMig) return no_slices(p);
  if (kind == 0) return none(kind_text(*p.shape), 0, "no node offers GPUs in this form");
  if (linked == 0) return none("nvlink", 0, "no node has GPUs that NVLink joins");
  if (labels == 0) return none("labels", linked, "no node matches the node selector and affinity");
  none("taints", labels, "every matching node has a taint that is not tolerated");
}

void Explainer::no_slices(const Pods& p) {
  std::string unknown;
  each([&](NodeIndex, const NodeState& n) {
    if (n.spec.mig_gpus > 0 && mig_geometry(n.spec.product) == nullptr) unknown = n.spec.product;
  });
  must(p.shape->kind == GpuKind::kMig, "only pods on slices lack slices");
  add(ReasonToken::kMigGeometry, kind_text(*p.shape), p.count * p.shape->gpus, 0,
      unknown.empty() ? "no node is cut into slices of this profile"
                      : "the slices of " + unknown + " have no known geometry");
}

namespace {

const std::string kAnyFabric;

}  // namespace

void Explainer::exceeds_fleet() {
  const GangRequest& r = shape_.request();
  must(!shape_.pods.empty(), "a gang has pods");
  const PodShape& first = *shape_.pods.front().shape;
  const bool slices = demands_.size() == 1 && first.kind == GpuKind::kMig;
  std::int64_t need = 0;
  std::map<std::pair<ProductId, std::string>, std::int64_t> by_product;
  for (const Demand& d : demands_) need += slices ? d.pods->count * first.gpus : d.need;
  const auto installed = [&](NodeIndex i) {
    const bool any = std::any_of(demands_.begin(), demands_.end(),
                                 [&](const Demand& d) { return matches(d, i); });
    if (!any) return std::int64_t{0};
    const NodeState& n = scene_.node(i);
    const std::int64_t here =
        slices ? configured_slices(n.spec, first) : n.spec.gpus * kMilliPerGpu - n.stranded;
    const bool one = shape_.one_product && r.pods() > 1;
    const std::string& fabric = shape_.one_fabric ? n.spec.fabric : kAnyFabric;
    by_product[{one ? n.product : ProductId(), fabric}] += here;
    return here;
  };
  const std::int64_t most = most_together(installed);
  std::int64_t all = 0;
  for (const auto& [product, here] : by_product) all = std::max(all, here);
  const bool anywhere = r.terms.topology == Topology::kAny || r.terms.prefer ||
                        r.terms.segment > 0 || r.terms.balanced;
  add(ReasonToken::kExceedsFleet, kind_text(first), need, anywhere ? all : most,
      "even the empty fleet could not hold " + std::to_string(r.pods()) + " pods with " +
          (slices ? slices_text(first, need) : gpus_text(need) + " GPUs") + " as asked (topology " +
          std::string(enum_name(r.terms.topology)) +
          (r.terms.spare > 0 ? ", " + std::to_string(r.terms.spare) + " nodes to spare" : "") +
          (shape_.one_fabric ? ", in one RDMA fabric" : "") +
          (shape_.pod_rules ? ", within the rules about its other pods)" : ")"));
}

bool Explainer::too_large(const Demand& d) {
  const PodShape& pod = *d.pods->shape;
  const std::size_t before = reasons_.size();
  const auto words = [&](const std::string& resource, std::int64_t amount) {
    const bool slices = pod.kind == GpuKind::kMig && resource == kind_text(pod);
    return slices ? slices_text(pod, amount) : amount_text(resource, amount);
  };
  const auto look = [&](const std::string& resource, std::int64_t need, auto of_node) {
    std::int64_t most = 0, anywhere = 0;
    each([&](NodeIndex i, const NodeState& n) {
      const std::int64_t here = of_node(n.spec);
      anywhere = std::max(anywhere, here);
      if (matches(d, i)) most = std::max(most, here);
    });
    if (most >= need) return;
    std::string detail = "a pod asks for " + words(resource, need) + ", and the largest node " +
                         (anywhere > most ? "that matches " : "") + "has " + words(resource, most);
    if (most == 0)
      detail = (anywhere > 0 ? "no node that matches has " : "no node has ") + resource;
    add(ReasonToken::kExceedsFleet, resource, need, most, std::move(detail));
  };
  if (pod.kind == GpuKind::kMig) {
    look(kind_text(pod), pod.gpus, [&](const NodeSpec& n) { return configured_slices(n, pod); });
  }
  // A node that does not declare an amount counts as having enough.
  const auto said = [](std::int64_t amount) {
    return amount > 0 ? amount : std::numeric_limits<std::int64_t>::max();
  };
  for (const ResourceCount& r : pod.extended) {
    look(r.name, r.count, [&](const NodeSpec& n) {
      const int i = extended_index(n, r.name);
      return i < 0 ? 0 : n.extended[static_cast<std::size_t>(i)].count;
    });
  }
  look(kCpuResource, pod.cpu_milli, [&](const NodeSpec& n) { return said(n.cpu_milli); });
  look(kMemoryResource, pod.memory_bytes, [&](const NodeSpec& n) { return said(n.memory_bytes); });
  return reasons_.size() > before;
}

bool Explainer::too_much_for_a_container(const Demand& d) {
  const PodShape& pod = *d.pods->shape;
  const bool whole = pod.kind == GpuKind::kWhole;
  if (!whole && pod.kind != GpuKind::kShared) return false;
  const std::int64_t need = most_in_container(pod);
  std::int64_t most = 0;
  each_matching(d, [&](NodeIndex i) {
    const NodeSpec& n = scene_.node(i).spec;
    const std::int64_t bound = whole ? n.numa_gpus : std::int64_t{n.one_replica ? 1 : 0};
    most = std::max(most, bound > 0 ? bound : need);
  });
  if (most >= need) return false;
  const std::string asks = "a container asks for " + std::to_string(need);
  if (whole) {
    add(ReasonToken::kExceedsFleet, "numa", need, most,
        asks +
            " GPUs, and the kubelet of each matching node takes them from one NUMA node, which "
            "has at most " +
            std::to_string(most));
  } else {
    add(ReasonToken::kExceedsFleet, std::string(names::kGpuShared), need, most,
        asks +
            " replicas of shared GPUs, and the device plugin of each matching node gives it at "
            "most 1; replicas do not add up to cards");
  }
  return true;
}

void Explainer::conditions(const Demand& d) {
  const PodShape& pod = *d.pods->shape;
  const bool all_open = d.filter->open_nodes == d.filter->matching && d.backed_off == nullptr;
  if (all_open || !works_in(scene_.opened(), {})) return;
  std::int64_t closed = 0, unfit = 0, turned_away = 0, all = 0;
  std::string first_unfit;
  std::vector<std::string> names;
  each_matching(d, [&](NodeIndex i) {
    ++all;
    if (open(d, i)) return;
    const NodeState& n = scene_.node(i);
    if (!fits(n.spec, scene_.room(i), pod, kAllGpus)) return;
    ++(is_backed_off(d, i) ? turned_away : n.spec.unfit.empty() ? closed : unfit);
    if (unfit == 1 && first_unfit.empty()) first_unfit = n.spec.name + ": " + n.spec.unfit;
    if (names.size() < limits::kMaxBlockers) names.push_back(n.spec.name);
  });
  const std::int64_t bad = closed + unfit + turned_away;
  must(bad <= all, "nodes that are closed are among those that match");
  if (bad == 0) return;
  std::string detail;
  const auto say = [&detail](std::int64_t nodes, const std::string& what) {
    if (nodes == 0) return;
    detail += detail.empty() ? "of the matching nodes with room " : ", ";
    detail += std::to_string(nodes) + what;
  };
  say(closed, " are not ready, cordoned or drained");
  say(unfit, " are not fit (" + first_unfit + ")");
  say(turned_away, " rejected such a pod lately");
  Reason& r = add(ReasonToken::kNodeConditions, kind_text(pod), all, all - bad, std::move(detail));
  r.blockers = std::move(names);
}

void Explainer::reserved() {
  MilliGpu need = 0, kept = 0, left = 0;
  const Demand* most_left = &demands_.front();
  for (const Demand& d : demands_) {
    need += d.need, kept += d.kept, left += d.left;
    if (d.left > most_left->left) most_left = &d;
  }
  std::string detail;
  if (!keepers_.empty()) {
    detail = gpus_text(kept) + " free GPUs are reserved for " + keepers_.front() +
             (keepers_.size() > 1 ? " and others" : "") + ", which has waited longer";
  }
  if (left > 0) {
    detail += (detail.empty() ? "" : "; ") + gpus_text(most_left->left) + " free GPUs are " +
              left_text(*most_left);
  }
  Reason& r = add(ReasonToken::kReservedForOther, kind_text(*shape_.pods.front().shape), need,
                  kept + left, std::move(detail));
  r.blockers = keepers_;
}

void Explainer::computed() {
  const Demand& d =
      *std::max_element(demands_.begin(), demands_.end(),
                        [](const Demand& a, const Demand& b) { return a.computed < b.computed; });
  must(d.computed_on.has_value(), "GPUs beside a ComputeDomain are on a node");
  const NodeState& n = scene_.node(*d.computed_on);
  const std::string& clique = scene_.fleet.domains[n.home()]->name;
  std::vector<std::string> names;
  for (const JobId job : computing_beside(scene_, *d.computed_on, owner_)) {
    if (names.size() < limits::kMaxBlockers) names.push_back(text::job_id_text(job));
  }
  must(!names.empty(), "a ComputeDomain is in the way of a gang");
  Reason& r = add(ReasonToken::kTopologyPlacementFailed, "compute-domain", d.need, d.computed,
                  gpus_text(d.computed) + " free GPUs are beside gangs with a ComputeDomain, as " +
                      (clique.empty() ? "node " + n.spec.name : "clique " + clique) + " has " +
                      names.front());
  r.blockers = std::move(names);
}

std::vector<Reason> Search::explain(const FleetView& fleet_view, ShapeId shape, JobId owner) {
  const Scene scene(fleet_view);
  must(!scene.nothing_held, "a snapshot to explain has its holds");
  if (find(fleet_view, shape, owner)) return {};
  const bool fits_empty = fits_empty_fleet(shape);
  const std::vector<NodeId> drain = drain_set(fleet_view, shape);
  return Explainer(*impl_, impl_->state.shape(shape), impl_->ask(shape), scene, owner, fits_empty,
                   drain)
      .run();
}

}  // namespace subak
