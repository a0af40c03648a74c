// GPUs of one node that are claimed for a queued job, the claimant. The victims of the claim, which
// are jobs that Subak asks to end, hold these GPUs until they end. Then only the claimant gets the
// GPUs.
// Threads: any; plain values, pure functions. Private to placement, except struct NodeClaim.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "model/request.h"

namespace subak {

struct Load;

// The part of one job's claim that is on one node. Claimed GPUs count only as held while a victim
// still holds them. Once it has given them back, they are set aside for the claimant.
struct NodeClaim {
  // One pod of the claimant: its index in the request, and the slot that it will take.
  struct Slot {
    std::uint32_t rank = 0;
    PodSlot slot;
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  // The job that the GPUs are for, and its request.
  JobId claimant;
  ShapeId shape;
  // Ascending by rank; all on this node.
  std::vector<Slot> slots;
  // The jobs that end for this claim; ascending. Each job is a victim of one claim only.
  std::vector<JobId> victims;
  friend bool operator==(const NodeClaim&, const NodeClaim&) = default;
};

// Returns the shape of the pod at this rank of a request.
using PodShapeOf = std::function<const PodShape&(ShapeId, std::uint32_t)>;

// Returns the load that searches use: the holds, and the part of each claim that its victims no
// longer hold. `allocated` counts only the holds. `leave_out`: a claimant whose claim does not
// count. O(holds x victims).
Load with_claims(const Load& load, std::span<const NodeClaim> claims, JobId leave_out,
                 const PodShapeOf& shape_of);
// Returns the load without the holds of these jobs; ascending.
Load without_jobs(const Load& load, std::span<const JobId> jobs, const PodShapeOf& shape_of);

}  // namespace subak
