// Inputs: something happened or was asked. An edge builds one, the shell stamps its time,
// Engine::apply decides. Plain records with one text form (core/text.h), so that scenario files,
// recorded traces and logs are the same language. Nothing here is durable: facts are
// (engine/fact.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "engine/method.h"
#include "engine/policy.h"
#include "placement/node.h"
#include "placement/request.h"
#include "queue/job.h"

namespace subak {

// One pod as an edge sees it. A gated GPU pod joins the queue; one bound without us is foreign.
struct PodRecord {
  std::string uid;
  std::string ns;
  std::string name;
  std::string account;  // label subak.gpu/account; empty: the namespace decides
  std::string user;     // label subak.gpu/user
  std::string gang;     // name of its gang inside the namespace; empty: the pod alone
  std::uint32_t gang_size = 1;
  std::int32_t rank = -1;  // completion or worker index; -1: order of arrival
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
  // Uid of what makes the gang's pods anew: with the name its identity. Empty where it has none, or
  // where the gang is named by our own label.
  std::string owner{};
  bool foreign_gates = false;  // carries scheduling gates of others
  std::string let_go_to{};     // the node that our opened gate names; empty: it is closed
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

// --- asked by people and programs ----------------------------------------------------------------

// Creates a cluster or changes its mode. Going to enforce adopts what runs.
struct SetCluster {
  static constexpr std::string_view kName = "set_cluster";
  std::string name;
  Mode mode = Mode::kObserve;
  std::vector<NamespaceMode> namespaces;  // overrides, sorted
  std::string reason;
  bool validate_only = false;
  bool must_exist = false;  // refuse if there is none of this name
  // A cluster that goes when this one is created, if it never had a node or a job; empty: none
  std::string replaces{};
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "mode", mode);
    v(3, "namespaces", namespaces);
    v(4, "reason", reason);
    v(5, "validate_only", validate_only);
    v(6, "must_exist", must_exist);
    v(7, "replaces", replaces);
  }
};

// Removes a cluster in which nothing lives, with its nodes. Its id is never given to another.
struct DeleteCluster {
  static constexpr std::string_view kName = "delete_cluster";
  std::string name;
  std::string reason;
  bool validate_only = false;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "reason", reason);
    v(3, "validate_only", validate_only);
  }
};

// Replaces a cluster's owned fleet. A watch of the cluster takes over from it.
struct ImportNodes {
  static constexpr std::string_view kName = "import_nodes";
  std::string cluster;
  std::vector<NodeSpec> nodes;
  std::string reason;
  bool validate_only = false;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "nodes", nodes);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
  }
};

// Our own cordon: nothing new is placed there.
struct DrainNode {
  static constexpr std::string_view kName = "drain_node";
  std::string cluster;
  std::string node;
  bool drained = false;
  std::string reason;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "node", node);
    v(3, "drained", drained);
    v(4, "reason", reason);
  }
};

struct SetPolicy {
  static constexpr std::string_view kName = "set_policy";
  Policy policy;
  template <class V>
  void fields(V& v) {
    v(1, "policy", policy);
  }
};

// Creates (revision 0 or absent account) or replaces an account. `revision` != 0 must be the
// current one.
struct SetAccount {
  static constexpr std::string_view kName = "set_account";
  AccountSpec spec;
  std::int64_t revision = 0;
  std::string reason;
  bool validate_only = false;
  bool must_create = false;  // refuse if the account exists
  bool must_exist = false;   // refuse if it does not
  template <class V>
  void fields(V& v) {
    v(1, "spec", spec);
    v(2, "revision", revision);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
    v(5, "must_create", must_create);
    v(6, "must_exist", must_exist);
  }
};

struct DeleteAccount {
  static constexpr std::string_view kName = "delete_account";
  std::string path;
  std::int64_t revision = 0;
  std::string reason;
  bool validate_only = false;
  template <class V>
  void fields(V& v) {
    v(1, "path", path);
    v(2, "revision", revision);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
  }
};

struct SubmitJob {
  static constexpr std::string_view kName = "submit_job";
  std::string cluster;  // empty: the only one
  std::string account;
  std::string user;
  std::string name;
  GangRequest request;
  std::int32_t priority = 0;
  DurationMs time_limit_ms = 0;
  bool held = false;
  bool validate_only = false;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "account", account);
    v(3, "user", user);
    v(4, "name", name);
    v(5, "request", request);
    v(6, "priority", priority);
    v(7, "time_limit_ms", time_limit_ms);
    v(8, "held", held);
    v(9, "validate_only", validate_only);
  }
};

// Ends a job: one without pods at once, any other by evicting its pods.
struct CancelJob {
  static constexpr std::string_view kName = "cancel_job";
  JobId job;
  std::string reason;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "reason", reason);
  }
};

