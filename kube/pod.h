// Reads a Kubernetes pod (or pod template): its request to the node, the keys that people set, its
// gang, and everything that is wrong or odd about it. Reading decides nothing.
//
// Texts point into the parser's document (kube/json.h). The pod owns the fields that must outlive
// it: shape, gang, mistakes. Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "kube/json.h"
#include "model/input.h"

namespace subak {

// GPU resources beyond NVIDIA's own names that count as whole GPUs ("nvidia.com/pgpu").
using ExtraGpuResources = std::vector<std::string>;

// Returns the GPU kind of a resource name; kNone for other resources.
GpuKind gpu_kind_of(std::string_view resource, const ExtraGpuResources& extra);
// True for "deviceclass.resource.kubernetes.io/CLASS": devices of a DRA class, requested as a
// resource.
bool is_device_class(std::string_view resource);
// Returns "1g.10gb" for "nvidia.com/mig-1g.10gb.shared"; empty if it is not a MIG resource.
std::string_view mig_profile_of(std::string_view resource);

// A text of the parsed document, and pairs of key and value, such as labels.
using Text = std::string_view;
using TextPairs = std::vector<std::pair<Text, Text>>;
// Returns the value of `key`; empty if it is absent.
Text find_text(const TextPairs& pairs, Text key);
// True even if the value of the key is empty.
bool has_key(const TextPairs& pairs, Text key);

// One of Subak's own keys, from a label or an annotation.
struct PodKey {
  // As written, not yet checked. Empty if the key is absent.
  Text value;
  // The key is there, as a label or as an annotation.
  bool set = false;
  // It is a label, perhaps an annotation too.
  bool label = false;
  // Label and annotation differ; `value` is the label's.
  bool conflict = false;
};

// Returns "metadata.labels[subak.gpu/user]", or annotations; `path` as in read_pod().
std::string key_field(std::string_view path, const PodKey& key, std::string_view name);

// The keys as written. read_keys() checks the values and records mistakes in the pod.
struct PodKeys {
  PodKey account, user, job, gang_size, rank, time_limit, priority;
  std::array<PodKey, kWishCount> wishes;  // by Wish::place

  // The key of a wish. A wish without a key is never set.
  template <class T>
  const PodKey& of(const Wish<T>& wish) const {
    return wishes[wish.place];
  }
};

// The gang according to the pod itself. A pod of a group without a stated size is alone. An
// ordinary Job, a Deployment or a StatefulSet is elastic: it would hang if it waited for pods that
// may never come.
struct Gang {
  // Its name for people: the value of label subak.gpu/job, or what the marks say.
  std::string job;
  // Its identity inside the namespace. Empty if the pod is alone.
  std::string id;
  // The uid of its pods' owner. Empty without an owner, or if Subak's label names the gang.
  std::string owner;
  // How many pods start together, from 1.
  std::uint32_t size = 1;
  // The position of the pod among them (kube/rank.h). -1: not known.
  std::int32_t rank = -1;
  // Its pods have the same request, as far as the marks tell.
  bool uniform = true;
  // One controller makes all its pods from the same template.
  bool one_template = true;
  // The pod is part of a group, and nothing says how many pods start together.
  bool unsized = false;
  // The size comes from its owner, and changes with it.
  bool size_of_owner = false;
  // The gang is only inferred: if a pod is lost, the others continue.
  bool replaced_alone = false;
};

// The controller of a pod, from metadata.ownerReferences.
struct Owner {
  // All empty if the pod has no controller.
  Text api_version, kind, name, uid;
};

// One container with something that the policy checks. Ephemeral ones too: they request nothing,
// and may see devices that they were not given.
struct ContainerNote {
  // The path of the container: "spec.containers[0]".
  std::string field;
  Text name;
  // It is of spec.ephemeralContainers.
  bool ephemeral = false;
  // It requests a GPU kind.
  bool gpu = false;
  // It requests rdma/* or another nvidia.com/* resource.
  bool rdma = false;
  // Its security context is privileged, so it sees every device of the node.
  bool privileged = false;
  // It requests GPUs and a part of a CPU.
  bool fractional_cpu = false;
  // Its NVIDIA_VISIBLE_DEVICES names devices; the next field has the value.
  bool visible_devices = false;
  Text visible_value;
  // A mount by which NVIDIA's runtime learns devices. Empty: there is none.
  Text device_mount;

