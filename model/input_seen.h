// Inputs by which an edge reports a cluster: first a list of all nodes and pods, then each change.
// Part of model/input.h: include that header instead.
//
// All these inputs have two errors in common. kNotFound: there is no such cluster. kConflict: the
// session (Input::session) is not the cluster's newest session. The comments below name all other
// errors. In this file, a hold is a slot (GPUs on a node) that Subak gives to a pod before the pod
// is bound.
// Threads: any; plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "model/job.h"
#include "model/node.h"
#include "model/request.h"

namespace subak {

// One pod as an edge sees it. A gated GPU pod joins the queue. A GPU pod that was bound without
// Subak is *foreign*: Subak charges it, but never queued it.
struct PodRecord {
  // The uid of the pod in Kubernetes. A uid is unique over time: a pod that is created again gets
  // another uid.
  std::string uid;
  // The name of the pod's namespace, and the name of the pod in this namespace.
  std::string ns;
  std::string name;
  // The account that the label subak.gpu/account names. Empty: the pod gets the account of its
  // namespace.
  std::string account;
  // The user that the label subak.gpu/user names. Empty: the account itself.
  std::string user;
  // The name of the pod's gang inside the namespace. Empty: the pod is a job by itself.
  std::string gang;
  // How many pods start together. 0: the size of the gang is not known, so the gang waits.
  std::uint32_t gang_size = 1;
  // The pod's position in its gang: its completion index, its worker index, or any number in the
  // same order. The gang's ranks follow this order. -1: not known. Pods without a known position
  // come behind all others, in order of arrival.
  std::int32_t rank = -1;
  // The resources that the pod takes from its node, with the constraints of its spec.
  PodShape shape;
  // The wishes of the pod's gang, from the pod's own keys.
  GangTerms terms = {};
  // spec.priority. The highest number comes first among jobs of one account and its users.
  std::int32_t priority = 0;
  // The time after which the pod's job should end. 0: no time limit.
  DurationMs time_limit_ms = 0;
  // True: the pod has Subak's scheduling gate.
  bool gated = false;
  // True: the pod has a controller that creates a new pod if this pod ends.
  bool controlled = false;
  // True: another queue manager admits the pod. Subak charges the pod and never queues it.
  bool other_manager = false;
  // spec.nodeName. Empty: the pod is not bound.
  std::string node;
  // True: the pod's phase is Running.
  bool running = false;
  // When the pod was bound, by the reporter's clock. 0: at the time of the input.
  TimeMs bound_at_ms = 0;
  // Why the pod has ended. kNone: it has not ended.
  Cause ended = Cause::kNone;
  // When the pod ended, by the reporter's clock. 0: at the time of the input.
  TimeMs ended_at_ms = 0;
  // The time since which the pod's job waits. 0, or a time later than the input: it waits since the
  // input.
  TimeMs created_at_ms = 0;
  // The uid of the controller that creates the pod again. Owner and gang name together identify the
  // gang. If a single pod is replaced, the owner identifies the job to which the new pod belongs.
  // Empty: the pod has no controller, or Subak's own label names the gang.
  std::string owner{};
  // True: the pod has scheduling gates of other parties, with Subak's gate or without it.
  bool foreign_gates = false;
  // The one node that the pod's affinity allows. Subak sets such an affinity when it opens the
  // gate. Empty: Subak's gate is closed, or the affinity does not name exactly one node.
  std::string let_go_to{};
  // When the pod's first container started, by the reporter's clock. 0: not known.
  TimeMs running_at_ms = 0;
  // True: the gang is only inferred, not declared. When a pod is lost, the other pods run on. A pod
  // that comes after the start of the gang becomes a job of its own.
  bool replaced_alone = false;
  // What the objects above the pod say.
  struct Owners {
    // True: `gang_size` is the present size of the pod's owner, such as its number of replicas.
    // This size may change, and Subak uses the newest report.
    bool size_of_owner = false;
    // The object that creates the pod, if its pods are several jobs. Its uid is empty otherwise.
    Workload workload{};
    friend bool operator==(const Owners&, const Owners&) = default;
  };
  Owners owners{};
  // How long the pod may take to end after Subak asked it (terminationGracePeriodSeconds). 0: not
  // known.
  DurationMs grace_ms = 0;
  // The value of the pod's key subak.gpu/priority, which has precedence over `priority`
  // (model/policy.h). Empty: the pod does not have the key.
  std::string priority_class{};
  // Why the node's kubelet rejected the pod. Set only if `ended` is kRejected.
  Rejection rejection{};
  // The field numbers that are missing below belong to wishes (model/gang_terms.h).
  template <class V>
  void fields(V& v) {
    v(1, "uid", uid);
    v(2, "ns", ns);
    v(3, "name", name);
    v(4, "account", account);
    v(5, "user", user);
    v(6, "gang", gang);
    v(7, "gang_size", gang_size);
    v(8, "rank", rank);
    v(9, "shape", shape);
    terms.pod_fields<10, 12>(v);
    v(13, "priority", priority);
    v(14, "time_limit_ms", time_limit_ms);
    v(15, "gated", gated);
    v(16, "controlled", controlled);
    v(17, "other_manager", other_manager);
    v(18, "node", node);
    v(19, "running", running);
    v(20, "bound_at_ms", bound_at_ms);
    v(21, "ended", ended);
    v(22, "ended_at_ms", ended_at_ms);
    v(23, "created_at_ms", created_at_ms);
    v(24, "owner", owner);
    v(25, "foreign_gates", foreign_gates);
    v(26, "let_go_to", let_go_to);
    terms.pod_fields<27, 30>(v);
    v(31, "running_at_ms", running_at_ms);
    v(32, "replaced_alone", replaced_alone);
    v(33, "size_of_owner", owners.size_of_owner);
    terms.pod_fields<34, 34>(v);
    v(35, "grace_ms", grace_ms);
    v(36, "priority_class", priority_class);
    terms.pod_fields<37, 37>(v);
    v(37, "rejection", rejection);
    v(38, "workload", owners.workload);
    terms.pod_fields<39, kLastWishNumber>(v);
  }
  friend bool operator==(const PodRecord&, const PodRecord&) = default;
};

// Identifies one pod: by its Kubernetes uid, or by job and rank if a launcher created the pod for
// an API job.
struct PodRef {
  // Empty for a pod of an API job.
  std::string uid;
  // Both are set only for a pod of an API job. 0: `uid` names the pod.
  JobId job;
  std::uint32_t rank = 0;
  // The attempt for which the pod was created. 0: the current attempt.
  std::uint32_t attempt = 0;
  template <class V>
  void fields(V& v) {
    v(1, "uid", uid);
    v(2, "job", job);
    v(3, "rank", rank);
    v(4, "attempt", attempt);
  }
  friend bool operator==(const PodRef&, const PodRef&) = default;
};

// What an edge says of a parked owner: an object such as a Job that Subak suspended until its job's
// turn.
enum class ParkedOwner : std::uint8_t {
  // The owner is suspended by Subak.
  kParked,
  // The owner is not suspended, so its pods come.
  kResumed,
  // The owner is gone, has ended, or is suspended by a person, so no pods come.
  kGone,
};
template <>
struct EnumText<ParkedOwner> {
  static constexpr std::array<std::string_view, 3> names{"parked", "resumed", "gone"};
};

namespace in {

// A list of the cluster begins, and with it a session. Input::session must be newer than the last
// session, or kAnySession, which stands for the next number. Until ListComplete, no job starts in
// this cluster. Refused as kPrecondition if `uid` differs from the stored uid.
struct ListBegin {
  static constexpr std::string_view kName = "list_begin";
  std::string cluster;
  // The identity of the cluster: in Kubernetes the uid of the namespace kube-system. Subak stores
  // the first uid, and refuses a list with another uid until nodes are imported. Empty: not known.
  std::string uid{};
  // The edge's user name at the API server. Until another list begins, the webhook treats requests
  // of this user in the cluster as requests of the service itself. Empty: not known.
  std::string known_as{};
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "uid", uid);
    v(3, "known_as", known_as);
  }
};
// The list is complete: pods and nodes that the list did not name are gone, and scheduling begins.
// If the edge sends SeenUntil, the missing pods count as ended at the last time up to which it
// reported all events. Refused as kPrecondition if no list was begun.
struct ListComplete {
  static constexpr std::string_view kName = "list_complete";
  std::string cluster;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
  }
};
// A node exists or changed. Refused as kInvalid if the node has impossible values. Refused as
// kPrecondition in a cluster whose nodes were imported, because only a list replaces imported
// nodes.
struct NodeSeen {
  static constexpr std::string_view kName = "node_seen";
  std::string cluster;
  NodeSpec node;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "node", node);
  }
};
// A node is gone. Pods on the node end with it, unless they have already ended. If the node is
// unknown, the input changes nothing. Like NodeSeen, the input is refused as kPrecondition in a
// cluster whose nodes were imported.
struct NodeGone {
  static constexpr std::string_view kName = "node_gone";
  std::string cluster;
  // The name of the node in its cluster.
  std::string node;
  // The time at which the node disappeared, or of its last sign of life; never after the input's
  // time. 0: the input's time.
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "node", node);
    v(3, "at_ms", at_ms);
  }
};
// A pod exists or changed. A new pod joins the queue if it has Subak's gate, if no other queue
// manager admits it, and if its namespace is enforced. Subak ignores a pod without GPUs until it is
// bound. The record of a known pod may change until the pod is bound. After that, the engine reads
// only `node` and `running`.
// A record whose `ended` is set ends the pod as PodGone does.
// If a report names a node that Subak has not seen yet, the report waits for the node. At most
// limits::kMaxEarlyPods such reports of a cluster wait, and at most half of these may be about pods
// without GPUs. A further such report is refused as kNotFound. Refused as kInvalid if the record
// has no uid, namespace or name, or has gang_size 0 without a gang.
struct PodSeen {
  static constexpr std::string_view kName = "pod_seen";
  std::string cluster;
  PodRecord pod;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
  }
};
// A pod was bound to a node. If this is not the node of the pod's hold, the pod counts on its real
// node from now on. A report without uid and attempt may be a late report about an earlier hold, so
// it never moves a bound pod. As for PodSeen, a report that names an unknown node waits for the
// node. Refused as kNotFound for an unknown pod. Refused as kPrecondition for a pod that is gone,
// or that waits and was never seen in the cluster.
struct PodBound {
  static constexpr std::string_view kName = "pod_bound";
  std::string cluster;
  PodRef pod;
  // The name of the node that the pod is on.
  std::string node;
  // When the pod was bound, by the reporter's clock. 0, or a time later than the input: the time of
  // the input.
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "node", node);
    v(4, "at_ms", at_ms);
  }
};
// The first container of a pod started. A pod that has only a hold then counts as bound to the node
// of its hold. If the pod waits or already runs, the input changes nothing. Refused as kNotFound
// for an unknown pod.
struct PodRunning {
  static constexpr std::string_view kName = "pod_running";
  std::string cluster;
  PodRef pod;
  // When the container started, by the reporter's clock. 0, or a time later than the input: the
  // time of the input.
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "at_ms", at_ms);
  }
};
// A pod has ended or was deleted. Its account is charged up to the pod's end, and its GPUs are
// free. If the pod is unknown or has already ended, the input changes nothing. The cause kRejected
// means that the node refused the pod. Then the platform is charged for the pod's time on the node,
// and pods of its shape avoid the node for a while.
struct PodGone {
  static constexpr std::string_view kName = "pod_gone";
  std::string cluster;
  PodRef pod;
  // When the pod ended, by the reporter's clock. 0: the time of the input.
  TimeMs ended_at_ms = 0;
  // Why the pod ended. kNone: the reporter does not know.
  Cause cause = Cause::kNone;
  // For the cause kRejected: what the node's kubelet said.
  Rejection rejection{};
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "ended_at_ms", ended_at_ms);
    v(4, "cause", cause);
    v(5, "rejection", rejection);
  }
};

