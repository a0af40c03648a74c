// Inputs that tell what is seen in a cluster. Part of engine/input.h, which is what others include.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "placement/node.h"
#include "placement/request.h"
#include "queue/job.h"

namespace subak {

// One pod as an edge sees it. A gated GPU pod joins the queue; one bound without us is foreign.
struct PodRecord {
  std::string uid;
  std::string ns;
  std::string name;
  std::string account;          // label subak.gpu/account; empty: the namespace decides
  std::string user;             // label subak.gpu/user
  std::string gang;             // name of its gang inside the namespace; empty: the pod alone
  std::uint32_t gang_size = 1;  // 0: it is of a gang, and nobody says how many start together
  // Where it stands among its gang's pods, whose ranks are in the order of these: its completion or worker
  // index, or any number that grows with it. -1: not known, behind the others as they come.
  std::int32_t rank = -1;
  PodShape shape;
  Topology topology = Topology::kAny;
  bool prefer = false;
  std::uint32_t segment = 0;
  std::int32_t priority = 0;
  DurationMs time_limit_ms = 0;
  bool gated = false;          // carries our gate
  bool controlled = false;     // has a controller that would replace it
  bool other_manager = false;  // another queue manager's pod: charged, never queued
  std::string node;            // spec.nodeName, empty while unbound
  bool running = false;
  TimeMs bound_at_ms = 0;      // 0: the time of the input
  Cause ended = Cause::kNone;  // why it has ended; kNone: it lives
  TimeMs ended_at_ms = 0;      // 0: the time of the input
  TimeMs created_at_ms = 0;    // its job waits since then; 0 or later than the input: since that
  // Uid of what makes the pods anew: of a gang with the name its identity, of a pod alone what its
  // replacement is known by. Empty where it has none, or where the gang is named by our own label.
  std::string owner{};
  bool foreign_gates = false;   // carries scheduling gates of others
  std::string let_go_to{};      // the node that our opened gate names; empty: it is closed
  bool mixed_products = false;  // its gang may have GPUs of several products
  bool balanced = false;        // its gang is split evenly over as few NVLink domains as will do
  std::uint32_t spare = 0;      // nodes of each NVLink domain that its gang leaves for replacements
  bool compute_domain = false;  // its gang uses a ComputeDomain
  TimeMs running_at_ms = 0;     // since when its first container runs; 0: not known
  // That its pods are a gang is only inferred: when one is lost the others run on, and who comes after
  // the start is a job of its own.
  bool replaced_alone = false;
  bool size_of_owner = false;  // gang_size is what its owner says now: the newest counts
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
    v(10, "topology", topology);
    v(11, "prefer", prefer);
    v(12, "segment", segment);
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
    v(27, "mixed_products", mixed_products);
    v(28, "balanced", balanced);
    v(29, "spare", spare);
    v(30, "compute_domain", compute_domain);
    v(31, "running_at_ms", running_at_ms);
    v(32, "replaced_alone", replaced_alone);
    v(33, "size_of_owner", size_of_owner);
  }
  friend bool operator==(const PodRecord&, const PodRecord&) = default;
};

