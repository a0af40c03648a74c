// The objects of OwnerWorld as an API server sends them.
#include <initializer_list>

#include "owner_world.h"

namespace subak::fault {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string object_of(const Pairs& pairs) {
  std::string out = "{";
  for (const auto& [key, value] : pairs) {
    out += (out.size() > 1 ? "," : "") + ("\"" + key + "\":\"" + value + "\"");
  }
  return out + "}";
}

std::string controlled_by(const std::string& api, const std::string& kind, const std::string& name,
                          const std::string& uid) {
  return R"("ownerReferences":[{"controller":true,"apiVersion":")" + api + R"(","kind":")" + kind +
         R"(","name":")" + name + R"(","uid":")" + uid + "\"}]";
}

constexpr const char* kContainers =
    R"("containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}])";

std::string template_of(std::uint32_t stated) {
  const std::string notes = stated == 0 ? ""
                                        : R"("metadata":{"annotations":{"subak.gpu/gang-size":")" +
                                              std::to_string(stated) + "\"}},";
  return R"("template":{)" + notes + R"("spec":{)" + kContainers + "}}";
}

std::string metadata(const std::string& uid, const std::string& name, std::uint64_t version,
                     const Pairs& annotations, const std::string& more = "") {
  return R"("metadata":{"namespace":"a","uid":")" + uid + R"(","name":")" + name +
         R"(","resourceVersion":")" + std::to_string(version) + R"(","annotations":)" +
         object_of(annotations) + (more.empty() ? "" : "," + more) + "}";
}

Pairs suspended_by(const std::string& mark) {
  return mark.empty() ? Pairs{} : Pairs{{"subak.gpu/suspended", mark}};
}

void mark_ray(bool autoscaled, std::uint32_t index, Pairs& labels) {
  if (!autoscaled) return;
  labels.emplace_back("ray.io/node-type", index == 0 ? "head" : "worker");
  labels.emplace_back("ray.io/group", index == 0 ? "headgroup" : "w");
}

// Labels of a JobSet's pod.
void mark_job_set(const std::string& name, const std::string& uid, Pairs& labels) {
  labels.emplace_back("jobset.sigs.k8s.io/jobset-name", name);
  labels.emplace_back("jobset.sigs.k8s.io/jobset-uid", uid);
  labels.emplace_back("jobset.sigs.k8s.io/replicatedjob-name", "w");
  labels.emplace_back("jobset.sigs.k8s.io/job-index", "0");
  labels.emplace_back("jobset.sigs.k8s.io/job-global-index", "0");
}

// Labels and annotations of a LeaderWorkerSet's pod.
void mark_worker_set(const std::string& name, const std::string& index, const std::string& size,
                     Pairs& labels, Pairs& notes) {
  labels.emplace_back("leaderworkerset.sigs.k8s.io/name", name);
  labels.emplace_back("leaderworkerset.sigs.k8s.io/group-index", "0");
  labels.emplace_back("leaderworkerset.sigs.k8s.io/worker-index", index);
  notes.emplace_back("leaderworkerset.sigs.k8s.io/size", size);
}

}  // namespace

