// Jobs of training operators: Kubeflow's, MPI's and Volcano's, and Ray clusters.
#include <algorithm>
#include <cctype>

#include "core/limits.h"
#include "kube/owners/reader.h"

namespace subak {
namespace {

constexpr std::string_view kReplicaSpecs = "ReplicaSpecs";

// Kubeflow writes a type of replicas in lower case into the labels of pods.
std::string lower(std::string_view text) {
  std::string out(text.substr(0, limits::kMaxNameBytes));
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// True if the operator creates the launcher of an MPIJob only when the workers are ready.
bool launcher_comes_later(json::Value spec) {
  return json::text(spec, "launcherCreationPolicy") == "WaitForWorkersReady" ||
         json::boolean(spec, "waitForWorkers");
}

std::uint64_t all_pods(const OwnerRecord& owner) {
  std::uint64_t pods = 0;
  for (const OwnerRole& role : owner.roles) pods += std::uint64_t{role.copies} * role.pods;
  return pods;
}

std::uint64_t non_gpu_pods(const OwnerRecord& owner) {
  std::uint64_t pods = 0;
  for (const OwnerRole& role : owner.roles) {
    if (!role.has_gpus()) pods += std::uint64_t{role.copies} * role.pods;
  }
  return pods;
}

bool any_later(const OwnerRecord& owner) {
  return std::any_of(owner.roles.begin(), owner.roles.end(),
                     [](const OwnerRole& role) { return role.later; });
}

// How many replicas of a Ray worker group the operator creates at first. The autoscaler adds and
// removes further replicas.
std::uint32_t first_replicas(json::Value group, bool autoscales) {
  if (json::boolean(group, "suspend")) return 0;
  const std::uint32_t least = count_of(group, "minReplicas", 0);
  if (autoscales) return least;
  const std::uint32_t most =
      std::max(least, count_of(group, "maxReplicas", limits::kMaxPodsPerJob + 1));
  return std::clamp(count_of(group, "replicas", least), least, most);
}

}  // namespace

void OwnerReader::start_together(std::uint64_t least) {
  out_.together = Together::kAll;
  if (least == 0 || least >= all_pods(out_)) return;
  out_.replaced_alone = true;
  const std::uint64_t light = non_gpu_pods(out_);
  const auto size = static_cast<std::uint32_t>(least > light ? least - light : 1);
  for (OwnerRole& role : out_.roles) {
    if (role.has_gpus() && role.stated == 0) role.stated = size;
  }
}

void OwnerReader::training(json::Value spec, Status status) {
  std::uint64_t least = 0;
  if (const auto run = json::member(spec, "runPolicy")) {
    out_.suspended = json::boolean(*run, "suspend");
    out_.has_deadline = json::member(*run, "activeDeadlineSeconds").has_value();
    if (const auto policy = json::member(*run, "schedulingPolicy"))
      least = count_of(*policy, "minAvailable", 0);
  }
  out_.ended = has_condition(status, {"Succeeded", "Failed"});
  const bool later = out_.kind == OwnerKind::kMpiJob && launcher_comes_later(spec);
  json::each_member(spec, [&](std::string_view key, json::Value replicas) {
    if (!key.ends_with(kReplicaSpecs)) return;
    json::each_member(replicas, [&](std::string_view type, json::Value of_type) {
      const auto made = json::member(of_type, "template");
      if (!made || full()) return;
      const std::string name = lower(type);
      add(name, *made, "spec." + std::string(key) + "." + std::string(type) + ".template.",
          count_of(of_type, "replicas"), 1);
      if (!full()) out_.roles.back().later = later && name == "launcher";
    });
  });
  if (const auto elastic = json::member(spec, "elasticPolicy")) {
    out_.replaced_alone = true;
    const auto worker = std::find_if(out_.roles.begin(), out_.roles.end(),
                                     [](const OwnerRole& role) { return role.name == "worker"; });
    if (least == 0 && worker != out_.roles.end() && json::member(*elastic, "minReplicas")) {
      const std::uint32_t workers = std::min(count_of(*elastic, "minReplicas"), worker->copies);
      least = all_pods(out_) - worker->copies + workers;
    }
  }
  start_together(any_later(out_) ? 0 : least);
}

void OwnerReader::volcano_job(json::Value spec, Status status) {
  const auto state = status ? json::member(*status, "state") : std::nullopt;
  const std::string_view phase = state ? json::text(*state, "phase") : std::string_view();
  out_.ended = phase == "Completed" || phase == "Failed" || phase == "Terminated";
  const auto tasks = json::member(spec, "tasks");
  if (tasks) {
    json::each_item(*tasks, [&](std::size_t i, json::Value task) {
      const auto made = json::member(task, "template");
      if (!made || full()) return;
      const std::string number = std::to_string(i);
      std::string name(json::text(task, "name"));
      if (name.empty()) name = "default" + number;
      add(name, *made, "spec.tasks[" + number + "].template.", count_of(task, "replicas"), 1);
      if (!full()) out_.roles.back().later = json::member(task, "dependsOn").has_value();
    });
  }
  start_together(any_later(out_) ? 0 : count_of(spec, "minAvailable", 0));
}

void OwnerReader::train_job(json::Value spec, Status status) {
  out_.suspended = json::boolean(spec, "suspend");
  out_.ended = has_condition(status, {"Complete", "Failed"});
}

void OwnerReader::ray_cluster(json::Value spec, Status) {
  out_.suspended = json::boolean(spec, "suspend");
  ray_groups(spec, "spec.");
}

void OwnerReader::ray_job(json::Value spec, Status status) {
  out_.suspended = json::boolean(spec, "suspend");
  const std::string_view phase =
      status ? json::text(*status, "jobDeploymentStatus") : std::string_view();
  out_.ended = phase == "Complete" || phase == "Failed" || phase == "ValidationFailed";
  out_.has_deadline = json::member(spec, "activeDeadlineSeconds").has_value();
  if (const auto cluster = json::member(spec, "rayClusterSpec"))
    ray_groups(*cluster, "spec.rayClusterSpec.");
}

void OwnerReader::ray_groups(json::Value spec, const std::string& path) {
  out_.replaced_alone = true;  // Ray replaces a lost worker and continues without it
  const bool autoscales = json::boolean(spec, "enableInTreeAutoscaling");
  const auto head = json::member(spec, "headGroupSpec");
  if (const auto made = head ? json::member(*head, "template") : std::nullopt)
    add("headgroup", *made, path + "headGroupSpec.template.", 1, 1);
  if (const auto groups = json::member(spec, "workerGroupSpecs")) {
    json::each_item(*groups, [&](std::size_t i, json::Value group) {
      const auto made = json::member(group, "template");
      if (!made || full()) return;
      add(json::text(group, "groupName"), *made,
          path + "workerGroupSpecs[" + std::to_string(i) + "].template.",
          first_replicas(group, autoscales), count_of(group, "numOfHosts"));
    });
  }
  start_together(0);
}

}  // namespace subak
