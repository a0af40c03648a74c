// A snapshot of the fleet (class `FleetView`) in which a search looks: the live fleet, or the fleet
// after hypothetical releases. A snapshot never changes; without() makes another snapshot from it.
// A search changes neither the snapshot nor the fleet. A snapshot without some allocations gives
// exactly the answers of a fleet in which they were released.
//
// Lifetime: a snapshot borrows the fleet and the reserved nodes. Both must outlive the snapshot.
// The snapshot is valid until the fleet or the reserved nodes change: a search asserts that its
// snapshot is not stale. A snapshot does not borrow the snapshot from which it was made. Use a
// snapshot at once and drop it. A snapshot of the live fleet costs a few pointers. A snapshot
// without some allocations costs a copy of the holds on their nodes (a few KiB each).
// Threads: any may have snapshots of a fleet and read them while no thread changes the fleet.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/error.h"
#include "placement/fleet/fleet.h"
#include "placement/fleet/reserved_nodes.h"

namespace subak {

// A slot that is held. The fields are the arguments of Fleet::take().
struct Allocation {
  // The request of the job, and the pod's index in it.
  ShapeId shape;
  std::uint32_t rank = 0;
  // The node of the pod, and the GPUs that it holds there.
  PodSlot slot;
  // The job of the pod.
  JobId owner;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct Overlay;  // placement/fleet/scene.h: differences from the live fleet
struct Scene;    // placement/fleet/scene.h: how this folder reads a snapshot

// One snapshot. It cannot be changed; a copy is cheap and is the same snapshot.
class FleetView {
 public:
  // Makes a snapshot of the fleet now, without reservations.
  explicit FleetView(const Fleet& fleet);
  // Makes a snapshot of the fleet now, with these nodes reserved for their jobs.
  FleetView(const Fleet& fleet, const ReservedNodes& reserved);
  // Deleted, because a temporary would not outlive the snapshot.
  FleetView(const Fleet& fleet, ReservedNodes&& reserved) = delete;

  // Returns a snapshot without holds and reservations in which every node is open and healthy. It
  // shows what could ever fit. Best fit does not matter in the empty fleet, so a search takes the
  // first placement that it finds.
  static FleetView empty(const Fleet& fleet);

  // Returns this snapshot after the release of the allocations, in any order. If an allocation gave
  // its gang an exclusive domain, the domain's other GPUs become free too. The fleet itself does
  // not change.
  // Errors: kNotFound if an allocation is not held in this snapshot, or is named twice; kExhausted
  // if more than limits::kMaxFleetViewNodes nodes would differ from the live fleet.
  Result<FleetView> without(std::span<const Allocation> gone) const;

  // Returns this snapshot without holds. Nodes that take no pods, unhealthy GPUs, reservations,
  // NVLink domains left to gangs (DomainRules::keep_whole) and the usage of pods without a hold
  // (Fleet::set_others) stay as they are. In the result, best fit chooses the nodes with the fewest
  // GPUs held in this snapshot, because a job would wait until these GPUs are free.
  FleetView drained() const;

  // True if neither the fleet nor the reserved nodes have changed since the snapshot was made.
  bool current() const;
  const Fleet& fleet() const { return *fleet_; }

 private:
  friend struct Scene;

  const Fleet* fleet_;
  const ReservedNodes* reserved_ = nullptr;
  // The differences from the live fleet; nullptr if there are none.
  std::shared_ptr<const Overlay> overlay_;
  bool nothing_held_ = false, all_open_ = false;
  std::uint64_t fleet_version_ = 0, reserved_version_ = 0;
};

}  // namespace subak
