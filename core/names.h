// The names of labels, annotations, gates and conditions that Subak uses in a cluster, and the
// names of NVIDIA and GKE that Subak reads. The keys for a gang's wishes, such as its topology, are
// in model/gang_terms.h. Users write these names in their manifests, so no name ever changes.
// docs/workloads.md is the page for users, and tests/kube/workloads_page_test.cc checks that the
// page has all names. A user may set a pod's key as a label or as an annotation, on the pod or in
// its template. If a key is both a label and an annotation, both must have the same value.
#pragma once

#include <string_view>

namespace subak::names {

// All keys of Subak begin with this prefix. Subak warns about an unknown key with this prefix.
inline constexpr std::string_view kPrefix = "subak.gpu/";
// Subak's scheduling gate of a pod (spec.schedulingGates). Subak removes this gate when the pod may
// start.
inline constexpr std::string_view kGate = "subak.gpu/queue";
// Label of a namespace. With "true", Subak manages the namespace's pods. With "warn", Subak only
// reports the pods that it would refuse.
inline constexpr std::string_view kManaged = "subak.gpu/managed";
// The path of the account that pays: "ml.vision". On a pod, the path must be the namespace's
// account or an account below it. On a namespace, Subak uses the label only if no account names the
// namespace.
inline constexpr std::string_view kAccount = "subak.gpu/account";
// The user of a pod, in the characters A-Z a-z 0-9 . _ - @. If a person creates the pod, the label
// may name only that person. A label in a template has no effect: kCreatedBy names the user.
inline constexpr std::string_view kUser = "subak.gpu/user";
// The name of the pod's gang (the pods that start together) within its namespace.
inline constexpr std::string_view kJob = "subak.gpu/job";
// How many pods start together, "1" to "10000" (limits::kMaxPodsPerJob).
inline constexpr std::string_view kGangSize = "subak.gpu/gang-size";
// The pod's position in its gang, from "0".
inline constexpr std::string_view kRank = "subak.gpu/rank";
// The time limit of the pod's job: a duration such as "30m" or "2d12h" (core/duration.h).
inline constexpr std::string_view kTimeLimit = "subak.gpu/time-limit";
// The priority of the pod's job: "low" (-1000), "normal" (0), "high" (1000), or a number of 32
// bits. If the policy has priority classes, the value is the name of a class instead.
inline constexpr std::string_view kPriority = "subak.gpu/priority";
// Annotation of pods and of their owners: the user name, as the API server authenticated it, of the
// caller that created the object. Subak's policies write it, and users cannot change it.
inline constexpr std::string_view kCreatedBy = "subak.gpu/created-by";
// Annotations in which Subak records a pod's own PriorityClass of Kubernetes and its number, before
// Subak gives the pod the PriorityClass of the configuration.
inline constexpr std::string_view kOwnPriorityClass = "subak.gpu/own-priority-class";
inline constexpr std::string_view kOwnPriority = "subak.gpu/own-priority";
// Annotation that Subak writes for people: what the pod waits for, or to which node it goes.
inline constexpr std::string_view kStatus = "subak.gpu/status";
// Annotation "JOB/ATTEMPT" of a pod whose hold (the GPUs that Subak gave it) was released while its
// gate was closed. Only a newer attempt of the job opens the gate.
inline constexpr std::string_view kKeptClosed = "subak.gpu/kept-closed";
// The type of the pod condition that Subak writes.
inline constexpr std::string_view kQueuedCondition = "subak.gpu/Queued";
// Label of Subak's own pod: "true" while the pod's process is the leader.
inline constexpr std::string_view kLeader = "subak.gpu/leader";
// Annotation of an owner (such as a Job) that Subak has suspended; its values are in
// server/edge/writes/plan.h.
inline constexpr std::string_view kSuspendedBy = "subak.gpu/suspended";
// Its value on an owner that waits suspended for its turn (docs/design/0119).
inline constexpr std::string_view kParked = "parked";
// Label of a node: NVLink joins groups of this many GPUs with neighbouring indexes. "1" means that
// NVLink joins no GPUs.
inline constexpr std::string_view kLabelGpusPerDomain = "subak.gpu/gpus-per-domain";

// Annotations that keep an autoscaler from removing a pod's node. Values: "true" for Karpenter,
// "false" for the cluster autoscaler.
inline constexpr std::string_view kDoNotDisrupt = "karpenter.sh/do-not-disrupt";
inline constexpr std::string_view kSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict";

// NVIDIA's names (k8s-device-plugin and gpu-feature-discovery documentation).
inline constexpr std::string_view kNvidiaPrefix = "nvidia.com/";
// The resource of whole GPUs. Replicas of shared GPUs have this name too, unless the device plugin
// renames them to kGpuShared.
inline constexpr std::string_view kGpu = "nvidia.com/gpu";
// The resource of replicas of shared GPUs, if the device plugin renames them.
inline constexpr std::string_view kGpuShared = "nvidia.com/gpu.shared";
// The resource of a MIG slice is this prefix and the profile: "nvidia.com/mig-1g.10gb". The
// resource of a shared slice or GPU has kSharedSuffix at its end.
inline constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
inline constexpr std::string_view kSharedSuffix = ".shared";
// Labels of nodes by gpu-feature-discovery: the product's name, and the number of GPUs.
inline constexpr std::string_view kLabelProduct = "nvidia.com/gpu.product";
inline constexpr std::string_view kLabelCount = "nvidia.com/gpu.count";
// The NVLink clique: cluster UUID and clique number, "UUID.N".
inline constexpr std::string_view kLabelClique = "nvidia.com/gpu.clique";
// The time at which feature discovery last looked at the node. The engine drops this label, because
// the label changes even if the node does not change.
inline constexpr std::string_view kLabelTimestamp = "nvidia.com/gfd.timestamp";
// How many pods share a GPU.
inline constexpr std::string_view kLabelReplicas = "nvidia.com/gpu.replicas";
// The state of NVIDIA's MIG manager on the node. While the manager changes the slices, the node is
// unfit.
inline constexpr std::string_view kLabelMigState = "nvidia.com/mig.config.state";
// Says whether the gpu-operator runs its device plugin on the node.
inline constexpr std::string_view kLabelDeployPlugin = "nvidia.com/gpu.deploy.device-plugin";
// How the GPUs are shared: "time-slicing", "mps" or "none".
inline constexpr std::string_view kLabelSharing = "nvidia.com/gpu.sharing-strategy";

// Labels of Google's node pools. Pods select pools by these labels. Google's device plugin offers
// slices and shared GPUs as nvidia.com/gpu.

// The GPU's model, in Google's spelling: "nvidia-l4".
inline constexpr std::string_view kGkeAccelerator = "cloud.google.com/gke-accelerator";
// How many GPUs a node of the pool has.
inline constexpr std::string_view kGkeCount = "cloud.google.com/gke-accelerator-count";
// The MIG profile of the pool's slices.
inline constexpr std::string_view kGkePartition = "cloud.google.com/gke-gpu-partition-size";
// Two labels: how many pods share a GPU, and by which method (time-sharing or MPS).
inline constexpr std::string_view kGkeClients = "cloud.google.com/gke-max-shared-clients-per-gpu";
inline constexpr std::string_view kGkeSharing = "cloud.google.com/gke-gpu-sharing-strategy";

// A new service has one cluster with this name. If this cluster is unchanged and not in use, the
// first cluster with another name replaces it.
inline constexpr std::string_view kFirstCluster = "default";

}  // namespace subak::names
