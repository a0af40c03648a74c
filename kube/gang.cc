// The gang of a pod, from its own labels, annotations and controller. Sources of the marks:
//   Job                 k8s.io/api batch/v1 (batch.kubernetes.io/*)
//   JobSet              sigs.k8s.io/jobset api/jobset/v1alpha2
//   LeaderWorkerSet     sigs.k8s.io/lws api/leaderworkerset/v1
//   Kubeflow            kubeflow/training-operator pkg/apis/kubeflow.org/v1, mpi-operator v2beta1
//   Ray                 ray-project/kuberay ray-operator/controllers/ray/utils
//   Kueue pod groups    kubernetes-sigs/kueue pkg/controller/jobs/pod/constants
//   coscheduling        sigs.k8s.io/scheduler-plugins apis/scheduling/v1alpha1
//   Volcano             volcano.sh/apis pkg/apis/scheduling/v1beta1
//   KAI                 kai-scheduler/KAI-Scheduler pkg/common/constants
//   schedulingGroup     k8s.io/api core/v1 (Kubernetes 1.36; workloadRef in 1.35)
// Only LeaderWorkerSet, Kueue and Volcano state the size on the pod. For the others the owner or
// the PodGroup says it, if the edge reads its kind (kube/owners/kinds.h), or people set gang-size on
// the template. If the owner passes the webhook, the webhook sets it there (policy_owner.cc).
#include <array>

#include "core/limits.h"
#include "core/names.h"
#include "kube/pod.h"
#include "kube/quantity.h"
#include "kube/rank.h"

