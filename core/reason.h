// Why a job does not start. One closed vocabulary for `why`, events, metrics and conditions;
// Kueue's reason tokens where they fit (KEP-10852 of kubernetes-sigs/kueue), ours where it has
// none. docs/reasons.md tells people what to do about each. Threads: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"

namespace subak {

// Their names are the API's (WaitReason.token): none is renamed. The order in which they are shown is
// kReasonOrder's.
enum class ReasonToken : std::uint8_t {
  kNext,                     // nothing binds: the next pass starts it
  kOnHold,                   // held by a user or an operator, or its account is
  kGangIncomplete,           // fewer pods seen than the gang needs
  kWaitingForNodes,          // its cluster's list is not complete
  kMisconfigured,            // can never start as written
  kNoMatchingFlavor,         // no node has the product, labels or tolerated taints asked for
  kExceedsFleet,             // even the empty fleet could not hold it
  kExceedsMaxQuota,          // more than a limit on its path allows at all
  kWaitingForQuota,          // a limit on its path is reached now
  kWaitingForCapacity,       // not enough free GPUs of the kind
  kTopologyPlacementFailed,  // enough free GPUs, but not together as asked
  kMigGeometry,              // enough free memory units, but no slice of the profile
  kNodeResources,            // GPUs are free, CPU, memory, pod slots or host ports are not
  kNodeConditions,           // matching nodes are not ready, cordoned or drained
  kReservedForOther,         // free GPUs are kept for a job that has waited longest
  kOutranked,                // others come first in the fair-share order and the rest is taken
  kPendingEvaluation,        // not looked at yet: a pass is due
  kUnschedulable,            // the cluster's scheduler found no way to the nodes that were chosen
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

// The order in which reasons stand, first what is wrong with the job or forbids it, then how the
// fleet is built, then room, then whose turn it is: who reads only the first reads the one that all
// others depend on. Each token once.
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

// Its place in kReasonOrder: less stands before more. A token that is not there stands last.
constexpr std::size_t rank_of(ReasonToken token) {
  std::size_t rank = 0;
  while (rank < kReasonOrder.size() && kReasonOrder[rank] != token) ++rank;
  return rank;
}

// One binding constraint: what it is, how much is needed and there, and who or what is in the way.
struct Reason {
  ReasonToken token = ReasonToken::kNext;
  std::string subject;    // account path, product, label or resource that it is about
  std::int64_t need = 0;  // in the subject's own unit (milli-GPU, slices, pods, bytes)
  std::int64_t have = 0;
  std::string detail;                 // one sentence for a person
  std::vector<std::string> blockers;  // jobs or nodes by name, at most 8

  friend bool operator==(const Reason&, const Reason&) = default;
};

}  // namespace subak
