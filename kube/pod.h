// A Kubernetes pod (or pod template) as Subak reads it: what it takes from its node, the keys that
// people set, the gang it belongs to, and everything that is wrong or odd about it.
// Reading decides nothing.
//
// Texts point into the parser's document (kube/json.h); what must outlive it is owned: shape,
// gang, mistakes. Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "engine/input.h"
#include "kube/json.h"

namespace subak {

// GPU resources beyond NVIDIA's own names that count as whole GPUs ("nvidia.com/pgpu").
using ExtraGpuResources = std::vector<std::string>;

// What a resource name asks for; kNone for everything that is no GPU kind.
GpuKind gpu_kind_of(std::string_view resource, const ExtraGpuResources& extra);
// "deviceclass.resource.kubernetes.io/CLASS": devices of a DRA class, asked for as a resource.
bool is_device_class(std::string_view resource);
// "nvidia.com/mig-1g.10gb.shared" -> "1g.10gb"; empty if it is no MIG resource.
std::string_view mig_profile_of(std::string_view resource);

using Text = std::string_view;
using TextPairs = std::vector<std::pair<Text, Text>>;
// The value of `key`; empty if it is not there.
Text find_text(const TextPairs& pairs, Text key);
bool has_key(const TextPairs& pairs, Text key);

// One of our own keys, from a label or an annotation.
struct PodKey {
  Text value;
  bool set = false;
  bool label = false;     // it is (also) a label
  bool conflict = false;  // label and annotation differ; `value` is the label's
};

// "metadata.labels[subak.gpu/user]", or annotations; `path` as in read_pod.
std::string key_field(std::string_view path, const PodKey& key, std::string_view name);

// As written; values are checked by read_keys, which leaves mistakes in the pod.
struct PodKeys {
  PodKey account, user, job, gang_size, rank, topology, segment, mixed_products, balanced, spare,
      compute_domain, time_limit, priority;
};

// The gang as the pod itself tells it. A pod of a group whose size nobody states is alone: an
// ordinary Job, a Deployment or a StatefulSet is elastic, and waiting for pods that may never come
// would hang it.
struct Gang {
  std::string job;    // what people call it; the value of label subak.gpu/job
  std::string id;     // identity inside the namespace; empty when size is 1
  std::string owner;  // uid of what makes its pods; empty if nothing does, or our label names them
  std::uint32_t size = 1;
  std::int32_t rank = -1;       // kube/rank.h
  bool uniform = true;          // its pods ask for the same, as far as the marks tell
  bool one_template = true;     // one controller makes them all from the same template
  bool unsized = false;         // it is of a group, and nobody says how many start together
  bool size_of_owner = false;   // the size is its owner's word, and changes with that
  bool replaced_alone = false;  // only inferred: if a pod is lost, the others run on
};

struct Owner {
  Text api_version, kind, name, uid;  // the controller; all empty if there is none
};

// One container that carries something that the policy looks at. Ephemeral ones too: they ask for
// nothing, and may see what they were not given.
struct ContainerNote {
  std::string field;  // "spec.containers[0]"
  Text name;
  bool ephemeral = false;
  bool gpu = false;   // asks for a GPU kind
  bool rdma = false;  // asks for rdma/* or another nvidia.com/* resource
  bool privileged = false;
  bool fractional_cpu = false;   // asks for GPUs and for a part of a CPU
  bool visible_devices = false;  // NVIDIA_VISIBLE_DEVICES names devices
  Text visible_value;
  Text device_mount;  // a mount by which NVIDIA's runtime is told devices

  bool notable() const {
    return gpu || rdma || privileged || visible_devices || !device_mount.empty();
  }
};

// What the cluster says of a pod. Texts of conditions are empty where a condition does not hold.
struct PodStatus {
  Text phase;
  Text reason;               // of the pod: why the node's kubelet turned it away, or ended it
  bool has_started = false;  // its node has made something of a container of it
  Text finished_at;          // the last end of a container of any of the three kinds
  Text running_at;           // the first start of those that run
  Text scheduled_at;         // condition PodScheduled: when it was bound
  Text unschedulable;        // the same condition: the scheduler's words on why it has no node
  Text disrupted;            // condition DisruptionTarget: its reason
};

struct Pod {
  // metadata
  Text uid, ns, name, generate_name, resource_version, created_at;
  Text deleted_at;           // metadata.deletionTimestamp: when it will be gone at the latest
  std::int64_t grace_s = 0;  // how much later than its deletion was asked for that is
  bool has_metadata = false, has_labels = false, has_annotations = false;
  TextPairs labels, annotations;
  Owner owner;
  // spec
  bool has_gates = false;  // the list is there, if only empty
  std::vector<Text> gates;
  Text node_name, scheduler_name, runtime_class;
  Text scheduling_group;  // schedulingGroup.podGroupName, or workloadRef.name
  std::int32_t kube_priority = 0;
  PodShape shape;                         // the effective request and the constraints
  bool guaranteed = true;                 // Guaranteed QoS
  std::vector<ContainerNote> containers;  // the notable ones of all three lists
  Text nvidia_host_path;                  // a hostPath volume that shows GPU devices
  std::string device_claim;  // the first field that asks for devices by DRA; empty if none does
  PodStatus status;
  // ours
  PodKeys keys;
  std::vector<Text> unknown_keys;  // under our prefix, but no key of ours
  Gang gang;
  Topology topology = Topology::kAny;
  bool prefer = false;
  std::uint32_t segment = 0;
  std::int32_t rank = -1;  // of our key
  bool mixed_products = false;
  bool balanced = false;
  std::uint32_t spare = 0;
  bool compute_domain = false;
  DurationMs time_limit_ms = 0;
  std::int32_t priority = 0;  // of our key, else Kubernetes' number
  // Each makes the pod impossible as written. At most kMaxMistakes are kept, the rest is counted.
  std::vector<Error> mistakes;
  std::size_t more_mistakes = 0;
  bool two_kinds = false;  // the first of the mistakes is "two GPU kinds"