  // True if the policy has something to say about it.
  bool notable() const {
    return gpu || rdma || privileged || visible_devices || !device_mount.empty();
  }
};

// The status of a pod in the cluster. Texts of conditions are empty if a condition does not hold.
struct PodStatus {
  // status.phase: "Pending", "Running", "Succeeded", "Failed" or "Unknown".
  Text phase;
  // Of the pod: why the node's kubelet rejected or ended it.
  Text reason;
  // The node has started to create a container of it.
  bool has_started = false;
  // The last end of a container of any of the three kinds.
  Text finished_at;
  // The first start of the running containers.
  Text running_at;
  // Of condition PodScheduled: when it was bound.
  Text scheduled_at;
  // Of the same condition: the scheduler's message why it has no node.
  Text unschedulable;
  // Of condition DisruptionTarget: its reason.
  Text disrupted;
};

// One pod or template as read. Absent texts are empty.
struct Pod {
  // metadata
  Text uid, ns, name, generate_name, resource_version, created_at;
  // metadata.deletionTimestamp: the latest end of the pod. Empty: it is not being deleted.
  Text deleted_at;
  // Seconds from the deletion request to that time.
  std::int64_t grace_s = 0;
  bool has_metadata = false, has_labels = false, has_annotations = false;
  TextPairs labels, annotations;
  Owner owner;
  // spec
  // spec.schedulingGates exists, even if it is empty.
  bool has_gates = false;
  // The names of all its scheduling gates.
  std::vector<Text> gates;
  Text node_name, scheduler_name, runtime_class;
  // schedulingGroup.podGroupName, or workloadRef.name.
  Text scheduling_group;
  // spec.priority, which admission sets from the priority class.
  std::int32_t kube_priority = 0;
  // The effective request and the constraints.
  PodShape shape;
  // Its QoS class is Guaranteed.
  bool guaranteed = true;
  // The notable ones of all three lists of containers.
  std::vector<ContainerNote> containers;
  // A hostPath volume that shows GPU devices. Empty: there is none.
  Text nvidia_host_path;
  // The first field that requests devices by DRA. Empty: there is none.
  std::string device_claim;
  PodStatus status;
  // ours
  PodKeys keys;
  // Keys with Subak's prefix that Subak does not know.
  std::vector<Text> unknown_keys;
  Gang gang;
  // The gang's wishes, from Subak's keys.
  GangTerms terms;
  // From Subak's key. -1: it is not set.
  std::int32_t rank = -1;
  // From Subak's key. 0: no limit.
  DurationMs time_limit_ms = 0;
  // From Subak's key, else Kubernetes' number.
  std::int32_t priority = 0;
  // Each makes the pod impossible as written. At most kMaxMistakes are stored, the rest is counted.
  std::vector<Error> mistakes;
  std::size_t more_mistakes = 0;
  // The first of the mistakes is "two GPU kinds".
  bool two_kinds = false;