// The cluster refused a command for this pod, as `cause` says:
//   - kReleaseRefused: the API server refuses to open the pod's gate
//   - kUnschedulable: the cluster's scheduler cannot bind the pod to the node of its hold
//   - kEvictRefused: a disruption budget or a webhook refuses to end the pod; the pod still has its
//     hold and must still end
//   - kNotReady: the pod has not been Ready for GangSettings::ready_within_ms
// `words`: the reason that the cluster gave, for people; at most limits::kMaxRefusalBytes.
// Refused as kInvalid for any other cause, and as kNotFound for an unknown pod. kReleaseRefused and
// kUnschedulable have no effect on a pod without a hold. kNotReady has no effect if
// `ready_within_ms` is 0, or if the attempt has not run for that time yet.
struct PodRefused {
  static constexpr std::string_view kName = "pod_refused";
  std::string cluster;
  PodRef pod;
  // One of the four causes above.
  Cause cause = Cause::kNone;
  std::string words{};
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "cause", cause);
    v(4, "words", words);
  }
};

// The owner of a gang's pods announces all pods of the gang: `groups`, in order of rank. The gang
// may start as soon as the first `least` pods are present. The owner creates the later pods when
// the first pods run, and the holds for the later pods last for limits::kLateMembersMs. If `each`
// is set, the pods form blocks of `each` pods, and the first `least` pods of each block must be
// present.
// Examples: A LeaderWorkerSet with startupPolicy LeaderReady has `least` 1, because its workers
// come when the leader is ready. A JobSet with exclusive placement has `least` 1, and `each` is the
// number of pods of one of its jobs. The other pods of each job come when its first pod has a node.
// The edge must report a pod of the gang before this input. The input has no effect on a gang
// without pods, or on a gang that does not wait. A repeated input applies to the pods that Subak
// has not seen yet. Refused as kInvalid if the namespace or the gang's name is empty, a group has
// no GPUs, or `least` or `each` is out of range. It is also refused if the waiting gang has a
// different number of pods.
struct GangSeen {
  static constexpr std::string_view kName = "gang_seen";
  std::string cluster;
  std::string ns;
  // The gang's name and owner, as in the records of its pods (PodRecord).
  std::string gang;
  std::string owner;
  // All pods of the gang, including the pods that Subak has already seen.
  std::vector<PodGroup> groups;
  // The number of pods that must be present. It is at least 1, and at most `each` if that is set,
  // else at most the number of pods.
  std::uint32_t least = 0;
  // The size of a block, a divisor of the number of pods. 0: all pods are one block.
  std::uint32_t each = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "ns", ns);
    v(3, "gang", gang);
    v(4, "owner", owner);
    v(5, "groups", groups);
    v(6, "least", least);
    v(7, "each", each);
  }
};

