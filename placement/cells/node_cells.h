// Says for each GPU and each MIG slice of one node which pods have a part of it, and why other
// parts are not free. The map of the fleet (engine/answers/fleet_map.h) shows these *cells*. A cell
// is one GPU that is not cut, or one MIG slice. The GPUs come first, by index, then the slices.
//
// The fleet knows the GPU of most holds by its index (PodSlot::gpu_mask). The kubelet may still
// give the pod another GPU, so a cell's position is not the index of a device. Where the fleet
// knows only an amount, NodeCells chooses the cells in a fixed order:
//   - A pod with MIG slices gets free slices of its profile, the first ones.
//   - Amounts without an index, and unhealthy GPUs, take the cells with the most free milli-GPU.
//     Among equal cells, the last one comes first. The search for placements makes the same choice.
//
// The sums agree with Fleet::levels(), unless the slices of the node do not fit on its cut GPUs:
//   - the held parts of cells and beyond() are `allocated`
//   - the parts of kind kClosed are `unusable`
//   - all other parts are `idle`
//
// Units: milli-GPU (1000 is one GPU). Errors: none.
// Threads: one at a time for each object.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/node.h"
#include "placement/fleet/fleet.h"
#include "placement/gpus/node_claim.h"

namespace subak {

// The cells of one kind of node.
struct CellLayout {
  // The GPUs that are not cut, and the amount of each: 1000, or less if the GPU is shared.
  std::uint32_t gpus = 0;
  MilliGpu gpu_milligpu = 0;
  // The slices of one profile, which follow the GPUs.
  struct Slices {
    std::string profile;
    std::uint32_t count = 0;
    // The amount of each slice. 0: the product or the profile is not known.
    MilliGpu milligpu = 0;
    friend bool operator==(const Slices&, const Slices&) = default;
  };
  // In the order of NodeSpec::mig.
  std::vector<Slices> slices;
  // The number of cells of the node.
  std::uint32_t cells() const;
  friend bool operator==(const CellLayout&, const CellLayout&) = default;
};
// Returns the layout of a node, whether the node is healthy or not.
CellLayout cell_layout(const NodeSpec& node);

// What a part of a cell is used for.
enum class CellUse : std::uint8_t {
  // A pod holds the part.
  kHeld,
  // The GPU is unhealthy, or the node takes no new pods.
  kClosed,
  // A claim sets the part aside for a waiting job, the claimant.
  kClaimed,
  // The part is free, but only for certain gangs. The node is a spare node of a gang, or the GPU is
  // in a domain that a gang has alone, or the domain is left to large gangs
  // (DomainRules::keep_whole).
  kKept,
  // Any pod may get the part.
  kFree,
};

// A part of a cell.
struct CellPart {
  // The index of the cell on the node.
  std::uint32_t cell = 0;
  CellUse use = CellUse::kFree;
  // For kHeld: the index of the hold. Otherwise 0.
  std::uint32_t hold = 0;
  // For kClaimed: the claimant. Otherwise none.
  JobId claimant;
  MilliGpu milligpu = 0;
  friend auto operator<=>(const CellPart&, const CellPart&) = default;
};

// A pod with a hold on the node.
struct CellHold {
  // The shape of the pod, and its rank in this shape.
  ShapeId shape;
  std::uint32_t rank = 0;
  // Never nullptr.
  const PodSlot* slot = nullptr;
};

// Fills in the cells of one node after another. The object keeps its memory from node to node.
class NodeCells {
 public:
  // Reads a node that is present. `holds`: all pods with GPUs on the node. Their order decides
  // which pod comes first where the fleet knows no index. O(cells x holds).
  void read(const Fleet& fleet, NodeId node, std::span<const CellHold> holds);
  // The parts of all cells, by cell, then by use and hold. Parts without an amount are left out.
  const std::vector<CellPart>& parts() const { return parts_; }
  // The held amounts for which the node has no room, because it lost GPUs or was overbooked. The
  // field `cell` is 0.
  const std::vector<CellPart>& beyond() const { return beyond_; }

 private:
  // Gives at most `most` of the cell to `part`, and returns the amount.
  MilliGpu take(std::size_t cell, MilliGpu most, CellPart part);
  // Takes from the fullest cells, in the order of the comment at the top. Returns what is missing.
  MilliGpu take_anywhere(MilliGpu amount, const CellPart& part);
  // Gives slices to the pod. Returns what is missing.
  MilliGpu take_slices(const NodeSpec& spec, const PodShape& pod, MilliGpu amount,
                       const CellPart& part);
  void take_claims(const Fleet::Impl& fleet, const std::vector<NodeClaim>& claims,
                   const NodeSpec& spec);

  // The amount of each cell that is not given out yet.
  std::vector<MilliGpu> left_;
  std::vector<CellPart> parts_, beyond_;
};

}  // namespace subak
