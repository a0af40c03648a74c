#include "kube/owners/kinds.h"

#include <algorithm>

#include "core/must.h"
#include "kube/owners/reader.h"

namespace subak {
namespace {

using Versions = std::array<std::string_view, 2>;

constexpr std::string_view kKubeflow = "kubeflow.org";
constexpr std::array<std::string_view, 2> kKubeflowRoles{"training.kubeflow.org/replica-type",
                                                         "training.kubeflow.org/job-role"};

constexpr OwnerKindRow apps(OwnerKind kind, std::string_view name, std::string_view plural) {
  return {
      kind, name, "apps", Versions{"v1"}, plural, OwnerWatch::kForMaker, &OwnerReader::replicas};
}

// A kind whose child has the sizes of gangs: the JobSet of a TrainJob, or the RayCluster of a RayJob.
constexpr OwnerKindRow above(OwnerKind kind, std::string_view name, std::string_view group,
                             std::string_view version, std::string_view plural,
                             void (OwnerReader::*read)(json::Value, std::optional<json::Value>)) {
  return {kind,
          name,
          group,
          Versions{version},
          plural,
          OwnerWatch::kIfServed,
          read,
          false,
          SuspendField::kSpec,
          false,
          {},
          true};
}

constexpr OwnerKindRow training(OwnerKind kind, std::string_view name, Versions versions,
                                std::string_view plural) {
  return {kind,
          name,
          kKubeflow,
          versions,
          plural,
          OwnerWatch::kIfServed,
          &OwnerReader::training,
          false,
          SuspendField::kRunPolicy,
          false,
          kKubeflowRoles};
}

constexpr OwnerKindRow group(OwnerKind kind, std::string_view name, std::string_view group,
                             Versions versions, std::string_view plural,
                             void (OwnerReader::*read)(json::Value, std::optional<json::Value>)) {
  return {
      kind, name, group, versions, plural, OwnerWatch::kIfServed, read, false, SuspendField::kNone,
      true};
}

// The kinds in the order of OwnerKind.
constexpr std::array kKinds{
    OwnerKindRow{OwnerKind::kJob, "Job", "batch", Versions{"v1"}, "jobs", OwnerWatch::kAlways,
                 &OwnerReader::job, true, SuspendField::kSpec},
    OwnerKindRow{OwnerKind::kJobSet,
                 "JobSet",
                 "jobset.x-k8s.io",
                 Versions{"v1alpha2"},
                 "jobsets",
                 OwnerWatch::kUnlessAbsent,
                 &OwnerReader::job_set,
                 true,
                 SuspendField::kSpec,
                 false,
                 {"jobset.sigs.k8s.io/replicatedjob-name"}},
    OwnerKindRow{OwnerKind::kLeaderWorkerSet, "LeaderWorkerSet", "leaderworkerset.x-k8s.io",
                 Versions{"v1"}, "leaderworkersets", OwnerWatch::kUnlessAbsent,
                 &OwnerReader::worker_set},
    apps(OwnerKind::kStatefulSet, "StatefulSet", "statefulsets"),
    apps(OwnerKind::kDeployment, "Deployment", "deployments"),
    apps(OwnerKind::kReplicaSet, "ReplicaSet", "replicasets"),
    training(OwnerKind::kPyTorchJob, "PyTorchJob", {"v1"}, "pytorchjobs"),
    training(OwnerKind::kTfJob, "TFJob", {"v1"}, "tfjobs"),
    training(OwnerKind::kXgboostJob, "XGBoostJob", {"v1"}, "xgboostjobs"),
    training(OwnerKind::kPaddleJob, "PaddleJob", {"v1"}, "paddlejobs"),
    training(OwnerKind::kJaxJob, "JAXJob", {"v1"}, "jaxjobs"),
    training(OwnerKind::kMpiJob, "MPIJob", {"v2beta1", "v1"}, "mpijobs"),
    OwnerKindRow{OwnerKind::kRayCluster,
                 "RayCluster",
                 "ray.io",
                 Versions{"v1", "v1alpha1"},
                 "rayclusters",
                 OwnerWatch::kIfServed,
                 &OwnerReader::ray_cluster,
                 false,
                 SuspendField::kSpec,
                 false,
                 {"ray.io/group"}},
    OwnerKindRow{OwnerKind::kVolcanoJob,
                 "Job",
                 "batch.volcano.sh",
                 Versions{"v1alpha1"},
                 "jobs",
                 OwnerWatch::kIfServed,
                 &OwnerReader::volcano_job,
                 false,
                 SuspendField::kNone,
                 false,
                 {"volcano.sh/task-spec"}},
    group(OwnerKind::kCoschedulingGroup, "PodGroup", "scheduling.x-k8s.io", {"v1alpha1"},
          "podgroups", &OwnerReader::min_member),
    group(OwnerKind::kVolcanoGroup, "PodGroup", "scheduling.volcano.sh", {"v1beta1"}, "podgroups",
          &OwnerReader::min_member),
    group(OwnerKind::kKaiGroup, "PodGroup", "scheduling.run.ai", {"v2alpha2"}, "podgroups",
          &OwnerReader::kai_group),
    group(OwnerKind::kPodGroup, "PodGroup", "scheduling.k8s.io", {"v1beta1", "v1alpha2"},
          "podgroups", &OwnerReader::pod_group),
    group(OwnerKind::kWorkload, "Workload", "scheduling.k8s.io", {"v1alpha1"}, "workloads",
          &OwnerReader::workload),
    OwnerKindRow{OwnerKind::kCronJob, "CronJob", "batch", Versions{"v1"}, "cronjobs",
                 OwnerWatch::kForMaker, &OwnerReader::nothing},
    above(OwnerKind::kTrainJob, "TrainJob", "trainer.kubeflow.org", "v1alpha1", "trainjobs",
          &OwnerReader::train_job),
    above(OwnerKind::kRayJob, "RayJob", "ray.io", "v1", "rayjobs", &OwnerReader::ray_job),
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i].kind != static_cast<OwnerKind>(i)) return false;
  }
  return kKinds.size() == EnumText<OwnerKind>::names.size();
}
static_assert(in_order(), "row_of() finds a row by the number of its kind");