// The owner of a gang's pods and all these pods are gone or have ended, so no new pod will come. A
// gang of this owner that waits for pods, and has no live pod, is done. The gang's PodRecord::owner
// is `owner`, or begins with `owner` and "+". Refused as kInvalid if `owner` is empty.
struct GangGone {
  static constexpr std::string_view kName = "gang_gone";
  std::string cluster;
  // The uid as in PodRecord::owner, never empty.
  std::string owner;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "owner", owner);
  }
};

// A namespace exists or changed. If no account names the namespace, its pods get the account of the
// namespace's label (core/names.h). kInvalid: the name is empty. kExhausted:
// limits::kMaxLabelledNamespaces namespaces of the cluster already have the label. kPrecondition:
// the cluster's nodes were imported.
struct NamespaceSeen {
  static constexpr std::string_view kName = "namespace_seen";
  std::string cluster;
  std::string ns;
  // The account that the namespace's label names. Empty: the namespace has no such label, or is
  // deleted.
  std::string account;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "ns", ns);
    v(3, "account", account);
  }
};

// The edge has reported all events in the cluster up to `at_ms`. If a pod ends while no edge runs,
// the next list does not name the pod. The pod then counts as ended at `at_ms`, so Subak does not
// charge the downtime. The engine stores at most one such time per limits::kSeenUntilEveryMs. After
// the first SeenUntil, each complete list sets this time too. So an edge must continue to send the
// input; else pods that end after a list count as ended too early. Refused as kPrecondition before
// the list is complete, and in a cluster whose nodes were imported.
struct SeenUntil {
  static constexpr std::string_view kName = "seen_until";
  std::string cluster;
  // The time by the reporter's clock. 0, or a time later than the input: the time of the input.
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "at_ms", at_ms);
  }
};

