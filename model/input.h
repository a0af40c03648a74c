// Inputs of the engine: reports of what happens in clusters, requests of people and programs, and
// inputs that the service's runtime makes. An edge (the program that follows a cluster) or the API
// builds an input, the runtime sets its time, and Engine::apply decides. Inputs are plain records
// with one text form (core/text.h), which scenario files, recorded traces and logs share. Inputs
// are not durable, but facts are (model/fact.h).
//
// Common fields of requests. `cluster` is a name; empty means the only cluster. `reason` is free
// text for the audit log. With `validate_only`, the reply has all warnings and errors, but the
// engine writes no fact. Each input below names its errors. Code in model/bounds/ refuses fields
// that are too large before the engine decides.
// Threads: any; plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "accounting/budget/calendar.h"
#include "accounting/second_meters.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "model/input_account.h"
#include "model/input_seen.h"
#include "model/job.h"
#include "model/method.h"
#include "model/node.h"
#include "model/policy.h"
#include "model/request.h"

namespace subak {

namespace in {

// --- requests of people and programs ------------------------------------------------------------

// Creates a cluster or changes its mode. A change to mode `enforce` adopts the running pods: they
// become jobs of their accounts. A request that changes nothing writes no fact.
// kInvalid: the name is not a DNS label. kNotFound: `must_exist` is set, and there is no such
// cluster. kExhausted: there are limits::kMaxClusters clusters, or all ids are used.
struct SetCluster {
  static constexpr std::string_view kName = "set_cluster";
  // A DNS label, which names the cluster in all later inputs.
  std::string name;
  // The mode of the namespaces that `namespaces` does not list.
  Mode mode = Mode::kObserve;
  // Namespaces with a mode of their own, in any order. Without `merge`, this list replaces the
  // cluster's complete list of such namespaces. With `merge`, it replaces only the entries of the
  // namespaces that it names.
  std::vector<NamespaceMode> namespaces;
  std::string reason;
  bool validate_only = false;
  // Refuses the request if there is no cluster of this name.
  bool must_exist = false;
  // The name of an unused cluster that this new cluster replaces; "": none. The engine removes that
  // cluster if it never had a complete list or a job, and has no nodes. Ignored if the cluster
  // `name` exists.
  std::string replaces{};
  // True: the edit changes only the namespaces that the input names. So two edits at the same time
  // do not undo each other.
  bool merge = false;
  // With `merge`: only a new cluster gets `mode`; an existing cluster does not change its mode.
  bool same_mode = false;
  // With `merge`: these namespaces lose their own mode and get the mode of the cluster.
  std::vector<std::string> as_cluster{};
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "mode", mode);
    v(3, "namespaces", namespaces);
    v(4, "reason", reason);
    v(5, "validate_only", validate_only);
    v(6, "must_exist", must_exist);
    v(7, "replaces", replaces);
    v(8, "merge", merge);
    v(9, "same_mode", same_mode);
    v(10, "as_cluster", as_cluster);
  }
};

// Removes a cluster that has no live jobs and pods, and also removes its nodes. The cluster's id is
// never reused. In this input an empty name is an error.
// kNotFound: no such cluster. kPrecondition: the cluster has jobs that are not done; the error
// names the first job.
struct DeleteCluster {
  static constexpr std::string_view kName = "delete_cluster";
  // The cluster to remove.
  std::string name;
  // The reason for the audit log, as in each request.
  std::string reason;
  // True, in each request: the reply says what the request would do, and nothing changes.
  bool validate_only = false;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "reason", reason);
    v(3, "validate_only", validate_only);
  }
};