namespace subak {
namespace {

constexpr std::size_t kMaxLabelBytes = 63;
constexpr std::size_t kHashBytes = 9;
constexpr Text kWorkerSetName = "leaderworkerset.sigs.k8s.io/name";
constexpr Text kWorkerSetGroup = "leaderworkerset.sigs.k8s.io/group-index";

constexpr Text kCoscheduling = "scheduling.x-k8s.io/pod-group";
constexpr std::array kVolcanoNames{Text("scheduling.k8s.io/group-name"),
                                   Text("scheduling.volcano.sh/group-name")};
constexpr Text kVolcanoSize = "scheduling.volcano.sh/group-min-member";
constexpr Text kKaiName = "pod-group-name";

constexpr Text kFastAdmission = "kueue.x-k8s.io/pod-group-fast-admission";
constexpr Text kServingGroup = "kueue.x-k8s.io/pod-group-serving";

// A group of pods that the marks of a controller name.
struct Group {
  std::string name;         // for people
  Text uid;                 // of the owner, so that two runs of one name differ
  std::uint32_t size = 0;   // 0: not stated
  bool lone = false;        // no mark at all: a pod by itself
  bool mixed = true;        // leaders, masters and workers may differ
  bool together = false;    // the mark says that its pods start together, for any number
  bool one_by_one = false;  // a lost pod is replaced by itself, and the others continue
};

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::int32_t number(Text text) {
  return std::max(-1, whole_number<std::int32_t>(text).value_or(-1));
}

std::uint32_t bounded_size(std::int32_t n) {
  const auto size = static_cast<std::uint32_t>(n < 0 ? 0 : n);
  return size > limits::kMaxPodsPerJob ? 0 : size;
}

Text first_of(const TextPairs& pairs, std::initializer_list<Text> keys) {
  for (const Text key : keys) {
    const Text value = find_text(pairs, key);
    if (!value.empty()) return value;
  }
  return {};
}

bool worker_set(const Pod& pod, Group& group) {
  const Text name = find_text(pod.labels, kWorkerSetName);
  if (name.empty()) return false;
  const Text index = find_text(pod.labels, kWorkerSetGroup);
  group.name = std::string(name) + "-" + std::string(index.empty() ? Text("0") : index);
  group.size = bounded_size(number(find_text(pod.annotations, "leaderworkerset.sigs.k8s.io/size")));
  return true;
}

bool comes_later(const Pod& pod) {
  return find_text(pod.annotations, kFastAdmission) == "true" &&
         has_key(pod.labels, "kueue.x-k8s.io/pod-group-name");
}

bool pod_group(const Pod& pod, Group& group) {
  const Text name = first_of(pod.labels, {"kueue.x-k8s.io/pod-group-name", kCoscheduling});
  if (name.empty()) return false;
  group.name = name;
  group.together = true;
  group.one_by_one = comes_later(pod) || find_text(pod.annotations, kServingGroup) == "true";
  group.size =
      bounded_size(number(find_text(pod.annotations, "kueue.x-k8s.io/pod-group-total-count")));
  return true;
}

// Groups of other schedulers: of Volcano, KAI and Kubernetes itself.
bool scheduler_group(const Pod& pod, Group& group) {
  Text name = first_of(pod.annotations, {kVolcanoNames[0], kVolcanoNames[1], kKaiName});
  if (name.empty()) name = pod.scheduling_group.name;
  if (name.empty()) return false;
  group.name = name;
  group.together = true;
  group.size = bounded_size(number(find_text(pod.annotations, kVolcanoSize)));
  return true;
}

bool operator_job(const Pod& pod, Group& group) {
  const Text name = first_of(
      pod.labels, {"jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name",
                   "ray.io/originated-from-cr-name", "ray.io/cluster", "volcano.sh/job-name"});
  if (name.empty()) return false;
  group.name = name;
  const bool of_ray =
      !first_of(pod.labels, {"ray.io/originated-from-cr-name", "ray.io/cluster"}).empty();
  group.one_by_one = of_ray;  // Ray replaces a lost worker and continues without it
  group.together = of_ray || has_key(pod.labels, "training.kubeflow.org/job-name") ||
                   has_key(pod.labels, "volcano.sh/job-name");
  group.uid = find_text(pod.labels, "jobset.sigs.k8s.io/jobset-uid");
  if (group.uid.empty()) group.uid = pod.owner.uid;
  if (has_key(pod.labels, "volcano.sh/job-name"))
    group.size = bounded_size(number(find_text(pod.annotations, kVolcanoSize)));
  return true;
}

bool plain_job(const Pod& pod, Group& group) {
  group.mixed = false;
  const Text name = first_of(pod.labels, {"batch.kubernetes.io/job-name", "job-name"});
  if (name.empty()) return false;
  group.name = name;
  group.uid = first_of(pod.labels, {"batch.kubernetes.io/controller-uid", "controller-uid"});
  return true;
}

// True if a mark puts the pod into a group.
bool is_marked(const Pod& pod, Group& group) {
  return worker_set(pod, group) || pod_group(pod, group) || operator_job(pod, group) ||
         scheduler_group(pod, group) || plain_job(pod, group);
}

// The group of a pod that no mark puts into a group.
Group group_of_owner(const Pod& pod) {
  Group group;
  if (!pod.owner.name.empty()) {
    group.name = pod.owner.name;
    group.uid = pod.owner.uid;
    return group;
  }
  Text name = pod.name.empty() ? pod.generate_name : pod.name;
  while (name.ends_with('-')) name.remove_suffix(1);
  group.name = name.empty() ? Text("pod") : name;
  group.lone = true;
  return group;
}

Group group_of(const Pod& pod) {
  Group group;
  return is_marked(pod, group) ? group : group_of_owner(pod);
}

std::string hash_suffix(Text text) {
  std::uint64_t h = 14695981039346656037ULL;  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  constexpr Text kHex = "0123456789abcdef";
  std::string out = "-";
  for (int shift = 28; shift >= 0; shift -= 4) out += kHex[h >> shift & 15];
  return out;
}

// Returns the name if it can be a label's value, else a shortened name that a hash makes unique
// again.
std::string as_label_value(const std::string& name) {
  if (is_label_value(name)) return name;
  std::string out;
  for (const char c : name.substr(0, kMaxLabelBytes - kHashBytes)) {
    out += is_alnum(c) || c == '.' || c == '_' ? c : '-';
  }
  if (!is_alnum(out.front())) out.front() = 'j';
  return out + hash_suffix(name);
}

}  // namespace

bool is_label_value(std::string_view value) {
  if (value.empty() || value.size() > kMaxLabelBytes) return false;
  if (!is_alnum(value.front()) || !is_alnum(value.back())) return false;
  for (const char c : value) {
    if (!is_alnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

std::string shortened(const std::string& name, std::size_t most) {
  return name.size() <= most ? name : name.substr(0, most - kHashBytes) + hash_suffix(name);
}

MarkedGroup marked_group_of(const Pod& pod) {
  Group group;
  if (!is_marked(pod, group)) return {};
  return {std::move(group.name), std::string(group.uid)};
}

std::uint32_t stated_gang_size(const Pod& pod) {
  return bounded_size(number(pod.keys.gang_size.value));
}

std::string named_gang(const Pod& pod) {
  const bool only_named = pod.gang.size > 1 && pod.gang.owner.empty();
  const bool says_name = pod.keys.job.set || !group_of(pod).lone;
  return only_named && says_name ? pod.gang.id : std::string();
}

namespace {

// Returns the name that Subak wrote into the label subak.gpu/job if the mark of another scheduler
// was not there when the pod was created: Volcano and KAI annotate pods later.
std::string name_before_mark(const Pod& pod) {
  Group group;
  return as_label_value(plain_job(pod, group) ? group.name : group_of_owner(pod).name);
}

// True if the label subak.gpu/job names another gang than the marks do. If the label only repeats
// the name from the marks, because Subak wrote it, the identity from the marks stays.
bool has_own_name(const Pod& pod, const Group& group) {
  if (!pod.keys.job.set || pod.keys.job.value == as_label_value(group.name)) return false;
  return pod_groups_of(pod).empty() || pod.keys.job.value != name_before_mark(pod);
}

// Sets the identity by which the other members know the gang.
void identify(const Group& group, bool own_name, Gang& gang) {
  gang.one_template = !own_name && !group.lone && !group.mixed;
  gang.id = gang.job;
  if (own_name) return;
  gang.owner = shortened(std::string(group.uid), limits::kMaxNameBytes);
}

std::int32_t rank_in_gang(const Pod& pod, const Group& group, bool own_name) {
  const bool apart = own_name && !group.lone && !pod.keys.rank.set;
  return apart ? rank_among(group.name, rank_of(pod)) : rank_of(pod);
}

}  // namespace

void read_gang(std::string_view path, Pod& pod) {
  const Group group = group_of(pod);
  const PodKeys& keys = pod.keys;
  const bool own_name = has_own_name(pod, group);
  Gang& gang = pod.gang;
  gang.job = keys.job.set ? std::string(keys.job.value) : as_label_value(group.name);
  const std::uint32_t stated = stated_gang_size(pod);
  gang.size = stated > 0 ? stated : group.size > 0 && !own_name ? group.size : 1;
  if (keys.job.set && (keys.job.value.empty() || keys.job.value.size() > limits::kMaxNameBytes)) {
    pod.add_mistake({ErrorCode::kInvalid, key_field(path, keys.job, names::kJob),
                     std::string(keys.job.value),
                     "want a name of 1 to " + std::to_string(limits::kMaxNameBytes) + " bytes"});
  }
  gang.uniform = own_name || group.lone || !group.mixed;
  gang.replaced_alone = gang.size > 1 && group.one_by_one && !own_name;
  if (gang.size == 1) return;
  gang.rank = rank_in_gang(pod, group, own_name);
  if (group.lone && !keys.job.set && path.empty()) {
    pod.add_mistake({ErrorCode::kInvalid, "metadata.labels[" + std::string(names::kJob) + "]", "",
                     "want the gang's name on each of its " + std::to_string(gang.size) +
                         " pods, as nothing else tells which belong together"});
  }
  identify(group, own_name, gang);
}

bool lacks_gang_size(const Pod& pod) {
  if (stated_gang_size(pod) > 0 || pod.gang.size > 1 || pod.gang.size_of_owner) return false;
  const Group group = group_of(pod);
  return group.together && group.size == 0;
}

void hold_unsized(Pod& pod) {
  if (!lacks_gang_size(pod)) return;
  const Group group = group_of(pod);
  identify(group, has_own_name(pod, group), pod.gang);
  pod.gang.unsized = true;
}

bool starts_with_first(const Pod& pod) { return pod.gang.size > 1 && comes_later(pod); }

std::vector<PodGroupRef> pod_groups_of(const Pod& pod) {
  std::vector<PodGroupRef> groups;
  const auto add = [&groups](OwnerKind kind, Text name) {
    if (!name.empty()) groups.push_back({kind, name, {}, {}});
  };
  add(OwnerKind::kCoschedulingGroup, find_text(pod.labels, kCoscheduling));
  add(OwnerKind::kVolcanoGroup, first_of(pod.annotations, {kVolcanoNames[0], kVolcanoNames[1]}));
  add(OwnerKind::kKaiGroup, find_text(pod.annotations, kKaiName));
  const SchedulingGroup& own = pod.scheduling_group;
  add(own.part.empty() ? OwnerKind::kPodGroup : OwnerKind::kWorkload, own.name);
  if (!own.name.empty()) groups.back().part = own.part;
  if (!own.name.empty()) groups.back().copy = own.copy;
  return groups;
}

bool asks_size(const Pod& pod) {
  if (stated_gang_size(pod) > 0 || pod.gang.size > 1) return false;
  return !has_own_name(pod, group_of(pod));
}

bool asks_owner(const Pod& pod) { return !pod.owner.uid.empty() && asks_size(pod); }

namespace {

// Puts the pod into its group, whose owner or PodGroup has this uid.
void join_sized(Pod& pod, const Group& group, const std::string& uid, std::uint32_t size,
                bool replaced_alone) {
  Gang& gang = pod.gang;
  gang.size = size;
  gang.size_of_owner = true;
  if (size < 2) return;
  gang.rank = rank_of(pod);
  gang.replaced_alone = replaced_alone;
  gang.least = replaced_alone;
  identify(group, false, gang);
  gang.owner = shortened(uid, limits::kMaxNameBytes);
}

}  // namespace

void join_owner(Pod& pod, std::string_view uid, std::uint32_t size, bool replaced_alone) {
  if (!asks_size(pod)) return;
  join_sized(pod, group_of(pod), std::string(uid), size, replaced_alone);
}

void join_pod_group(Pod& pod, const PodGroupRef& ref, std::string_view uid, std::uint32_t size) {
  if (!asks_size(pod)) return;
  Group group = group_of(pod);
  group.name = ref.name;
  std::string owner(uid);
  if (!ref.part.empty()) owner.append("/").append(ref.part).append("/").append(ref.copy);
  join_sized(pod, group, owner, size, true);
  pod.gang.of_pod_group = true;
  if (size > 1) pod.gang.id = as_label_value(group.name);
}

void join_gang(Pod& pod, std::uint32_t size, bool of_controller, bool replaced_alone,
               bool is_rest) {
  if ((size < 2 && !is_rest) || !asks_owner(pod)) return;
  Group group = group_of(pod);
  if (of_controller) {
    group.name = pod.owner.name;
    group.uid = pod.owner.uid;
    if (!pod.keys.job.set) pod.gang.job = as_label_value(group.name);
  }
  pod.gang.size = size;
  pod.gang.rank = rank_of(pod);
  pod.gang.size_of_owner = true;
  pod.gang.replaced_alone = replaced_alone;
  identify(group, false, pod.gang);
}

std::string stated_gang(const Pod& pod) {
  const bool by_group = pod.gang.of_pod_group || !pod.asks_gpu();
  if (by_group && stated_gang_size(pod) == 0) {
    const std::vector<PodGroupRef> groups = pod_groups_of(pod);
    return groups.empty() ? std::string() : "@" + as_label_value(std::string(groups.front().name));
  }
  if (stated_gang_size(pod) < 2) return {};
  if (pod.keys.job.set) return std::string(pod.keys.job.value);
  const Group group = group_of(pod);
  return group.lone ? std::string() : as_label_value(group.name);
}

void leave_out_non_gpu_members(Pod& pod, std::uint32_t count) {
  Gang& gang = pod.gang;
  gang.size = gang.size > count ? gang.size - count : 1;
  gang.size_of_owner = true;  // they come and go
  if (gang.rank >= static_cast<std::int32_t>(gang.size)) gang.rank = -1;
}

Text worker_set_of(const Pod& pod) {
  if (pod.gang.size < 2 || has_own_name(pod, group_of(pod))) return {};
  return find_text(pod.labels, kWorkerSetName);
}

void join_worker_set(Pod& pod, std::string_view uid, std::uint32_t without_gpus,
                     bool replaced_alone) {
  const Group group = group_of(pod);
  Text index = find_text(pod.labels, kWorkerSetGroup);
  if (index.empty()) index = "0";
  if (stated_gang_size(pod) == 0) {
    pod.gang.size = pod.gang.size > without_gpus ? pod.gang.size - without_gpus : 1;
  }
  if (pod.gang.size == 1) {
    pod.gang.id.clear();
    pod.gang.rank = -1;
    return;
  }
  pod.gang.size_of_owner = stated_gang_size(pod) == 0;
  pod.gang.replaced_alone = replaced_alone;
  identify(group, false, pod.gang);
  pod.gang.owner = shortened(std::string(uid) + "+" + std::string(index), limits::kMaxNameBytes);
}

}  // namespace subak