std::string OwnerWorld::marks_of(const Owner& o, const Pod& pod) const {
  const std::string index = std::to_string(pod.index), size = std::to_string(o.size);
  Pairs labels, notes{{"subak.gpu/status", "x"}};
  std::string owner;
  if (o.stated > 0 && o.made != Made::kFast)
    notes.emplace_back("subak.gpu/gang-size", std::to_string(o.stated));
  if (!pod.mark.empty()) notes.emplace_back("subak.gpu/kept-closed", pod.mark);
  const auto of_job = [&](const std::string& name) {
    labels.emplace_back("batch.kubernetes.io/job-name", name);
    labels.emplace_back("batch.kubernetes.io/controller-uid", o.job_uid);
    if (o.made != Made::kElastic)
      notes.emplace_back("batch.kubernetes.io/job-completion-index", index);
    owner = controlled_by("batch/v1", "Job", name, o.job_uid);
  };
  switch (o.made) {
    case Made::kSweep:
      notes.emplace_back("batch.kubernetes.io/job-index-failure-count",
                         std::to_string(pod.failures));
      [[fallthrough]];
    case Made::kInferred:
    case Made::kSuccess:
    case Made::kDeclared:
    case Made::kElastic:
      of_job(o.name);
      break;
    case Made::kJobSet:
    case Made::kSingleJobs:
    case Made::kExclusive:
      of_job(o.name + "-w-0");
      mark_job_set(o.name, o.uid, labels);
      break;
    case Made::kWorkers:
    case Made::kWorkersAlone:
    case Made::kLeaderFirst:
      mark_worker_set(o.name, index, size, labels, notes);
      owner = controlled_by("apps/v1", "StatefulSet", o.name, o.uid + "s");
      break;
    case Made::kFast:
      labels.emplace_back("kueue.x-k8s.io/pod-group-name", o.name);
      notes.emplace_back("kueue.x-k8s.io/pod-group-total-count", std::to_string(o.stated));
      notes.emplace_back("kueue.x-k8s.io/pod-group-fast-admission", "true");
      owner = controlled_by("apps/v1", "StatefulSet", o.name, o.uid);
      break;
    case Made::kAutoscaled:
    case Made::kRay:
      mark_ray(o.made == Made::kAutoscaled, pod.index, labels);
      labels.emplace_back("ray.io/cluster", o.name);
      owner = controlled_by("ray.io/v1", "RayCluster", o.name, o.uid);
      break;
    case Made::kOperator:
    case Made::kEnough:
      labels.emplace_back("training.kubeflow.org/replica-type", "worker");
      labels.emplace_back("training.kubeflow.org/replica-index", index);
      [[fallthrough]];
    case Made::kTraining:
    case Made::kUnsized:
      labels.emplace_back("training.kubeflow.org/job-name", o.name);
      owner = controlled_by("kubeflow.org/v1", "PyTorchJob", o.name, o.uid);
      break;
    case Made::kMarked:
    case Made::kGroup:
      labels.emplace_back("scheduling.x-k8s.io/pod-group", o.name);
      [[fallthrough]];
    case Made::kDeployment:
      owner = controlled_by("apps/v1", "ReplicaSet", o.name, o.uid);
  }
  return R"("labels":)" + object_of(labels) + R"(,"annotations":)" + object_of(notes) + "," + owner;
}

std::string OwnerWorld::text_of(const Pod& pod) const {
  const std::string pin =
      pod.pin.empty()
          ? ""
          : R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":[")" +
                pod.pin + R"("]}]}]}}},)";
  const std::string gates = pod.gated ? R"([{"name":"subak.gpu/queue"}])" : "[]";
  return R"({"metadata":{"namespace":"a","uid":")" + pod.uid + R"(","name":")" + pod.name +
         R"(",)" + marks_of(owners_[pod.owner], pod) + R"(},"spec":{"nodeName":")" + pod.node +
         R"(","schedulingGates":)" + gates + "," + pin + kContainers + R"(},"status":{"phase":")" +
         pod.phase + "\"}}";
}

std::string OwnerWorld::job_text(const Owner& o) const {
  const std::string size = std::to_string(o.size);
  std::string spec =
      R"("parallelism":)" + size + R"(,"suspend":)" + (o.suspended ? "true," : "false,");
  if (o.made != Made::kElastic) spec += R"("completionMode":"Indexed","completions":)" + size + ",";
  if (o.made == Made::kSweep) spec += R"("backoffLimitPerIndex":1,"maxFailedIndexes":9,)";
  if (o.made == Made::kSuccess) spec += R"("successPolicy":{"rules":[{"succeededIndexes":"0"}]},)";
  std::string failed;
  for (const std::uint32_t index : o.failed)
    failed += (failed.empty() ? "" : ",") + std::to_string(index);
  std::string status = R"("succeeded":)" + std::to_string(o.succeeded.size());
  if (!failed.empty()) status += R"(,"failedIndexes":")" + failed + "\"";
  if (o.over) {
    status += R"(,"conditions":[{"type":")" +
              std::string(o.made == Made::kSuccess ? "SuccessCriteriaMet" : "Complete") +
              R"(","status":"True"}])";
  }
  return "{" + metadata(o.job_uid, o.name, o.version, suspended_by(o.suspend_mark)) +
         R"(,"spec":{)" + spec + template_of(o.stated) + R"(},"status":{)" + status + "}}";
}

