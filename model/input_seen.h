// Inputs that report observations in a cluster. Part of model/input.h: include that header
// instead.
//
// Each is refused as kNotFound if there is no such cluster, and as kConflict in another session
// than the cluster's newest (Input::session). Other refusals are said below.
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

// One pod as an edge sees it. A gated GPU pod joins the queue. A pod bound without Subak is
// foreign.
struct PodRecord {
  // Of the pod in Kubernetes. Unique over time: a pod created again has another one.
  std::string uid;
  // The names of its namespace and of the pod in it.
  std::string ns;
  std::string name;
  // The account of label subak.gpu/account. Empty: the namespace decides.
  std::string account;
  // The user of label subak.gpu/user. Empty: the account itself.
  std::string user;
  // The name of its gang inside the namespace. Empty: the pod is a job alone.
  std::string gang;
  // How many pods start together. 0: it is of a gang of unknown size.
  std::uint32_t gang_size = 1;
  // Its position among its gang's pods: its completion or worker index, or any number that grows
  // with it. The gang's ranks follow this order. -1: not known; it comes behind the others, in
  // order of arrival.
  std::int32_t rank = -1;
  // What the pod takes from its node, with the constraints of its spec.
  PodShape shape;
  // The wishes of its gang, as the pod's own keys say them.
  GangTerms terms = {};
  // A higher number comes first among the jobs of one leaf.
  std::int32_t priority = 0;
  // 0: no time limit.
  DurationMs time_limit_ms = 0;
  // It has Subak's scheduling gate.
  bool gated = false;
  // It has a controller that would replace it.
  bool controlled = false;
  // Another queue manager admits it: Subak charges it and never queues it.
  bool other_manager = false;
  // spec.nodeName. Empty: the pod is not bound.
  std::string node;
  // Its phase is Running.
  bool running = false;
  // When it was bound, by the reporter's clock. 0: at the time of the input.
  TimeMs bound_at_ms = 0;
  // Why it has ended. kNone: it has not.
  Cause ended = Cause::kNone;
  // When it ended, by the reporter's clock. 0: at the time of the input.
  TimeMs ended_at_ms = 0;
  // Its job waits since then. 0, or later than the input: since the input.
  TimeMs created_at_ms = 0;
  // Uid of the controller that recreates its pods. With the name it identifies a gang. For a single
  // pod it finds the job that a replacement belongs to. Empty: it has no controller, or Subak's own
  // label names the gang.
  std::string owner{};
  // It has scheduling gates of others, beside Subak's or without it.
  bool foreign_gates = false;
  // The node that the pod's affinity pins it to, as Subak's opened gate leaves it. Empty: Subak's
  // gate is closed, or no single node is named.
  std::string let_go_to{};
  // When its first container started, by the reporter's clock. 0: not known.
  TimeMs running_at_ms = 0;
  // The gang is only inferred, not declared. When a pod is lost the others run on, and a pod that
  // comes after the start becomes a job of its own.
  bool replaced_alone = false;
  // `gang_size` is the present size of its owner, which may change: the newest report counts.
  bool size_of_owner = false;
  // A number that no field of its own has is for a wish (model/gang_terms.h).
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
    v(33, "size_of_owner", size_of_owner);
    terms.pod_fields<34, kLastWishNumber>(v);
  }
  friend bool operator==(const PodRecord&, const PodRecord&) = default;
};