// Names one pod: by Kubernetes uid, or by (job, rank) for a pod that a launcher made for an API
// job.
struct PodRef {
  std::string uid;
  JobId job;
  std::uint32_t rank = 0;
  std::uint32_t attempt = 0;  // the reservation that the pod was made for; 0: whichever is current
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

// A fresh list begins, and with it a session (Input::session, which is newer than the last one, or
// kAnySession: then it gets the next number): nothing is scheduled there until ListComplete; what
// was not named by then is gone.
struct ListBegin {
  static constexpr std::string_view kName = "list_begin";
  std::string cluster;
  // Which cluster it is: in Kubernetes the uid of the namespace kube-system. The first that is said is
  // kept, and a list of another is refused, until nodes are imported. Empty: not known.
  std::string uid{};
  // The user as whom the API server knows the edge: until another list begins the webhook trusts him there,
  // as the service itself. Empty: not known.
  std::string known_as{};
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "uid", uid);
    v(3, "known_as", known_as);
  }
};
struct ListComplete {
  static constexpr std::string_view kName = "list_complete";
  std::string cluster;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
  }
};
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
// What was on the node and is not known to have ended ended with it.
struct NodeGone {
  static constexpr std::string_view kName = "node_gone";
  std::string cluster;
  std::string node;
  TimeMs at_ms =
      0;  // when it went, or was heard last; 0: the time of the input; never later than it
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "node", node);
    v(3, "at_ms", at_ms);
  }
};
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
struct PodBound {
  static constexpr std::string_view kName = "pod_bound";
  std::string cluster;
  PodRef pod;
  std::string node;
  TimeMs at_ms = 0;  // 0: the time of the input; never later than it
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "node", node);
    v(4, "at_ms", at_ms);
  }
};
struct PodRunning {
  static constexpr std::string_view kName = "pod_running";
  std::string cluster;
  PodRef pod;
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "at_ms", at_ms);
  }
};
struct PodGone {
  static constexpr std::string_view kName = "pod_gone";
  std::string cluster;
  PodRef pod;
  TimeMs ended_at_ms = 0;  // 0: the time of the input
  Cause cause = Cause::kNone;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "ended_at_ms", ended_at_ms);
    v(4, "cause", cause);
  }
};

// The cluster does not do with the pod what it was asked for: kReleaseRefused (the API server does not
// let its gate be opened), kUnschedulable (the cluster's scheduler finds no way to its place) or
// kEvictRefused (the pod is to end, and a disruption budget or a webhook does not let it). After the last
// it keeps its place, and is still to end. `words`: the cluster's own on why, as people are to read them; at most
// limits::kMaxRefusalBytes.
struct PodRefused {
  static constexpr std::string_view kName = "pod_refused";
  std::string cluster;
  PodRef pod;
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

// What makes the pods of a gang says which there will be: `groups`, in order of rank. It may start as soon
// as the first `least` of them are there; the others come when those run, and have their place kept until
// then, for limits::kLateMembersMs. Said after the first of its pods was: of a gang that does not wait, or
// of which nobody was seen, it means nothing. Said anew it counts for who has not come yet. With `each` the same
// holds for every so many of them: the first `least` of each have to be there.
struct GangSeen {
  static constexpr std::string_view kName = "gang_seen";
  std::string cluster;
  std::string ns;
  std::string gang;  // as PodRecord has them
  std::string owner;
  std::vector<PodGroup> groups;
  std::uint32_t least = 0;  // from 1
  std::uint32_t each = 0;   // a divisor of their number; 0: all of them
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

// What made the pods of a gang is gone, or has come to its end, and so have they: nobody makes them anew. A gang
// of this owner (PodRecord::owner, also with "+" and more behind it) that waits for its pods is done.
struct GangGone {
  static constexpr std::string_view kName = "gang_gone";
  std::string cluster;
  std::string owner;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "owner", owner);
  }
};

// A namespace is there, or changed. The account that its label names (core/names.h) counts where no account
// names the namespace.
struct NamespaceSeen {
  static constexpr std::string_view kName = "namespace_seen";
  std::string cluster;
  std::string ns;
  std::string account;  // empty: it has no such label, or is gone
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "ns", ns);
    v(3, "account", account);
  }
};

// All that happened in the cluster up to then has been said. What a later list does not name, of what
// nobody saw end, ended then: so a service that was away does not charge for the time. At most one in
// limits::kSeenUntilEveryMs is kept. An edge that has said it once goes on, as its lists count too.
struct SeenUntil {
  static constexpr std::string_view kName = "seen_until";
  std::string cluster;
  TimeMs at_ms = 0;  // 0: the time of the input; never later than it
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "at_ms", at_ms);
  }
};

}  // namespace in

}  // namespace subak
