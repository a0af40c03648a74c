#include "placement/fleet/fleet_view.h"

#include "core/must.h"
#include "placement/fleet/scene.h"

namespace subak {

void ReservedNodes::reserve(std::span<const NodeId> nodes, JobId owner, bool uses_compute_domain) {
  must(static_cast<bool>(owner), "reserved nodes have an owner");
  ++version_;
  for (const NodeId id : nodes) {
    if (owner_of(id)) continue;
    if (id.value >= owners_.size()) owners_.resize(id.value + 1);
    owners_[id.value] = owner;
    if (uses_compute_domain && id.value >= uses_compute_domain_.size())
      uses_compute_domain_.resize(id.value + 1);
    if (uses_compute_domain) uses_compute_domain_[id.value] = true;
    nodes_.push_back(id);
  }
  must(nodes_.size() <= owners_.size(), "a reserved node is reserved once");
}

void ReservedNodes::clear() {
  ++version_;
  for (const NodeId id : nodes_) owners_[id.value] = JobId();
  nodes_.clear();
  uses_compute_domain_.clear();
}

FleetView::FleetView(const Fleet& fleet) : fleet_(&fleet), fleet_version_(fleet.version()) {}

FleetView::FleetView(const Fleet& fleet, const ReservedNodes& reserved)
    : fleet_(&fleet),
      reserved_(&reserved),
      fleet_version_(fleet.version()),
      reserved_version_(reserved.version()) {}

FleetView FleetView::empty(const Fleet& fleet) {
  FleetView p(fleet);
  p.nothing_held_ = true;
  p.all_open_ = true;
  return p;
}

Result<FleetView> FleetView::without(std::span<const Allocation> gone) const {
  must(current(), "a snapshot is used before the fleet changes");
  auto overlay = give_back(fleet_->impl(), overlay_.get(), gone);
  if (!overlay.ok()) return overlay.error();
  FleetView p = *this;
  if (!gone.empty()) p.overlay_ = std::move(*overlay);
  return p;
}

FleetView FleetView::drained() const {
  FleetView p = *this;
  p.nothing_held_ = true;
  return p;
}

bool FleetView::current() const {
  return fleet_version_ == fleet_->version() &&
         (reserved_ == nullptr || reserved_version_ == reserved_->version());
}

}  // namespace subak