// Names one pod: by Kubernetes uid, or by (job, rank) for a pod that a launcher created for an API
// job.
struct PodRef {
  // Empty for a pod of an API job.
  std::string uid;
  // Both only of a pod of an API job. 0: `uid` names the pod.
  JobId job;
  std::uint32_t rank = 0;
  // The attempt that the pod was created for. 0: the current one.
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

namespace in {

// A list of the cluster begins, and with it a session. Input::session is newer than the last one,
// or kAnySession, which stands for the next number. Nothing is scheduled there until ListComplete.
// Objects that the list has not named by then are gone. Refused as kPrecondition: another `uid`
// than the stored one.
struct ListBegin {
  static constexpr std::string_view kName = "list_begin";
  std::string cluster;
  // The identity of the cluster: in Kubernetes the uid of the namespace kube-system. The first one
  // is stored, and a list of another is refused until nodes are imported. Empty: not known.
  std::string uid{};
  // The edge's user name at the API server. Until another list begins the webhook trusts this user
  // there like the service itself. Empty: not known.
  std::string known_as{};
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "uid", uid);
    v(3, "known_as", known_as);
  }
};
// The list is complete: pods and nodes that it did not name are gone, and scheduling begins. The
// end of such a pod is the last time that its cluster was heard of before the list, if that is
// known. Refused as kPrecondition if no list was begun.
struct ListComplete {
  static constexpr std::string_view kName = "list_complete";
  std::string cluster;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
  }
};
// A node exists or changed. Refused as kInvalid if its values cannot be, and as kPrecondition in a
// cluster whose nodes were imported: only a list replaces those.
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
// Pods on the node that are not known to have ended end with it. An unknown node changes nothing.
// As NodeSeen it is refused in a cluster whose nodes were imported.
struct NodeGone {
  static constexpr std::string_view kName = "node_gone";
  std::string cluster;
  // The name of the node in its cluster.
  std::string node;
  // When it went or was last heard; 0: at the input's time; never later.
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "node", node);
    v(3, "at_ms", at_ms);
  }
};
// A pod exists or changed. A new one joins the queue if it has Subak's gate, is of no other manager
// and its namespace is enforced. One without GPUs counts only once it is bound. The record of
// a known pod may change until it is bound. Then only its node counts, and that it runs.
// A record whose `ended` is set ends the pod as PodGone does.
// A report that names a node not seen yet waits for the node. At most limits::kMaxEarlyPods of a
// cluster wait, and pods without GPUs only take half of that. One more is refused as kNotFound.
// Refused as kInvalid: no uid, namespace or name, or gang_size 0 without a gang.
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
// A pod was bound to a node. Another node than that of its hold is followed: the pod counts there
// from now on. A report without uid and attempt may be a late one of an earlier hold, and moves no
// bound pod. A node not seen yet: as for PodSeen. Refused as kNotFound for an unknown pod, as
// kPrecondition for one that is gone, or waits and was never seen in the cluster.
struct PodBound {
  static constexpr std::string_view kName = "pod_bound";
  std::string cluster;
  PodRef pod;
  // The name of the node that the pod is on.
  std::string node;
  // When it was bound, by the reporter's clock. 0, or later than the input: the time of the input.
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "node", node);
    v(4, "at_ms", at_ms);
  }
};
// The first container of a pod started. A pod that is only held is then bound too, to the node
// of its hold. One that waits or already runs changes nothing. Refused as kNotFound for an
// unknown pod.
struct PodRunning {
  static constexpr std::string_view kName = "pod_running";
  std::string cluster;
  PodRef pod;
  // When it started, by the reporter's clock. 0, or later than the input: the time of the input.
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "at_ms", at_ms);
  }
};
// A pod has ended or was deleted: it is charged up to its end, and its place is free. A pod that is
// unknown or has ended already changes nothing. After kRejected, where the node refused the pod,
// the platform is charged for its time on the node. Its shape avoids the node for a while.
struct PodGone {
  static constexpr std::string_view kName = "pod_gone";
  std::string cluster;
  PodRef pod;
  // When it ended, by the reporter's clock. 0: the time of the input.
  TimeMs ended_at_ms = 0;
  // Why it ended. kNone: the reporter does not know.
  Cause cause = Cause::kNone;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "ended_at_ms", ended_at_ms);
    v(4, "cause", cause);
  }
};

// The cluster did not carry out a command for this pod:
//   - kReleaseRefused: the API server does not let its gate be opened
//   - kUnschedulable: the cluster's scheduler cannot bind it to the node of its hold
//   - kEvictRefused: a disruption budget or a webhook does not let it end; the pod keeps its hold
//     and is still to end
// `words`: the cluster's own reason, for people to read; at most limits::kMaxRefusalBytes.
// Refused as kInvalid for any other cause, and as kNotFound for an unknown pod. The first two have
// no effect on a pod that is not held.
struct PodRefused {
  static constexpr std::string_view kName = "pod_refused";
  std::string cluster;
  PodRef pod;
  // One of the three above.
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

// The owner of a gang's pods announces all of them: `groups`, in order of rank. The gang may start
// as soon as the first `least` pods are present. The others are created when those run. Their holds
// stay for limits::kLateMembersMs. With `each` the same holds for each block of that many pods: the
// first `least` of each block must be present.
// The input must follow the first pod. It has no effect on a gang that does not wait, or of which
// no pod was seen. A repeated one applies to the pods that have not come yet.
// Refused as kInvalid: no namespace or name, a group without GPUs, `least` or `each` out of range,
// or another number of pods than the waiting gang has.
struct GangSeen {
  static constexpr std::string_view kName = "gang_seen";
  std::string cluster;
  std::string ns;
  // The gang's name and owner as its pods have them (PodRecord).
  std::string gang;
  std::string owner;
  // All pods of the gang, those that were seen included.
  std::vector<PodGroup> groups;
  // From 1, at most the number of pods, or `each` if that is set.
  std::uint32_t least = 0;
  // A divisor of the number of pods. 0: all pods are one block.
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

// The owner of a gang's pods is gone or has ended, and so have the pods: none is created again. A
// gang of this owner (PodRecord::owner, also with "+" and more behind it) that waits for pods,
// and has none that lives, is done. Refused as kInvalid: no owner.
struct GangGone {
  static constexpr std::string_view kName = "gang_gone";
  std::string cluster;
  // As PodRecord::owner, never empty.
  std::string owner;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "owner", owner);
  }
};

// A namespace exists or changed. The account of its label (core/names.h) counts if no account names
// the namespace. Refused as kInvalid: no name. kExhausted: limits::kMaxLabelledNamespaces of the
// cluster have the label. kPrecondition: the cluster's nodes were imported.
struct NamespaceSeen {
  static constexpr std::string_view kName = "namespace_seen";
  std::string cluster;
  std::string ns;
  // The account of its label. Empty: it has no such label, or the namespace is deleted.
  std::string account;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "ns", ns);
    v(3, "account", account);
  }
};

// Up to `at_ms` the edge has reported all events in the cluster. If a later list does not name a
// pod that was not seen to end, the pod ended then. So downtime of the service is not charged. At
// most one per limits::kSeenUntilEveryMs is stored. An edge that has sent one keeps sending them,
// since its lists count too. Refused as kPrecondition before the list is complete, and in a
// cluster whose nodes were imported.
struct SeenUntil {
  static constexpr std::string_view kName = "seen_until";
  std::string cluster;
  // By the reporter's clock. 0, or later than the input: the time of the input.
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "at_ms", at_ms);
  }
};

}  // namespace in

}  // namespace subak
