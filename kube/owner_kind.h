// The kinds of objects that make pods or say how many of them start together: controllers such as
// Job and JobSet, and groups such as PodGroup. kube/owner.h reads them.
// Threads: any; plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/text.h"

namespace subak {

// Each kind has a name of its own in `names`, because Kubernetes has several kinds PodGroup.
// kube/owners/kinds.h has the Kubernetes spelling.
enum class OwnerKind : std::uint8_t {
  kJob,
  kJobSet,
  kLeaderWorkerSet,
  kStatefulSet,
  kDeployment,
  kReplicaSet,
  kPyTorchJob,
  kTfJob,
  kXgboostJob,
  kPaddleJob,
  kJaxJob,
  kMpiJob,
  kRayCluster,
  kVolcanoJob,
  kCoschedulingGroup,
  kVolcanoGroup,
  kKaiGroup,
  kPodGroup,
  kWorkload,
  kCronJob,
  kTrainJob,
  kRayJob
};
template <>
struct EnumText<OwnerKind> {
  static constexpr std::array<std::string_view, 22> names{"Job",
                                                          "JobSet",
                                                          "LeaderWorkerSet",
                                                          "StatefulSet",
                                                          "Deployment",
                                                          "ReplicaSet",
                                                          "PyTorchJob",
                                                          "TFJob",
                                                          "XGBoostJob",
                                                          "PaddleJob",
                                                          "JAXJob",
                                                          "MPIJob",
                                                          "RayCluster",
                                                          "VolcanoJob",
                                                          "CoschedulingPodGroup",
                                                          "VolcanoPodGroup",
                                                          "KaiPodGroup",
                                                          "PodGroup",
                                                          "Workload",
                                                          "CronJob",
                                                          "TrainJob",
                                                          "RayJob"};
};

}  // namespace subak
