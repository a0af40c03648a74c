// Why a job does not start. The command `subak why`, Events, metrics and pod conditions use the
// same closed list of tokens. A token is Kueue's reason token if that fits, and else Subak's own.
// docs/reasons.md says what to do about each token.
// Source: KEP-10852 of kubernetes-sigs/kueue.
// Threads: any; plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"

namespace subak {

// The API uses the names below (WaitReason.token), so no name ever changes. Values are durable:
// append only. The order in this list has no meaning: kReasonOrder has the order in which reasons
// are shown.
enum class ReasonToken : std::uint8_t {
  // Nothing prevents the start: the next pass (round of scheduling decisions) starts the job.
  kNext,
  // The job or its account is on hold, until a person ends the hold or a time comes that Subak set.
  // Or the job came while its account drained (accepted no new jobs).
  kOnHold,
  // Some pods of the gang are missing or cannot be placed, or the gang's size or account is not
  // known.
  kGangIncomplete,
  // Subak has not yet read the complete list of the cluster's nodes and pods, or the job can start
  // once an autoscaler has added nodes to a pool.
  kWaitingForNodes,
  // The job can never start, because its specification has a mistake.
  kMisconfigured,
  // No node has the requested product and labels, with taints that the job tolerates.
  kNoMatchingFlavor,
  // The job would not fit even in the empty fleet.
  kExceedsFleet,
  // The job asks for more than a limit on its account's path ever allows.
  kExceedsMaxQuota,
  // A limit on its account's path is reached now.
  kWaitingForQuota,
  // Too few GPUs or slices of the requested kind are free.
  kWaitingForCapacity,
  // Enough GPUs are free, but not as close together as the job requests.
  kTopologyPlacementFailed,
  // Enough memory units of GPUs are free, but not enough MIG slices of the profile.
  kMigGeometry,
  // Enough GPUs are free, but not enough CPU, memory, pod slots, host ports or other resources.
  kNodeResources,
  // Matching nodes exist, but they are cordoned, drained or not ready.
  kNodeConditions,
  // Free GPUs are reserved for jobs that have waited long.
  kReservedForOther,
  // Other jobs come first in the fair-share order and take the free GPUs.
  kOutranked,
  // No pass has evaluated the job yet, but a pass is due.
  kPendingEvaluation,
  // The cluster's scheduler could not use the chosen nodes.
  kUnschedulable,
  // The pod is one too many: its gang already has all its pods, so the pod has no rank.
  kBeyondGangSize,
  // Subak has set GPUs aside for the job (a claim), but other jobs, which must end for this, still
  // hold them.
  kWaitingForPreemptedWorkloads,
  // The pod requests devices by a ResourceClaim (DRA), and Subak does not know which GPUs these
  // are. This is a reason of the pod: until Subak knows the GPUs, the pod belongs to no job.
  kUnknownDeviceClass,
  // A hard budget of its account, or of one above, has too few GPU-hours left.
  kBudgetSpent,
  // A volume of the pod does not exist yet. This is a reason of the pod: until the volume exists,
  // the pod belongs to no job.
  kWaitingForVolumes,
  // No pod that the pod's required pod affinity selects has a node yet. This is a reason of the
  // pod: until such a pod has a node, the pod belongs to no job.
  kWaitingForPods,
};

template <>
struct EnumText<ReasonToken> {
  static constexpr std::array<std::string_view, 24> names{"next",
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
                                                          "BeyondGangSize",
                                                          "WaitingForPreemptedWorkloads",
                                                          "UnknownDeviceClass",
                                                          "BudgetSpent",
                                                          "WaitingForVolumes",
                                                          "WaitingForPods"};
};

// The order of reasons: kNext, then errors and holds of the job, then the structure of the fleet.
// Rules of accounts follow, then nodes that may come, free capacity, and the order of jobs. Solve
// the first reason first, because later reasons may follow from it. Each token occurs once.
inline constexpr std::array kReasonOrder{
    ReasonToken::kNext,
    ReasonToken::kOnHold,
    ReasonToken::kMisconfigured,
    ReasonToken::kUnknownDeviceClass,
    ReasonToken::kWaitingForVolumes,
    ReasonToken::kWaitingForPods,
    ReasonToken::kUnschedulable,
    ReasonToken::kGangIncomplete,
    ReasonToken::kBeyondGangSize,
    ReasonToken::kNoMatchingFlavor,
    ReasonToken::kExceedsFleet,
    ReasonToken::kExceedsMaxQuota,
    ReasonToken::kWaitingForPreemptedWorkloads,
    ReasonToken::kWaitingForQuota,
    ReasonToken::kBudgetSpent,
    ReasonToken::kWaitingForNodes,
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

// Returns the token's index in kReasonOrder: a smaller index comes first. A token that is not in
// kReasonOrder comes last.
constexpr std::size_t rank_of(ReasonToken token) {
  std::size_t rank = 0;
  while (rank < kReasonOrder.size() && kReasonOrder[rank] != token) ++rank;
  return rank;
}

// One reason why a job waits: what is scarce, the needed and the present amount, and the jobs or
// nodes that block the start.
struct Reason {
  ReasonToken token = ReasonToken::kNext;
  // What is scarce, or what forbids the start: an account path, a product, a label or a resource.
  std::string subject;
  // The needed amount and the present amount, in the subject's own unit: milli-GPU, slices, pods or
  // bytes. Both are 0 for a reason without an amount.
  std::int64_t need = 0;
  std::int64_t have = 0;
  // One sentence for a person.
  std::string detail;
  // The names of the jobs or nodes that block the start, at most limits::kMaxBlockers.
  std::vector<std::string> blockers;

  friend bool operator==(const Reason&, const Reason&) = default;
};

}  // namespace subak
