#include "placement/trial/query.h"

#include <algorithm>
#include <numeric>

namespace subak {
namespace {

// A segment is a set of pods that share an NVLink domain unless the topology says otherwise.
Topology topology_of(const Terms& terms) {
  const bool segments = terms.segment > 0 && terms.topology == Topology::kAny;
  return segments ? Topology::kNvlink : terms.topology;
}

bool has_wish(const GangRequest& r) {
  return r.terms.topology != Topology::kAny || r.terms.segment > 0;
}

}  // namespace

Query::Query(const Shape& of, const std::vector<Filter*>& filters, const Scene& in,
             const Terms& terms, bool judged_once)
    : fleet(in.fleet),
      shape(of),
      scene(in),
      owner(terms.owner),
      ignore(terms.ignore),
      topology(topology_of(terms)),
      segment(terms.segment),
      without(terms.without),
      compact(topology == Topology::kAny && has_wish(of.request())),
      by_state(judged_once && !in.nothing_held && !in.all_open),
      leaves_some(in.rules_hold()),
      uses_compute_domain(of.request().terms.compute_domain && !in.together),
      filters_(filters) {
  must(filters_.size() == shape.pods.size(), "each kind of pod has a filter");
  if (scene.as_it_is() && !scene.all_open) return;
  if (scene.is_empty()) return;
  for (std::size_t k = 0; k < filters_.size(); ++k) {
    if (!filters_[k]->counts) continue;
    if (scene.nothing_held) catch_up_drained(*filters_[k], fleet);
    const Filter& mine = filter(k);
    const bool known = std::any_of(patches_.begin(), patches_.end(),
                                   [&](const auto& p) { return p.first == &mine; });
    const bool differs = scene.overlay != nullptr || scene.all_open;
    if (differs && !known) patches_.emplace_back(&mine, Patch(mine, scene));
  }
}

const Filter& Query::filter(std::size_t k) const {
  const Filter& live = *filters_[k];
  const bool drained = scene.nothing_held && !scene.all_open && live.counts;
  must(!drained || live.when_drained != nullptr, "a drained snapshot has drained filters");
  return drained ? *live.when_drained : live;
}

Index Query::index(std::size_t k) const {
  must(k < shape.pods.size(), "an index is of the gang's pods");
  const Filter& of = filter(k);
  const Pods& pods = shape.pods[k];
  const auto* backed_off =
      fleet.backoffs.empty() ? nullptr : fleet.backoffs.nodes(*pods.shape, pods.hash);
  for (const auto& [patched, patch] : patches_) {
    if (patched == &of) return Index(of, &patch, backed_off);
  }
  return Index(of, nullptr, backed_off);
}

Runs Query::runs(std::uint32_t first, std::uint32_t last) const {
  must(first <= last && last <= pods(), "runs are of the gang's ranks");
  Runs out;
  for (std::size_t k = 0; k < shape.pods.size(); ++k) {
    const Pods& p = shape.pods[k];
    const std::uint32_t from = std::max(first, p.first);
    const std::uint32_t to = std::min(last, p.first + p.count);
    if (from < to) out.push_back({&p, index(k), from, to - from});
  }
  must(pods_of(out) == last - first, "each rank is in one run");
  if (fleet.headroom.any()) {
    std::stable_partition(out.begin(), out.end(), [](const Run& r) { return !without_gpu(r); });
  }
  return out;
}

std::int64_t Query::weight(const Index& x, NodeIndex i) const {
  if (x.drained()) return x.held(i);
  if (scene.nothing_held) return scene.load(i).allocated;
  if (x.counts()) return std::max<std::int64_t>(0, x.free(i));  // -1: closed, but queried
  const Room& r = scene.room(i);
  return std::accumulate(r.gpu_free.begin(), r.gpu_free.end(), std::int64_t{0});
}

FitKey Query::domain_key(const Index& x, DomainIndex d) const {
  const bool known = x.counts() ? !scene.is_empty() : by_state && scene.overlay == nullptr;
  if (known) {
    const DomainKey& key = x.domain_key(d);
    return {key.weight, key.low, key.domain, 0, 0};
  }
  std::int64_t sum = 0;
  for (const NodeIndex m : members(d)) {
    const bool in = scene.all_open ? x.matches(m) : x.open(m);
    if (in) sum += weight(x, m);
  }
  return {sum, members(d).empty() ? 0 : members(d).front(), d, 0, 0};
}

Query::Where Query::where(NodeIndex i) const {
  Where out{};
  std::size_t at = 0;
  for (std::size_t k = fleet.topology.named() > 0 ? fleet.topology.depth() : 0; k-- > 0;) {
    out[at++] = fleet.topology.groups(k)[node(i).groups[k]]->members.front();
  }
  must(!members(node(i).domain).empty(), "a node is in its NVLink domain");
  out[at++] = members(node(i).domain).front();
  out[at] = i;
  return out;
}

}  // namespace subak