  void add_mistake(Error mistake);
  bool gated() const;  // carries our gate
  bool asks_gpu() const { return shape.kind != GpuKind::kNone; }
};

// Reads a pod, or a pod template (metadata + spec). `path` is put before field names in mistakes,
// "" or "spec.template.". `ns` is where it will live, if the object does not say.
Pod read_pod(json::Value pod, const ExtraGpuResources& extra, std::string_view path = "");

// The size of its gang as its own key says; 0 where it says none that a gang may have.
std::uint32_t stated_gang_size(const Pod& pod);

// Neither the pod nor its marks say how many start together: what makes it may know (kube/owner.h).
bool asks_owner(const Pod& pod);
// It is of a gang of `size`, as what makes it says: of all pods that its marks name as one, or, with
// `of_controller`, of those of its own controller. Nothing if the pod says otherwise, or if size is 1.
// `is_rest`: of a gang of which some are done it is one even where a single pod is left.
void join_gang(Pod& pod, std::uint32_t size, bool of_controller, bool replaced_alone,
               bool is_rest = false);
// The name of the LeaderWorkerSet that a group of is its gang; empty: it is of none, or says otherwise.
Text worker_set_of(const Pod& pod);
// It is of this LeaderWorkerSet, each of whose groups has so many pods that ask for no GPUs: a gang has
// no ranks for these. Its owner is "uid+group", as each group comes and goes by itself.
void join_worker_set(Pod& pod, std::string_view uid, std::uint32_t without_gpus,
                     bool replaced_alone = false);

// The name of the gang that the pod says the size of, with GPUs or without. Empty: it says none.
std::string stated_gang(const Pod& pod);
// So many pods of its gang ask for no GPUs, and its stated size counts them: they have no rank. One
// rank is left at least.
void leave_out_light_members(Pod& pod, std::uint32_t count);

// Its mark says that it starts together with others, and nothing that we read says with how many:
// pods of Kubeflow, MPI, Ray, Kueue, the coscheduling plugin, Volcano, KAI and spec.schedulingGroup
// without a size. Started one by one, two such groups can wait for each other for ever.
bool lacks_gang_size(const Pod& pod);
// Such a pod is of its gang, without a size.
void hold_unsized(Pod& pod);
// It is of a Kueue pod group with fast admission: the others may come only when the first run.
bool starts_with_first(const Pod& pod);

// Could it be the value of a Kubernetes label?
bool is_label_value(std::string_view value);
// At most `most` bytes of a name of plain characters; a longer one ends in a hash of the whole.
std::string shortened(const std::string& name, std::size_t most);

// Could a GPU of the node be reached by this path of the host? /dev/nvidia*, what leads to it, and
// what stands for another process's root. Read as a path is: "//dev/./nvidia0" is "/dev/nvidia0".
bool shows_gpus(std::string_view host_path);

// The record that the engine takes (in::PodSeen). Keys that are mistaken count as not set. A pod
// that carries our gate is ours, whatever other marks it has. One that is being deleted holds what
// it has until its containers have ended; one that never had a node has ended with its deletion.
PodRecord pod_record(const Pod& pod, bool other_manager);

// Another queue manager's pod: Kueue, KAI, Volcano, YuniKorn, Run:ai and whatever `schedulers`
// names. Empty, or which mark says so ("label kueue.x-k8s.io/queue-name"). Who manages a namespace
// is a matter of the namespace: in an enforced one such a mark exempts nothing.
std::string_view other_manager_of(const Pod& pod, const std::vector<std::string>& schedulers);
const std::vector<std::string>& default_other_schedulers();

// One pod in JSON, as `kubectl get pod -o json` prints it, with the default lists above. For edges
// that watch pods. kInvalid if the text is not JSON or not an object.
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
// pod_keys.cc: our keys out of labels and annotations, checked.
void find_keys(Pod& pod);
void read_keys(std::string_view path, Pod& pod);
// gang.cc: the gang, from the keys or from what the pod's controller marks.
void read_gang(std::string_view path, Pod& pod);
// pod_bounds.cc: what the engine would refuse becomes a mistake.
void check_pod_bounds(std::string_view path, Pod& pod);

}  // namespace subak