  // Stores the mistake, or only counts it if kMaxMistakes are stored.
  void add_mistake(Error mistake);
  // True if it has Subak's gate.
  bool gated() const;
  bool asks_gpu() const { return shape.kind != GpuKind::kNone; }
};

// Reads a pod, or a pod template (metadata + spec). `path` prefixes field names in mistakes, "" or
// "spec.template.".
Pod read_pod(json::Value pod, const ExtraGpuResources& extra, std::string_view path = "");

// Returns the gang size in the pod's own key; 0 without one, or with a size that no gang may have.
std::uint32_t stated_gang_size(const Pod& pod);

// True if neither the pod nor its marks say how many pods start together. Its owner may know
// (kube/owner.h).
bool asks_owner(const Pod& pod);
// Puts the pod into a gang of `size`, from its owner: of all pods that its marks name as one, or,
// with `of_controller`, of those of its own controller. Does nothing if the pod says otherwise, or
// if size is 1. `is_rest`: some pods of the gang are done, so it stays a gang even with a single
// pod left.
void join_gang(Pod& pod, std::uint32_t size, bool of_controller, bool replaced_alone,
               bool is_rest = false);
// Returns the name of the LeaderWorkerSet one group of which is the pod's gang; empty: none, or the
// pod says otherwise.
Text worker_set_of(const Pod& pod);
// Puts the pod into this LeaderWorkerSet. Each of its groups has `without_gpus` non-GPU pods, for
// which a gang has no ranks. The gang's owner is "uid+group", as each group comes and goes by
// itself.
void join_worker_set(Pod& pod, std::string_view uid, std::uint32_t without_gpus,
                     bool replaced_alone = false);

// Returns the name of the gang whose size the pod states, with GPUs or without. Empty: it states
// none.
std::string stated_gang(const Pod& pod);
// Says that `count` pods of its gang are non-GPU pods (`light`) that the stated size includes: they
// get no rank. At least one rank remains.
void leave_out_non_gpu_members(Pod& pod, std::uint32_t count);

// True if a mark says that the pod starts together with others, and nothing says with how many.
// These are pods of Kubeflow, MPI, Ray, Kueue, the coscheduling plugin, Volcano, KAI and
// spec.schedulingGroup without a size. Started one by one, two of these groups can wait for each
// other for ever.
bool lacks_gang_size(const Pod& pod);
// Marks a pod as a member of its gang, without a size.
void hold_unsized(Pod& pod);
// True if it is in a Kueue pod group with fast admission: the other pods may come only when the
// first run.
bool starts_with_first(const Pod& pod);

// True if it could be the value of a Kubernetes label.
bool is_label_value(std::string_view value);
// Returns at most `most` bytes of a name of plain characters; a longer name ends in a hash of the
// complete name.
std::string shortened(const std::string& name, std::size_t most);

// True if this path of the host could reach a GPU of the node: /dev/nvidia*, its parent
// directories, and names of another process's root. It normalises the path: "//dev/./nvidia0" is
// "/dev/nvidia0".
bool shows_gpus(std::string_view host_path);

// Returns the record for the engine (in::PodSeen). Mistaken keys count as not set. A pod with
// Subak's gate is Subak's, whatever other marks it has. A pod that is being deleted keeps its hold
// until its containers have ended; without a node it ends with its deletion.
PodRecord pod_record(const Pod& pod, bool other_manager);

// Returns the mark of another queue manager on the pod, such as "label kueue.x-k8s.io/queue-name";
// empty: none. The managers are Kueue, KAI, Volcano, YuniKorn, Run:ai and those in `schedulers`. A
// namespace's mode decides who manages it: in an enforced namespace the mark exempts nothing.
std::string_view other_manager_of(const Pod& pod, const std::vector<std::string>& schedulers);
// Returns the names of other queue managers' schedulers that are known without configuration.
const std::vector<std::string>& default_other_schedulers();

// Reads one pod in JSON, as `kubectl get pod -o json` prints it, with the default lists above. For
// edges that watch pods. kInvalid if the text is not JSON or not an object.
Result<PodRecord> pod_record_from_json(std::string_view text);

// --- steps of read_pod, one file each ------------------------------------------------------------

// pod_resources.cc: shape.kind, gpus, profile, cpu, memory, extended; guaranteed; containers;
// device_claim.
void read_resources(json::Value spec, const ExtraGpuResources& extra, std::string_view path,
                    Pod& pod);
// pod_status.cc: the status.
void read_status(json::Value status, PodStatus& out);
// pod_constraints.cc: selectors, affinity, tolerations, host ports, products.
void read_constraints(json::Value spec, Pod& pod);
// pod_keys.cc: finds Subak's keys in labels and annotations, and checks them.
void find_keys(Pod& pod);
void read_keys(std::string_view path, Pod& pod);
// gang.cc: the gang, from the keys or from the marks of the pod's controller.
void read_gang(std::string_view path, Pod& pod);
// pod_bounds.cc: records a mistake for everything that the engine would refuse.
void check_pod_bounds(std::string_view path, Pod& pod);

}  // namespace subak
