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

using Text = std::string_view;
using TextPairs = std::vector<std::pair<Text, Text>>;
// Returns the value of `key`; empty if it is absent.
Text find_text(const TextPairs& pairs, Text key);
bool has_key(const TextPairs& pairs, Text key);

// One of Subak's own keys, from a label or an annotation.
struct PodKey {
  Text value;
  bool set = false;
  bool label = false;     // it is (also) a label
  bool conflict = false;  // label and annotation differ; `value` is the label's
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
  std::string job;    // the name for people; the value of label subak.gpu/job
  std::string id;     // identity inside the namespace; empty when size is 1
  std::string owner;  // uid of its pods' owner; empty without one, or if Subak's label names them
  std::uint32_t size = 1;
  std::int32_t rank = -1;       // kube/rank.h
  bool uniform = true;          // its pods have the same request, as far as the marks tell
  bool one_template = true;     // one controller makes them all from the same template
  bool unsized = false;         // part of a group, and nothing says how many pods start together
  bool size_of_owner = false;   // the size comes from its owner, and changes with it
  bool replaced_alone = false;  // only inferred: if a pod is lost, the others continue
};

struct Owner {
  Text api_version, kind, name, uid;  // the controller; all empty if there is none
};

// One container with something that the policy checks. Ephemeral ones too: they request nothing,
// and may see devices that they were not given.
struct ContainerNote {
  std::string field;  // "spec.containers[0]"
  Text name;
  bool ephemeral = false;
  bool gpu = false;   // requests a GPU kind
  bool rdma = false;  // requests rdma/* or another nvidia.com/* resource
  bool privileged = false;
  bool fractional_cpu = false;   // requests GPUs and a part of a CPU
  bool visible_devices = false;  // NVIDIA_VISIBLE_DEVICES names devices
  Text visible_value;
  Text device_mount;  // a mount by which NVIDIA's runtime learns devices

  bool notable() const {
    return gpu || rdma || privileged || visible_devices || !device_mount.empty();
  }
};

// The status of a pod in the cluster. Texts of conditions are empty if a condition does not hold.
struct PodStatus {
  Text phase;
  Text reason;               // of the pod: why the node's kubelet rejected or ended it
  bool has_started = false;  // the node has started to create a container of it
  Text finished_at;          // the last end of a container of any of the three kinds
  Text running_at;           // the first start of the running containers
  Text scheduled_at;         // condition PodScheduled: when it was bound
  Text unschedulable;        // the same condition: the scheduler's message why it has no node
  Text disrupted;            // condition DisruptionTarget: its reason
};

struct Pod {
  // metadata
  Text uid, ns, name, generate_name, resource_version, created_at;
  Text deleted_at;           // metadata.deletionTimestamp: the latest end of the pod
  std::int64_t grace_s = 0;  // seconds from the deletion request to that time
  bool has_metadata = false, has_labels = false, has_annotations = false;
  TextPairs labels, annotations;
  Owner owner;
  // spec
  bool has_gates = false;  // the list exists, even if empty
  std::vector<Text> gates;
  Text node_name, scheduler_name, runtime_class;
  Text scheduling_group;  // schedulingGroup.podGroupName, or workloadRef.name
  std::int32_t kube_priority = 0;
  PodShape shape;                         // the effective request and the constraints
  bool guaranteed = true;                 // Guaranteed QoS
  std::vector<ContainerNote> containers;  // the notable ones of all three lists
  Text nvidia_host_path;                  // a hostPath volume that shows GPU devices
  std::string device_claim;  // the first field that requests devices by DRA; empty if none
  PodStatus status;
  // ours
  PodKeys keys;
  std::vector<Text> unknown_keys;  // with Subak's prefix, but unknown
  Gang gang;
  GangTerms terms;         // the gang's wishes, from Subak's keys
  std::int32_t rank = -1;  // from Subak's key
  DurationMs time_limit_ms = 0;
  std::int32_t priority = 0;  // from Subak's key, else Kubernetes' number
  // Each makes the pod impossible as written. At most kMaxMistakes are stored, the rest is counted.
  std::vector<Error> mistakes;
  std::size_t more_mistakes = 0;
  bool two_kinds = false;  // the first of the mistakes is "two GPU kinds"

  void add_mistake(Error mistake);
  bool gated() const;  // has Subak's gate
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
