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
#include "engine/input_seen.h"
#include "engine/method.h"
#include "engine/policy.h"
#include "placement/node.h"
#include "placement/request.h"
#include "queue/job.h"

namespace subak {

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

// Our own cordon: nothing new is placed there, and what runs there stays. Of a drain that begins later only
// what is surely gone by then is placed there meanwhile. What was said before of the node counts no more.
// kInvalid: it ends before it begins, or has ended; one that is not drained has times.
struct DrainNode {
  static constexpr std::string_view kName = "drain_node";
  std::string cluster;
  std::string node;
  bool drained = false;
  std::string reason;
  TimeMs from_ms = 0;   // 0, or past: now
  TimeMs until_ms = 0;  // 0: until somebody ends it
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "node", node);
    v(3, "drained", drained);
    v(4, "reason", reason);
    v(5, "from_ms", from_ms);
    v(6, "until_ms", until_ms);
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

// The clock is back at what it should be, and with that the one of the start before was wrong: it was `ahead_ms` ahead.
struct ClockWrong {
  static constexpr std::string_view kName = "clock_wrong";
  DurationMs ahead_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "ahead_ms", ahead_ms);
  }
};

// All kinds of input.
using Kinds = std::variant<SetCluster, ImportNodes, DrainNode, SetPolicy, SetAccount, DeleteAccount,
                           SubmitJob, CancelJob, HoldJob, ListBegin, ListComplete, NodeSeen,
                           NodeGone, PodSeen, PodBound, PodRunning, PodGone, Tick, Pass, Restarted,
                           Finalize, AcceptClock, DeleteCluster, CallDenied, PodRefused, SeenUntil,
                           NamespaceSeen, GangGone, GangSeen, ClockWrong>;

// One input of any kind. Copy, move and destruction are defined in bodies.cc, as those of fact::Body.
struct Body : Kinds {
  using Alternatives = Kinds;
  using Kinds::Kinds;
  Body();
  Body(const Body& other);
  Body(Body&& other) noexcept;
  Body& operator=(const Body& other);
  Body& operator=(Body&& other) noexcept;
  ~Body();
};

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
  // What the clock showed, when this was said, by which the edge has read the times in the body (of a pod that it has
  // seen: the end and the start of its containers). 0: not known. The difference to time_ms is how far
  // that clock is behind ours, and puts these times right (docs/design/0078).
  TimeMs said_at_ms = 0;
};

// The cluster that an input of "seen in a cluster" is of; nullptr for every other.
const std::string* observed_cluster(const in::Body& body);

// "@1000 submit_job request_id=r1 actor=ana account=ml ..." and back. One line, canonical.
std::string input_to_text(const Input& input);
Result<Input> input_from_text(std::string_view line);

}  // namespace subak