// held: it is paused, stays in the list and does not start; !held: it may start again.
struct HoldJob {
  static constexpr std::string_view kName = "hold_job";
  JobId job;
  bool held = false;
  std::string reason;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "held", held);
    v(3, "reason", reason);
  }
};

// Allows the kinds of facts of `version`. There is no way back: older programs refuse the store.
struct Finalize {
  static constexpr std::string_view kName = "finalize";
  std::uint32_t version = 0;
  std::string reason;
  bool validate_only = false;
  template <class V>
  void fields(V& v) {
    v(1, "version", version);
    v(2, "reason", reason);
    v(3, "validate_only", validate_only);
  }
};

// Takes over a wall clock that is not believed (server/runtime/believed_time.h).
struct AcceptClock {
  static constexpr std::string_view kName = "accept_clock";
  TimeMs wall_ms = 0;     // what it shows; the runtime fills in this and the next
  bool believed = false;  // there is nothing to accept
  std::string reason;
  bool validate_only = false;
  template <class V>
  void fields(V& v) {
    v(1, "wall_ms", wall_ms);
    v(2, "believed", believed);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
  }
};

// A call that the edge turned away for lack of rights: a row of the audit log, nothing else. The
// edge bounds how many there are.
struct CallDenied {
  static constexpr std::string_view kName = "call_denied";
  std::string subject;  // account path or job, where it is known
  std::string message;  // what the caller was told
  template <class V>
  void fields(V& v) {
    v(1, "subject", subject);
    v(2, "message", message);
  }
};

// --- seen in a cluster ---------------------------------------------------------------------------

// A fresh list begins, and with it a session (Input::session, which is newer than the last one, or
// kAnySession: then it gets the next number): nothing is scheduled there until ListComplete; what
// was not named by then is gone.
struct ListBegin {
  static constexpr std::string_view kName = "list_begin";
  std::string cluster;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
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
struct NodeGone {
  static constexpr std::string_view kName = "node_gone";
  std::string cluster;
  std::string node;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "node", node);
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

// The pod cannot go to the place that it was let go to: kReleaseRefused (the API server does not
// let its gate be opened) or kUnschedulable (the cluster's scheduler finds no way there).
struct PodRefused {
  static constexpr std::string_view kName = "pod_refused";
  std::string cluster;
  PodRef pod;
  Cause cause = Cause::kNone;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "pod", pod);
    v(3, "cause", cause);
  }
};

// --- made by the runtime -------------------------------------------------------------------------

struct Tick {  // a deadline of next_deadline() has come
  static constexpr std::string_view kName = "tick";
  template <class V>
  void fields(V&) {}
};
struct Pass {  // one scheduling pass; ends each batch
  static constexpr std::string_view kName = "pass";
  template <class V>
  void fields(V&) {}
};
struct Restarted {  // first input after recovery: observed clusters must list again
  static constexpr std::string_view kName = "restarted";
  template <class V>
  void fields(V&) {}
};

using Body = std::variant<SetCluster, ImportNodes, DrainNode, SetPolicy, SetAccount, DeleteAccount,
                          SubmitJob, CancelJob, HoldJob, ListBegin, ListComplete, NodeSeen,
                          NodeGone, PodSeen, PodBound, PodRunning, PodGone, Tick, Pass, Restarted,
                          Finalize, AcceptClock, DeleteCluster, CallDenied, PodRefused>;

}  // namespace in

Method method_of(const in::Body& body);

// One edge follows a cluster at a time, from the list with which it begins until another begins
// one: that is a session. Numbers rise, from 1; the newest session counts, what an older one says
// is refused.
inline constexpr std::uint64_t kAnySession = 0;  // nobody's: not checked (traces, the simulator)
// Of an edge that began no list: refused where a session follows the cluster.
inline constexpr std::uint64_t kNoSession = UINT64_MAX;

// One input with what every input has. `time_ms` never goes backwards (the shell stamps it; apply
// asserts). `actor` is who asked, for the audit log ("token:ci", "loopback"). `request_id`, if any,
// makes a mutation idempotent: the same id of the same actor for the same method with the same
// content gets the same reply and makes no second fact; with other content it is refused.
struct Input {
  TimeMs time_ms = 0;
  std::string request_id;
  std::string actor;
  in::Body body;
  // core/content_hash.h of what the caller said, where the edge has made the body from that and
  // from what was there; 0: the body is what was said, and the engine hashes it.
  std::uint64_t content = 0;
  // Of what is seen in a cluster: whose word it is (docs/design/0031).
  std::uint64_t session = kAnySession;
};

// The cluster that an input of "seen in a cluster" is of; nullptr for every other.
const std::string* observed_cluster(const in::Body& body);

// "@1000 submit_job request_id=r1 actor=ana account=ml ..." and back. One line, canonical.
std::string input_to_text(const Input& input);
Result<Input> input_from_text(std::string_view line);

}  // namespace subak
