// find, fits_empty_fleet, drain_set.
#include <algorithm>

#include "placement/finder.h"

namespace subak {
namespace {

// Beyond this many changes a whole search is cheaper than looking at each changed node.
constexpr std::uint64_t kMaxRecheck = 64;

void prepare(Fleet::Impl& impl, Shape& shape) {
  impl.compile(shape);
  for (const Pods& p : shape.pods) impl.catch_up(*p.filter);
}

// A search that failed can only succeed through a node that has changed since.
bool still_fails(Fleet::Impl& impl, Shape& s, JobId owner) {
  const std::uint64_t end = impl.log_end();
  if (!s.failed) return false;
  if (s.failed_at == end) return true;
  const GangRequest& r = s.request;
  const bool whole_gang = r.segment == 0 || r.segment >= r.pods();
  if (!whole_gang || s.failed_at < impl.log_base || end - s.failed_at > kMaxRecheck) return false;
  if (r.prefer && r.pods() > 1) return false;
  const Topology topology =
      r.segment > 0 && r.topology == Topology::kAny ? Topology::kNvlink : r.topology;
  for (std::uint64_t p = s.failed_at; p < end; ++p) {
    Finder finder(impl, s, owner, World::kNow);
    if (finder.could_start_at(impl.log[p - impl.log_base], topology)) return false;
    if (finder.saw_earmark()) return false;
  }
  s.failed_at = end;
  return true;
}

std::optional<Placement> search(Fleet::Impl& impl, const Shape& s, JobId owner, World world,
                                bool* saw_earmark) {
  const GangRequest& r = s.request;
  const auto attempt = [&](Topology topology, std::uint32_t segment) -> std::optional<Placement> {
    Finder finder(impl, s, owner, world);
    const bool ok = finder.attempt(topology, segment);
    *saw_earmark = *saw_earmark || finder.saw_earmark();
    if (!ok) return std::nullopt;
    return Placement{std::move(finder.slots())};
  };
  auto placement = attempt(r.topology, r.segment);
  const bool wish = r.prefer && (r.topology != Topology::kAny || r.segment > 0);
  if (!placement && wish) placement = attempt(Topology::kAny, 0);
  return placement;
}

}  // namespace

std::optional<Placement> Fleet::find(ShapeId shape, JobId owner) const {
  Shape& s = impl_->shape(shape);
  prepare(*impl_, s);
  if (still_fails(*impl_, s, owner)) return std::nullopt;
  bool saw_earmark = false;
  auto placement = search(*impl_, s, owner, World::kNow, &saw_earmark);
  s.failed = !placement && !saw_earmark;
  s.failed_at = impl_->log_end();
  return placement;
}

bool Fleet::fits_empty_fleet(ShapeId shape) const {
  Shape& s = impl_->shape(shape);
  if (s.fits_version == impl_->static_version) return s.fits_empty;
  prepare(*impl_, s);
  bool saw_earmark = false;
  s.fits_empty = search(*impl_, s, JobId(), World::kEmpty, &saw_earmark).has_value();
  s.fits_version = impl_->static_version;
  return s.fits_empty;
}

std::vector<NodeId> Fleet::drain_set(ShapeId shape) const {
  Shape& s = impl_->shape(shape);
  prepare(*impl_, s);
  bool saw_earmark = false;
  const auto placement = search(*impl_, s, JobId(), World::kDrain, &saw_earmark);
  std::vector<NodeId> nodes;
  if (!placement) return nodes;
  for (const PodSlot& slot : placement->slots) nodes.push_back(slot.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace subak