// Replaces the imported nodes of a cluster. Nodes that the input does not name are removed, and
// their pods end. If an edge later lists the cluster, the edge's list replaces the imported nodes.
// kNotFound: no such cluster. kInvalid: a node has an impossible value or is named twice.
// kExhausted: too many nodes or product names.
struct ImportNodes {
  static constexpr std::string_view kName = "import_nodes";
  std::string cluster;
  // The complete fleet, in any order. Empty: the cluster has no nodes.
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

// Drains a node, or ends its drain. A drain is Subak's own cordon: Subak places no new pods on the
// node, and running pods stay. Before a planned drain, Subak places a job on the node only if the
// job is certain to end before the drain. The input replaces the node's earlier drain.
// kInvalid: the drain ends before it begins, or in the past, or has times but no `drained`.
struct DrainNode {
  static constexpr std::string_view kName = "drain_node";
  std::string cluster;
  // The name of the node in its cluster.
  std::string node;
  // True: drains the node. False: ends its drain, even a drain that is only planned.
  bool drained = false;
  std::string reason;
  // The time at which the drain begins. 0, or a past time: it begins now.
  TimeMs from_ms = 0;
  // The time at which the drain ends. 0: the drain lasts until a person ends it.
  TimeMs until_ms = 0;
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

// Replaces the complete policy. If the policy is the same as before, the engine writes no fact. If
// there is usage, a new half-life begins a HalfLifeChange (model/policy.h), because the service
// must first compute all meters again. kInvalid: a value is out of its range. kConflict: the policy
// is not the expected one. kPrecondition: the order is kUsageTick, and jobs hold GPUs, or the
// half-life would change although there is usage.
struct SetPolicy {
  static constexpr std::string_view kName = "set_policy";
  Policy policy;
  PolicyEdit edit;
  template <class V>
  void fields(V& v) {
    v(1, "policy", policy);
    v(2, "edit", edit);
  }
};

// Creates an API job. A launcher, which is your own edge for such jobs, starts the job's pods when
// it gets an open_gate effect (model/effect.h). The reply has the job's id, and a warning if the
// job would not fit even in the empty fleet. kNotFound: no such cluster or account. kInvalid: the
// user's name is not allowed, or neither a GPU nor a node has the MIG profile. kPrecondition: the
// account drains, or a limit on its path never allows the request. kExhausted:
// limits::kMaxQueuedJobs jobs wait.
struct SubmitJob {
  static constexpr std::string_view kName = "submit_job";
  // The job starts in this cluster only.
  std::string cluster;
  // The path of the account that pays.
  std::string account;
  // The user below the account. Subak creates a new user on first use. Empty: the account itself.
  std::string user;
  // Free text for people. Names need not be unique.
  std::string name;
  // All pods of the job. The request never changes later.
  GangRequest request;
  // Among the jobs of one account and its users, the job with the highest number comes first.
  std::int32_t priority = 0;
  // The time after which the job should end. 0: no time limit.
  DurationMs time_limit_ms = 0;
  // True: the job begins in the state kPaused, and a person must release it.
  bool held = false;
  bool validate_only = false;
  // How long the job's pods may take to end after Subak asked them. 0: not known.
  DurationMs grace_ms = 0;
  // The priority as a text (model/policy.h). Empty: the job has the number `priority`.
  std::string priority_class{};
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
    v(10, "grace_ms", grace_ms);
    v(11, "priority_class", priority_class);
  }
};

// Ends a job. A job without pods ends at once. Else Subak evicts the job's pods. If late pods of a
// gang became jobs of their own, these jobs end with the gang. A job that is ending or done does
// not change. kNotFound: no such job.
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

// Pauses a waiting job (`held`), or releases a paused job, so that it waits for its turn again. A
// paused job stays in the list of jobs and does not start. A release also clears the scheduler's
// refusals of the job. kNotFound: no such job. kPrecondition: the job does not wait, or Subak has
// paused it for a time.
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

// Finalizes an upgrade: allows facts of `version` in the store. This cannot be undone: programs
// that do not know the version then refuse the store. kInvalid: the version is older than the
// store's, or newer than known_fact_version().
struct Finalize {
  static constexpr std::string_view kName = "finalize";
  // The fact version (known_fact_version() of model/fact.h) to which the store is raised.
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

// Accepts the time of a wall clock that the service does not trust
// (server/runtime/clock/believed_time.h). kPrecondition: the service trusts the clock, so there is
// nothing to accept.
struct AcceptClock {
  static constexpr std::string_view kName = "accept_clock";
  // The time that the clock shows, and whether it is trusted. The runtime sets both.
  TimeMs wall_ms = 0;
  bool believed = false;
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

// The API refused a call because the caller lacks the rights. The engine only writes a row of the
// audit log. The API limits the number of such inputs.
struct CallDenied {
  static constexpr std::string_view kName = "call_denied";
  // The account path or the job that the call names. Empty: it names none.
  std::string subject;
  // The error message that the caller got.
  std::string message;
  template <class V>
  void fields(V& v) {
    v(1, "subject", subject);
    v(2, "message", message);
  }
};

// --- made by the runtime -------------------------------------------------------------------------

// The time of Engine::next_deadline() has come. The engine ends the holds, drains and pauses that
// are due, and asks jobs past their time limit to end.
struct Tick {
  static constexpr std::string_view kName = "tick";
  template <class V>
  void fields(V&) {}
};
// One scheduling pass. The runtime sends this input at the end of each batch.
struct Pass {
  static constexpr std::string_view kName = "pass";
  template <class V>
  void fields(V&) {}
};
// The first input after a start of the service. After this input, edges must list the watched
// clusters again.
struct Restarted {
  static constexpr std::string_view kName = "restarted";
  template <class V>
  void fields(V&) {}
};

// The clock was `ahead_ms` ahead at the last start, as its present time proves. The engine refunds
// the ledger rows of that leap of time (fact::TimeLeapt).
struct ClockWrong {
  static constexpr std::string_view kName = "clock_wrong";
  DurationMs ahead_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "ahead_ms", ahead_ms);
  }
};

// Completes a HalfLifeChange: the engine puts the new half-life in force. The input has the values
// of all decayed meters at the fact `seq`, as if the new half-life had been in force from the
// start. The service computes these values from the facts (docs/design/0108).
// kConflict: no change that began with the fact `seq` is under way.
struct HalfLifeRead {
  static constexpr std::string_view kName = "half_life_read";
  // HalfLifeChange::seq.
  std::uint64_t seq = 0;
  // By account, each once. An account that is not in the list had no usage and no adjustment.
  std::vector<MeterValues> meters;
  template <class V>
  void fields(V& v) {
    v(1, "seq", seq);
    v(2, "meters", meters);
  }
};

// Reports the civil periods of Policy::books.budget_zone from the time zone data of the service's
// system. The service sends this input after a start, after an edit of the zone, and once a day.
// The engine writes a fact only if the periods are news (is_news() of
// accounting/budget/calendar.h).
// kInvalid: the lists do not pass check_civil_ends().
struct TellCivilEnds {
  static constexpr std::string_view kName = "tell_civil_ends";
  CivilEnds ends;
  template <class V>
  void fields(V& v) {
    v(1, "ends", ends);
  }
};

// All kinds of input.
using Kinds = std::variant<SetCluster, ImportNodes, DrainNode, SetPolicy, SetAccount, DeleteAccount,
                           SubmitJob, CancelJob, HoldJob, ListBegin, ListComplete, NodeSeen,
                           NodeGone, PodSeen, PodBound, PodRunning, PodGone, Tick, Pass, Restarted,
                           Finalize, AcceptClock, DeleteCluster, CallDenied, PodRefused, SeenUntil,
                           NamespaceSeen, GangGone, GangSeen, ClockWrong, ApplyAccounts,
                           HalfLifeRead, TellCivilEnds, MoveAccount, OwnerSeen>;

// One input of any kind. bodies.cc defines copy, move and destruction, as for fact::Body.
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

// Returns the method to which request ids of this input belong (model/method.h).
Method method_of(const in::Body& body);

// A session is the time in which one edge reports a cluster: from the beginning of its list until
// another list of the cluster begins. Session numbers rise from 1. Only the newest session counts.
// The engine refuses inputs of an older session with kConflict (docs/design/0031).
// Traces and the simulator use kAnySession. For such an input, the engine checks no session.
inline constexpr std::uint64_t kAnySession = 0;
// The session number of an edge that has not begun a list. The engine refuses inputs of such an
// edge while another edge has a session for the cluster.
inline constexpr std::uint64_t kNoSession = UINT64_MAX;

// One input, with the fields that all kinds share. The runtime sets `time_ms`, which never goes
// backwards (apply() asserts this). `actor` is the caller, for the audit log ("token:ci",
// "loopback"). `request_id`, if set, makes a mutation idempotent, per actor and method. A second
// input with the same request id and the same content gets the same reply, and the engine writes no
// second fact. The engine refuses a second input with the same request id and other content.
struct Input {
  TimeMs time_ms = 0;
  std::string request_id;
  std::string actor;
  in::Body body;
  // The digest of the caller's content (core/content_hash.h). The API sets the digest if it added
  // values from existing state to the body. 0: the body has only the caller's content, so the
  // engine computes the digest.
  std::uint64_t content = 0;
  // For observations in a cluster: the reporter's session (docs/design/0031).
  std::uint64_t session = kAnySession;
  // The time of this report by the reporter's clock. 0: not known. The times in the body are of the
  // same clock (for an observed pod, the times at which its containers started and ended). The
  // difference `time_ms` - `said_at_ms` says how far the reporter's clock is behind the service's
  // clock. The engine corrects the times in the body by this difference (docs/design/0078).
  TimeMs said_at_ms = 0;
};

// Returns the name of the cluster if the input is an observation in a cluster; nullptr for all
// other inputs.
const std::string* observed_cluster(const in::Body& body);

// Convert an input to and from its text form, one canonical line: "@1000 submit_job request_id=r1
// actor=ana account=ml ...". The error is kInvalid and names the field.
std::string input_to_text(const Input& input);
Result<Input> input_from_text(std::string_view line);

}  // namespace subak
