// Reads a Kubernetes pod or pod template: its resource requests, the keys that people set, its
// gang, and all that is wrong or unusual. It decides nothing; the webhook and the edges call it.
//
// Texts point into the parser's document (kube/json.h). The Pod owns the fields that must outlive
// the document: shape, gang, mistakes.
// Threads: any; pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "kube/json.h"
#include "kube/owner_kind.h"
#include "model/input.h"

namespace subak {

// The names of the ResourceClaims by which pods of a gang join the gang's ComputeDomain.
// kube/domain/domain_objects.h has the names of the other objects.
namespace names {
// The name of the ResourceClaim that the webhook adds to a pod (an entry of spec.resourceClaims).
inline constexpr std::string_view kDomainClaim = "subak-compute-domain";
// The prefix of the names that Subak chooses for the ResourceClaimTemplates of ComputeDomains
// (domain_name_of()). NVIDIA's controller then makes a template with the chosen name.
inline constexpr std::string_view kDomainTemplatePrefix = "subak-";
// The extended resource by which Subak counts channels of ComputeDomains in NodeSpec and PodShape.
// A node that offers a channel has one, and a pod with Subak's ResourceClaim requests one. So the
// search places at most one such pod on a node.
inline constexpr std::string_view kChannel = "compute-domain.nvidia.com/channel";
}  // namespace names

// Resources besides NVIDIA's usual ones that count as whole GPUs ("nvidia.com/pgpu").
using ExtraGpuResources = std::vector<std::string>;

// Returns the GPU kind of a resource name, else kNone.
GpuKind gpu_kind_of(std::string_view resource, const ExtraGpuResources& extra);
// True for "deviceclass.resource.kubernetes.io/CLASS", by which a pod requests devices of a DRA
// class as a resource.
bool is_device_class(std::string_view resource);
// True if Subak counts the resource beside CPU and memory: an extended resource, whose name has a
// "/", or huge pages ("hugepages-2Mi", in bytes).
bool is_counted_resource(std::string_view resource);
// Returns "1g.10gb" for "nvidia.com/mig-1g.10gb.shared"; empty for a resource without MIG slices.
std::string_view mig_profile_of(std::string_view resource);

// A text of the parsed document, and pairs of key and value, such as labels.
using Text = std::string_view;
using TextPairs = std::vector<std::pair<Text, Text>>;
// Returns the value of `key`; empty if it is absent.
Text find_text(const TextPairs& pairs, Text key);
// True if the key is present, even with an empty value.
bool has_key(const TextPairs& pairs, Text key);

// One of Subak's own keys (subak.gpu/...), from a label or an annotation.
struct PodKey {
  // The value as written, not yet checked. Empty if the key is absent.
  Text value;
  // True: the key is present, as a label or as an annotation.
  bool set = false;
  // True: the key is a label. The key may be an annotation too.
  bool label = false;
  // True: label and annotation have different values. `value` is the value of the label.
  bool conflict = false;
};

// Returns "metadata.labels[subak.gpu/user]", or the same with annotations. `path` is the argument
// of read_pod().
std::string key_field(std::string_view path, const PodKey& key, std::string_view name);

// Subak's keys of a pod, as its user wrote them. read_keys() checks the values and records mistakes
// in the pod.
struct PodKeys {
  PodKey account, user, job, gang_size, rank, time_limit, priority;
  std::array<PodKey, kWishCount> wishes;  // by Wish::place

