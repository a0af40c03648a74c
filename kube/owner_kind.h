// The kinds of objects that say how many pods start together.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/text.h"

namespace subak {

// `names` has a name of its own for each kind. kube/owners/kinds.h has the Kubernetes spelling.
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
