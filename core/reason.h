// Why a job does not start. One closed vocabulary for `why`, events, metrics and conditions:
// Kueue's reason tokens where they fit, and Subak's own for the rest. docs/reasons.md says what to
// do about each.
// Source: KEP-10852 of kubernetes-sigs/kueue.
// Threads: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"

namespace subak {

// The names are the API's (WaitReason.token), so none is ever renamed. Values are durable: append
// only. The order of declaration has no meaning; kReasonOrder is the order of display.
enum class ReasonToken : std::uint8_t {
  kNext,                     // nothing binds: the next pass starts the job
  kOnHold,                   // the job or its account is on hold
  kGangIncomplete,           // fewer pods seen than the gang needs
  kWaitingForNodes,          // its cluster's list is not complete
  kMisconfigured,            // can never start as written
  kNoMatchingFlavor,         // no node has the requested product, labels or tolerated taints
  kExceedsFleet,             // even the empty fleet could not hold it
  kExceedsMaxQuota,          // more than a limit on its path allows at all
  kWaitingForQuota,          // a limit on its path is reached now
  kWaitingForCapacity,       // not enough free GPUs of the kind
  kTopologyPlacementFailed,  // enough free GPUs, but not as close together as requested
  kMigGeometry,              // enough free memory units, but no slice of the profile
  kNodeResources,            // GPUs are free, CPU, memory, pod slots or host ports are not
  kNodeConditions,           // matching nodes are not ready, cordoned or drained
  kReservedForOther,         // free GPUs are reserved for a job that has waited longest
  kOutranked,                // other jobs come first in the fair-share order and take the rest
  kPendingEvaluation,        // not evaluated yet: a pass is due
  kUnschedulable,            // the cluster's scheduler could not use the chosen nodes
  kBeyondGangSize,           // a pod that its gang has no rank for
};

template <>
struct EnumText<ReasonToken> {
  static constexpr std::array<std::string_view, 19> names{"next",
                                                          "OnHold",
                                                          "GangIncomplete",
                                                          "WaitingForNodes",
                                                          "Misconfigured",
                                                          "NoMatchingFlavor",
                                                          "ExceedsFleet",
                                                          "ExceedsMaxQuota",
                                                          "WaitingForQuota",
                                                          "WaitingForCapacity",
                                                          "TopologyPlacementFailed",
                                                          "MigGeometry",
                                                          "NodeResources",
                                                          "NodeConditions",
                                                          "ReservedForOther",
                                                          "Outranked",
                                                          "PendingEvaluation",
                                                          "Unschedulable",
                                                          "BeyondGangSize"};
};

// The order of reasons: first what is wrong with the job or forbids it, then the structure of the
// fleet, then free capacity, then the order of jobs. The first reason is the one that all others
// depend on. Each token occurs once.
inline constexpr std::array kReasonOrder{
    ReasonToken::kNext,
    ReasonToken::kOnHold,
    ReasonToken::kMisconfigured,
    ReasonToken::kUnschedulable,
    ReasonToken::kGangIncomplete,
    ReasonToken::kBeyondGangSize,
    ReasonToken::kWaitingForNodes,
    ReasonToken::kNoMatchingFlavor,
    ReasonToken::kExceedsFleet,
    ReasonToken::kExceedsMaxQuota,
    ReasonToken::kWaitingForQuota,
    ReasonToken::kMigGeometry,
    ReasonToken::kWaitingForCapacity,
    ReasonToken::kTopologyPlacementFailed,
    ReasonToken::kNodeResources,
    ReasonToken::kNodeConditions,
    ReasonToken::kReservedForOther,
    ReasonToken::kOutranked,
    ReasonToken::kPendingEvaluation,
};
static_assert(kReasonOrder.size() == EnumText<ReasonToken>::names.size());

// Returns its index in kReasonOrder: less comes first. A token that is not in it comes last.
constexpr std::size_t rank_of(ReasonToken token) {
  std::size_t rank = 0;
  while (rank < kReasonOrder.size() && kReasonOrder[rank] != token) ++rank;
  return rank;
}

// One binding constraint of a waiting job: its subject, the amount needed and present, and the jobs
// or nodes in the way.
struct Reason {
  ReasonToken token = ReasonToken::kNext;
  // What binds: an account path, a product, a label or a resource.
  std::string subject;
  // The amount needed and the amount present, in the subject's own unit: milli-GPU, slices, pods or
  // bytes. Both are 0 where no amount applies.
  std::int64_t need = 0;
  std::int64_t have = 0;
  // One sentence for a person.
  std::string detail;
  // Jobs or nodes by name, at most limits::kMaxBlockers.
  std::vector<std::string> blockers;

  friend bool operator==(const Reason&, const Reason&) = default;
};

}  // namespace subak