  // Returns the key of a wish, which is what a gang asks for beyond its pods' requests
  // (model/gang_terms.h). PodKey::set is false for a wish without a key of its own.
  template <class T>
  const PodKey& of(const Wish<T>& wish) const {
    return wishes[wish.place];
  }
};

// The gang according to the pod itself: pods that start together. A pod of a group without a stated
// size is alone. The pods of an ordinary Job, Deployment or StatefulSet are no gang, because they
// would wait for pods that may never come.
struct Gang {
  // The gang's name for people: the value of the label subak.gpu/job, or a name from the labels and
  // annotations that the pod's controller sets (its "marks").
  std::string job;
  // The gang's identity inside the namespace. Empty if the pod is alone.
  std::string id;
  // The uid of the owner of the gang's pods. Empty if they have no owner, or if Subak's label names
  // the gang.
  std::string owner;
  // How many pods start together, from 1.
  std::uint32_t size = 1;
  // The position of the pod in the gang (kube/rank.h). -1: not known.
  std::int32_t rank = -1;
  // True: the gang's pods all have the same request, as far as the marks show.
  bool uniform = true;
  // True: one controller makes all pods of the gang from the same template.
  bool one_template = true;
  // True: the pod is part of a group, and no mark says how many pods start together.
  bool unsized = false;
  // True: the size comes from the pods' owner, and changes when the owner changes.
  bool size_of_owner = false;
  // True: only the owner's kind suggests the gang. If a pod is lost, the other pods continue.
  bool replaced_alone = false;
  // True: `size` is the least number of pods, and the gang may have more. The further pods start by
  // themselves once the gang has started.
  bool least = false;
  // True: a PodGroup says the size, so it counts pods without GPUs too.
  bool of_pod_group = false;
};

// The controller of a pod, from metadata.ownerReferences.
struct Owner {
  // All fields are empty if the pod has no controller.
  Text api_version, kind, name, uid;
};

// One container that has a property which the policy checks. An ephemeral container requests no
// resources, but it may see devices that it did not request.
struct ContainerNote {
  // The path of the container: "spec.containers[0]".
  std::string field;
  Text name;
  // True: the container is in spec.ephemeralContainers.
  bool ephemeral = false;
  // The requested GPUs, replicas or slices, and the name of their resource. 0: none.
  std::int64_t gpus = 0;
  Text gpu_resource;
  // The name of a requested RDMA resource: rdma/* or another nvidia.com/* resource than GPUs.
  // Empty: there is none.
  Text rdma;
  // The name of a requested size of huge pages: "hugepages-2Mi". Empty: there is none.
  Text huge_pages;
  // True: the container's security context is privileged, so it sees every device of the node.
  bool privileged = false;
  // The requested CPU in thousandths, its text, and the list that has it: "requests" or "limits".
  // The API server copies a limit to a missing request, so of two equal amounts the limit counts.
  // 0: none.
  std::int64_t cpu_milli = 0;
  std::string cpu;
  Text cpu_list;
  // True: the container's NVIDIA_VISIBLE_DEVICES names devices. `visible_value` has its value.
  bool visible_devices = false;
  Text visible_value;
  // A mount from which NVIDIA's runtime reads the devices. Empty: there is none.
  Text device_mount;
  // True: the container has a list resources.claims, even an empty one.
  bool has_claims = false;

