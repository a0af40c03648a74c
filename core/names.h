// Every name that Subak writes into a cluster, and NVIDIA's names that it reads, in one place. The
// keys of a gang's wishes are in the table of model/gang_terms.h.
#pragma once

#include <string_view>

namespace subak::names {

inline constexpr std::string_view kPrefix = "subak.gpu/";
inline constexpr std::string_view kGate = "subak.gpu/queue";
// Label of a namespace: "true" makes Subak manage its pods, "warn" only reports what would be
// refused.
inline constexpr std::string_view kManaged = "subak.gpu/managed";
inline constexpr std::string_view kAccount = "subak.gpu/account";
inline constexpr std::string_view kUser = "subak.gpu/user";
inline constexpr std::string_view kJob = "subak.gpu/job";
inline constexpr std::string_view kGangSize = "subak.gpu/gang-size";
inline constexpr std::string_view kRank = "subak.gpu/rank";
inline constexpr std::string_view kTimeLimit = "subak.gpu/time-limit";
inline constexpr std::string_view kPriority = "subak.gpu/priority";
inline constexpr std::string_view kStatus = "subak.gpu/status";
// Annotation of a pod whose hold was released while its gate was closed, "JOB/ATTEMPT". Only a
// newer attempt opens the gate.
inline constexpr std::string_view kKeptClosed = "subak.gpu/kept-closed";
inline constexpr std::string_view kQueuedCondition = "subak.gpu/Queued";  // of a pod
// Label of Subak's own pod, "true" while its process leads.
inline constexpr std::string_view kLeader = "subak.gpu/leader";
inline constexpr std::string_view kSuspendedBy = "subak.gpu/suspended";
// Label of a node: how many of its GPUs NVLink joins, those with neighbouring indexes ("1": none).
inline constexpr std::string_view kLabelGpusPerDomain = "subak.gpu/gpus-per-domain";

// NVIDIA's names (k8s-device-plugin and gpu-feature-discovery documentation).
inline constexpr std::string_view kNvidiaPrefix = "nvidia.com/";
inline constexpr std::string_view kGpu = "nvidia.com/gpu";
inline constexpr std::string_view kGpuShared = "nvidia.com/gpu.shared";
inline constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
inline constexpr std::string_view kSharedSuffix = ".shared";
inline constexpr std::string_view kLabelProduct = "nvidia.com/gpu.product";
inline constexpr std::string_view kLabelCount = "nvidia.com/gpu.count";
inline constexpr std::string_view kLabelClique = "nvidia.com/gpu.clique";
inline constexpr std::string_view kLabelTimestamp = "nvidia.com/gfd.timestamp";
inline constexpr std::string_view kLabelReplicas = "nvidia.com/gpu.replicas";
inline constexpr std::string_view kLabelMigCapable = "nvidia.com/mig.capable";
inline constexpr std::string_view kLabelMigStrategy = "nvidia.com/mig.strategy";
inline constexpr std::string_view kLabelMigState = "nvidia.com/mig.config.state";
inline constexpr std::string_view kLabelDeployPlugin = "nvidia.com/gpu.deploy.device-plugin";
inline constexpr std::string_view kLabelSharing = "nvidia.com/gpu.sharing-strategy";

// Labels of Google's node pools; pods select pools by them. Its device plugin offers slices and
// shared GPUs as nvidia.com/gpu.
inline constexpr std::string_view kGkeAccelerator = "cloud.google.com/gke-accelerator";
inline constexpr std::string_view kGkeCount = "cloud.google.com/gke-accelerator-count";
inline constexpr std::string_view kGkePartition = "cloud.google.com/gke-gpu-partition-size";
inline constexpr std::string_view kGkeClients = "cloud.google.com/gke-max-shared-clients-per-gpu";
inline constexpr std::string_view kGkeSharing = "cloud.google.com/gke-gpu-sharing-strategy";

// The cluster of a service that has no other; it goes when another is named first.
inline constexpr std::string_view kFirstCluster = "default";

}  // namespace subak::names
