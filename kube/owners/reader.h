// Reads the spec and the status of one owner, an object that makes pods, into its OwnerRecord: one
// function for each form of spec. kube/owners/kinds.h says which kind has which form. Private to
// kube/owners; other code calls read_owner() of kube/owner.h.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "kube/json.h"
#include "kube/owner.h"

namespace subak {

// Returns the count in a member of `object`, from 0 to limits::kMaxPodsPerJob + 1. Larger counts
// are cut, so that sums and products of counts cannot overflow.
std::uint32_t count_of(json::Value object, std::string_view key, std::int64_t otherwise = 1);
// True if one of these conditions of the status is "True".
bool has_condition(std::optional<json::Value> status,
                   std::initializer_list<std::string_view> types);

// Reads one owner into an OwnerRecord. All functions for a form of spec have the same type. So
// functions that ignore the status take it too.
class OwnerReader {
 public:
  using Status = std::optional<json::Value>;

  // Both arguments must outlive the reader.
  OwnerReader(OwnerRecord& out, const ExtraGpuResources& extra) : out_(out), extra_(extra) {}
  OwnerReader(const OwnerReader&) = delete;
  OwnerReader& operator=(const OwnerReader&) = delete;

  // Reads name, uid and version of the owner. Call it first.
  void metadata(json::Value object);

  // k8s.io/api batch/v1, and apps/v1 StatefulSet, Deployment and ReplicaSet
  void job(json::Value spec, Status status);
  void replicas(json::Value spec, Status status);
  // sigs.k8s.io/jobset api/jobset/v1alpha2, sigs.k8s.io/lws api/leaderworkerset/v1
  void job_set(json::Value spec, Status status);
  void worker_set(json::Value spec, Status status);
  // kubeflow/training-operator kubeflow.org/v1, kubeflow/mpi-operator v2beta1
  void training(json::Value spec, Status status);
  // volcano.sh/apis batch/v1alpha1
  void volcano_job(json::Value spec, Status status);
  // ray-project/kuberay ray.io/v1
  void ray_cluster(json::Value spec, Status status);
  // kubeflow/trainer trainer.kubeflow.org/v1alpha1. A TrainJob has no templates: its JobSet does.
  void train_job(json::Value spec, Status status);
  // ray-project/kuberay ray.io/v1
  void ray_job(json::Value spec, Status status);
  // Reads nothing: Subak uses only the metadata of such a kind.
  void nothing(json::Value /*spec*/, Status /*status*/) {}
  // sigs.k8s.io/scheduler-plugins and volcano.sh/apis: PodGroup with minMember
  void min_member(json::Value spec, Status status);
  // NVIDIA/KAI-Scheduler scheduling.run.ai/v2alpha2
  void kai_group(json::Value spec, Status status);
  // k8s.io/api scheduling/v1alpha2 and v1beta1 PodGroup, v1alpha1 Workload
  void pod_group(json::Value spec, Status status);
  void workload(json::Value spec, Status status);

  // True: the owner has more templates than limits::kMaxTemplates.
  bool full() const { return more_; }

 private:
  // Adds a role whose pods a batch/v1 JobSpec makes. Returns OwnerRole::stated of the role.
  std::uint32_t role(std::string_view name, json::Value job, const std::string& path,
                     std::uint32_t copies);
  // Adds a role of `copies` times `pods` pods of one template. Returns OwnerRole::stated of the
  // role.
  std::uint32_t add(std::string_view name, json::Value made, const std::string& path,
                    std::uint32_t copies, std::uint32_t pods);
  // Adds a role of a group without a template.
  void add_group(std::string_view name, std::int64_t size);
  // Makes the roles one gang of the owner's GPU pods. `least`: how many of the owner's pods, with
  // GPUs or without, must exist before any starts; 0: all. If these are fewer than all, the
  // further pods start by themselves.
  void start_together(std::uint64_t least);
  // For a Job with a number of completions: counts only as many pods as there are completions left.
  void leave_out_done(json::Value spec);

  OwnerRecord& out_;
  const ExtraGpuResources& extra_;
  bool more_ = false;
  // Reads the fields that a RayCluster and a RayJob have in common. `path`: of `cluster`.
  void ray_groups(json::Value cluster, const std::string& path);

  // The owner has the mark names::kParked, or belongs to a TrainJob, which has no templates itself.
  bool is_parked_ = false;
  // When the owner was created.
  TimeMs created_ms_ = 0;
};

}  // namespace subak