  // True if the policy checks something of the container.
  bool notable() const {
    return gpus > 0 || !rdma.empty() || !huge_pages.empty() || privileged || visible_devices ||
           !device_mount.empty();
  }
};

// The status of a pod in the cluster. A text from a condition is empty if the condition does not
// hold.
struct PodStatus {
  // status.phase: "Pending", "Running", "Succeeded", "Failed" or "Unknown".
  Text phase;
  // status.reason: why the node's kubelet rejected or ended the pod. status.message: the same, in a
  // sentence.
  Text reason, message;
  // True: the node has started to create a container of the pod.
  bool has_started = false;
  // The end of the container that ended last, of any of the three kinds of containers.
  Text finished_at;
  // The start of the running container that started first.
  Text running_at;
  // From the condition PodScheduled: when the pod was bound.
  Text scheduled_at;
  // From the same condition: the scheduler's message why the pod has no node.
  Text unschedulable;
  // The reason of the condition DisruptionTarget.
  Text disrupted;
  // Since when the condition Ready does not hold, and why. Empty: it holds, or the pod has none.
  struct Unready {
    Text since, reason, message;
  };
  Unready unready;
  // The first container that waits: its name, the reason, such as "ImagePullBackOff", and the
  // message. Init containers come first.
  struct Waiting {
    Text container, reason, message;
  };
  Waiting waiting;
  // True: a container of spec.containers has ended with success. The pod's condition Ready then
  // does not show whether the pod has started properly.
  bool partly_done = false;
};
// Says in one line why a pod is not Ready: the container that waits, or the condition Ready. Empty:
// the pod is Ready, has ended, is not on a node, or is partly_done.
std::string why_not_ready(const PodStatus& status);

// The priority of a pod in Kubernetes.
struct KubePriority {
  // spec.priority, which Kubernetes sets from the PriorityClass. `has_value`: the field exists.
  std::int32_t value = 0;
  bool has_value = false;
  // spec.priorityClassName, and whether spec.preemptionPolicy exists.
  Text class_name;
  bool has_policy = false;
  // The number in the annotation names::kOwnPriority. nullopt: there is none, or it is no number.
  std::optional<std::int32_t> own;
  // The number that orders the pod's job within its account.
  std::int32_t order() const { return own.value_or(value); }
};

// Parts of a pod that Subak does not read.
struct NotRead {
  // Keys with Subak's prefix that Subak does not know.
  std::vector<Text> keys;
  // Rules about other pods, such as "spec.affinity.podAffinity". `preferences` has the rules that
  // are only preferred.
  std::vector<std::string> constraints, preferences;
};

// A label selector of Kubernetes: a pod must meet each requirement with its labels.
using LabelSelector = std::vector<Requirement>;
// True if the selector selects a pod with these labels. An empty selector selects every pod.
bool selects(const LabelSelector& selector, const TextPairs& labels);

// The label of nodes that has the name of the node's host.
inline constexpr Text kHostname = "kubernetes.io/hostname";

// The pods of its own namespace near which a pod must run: its required pod affinity.
struct NearPods {
  struct Term {
    // The node of the pod must have the same value of this label as the node of a selected pod.
    std::string key;
    LabelSelector selector;
    // A hash of the namespace and the selector (PodAffinity::group).
    std::int64_t group = 0;
  };
  // Another pod counts only if all terms select it.
  std::vector<Term> terms;
  // True: all terms select the pod itself, so the first such pod may run anywhere.
  bool own = true;
};

// The devices that a pod requests by DRA, and the pod's ResourceClaims.
struct PodClaims {
  // The first field of the pod that requests devices. Empty: there is none. Subak's own
  // ResourceClaim for a ComputeDomain does not count.
  std::string device;
  // The ResourceClaimTemplates from which the pod's ResourceClaims are made.
  std::vector<Text> templates;
  // True: each of these ResourceClaims is made from a template. So the templates say what the pod
  // requests.
  bool by_template = true;
  // True: spec.resourceClaims exists, even if it is empty.
  bool listed = false;
  // The template of Subak's own ResourceClaim, by which a GPU pod joins the ComputeDomain of its
  // gang. Empty: the pod has no such ResourceClaim. Subak chose the template's name
  // (kube/domain/domain_objects.h).
  Text domain_template;
};

// The group of the pod's spec: schedulingGroup (Kubernetes 1.36), or workloadRef (1.35).
struct SchedulingGroup {
  // The value of podGroupName, or of workloadRef.name.
  Text name;
  // The values of workloadRef.podGroup and workloadRef.podGroupReplicaKey. `part` is empty for a
  // pod with a schedulingGroup.
  Text part, copy;
};

// One pod or template as read. Absent texts are empty.
struct Pod {
  // metadata
  Text uid, ns, name, generate_name, resource_version, created_at;
  // metadata.deletionTimestamp: the time by which the pod ends at the latest. Empty: the pod is not
  // being deleted.
  Text deleted_at;
  // The seconds from the deletion request to `deleted_at`.
  std::int64_t grace_s = 0;
  bool has_metadata = false, has_labels = false, has_annotations = false;
  TextPairs labels, annotations;
  Owner owner;
  // spec
  // True: spec.schedulingGates exists, even if it is empty.
  bool has_gates = false;
  // The names of all scheduling gates of the pod.
  std::vector<Text> gates;
  Text node_name, scheduler_name, runtime_class;
  // True: spec.nodeSelector exists, even if it is empty.
  bool has_node_selector = false;
  SchedulingGroup scheduling_group;
  KubePriority kube_priority;
  // The pod's effective request and its constraints.
  PodShape shape;
  // True: the pod's QoS class is Guaranteed.
  bool guaranteed = true;
  // If a pod of several whole GPUs is not Guaranteed: what to write instead, at most kMaxQosGaps
  // entries. One entry is about the CPU or the memory of one container, init container or sidecar.
  std::vector<Error> qos_gaps;
  static constexpr std::size_t kMaxQosGaps = 8;
  // spec.hostNetwork: the pod uses the network of its node.
  bool host_network = false;
  // The notable() containers of all three lists of containers.
  std::vector<ContainerNote> containers;
  // A hostPath volume that shows GPU devices. Empty: there is none.
  Text nvidia_host_path;
  PodClaims claims;
  PodStatus status;
  // Subak's keys, and the results of the reader
  PodKeys keys;
  NotRead not_read;
  Gang gang;
  // What the gang asks for beyond the shapes of its pods, such as a topology, from Subak's keys.
  GangTerms terms;
  // The rank from Subak's key. -1: it is not set.
  std::int32_t rank = -1;
  // The time limit from Subak's key. 0: no limit.
  DurationMs time_limit_ms = 0;
  // spec.terminationGracePeriodSeconds. 0: the spec does not say, or says 0.
  DurationMs grace_ms = 0;
  // The mistakes. With any of them the pod can never start as it is written. At most kMaxMistakes
  // are stored; further mistakes are only counted.
  std::vector<Error> mistakes;
  std::size_t more_mistakes = 0;
  // True: the first of the mistakes is "two GPU kinds".
  bool two_kinds = false;