constexpr std::string_view kApis = "/apis/";

}  // namespace

std::span<const OwnerKindRow> owner_kinds() { return kKinds; }

const OwnerKindRow* find_owner_kind(std::string_view api_version, std::string_view kind) {
  const std::string_view group = api_version.substr(0, api_version.find('/'));
  const auto* const row = std::find_if(kKinds.begin(), kKinds.end(), [&](const OwnerKindRow& r) {
    return r.group == group && r.name == kind;
  });
  return row == kKinds.end() ? nullptr : row;
}

std::string collection_of(const OwnerKindRow& row, std::string_view version) {
  std::string path(kApis);
  return path.append(row.group).append("/").append(version).append("/").append(row.plural);
}

const OwnerKindRow* find_collection(std::string_view path) {
  if (!path.starts_with(kApis)) return nullptr;
  path.remove_prefix(kApis.size());
  const auto* const row = std::find_if(kKinds.begin(), kKinds.end(), [&](const OwnerKindRow& r) {
    if (!path.starts_with(r.group) || !path.ends_with(r.plural)) return false;
    return std::any_of(r.versions.begin(), r.versions.end(), [&](std::string_view version) {
      const std::size_t bytes = r.group.size() + version.size() + r.plural.size() + 2;
      return !version.empty() && path.size() == bytes && path[r.group.size()] == '/' &&
             path.substr(r.group.size() + 1, version.size()) == version &&
             path[r.group.size() + 1 + version.size()] == '/';
    });
  });
  return row == kKinds.end() ? nullptr : row;
}

bool is_suspended(const OwnerKindRow& row, json::Value spec) {
  if (row.suspend == SuspendField::kNone) return false;
  if (row.suspend == SuspendField::kSpec) return json::boolean(spec, "suspend");
  const auto policy = json::member(spec, "runPolicy");
  return policy && json::boolean(*policy, "suspend");
}

std::string suspension_patch(SuspendField field, bool suspend) {
  must(field != SuspendField::kNone, "only an owner with such a field is suspended");
  const std::string value = std::string(R"({"suspend":)") + (suspend ? "true}" : "false}");
  return field == SuspendField::kRunPolicy ? R"({"runPolicy":)" + value + "}" : value;
}

Text role_of(const OwnerKindRow& row, const Pod& pod) {
  for (const std::string_view label : row.role_labels) {
    const Text role = label.empty() ? Text() : find_text(pod.labels, label);
    if (!role.empty()) return role;
  }
  return {};
}

bool size_may_come(const Pod& pod) {
  const OwnerKindRow* const row = find_owner_kind(pod.owner.api_version, pod.owner.kind);
  return (row != nullptr && row->watch != OwnerWatch::kForMaker) || !pod_groups_of(pod).empty();
}

bool is_served(const OwnerKindRow& row, json::Value resources) {
  const auto list = json::member(resources, "resources");
  bool served = false;
  if (!list) return false;
  json::each_item(*list, [&](std::size_t, json::Value resource) {
    if (json::text(resource, "name") != row.plural || json::text(resource, "kind") != row.name)
      return;
    bool lists = false, watches = false;
    if (const auto verbs = json::member(resource, "verbs")) {
      json::each_item(*verbs, [&](std::size_t, json::Value verb) {
        lists = lists || json::text(verb) == "list";
        watches = watches || json::text(verb) == "watch";
      });
    }
    served = lists && watches;
  });
  return served;
}

}  // namespace subak