// Reports an owner of pods. With kParked, Subak has suspended the owner, and its job waits in the
// queue although the pods do not exist. The other states say that the owner is no longer parked;
// they change nothing if there is no such job. The engine finds the job by `pod.owner`.
// kParked is ignored in a namespace that is not enforced. A repeated report may change the pods of
// a waiting job. An owner that a list does not name counts as resumed.
// Refused as kInvalid if `pod` has no uid, namespace, name or owner, or if a pod asks for no GPUs.
// It is also refused if `groups` has another number of pods than `pod.gang_size`. Refused as
// kExhausted (`queue`) if too many jobs wait, or if pods of the owner exist. The edge then reports
// the owner again.
struct OwnerSeen {
  static constexpr std::string_view kName = "owner_seen";
  std::string cluster;
  ParkedOwner state = ParkedOwner::kParked;
  // The pods as the owner's template describes them. `uid` and `owner` are the uid of the owner,
  // and `name` is its name. `gang` and `gang_size` are set if all its pods start together. Else
  // `gang_size` is 1: the job waits for the first pod, and each later pod is a job of its own. If
  // `state` is not kParked, only `ns`, `name`, `uid` and `owner` are used.
  PodRecord pod;
  // The pods in order of rank. Empty if `state` is not kParked.
  std::vector<PodGroup> groups;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "state", state);
    v(3, "pod", pod);
    v(4, "groups", groups);
  }
};

}  // namespace in

}  // namespace subak