  // Stores the mistake. If kMaxMistakes mistakes are already stored, it only counts the mistake.
  void add_mistake(Error mistake);
  // True if the pod has Subak's gate.
  bool gated() const;
  bool asks_gpu() const { return shape.kind != GpuKind::kNone; }
  // True if the pod's gang has a ComputeDomain. join_domain() records that it has one.
  bool in_domain() const;
  void join_domain();
};

// A key of the pod by its name. The reference is valid as long as the pod.
struct NamedKey {
  std::string_view name;
  const PodKey& key;
};
// Return the keys by which a pod asks for a ComputeDomain, and for a topology.
NamedKey domain_key_of(const Pod& pod);
NamedKey topology_key_of(const Pod& pod);

// Reads a pod, or a pod template (metadata + spec). In mistakes, `path` comes before the names of
// fields: "" or "spec.template.". `ns`: the namespace of the template's owner. It must outlive the
// result.
Pod read_pod(json::Value pod, const ExtraGpuResources& extra, std::string_view path = "",
             std::string_view ns = "");

// The group into which the marks of the pod's controller put the pod, even if its size is unknown.
struct MarkedGroup {
  // Empty: no mark names a group.
  std::string name;
  // The uid of the owner, as in Gang::owner; empty: no mark has it.
  std::string owner;
};
MarkedGroup marked_group_of(const Pod& pod);

// Returns the gang size in the pod's own key; 0 if there is no such key, or if no gang may have
// this size.
std::uint32_t stated_gang_size(const Pod& pod);
// Returns the name of the gang if only this name identifies it, so that pods of several owners may
// form the gang. Also for a template. Empty: another identity, or no gang.
std::string named_gang(const Pod& pod);

// A group that a mark of the pod names.
struct PodGroupRef {
  OwnerKind kind{};
  // The name of the PodGroup or Workload in the pod's namespace.
  Text name;
  // For a Workload: the name of the group in it, and the key of the copy. Else empty.
  Text part, copy;
};
// Returns the groups that marks of other schedulers name: first that of the coscheduling plugin,
// then those of Volcano, KAI and Kubernetes itself. A pod should have one at most.
std::vector<PodGroupRef> pod_groups_of(const Pod& pod);

// True if the pod has a controller, and neither the pod nor its marks say how many pods start
// together. The owner object may say so (kube/owner.h).
bool asks_owner(const Pod& pod);
// True if neither the pod nor its marks say how many pods start together, with or without a
// controller. A PodGroup may state the size.
bool asks_size(const Pod& pod);
// Puts the pod into the gang of the owner with this uid. `size`: the number of pods that the owner
// states. With `size` 1, the pod is alone. Does nothing if asks_size() is false.
void join_owner(Pod& pod, std::string_view uid, std::uint32_t size, bool replaced_alone);
// Does the same for a PodGroup or Workload, which states that at least `size` pods start together.
void join_pod_group(Pod& pod, const PodGroupRef& group, std::string_view uid, std::uint32_t size);
// Puts the pod into a gang of `size` pods, as the pod's owner states. The gang has all pods that
// the marks put into one group. With `of_controller`, the gang has all pods of the pod's own
// controller. Does nothing if asks_owner() is false, or if `size` is 1 and `is_rest` is false.
// `is_rest`: some pods of the gang have ended already, so even a single remaining pod is a gang.
void join_gang(Pod& pod, std::uint32_t size, bool of_controller, bool replaced_alone,
               bool is_rest = false);
// Returns the name of the LeaderWorkerSet if the pod's gang is one of the groups of such a set.
// Empty: the gang is no such group, or the pod itself states another gang.
Text worker_set_of(const Pod& pod);
// Puts the pod into this LeaderWorkerSet. Each group of the set has `without_gpus` non-GPU pods,
// which get no ranks. The gang's owner is "uid+group", because the set creates and deletes each
// group separately.
void join_worker_set(Pod& pod, std::string_view uid, std::uint32_t without_gpus,
                     bool replaced_alone = false);

// Returns the name of the gang whose size the pod states, or "@" and the name of its PodGroup,
// even if the pod has no GPUs. Empty: neither states a size.
std::string stated_gang(const Pod& pod);
// Records that the stated size includes `count` non-GPU pods, which get no rank. The gang still has
// at least one rank.
void leave_out_non_gpu_members(Pod& pod, std::uint32_t count);

// Reads the required pod affinity of `pod`. `object` is the JSON from which the pod was read. The
// result has no terms if the pod has none, or if Subak does not read some term. If all terms select
// the pod itself, PodShape::near has them too.
NearPods read_near_pods(json::Value object, const Pod& pod);

// True if a mark says that the pod starts together with other pods, and no mark says with how many.
// Such pods are pods of Kubeflow, MPI, Ray, Kueue, the coscheduling plugin, Volcano, KAI and
// spec.schedulingGroup without a size. If the pods of such groups started one by one, two groups
// could wait for each other for ever.
bool lacks_gang_size(const Pod& pod);
// If lacks_gang_size() is true, makes the pod a member of its gang, although the size of the gang
// is not known.
void hold_unsized(Pod& pod);
// True if the pod is in a Kueue pod group with fast admission. Then the other pods may be created
// only when the first pods run.
bool starts_with_first(const Pod& pod);

// Returns the first container that requests GPUs; nullptr: there is none. Claimed GPUs are in no
// container.
const ContainerNote* gpu_container(const Pod& pod);
// True if `value` is not empty and can be the value of a Kubernetes label.
bool is_label_value(std::string_view value);
// Returns the name with at most `most` bytes. A longer name is cut and ends with a hash of the
// complete name. The name must be ASCII, because it is cut at a byte.
std::string shortened(const std::string& name, std::size_t most);

// True if this path of the host could reach a GPU of the node. Such paths are /dev/nvidia*, its
// parent directories, and paths to the root directory of another process. The function normalises
// the path: "//dev/./nvidia0" is "/dev/nvidia0".
bool shows_gpus(std::string_view host_path);

// Returns the record for the engine (in::PodSeen). Keys with mistakes count as not set.
// `other_manager`: the pod has the mark of another queue manager (other_manager_of()). Subak
// manages a pod with Subak's gate even then. A pod that is being deleted has ended only when its
// containers have ended. If it has no node, it ends with the deletion request.
PodRecord pod_record(const Pod& pod, bool other_manager);

// Returns the mark of another queue manager on the pod, such as "label kueue.x-k8s.io/queue-name";
// empty if there is none. The managers are Kueue, KAI, Volcano, YuniKorn, Run:ai and those that
// `schedulers` has. In an enforced namespace, such a mark does not exempt a pod: the mode of the
// namespace decides who manages its pods.
std::string_view other_manager_of(const Pod& pod, const std::vector<std::string>& schedulers);
// Returns the names of other queue managers' schedulers that Subak knows without configuration.
const std::vector<std::string>& default_other_schedulers();

// Reads one pod in JSON, as `kubectl get pod -o json` prints it, with the default schedulers and no
// extra GPU resources. Edges that watch pods use this function. Returns kInvalid if the text is not
// JSON or not an object.
Result<PodRecord> pod_record_from_json(std::string_view text);

// --- steps of read_pod, one file each ------------------------------------------------------------

// pod_resources.cc: reads `guaranteed`, `containers`, `claims`, and of `shape` the kind, gpus,
// profile, cpu, memory and extended resources.
void read_resources(json::Value spec, const ExtraGpuResources& extra, std::string_view path,
                    Pod& pod);
// pod_status.cc: reads the status.
void read_status(json::Value status, PodStatus& out);
// pod_constraints.cc: reads selectors, affinity, tolerations, host ports, products.
void read_constraints(json::Value spec, Pod& pod);
// pod_constraints.cc: reads a list of NodeSelectorTerms. It calls `take` before each term and each
// requirement, and leaves out those for which `take` returns false.
std::vector<AffinityTerm> read_node_terms(json::Value terms, const std::function<bool()>& take);
// pod_rules.cc: reads rules about other pods into the shape. Once the keys are read,
// leave_out_spread() drops the topology spread constraints of gangs that want domains of their own,
// because placement does not search exactly for both.
void read_pod_rules(json::Value spec, Pod& pod);
void leave_out_spread(Pod& pod);
// pod_keys.cc: finds Subak's keys in labels and annotations, and checks them.
void find_keys(Pod& pod);
void read_keys(std::string_view path, Pod& pod);
// gang.cc: reads the gang, from Subak's keys or from the marks of the pod's controller.
void read_gang(std::string_view path, Pod& pod);
// pod_bounds.cc: records a mistake for everything that the engine would refuse.
void check_pod_bounds(std::string_view path, Pod& pod);

}  // namespace subak