std::string OwnerWorld::job_set_text(const Owner& o) const {
  Pairs notes = suspended_by(o.suspend_mark);
  if (o.made == Made::kExclusive)
    notes.emplace_back("alpha.jobset.sigs.k8s.io/exclusive-topology", "rack");
  const std::string policy =
      o.made == Made::kSingleJobs ? R"("failurePolicy":{"rules":[{"action":"RestartJob"}]},)" : "";
  return "{" + metadata(o.uid, o.name, o.version, notes) + R"(,"spec":{"suspend":)" +
         (o.suspended ? "true," : "false,") + policy +
         R"("replicatedJobs":[{"name":"w","replicas":1,"template":{"spec":{"parallelism":)" +
         std::to_string(o.size) + R"(,"completionMode":"Indexed","completions":)" +
         std::to_string(o.size) + "," + template_of(0) + "}}}]}}";
}

std::string OwnerWorld::worker_set_text(const Owner& o) const {
  const bool alone = o.made == Made::kWorkersAlone;
  return "{" + metadata(o.uid, o.name, o.version, {}) +
         R"(,"spec":{"replicas":1,"startupPolicy":")" +
         (o.made == Made::kLeaderFirst ? "LeaderReady" : "LeaderCreated") +
         R"(","leaderWorkerTemplate":{"size":)" + std::to_string(o.size) + R"(,"restartPolicy":")" +
         (alone ? "None" : "RecreateGroupOnPodRestart") + R"(","workerTemplate":{"spec":{)" +
         kContainers + "}}}}}";
}

// The object of an operator, or the group, that says how many pods start together.
std::string OwnerWorld::operator_text(const Owner& o) const {
  const std::string size = std::to_string(o.size), least = std::to_string(o.least);
  const std::string begin = "{" + metadata(o.uid, o.name, o.version, {}) + R"(,"spec":{)";
  if (o.made == Made::kGroup) return begin + R"("minMember":)" + least + "}}";
  if (o.made == Made::kAutoscaled) {
    const std::string workers = std::to_string(o.least - 1);
    return begin + R"("enableInTreeAutoscaling":true,"headGroupSpec":{)" + template_of(0) +
           R"(},"workerGroupSpecs":[{"groupName":"w","replicas":)" + size + R"(,"minReplicas":)" +
           workers + "," + template_of(0) + "}]}}";
  }
  const std::string policy =
      o.least == 0 ? "" : R"("runPolicy":{"schedulingPolicy":{"minAvailable":)" + least + "}},";
  return begin + policy + R"("pytorchReplicaSpecs":{"Worker":{"replicas":)" + size + "," +
         template_of(0) + "}}}}";
}

void OwnerWorld::see(const std::string& text, const char* collection, bool deleted) {
  simdjson::dom::parser parser;
  WatchEvent event;
  event.kind = deleted ? WatchKind::kDeleted : WatchKind::kModified;
  event.object = parser.parse(text);
  if (collection == nullptr) {
    cache_.see_pod(event, monotonic_);
  } else {
    cache_.see_owner(event, collection);
  }
}

void OwnerWorld::show(const Pod& pod, bool deleted) { see(text_of(pod), nullptr, deleted); }

void OwnerWorld::show(std::size_t owner) {
  const Owner& o = owners_[owner];
  switch (o.made) {
    case Made::kSweep:
    case Made::kInferred:
    case Made::kSuccess:
    case Made::kDeclared:
    case Made::kElastic:
      return see(job_text(o), kJobsPath);
    case Made::kJobSet:
    case Made::kSingleJobs:
    case Made::kExclusive:
      see(job_set_text(o), kJobSetsPath);
      return see("{" +
                     metadata(o.job_uid, o.name + "-w-0", o.version, {},
                              controlled_by("jobset.x-k8s.io/v1alpha2", "JobSet", o.name, o.uid)) +
                     R"(,"spec":{"parallelism":)" + std::to_string(o.size) + R"(,"suspend":)" +
                     (o.suspended ? "true" : "false") +
                     R"(,"completionMode":"Indexed","completions":)" + std::to_string(o.size) +
                     "," + template_of(0) + "}}",
                 kJobsPath);
    case Made::kWorkers:
    case Made::kWorkersAlone:
    case Made::kLeaderFirst:
      return see(worker_set_text(o), kWorkerSetsPath);
    case Made::kOperator:
    case Made::kEnough:
      return see(operator_text(o), "/apis/kubeflow.org/v1/pytorchjobs");
    case Made::kAutoscaled:
      return see(operator_text(o), "/apis/ray.io/v1/rayclusters");
    case Made::kGroup:
      return see(operator_text(o), "/apis/scheduling.x-k8s.io/v1alpha1/podgroups");
    default:
      return;  // not watched
  }
}

}  // namespace subak::fault
