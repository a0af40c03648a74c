// find, fits_empty_fleet, drain_set; explain is in explain.cc.
#include "placement/search/search.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "core/text.h"
#include "placement/fleet/replacement_nodes.h"
#include "placement/gpus/eligibility.h"
#include "placement/search/search_impl.h"
#include "placement/ways/ways.h"

namespace subak {
namespace {

// If more nodes have changed, a full search costs less than a look at each changed node.
constexpr std::uint64_t kMaxRecheck = 64;

// Returns the part of a pod that decides which nodes it may use.
PodShape eligibility_part(const PodShape& pod) {
  PodShape out;
  out.kind = pod.kind;
  out.profile = pod.profile;
  out.products = pod.products;
  out.node_selector = pod.node_selector;
  out.affinity = pod.affinity;
  out.tolerations = pod.tolerations;
  return out;
}

// True if a search that failed before would fail again: no node that has changed since makes room
// for the gang. Only for the live fleet, because the change log does not cover other snapshots.
bool still_fails(Search::Impl& memory, const Shape& s, Sought& sought, const Scene& scene,
                 JobId owner) {
  const std::uint64_t end = scene.fleet.changes.end();
  if (!sought.failed) return false;
  must(sought.failed_at <= end, "a search failed at a position that the log has reached");
  if (sought.failed_at == end) return true;
  const GangRequest& r = s.request();
  const bool whole_gang = !s.pod_rules && !r.terms.balanced && r.terms.spare == 0 &&
                          (r.terms.segment == 0 || r.terms.segment >= r.pods());
  if (!whole_gang || sought.failed_at < scene.fleet.changes.begin()) return false;
  if (end - sought.failed_at > kMaxRecheck || (r.terms.prefer && r.pods() > 1)) return false;
  const Terms terms{.topology = r.terms.topology, .segment = r.terms.segment, .owner = owner};
  for (std::uint64_t p = sought.failed_at; p < end; ++p) {
    GangAttempt attempt = memory.attempt(s, sought, scene, terms);
    if (could_start_at(attempt, scene.fleet.changes[p])) return false;
    if (attempt.saw_reserved()) return false;
  }
  sought.failed_at = end;
  return true;
}

std::optional<Placement> search(Search::Impl& memory, const Shape& s, const Sought& sought,
                                const Scene& scene, JobId owner, std::span<const ProductId> without,
                                bool* saw_reserved) {
  const GangRequest& r = s.request();
  const auto place = [&](Topology topology, std::uint32_t segment) -> std::optional<Placement> {
    GangAttempt attempt = memory.attempt(
        s, sought, scene,
        {.topology = topology, .segment = segment, .owner = owner, .without = without});
    const bool ok = place_gang(attempt);
    *saw_reserved = *saw_reserved || attempt.saw_reserved();
    if (!ok) return std::nullopt;
    Placement placement{attempt.trial().take_slots()};
    must(placement.slots.size() == r.pods(), "a placement has a slot for each pod");
    return placement;
  };
  auto placement = place(r.terms.topology, r.terms.segment);
  const bool wish = r.terms.prefer && (r.terms.topology != Topology::kAny || r.terms.segment > 0);
  if (!placement && wish) placement = place(Topology::kAny, 0);
  return placement;
}

}  // namespace

GangArea area_of(const GangRequest& request) {
  const GangTerms& terms = request.terms;
  GangArea area;
  if (terms.prefer) return area;
  const bool segments = terms.segment > 0;
  switch (terms.topology) {
    case Topology::kAny:
      if (segments) area.group = GangArea::Group::kDomain;
      break;
    case Topology::kNode:
      break;
    case Topology::kNvlink:
    case Topology::kNvlinkExclusive:
      area.group = GangArea::Group::kDomain;
      break;
    case Topology::kRack:
      area.group = GangArea::Group::kRack;
      break;
  }
  const bool parts = terms.balanced || (segments && terms.segment < request.pods());
  area.one = area.group != GangArea::Group::kNode && !parts;
  area.exclusive = terms.topology == Topology::kNvlinkExclusive;
  return area;
}

Search::Search(const Fleet& fleet, AlikeNodes alike)
    : impl_(std::make_unique<Impl>(fleet, alike)) {}
Search::~Search() = default;

Filter* Search::Impl::filter_of(const Shape& s, const PodShape& pod) {
  const PodShape part = eligibility_part(pod);
  std::string key = std::to_string(s.cluster.value) + ' ' + to_text(part);
  auto& filter = filters[key];
  if (!filter) {
    filter = std::make_unique<Filter>();
    filter->key = std::move(key);
    filter->cluster = s.cluster;
    filter->pod = part;
    filter->tolerates_cordon = eligibility::tolerates_cordon(part.tolerations);
    filter->counts = part.kind == GpuKind::kWhole || part.kind == GpuKind::kMig;
  }
  ++filter->users;
  return filter.get();
}

void Search::Impl::forget(Sought& known) {
  for (Filter* filter : known.filters) {
    must(filter->users > 0, "a filter has the users that it counts");
    if (--filter->users == 0) filters.erase(std::string(filter->key));
  }
  known = Sought();
}

void Search::Impl::forget() {
  must(gone_seen <= state.shapes.gone_end(), "a search has read no further than the log");
  if (gone_seen == state.shapes.gone_end()) return;
  if (gone_seen < state.shapes.gone_begin()) {
    for (std::size_t id = 1; id < sought.size(); ++id) {
      const bool known =
          state.shapes.serial(ShapeId(static_cast<ShapeId::rep>(id))) == sought[id].serial;
      if (!known) forget(sought[id]);
    }
  } else {
    for (std::uint64_t p = gone_seen; p < state.shapes.gone_end(); ++p) {
      const std::uint32_t id = state.shapes.gone(p).value;
      if (id < sought.size()) forget(sought[id]);
    }
  }
  gone_seen = state.shapes.gone_end();
}

Sought& Search::Impl::at(ShapeId id) {
  forget();
  must(id && id.value <= state.shapes.numbers(), "a question is about a known shape");
  if (sought.size() <= state.shapes.numbers()) sought.resize(state.shapes.numbers() + 1);
  Sought& known = sought[id.value];
  known.serial = state.shape(id).serial;
  return known;
}

std::size_t Search::filters() {
  impl_->forget();
  return impl_->filters.size();
}

Sought& Search::Impl::ask(ShapeId id) {
  const Shape& s = state.shape(id);
  Sought& asked = at(id);
  if (asked.filters.empty()) {
    for (const Pods& p : s.pods) asked.filters.push_back(filter_of(s, *p.shape));
  }
  must(asked.filters.size() == s.pods.size(), "each kind of pod has a filter");
  for (Filter* filter : asked.filters) catch_up(*filter, state);
  return asked;
}

std::optional<Placement> Search::find(const FleetView& fleet_view, ShapeId shape, JobId owner,
                                      std::span<const ProductId> without) {
  must(&fleet_view.fleet() == &impl_->fleet, "a search is asked about its fleet");
  assert(fleet_view.current());
  const Shape& s = impl_->state.shape(shape);
  Sought& sought = impl_->ask(shape);
  const Scene scene(fleet_view);
  bool saw_reserved = false;
  // The search for a gang of several shapes is not exact: it may find a placement on fewer nodes that
  // it does not find on more. So a failure says nothing about other reserved nodes.
  const bool may_recall = scene.as_it_is() && (s.pods.size() == 1 || scene.reserved == nullptr);
  if (!may_recall) return search(*impl_, s, sought, scene, owner, without, &saw_reserved);
  if (still_fails(*impl_, s, sought, scene, owner)) return std::nullopt;
  auto placement = search(*impl_, s, sought, scene, owner, without, &saw_reserved);
  if (!without.empty()) return placement;
  sought.failed = !placement && !saw_reserved;
  sought.failed_at = scene.fleet.changes.end();
  return placement;
}

bool Search::fits_empty_fleet(ShapeId shape) {
  if (impl_->at(shape).fits_version != impl_->state.changes.descriptions()) {
    const bool fits = find(FleetView::empty(impl_->fleet), shape).has_value();
    impl_->at(shape).fits_empty = fits;
    impl_->at(shape).fits_version = impl_->state.changes.descriptions();
  }
  return impl_->at(shape).fits_empty;
}

std::vector<std::string> Search::pools_for(ShapeId shape, const FleetPools& pools) {
  if (pools.all.empty() || fits_empty_fleet(shape)) return {};
  if (!impl_->grown || !impl_->grown->is_of(impl_->fleet, pools)) {
    impl_->grown = std::make_unique<GrownFleet>(impl_->fleet, pools);
    ++impl_->grown_version;
  }
  Sought& known = impl_->at(shape);
  if (known.grown_version != impl_->grown_version) {
    const Shape& s = impl_->state.shape(shape);
    known.pools = impl_->grown->pools_for(s.cluster, s.request());
    known.grown_version = impl_->grown_version;
  }
  return known.pools;
}

std::int64_t Search::largest_node_gpus() {
  if (impl_->largest_version == impl_->state.changes.descriptions()) return impl_->largest_gpus;
  impl_->largest_version = impl_->state.changes.descriptions();
  impl_->largest_gpus = 0;
  for (const auto& n : impl_->state.nodes) {
    if (n && n->present) impl_->largest_gpus = std::max(impl_->largest_gpus, n->spec.gpus);
  }
  must(std::cmp_less_equal(impl_->largest_gpus, limits::kMaxGpusPerNode),
       "no node has more GPUs than a node may have");
  return impl_->largest_gpus;
}

namespace {

// Adds the other nodes of the clique that an nvlink-exclusive gang keeps from other jobs. Other
// jobs must leave these nodes too before the gang can start.
void add_kept_domain(const Scene& scene, ShapeId shape, std::uint32_t rank, const PodSlot& slot,
                     std::vector<NodeId>& nodes) {
  Hold hold;
  hold.shape = shape;
  hold.rank = rank;
  hold.slot = slot;
  const DomainIndex kept = scene.fleet.keep_of(hold, scene.node(slot.node.value)).domain;
  if (kept == kNoArea) return;
  scene.fleet.domains[kept]->each_wired([&](NodeIndex m) {
    if (scene.node(m).open() && !scene.owner_of(m)) nodes.emplace_back(m);
  });
}

}  // namespace

std::vector<NodeId> Search::drain_set(const FleetView& fleet_view, ShapeId shape) {
  const FleetView drained = fleet_view.drained();
  const auto placement = find(drained, shape);
  std::vector<NodeId> nodes;
  if (!placement) return nodes;
  must(!placement->slots.empty(), "a placement has a slot for each pod");
  for (const PodSlot& slot : placement->slots) nodes.push_back(slot.node);
  const Shape& asked = impl_->state.shape(shape);
  if (asked.request().terms.spare > 0 && !asked.request().terms.prefer) {
    for (const NodeIndex spare :
         replacement_nodes_to_wait_for(Scene(drained), asked, placement->slots)) {
      nodes.emplace_back(spare);
    }
  }
  for (std::uint32_t rank = 0; rank < placement->slots.size(); ++rank) {
    add_kept_domain(Scene(drained), shape, rank, placement->slots[rank], nodes);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace subak
