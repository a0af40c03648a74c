// Facts: what we decided and stand by. Numbered from 1 without gaps, durable, versioned,
// append-only: the state is the fold of the facts and of nothing else. Engine::apply makes them,
// Engine::evolve applies them (also at recovery and in the follower), the store keeps them as
// protobuf (proto/subak/fact/v1/fact.proto has the same field numbers; a test compares).
//
// Evolution: fields are only added; a new kind is written only after `admin finalize`; an unknown
// kind stops start-up. The position in fact::Body is the durable kind number minus 1: append only
// (docs/design/0002).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "accounting/ledger.h"
#include "accounting/tree.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/fact_kept.h"
#include "engine/input.h"
#include "placement/node.h"
#include "placement/request.h"
#include "queue/job.h"

namespace subak {

// Who asked for it and why: part of every edit, so that the audit log is a reading of the facts.
struct EditStamp {
  std::string actor;
  std::string reason;
  std::string request_id;
  Method method = Method::kNone;  // this and the next only beside a request id
  std::uint64_t content = 0;      // core/content_hash.h of what was asked
  template <class V>
  void fields(V& v) {
    v(1, "actor", actor);
    v(2, "reason", reason);
    v(3, "request_id", request_id);
    v(4, "method", method);
    v(5, "content", content);
  }
  friend bool operator==(const EditStamp&, const EditStamp&) = default;
};

namespace fact {

struct ClusterSet {
  static constexpr std::string_view kName = "cluster_set";
  ClusterId id;
  std::string name;
  Mode mode = Mode::kObserve;
  std::vector<NamespaceMode> namespaces;
  EditStamp edit;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "name", name);
    v(3, "mode", mode);
    v(4, "namespaces", namespaces);
    v(5, "edit", edit);
  }
};

// Whether a cluster's list is complete, and whether its fleet is owned (imported) or watched.
struct ClusterSynced {
  static constexpr std::string_view kName = "cluster_synced";
  ClusterId id;
  bool synced = false;
  bool owned = false;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "synced", synced);
    v(3, "owned", owned);
  }
};

// What we take a node to be from now on (and so what is installed).
struct NodeSet {
  static constexpr std::string_view kName = "node_set";
  NodeId id;
  ClusterId cluster;
  NodeSpec spec;
  bool drained = false;
  EditStamp edit;  // of an import or drain; empty when observed
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "cluster", cluster);
    v(3, "spec", spec);
    v(4, "drained", drained);
    v(5, "edit", edit);
  }
};

struct NodeRemoved {
  static constexpr std::string_view kName = "node_removed";
  NodeId id;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
  }
};

struct PolicySet {
  static constexpr std::string_view kName = "policy_set";
  Policy policy;
  EditStamp edit;
  template <class V>
  void fields(V& v) {
    v(1, "policy", policy);
    v(2, "edit", edit);
  }
};

struct AccountSet {
  static constexpr std::string_view kName = "account_set";
  AccountId id;
  AccountSpec spec;
  std::int64_t revision = 0;
  EditStamp edit;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "spec", spec);
    v(3, "revision", revision);
    v(4, "edit", edit);
  }
};

struct AccountDeleted {
  static constexpr std::string_view kName = "account_deleted";
  AccountId id;
  EditStamp edit;
  // In checkpoints only: the node as it was, which keeps its id for the ledger.
  AccountSpec spec;
  AccountId parent;
  std::int64_t revision = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "edit", edit);
    v(3, "spec", spec);
    v(4, "parent", parent);
    v(5, "revision", revision);
  }
};

// An edit that was refused, for the audit log; changes nothing.
struct EditRefused {
  static constexpr std::string_view kName = "edit_refused";
  std::string what;     // the input's kind
  std::string subject;  // account path, job, cluster
  std::string error;
  EditStamp edit;
  template <class V>
  void fields(V& v) {
    v(1, "what", what);
    v(2, "subject", subject);
    v(3, "error", error);
    v(4, "edit", edit);
  }
};

// A job exists. Its state is kQueued, kPaused, or kIncomplete (pods follow as PodAdded); kForeign and
// kAdopted jobs start in kRunning and their pods are bound by PodAdded.
struct JobCreated {
  static constexpr std::string_view kName = "job_created";
  JobId id;
  JobOrigin origin = JobOrigin::kApi;
  JobState state = JobState::kIncomplete;
  AccountId leaf;       // the user's node, else the account; kUnassigned if of no account
  std::string name;     // free text of an API job, "ns/gang" of pods
  GangRequest request;  // pods: topology, prefer, segment only until complete
  std::uint32_t gang_size = 0;
  std::int32_t priority = 0;
  DurationMs time_limit_ms = 0;
  EditStamp edit;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "origin", origin);
    v(3, "state", state);
    v(4, "leaf", leaf);
    v(5, "name", name);
    v(6, "request", request);
    v(7, "gang_size", gang_size);
    v(8, "priority", priority);
    v(9, "time_limit_ms", time_limit_ms);
    v(10, "edit", edit);
  }
  friend bool operator==(const JobCreated&, const JobCreated&) = default;
};

// One pod joins a job. With `bound` it already sits on `slot` (foreign, adopted).
struct PodAdded {
  static constexpr std::string_view kName = "pod_added";
  JobId job;
  std::uint32_t rank = 0;
  std::string uid;
  std::string name;  // "namespace/name"
  PodShape shape;
  bool controlled = false;
  bool bound = false;
  PodSlot slot;
  TimeMs bound_at_ms = 0;
  std::string dispute;  // what it says otherwise than its gang, both values; empty: nothing
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "uid", uid);
    v(4, "name", name);
    v(5, "shape", shape);
    v(6, "controlled", controlled);
    v(7, "bound", bound);
    v(8, "slot", slot);
    v(9, "bound_at_ms", bound_at_ms);
    v(10, "dispute", dispute);
  }
};

// A job without an attempt changes state by the table of queue/job.h: it waits otherwise than
// before, or it is done.
struct JobMoved {
  static constexpr std::string_view kName = "job_moved";
  JobId id;
  JobState to = JobState::kIncomplete;
  Cause cause = Cause::kNone;  // of kDone
  EditStamp edit;
  JobState from = JobState::kIncomplete;  // what it was; only beside an edit, for the audit log
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "to", to);
    v(3, "cause", cause);
    v(4, "edit", edit);
    v(5, "from", from);
  }
};

// A foreign job becomes its account's own, as it runs.
struct JobAdopted {
  static constexpr std::string_view kName = "job_adopted";
  JobId id;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
  }
};

// The whole gang has its place: a hold begins for each rank. A queued job becomes kStarting.
struct AttemptStarted {
  static constexpr std::string_view kName = "attempt_started";
  JobId id;
  std::uint32_t attempt = 0;
  TimeMs until_ms = 0;         // all its pods should be bound by then
  std::vector<PodSlot> slots;  // by rank
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "until_ms", until_ms);
    v(4, "slots", slots);
  }
};

// The time of a hold is over and what is unbound keeps its place: nothing can be taken back without
// losing the pod.
struct DeadlinePassed {
  static constexpr std::string_view kName = "deadline_passed";
  JobId id;
  std::uint32_t attempt = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
  }
};

// The job's pods are asked to end: it becomes kEnding.
struct StopAsked {
  static constexpr std::string_view kName = "stop_asked";
  JobId id;
  std::uint32_t attempt = 0;
  Cause cause = Cause::kNone;
  EditStamp by;         // empty: we ourselves
  TimeMs until_ms = 0;  // what is unbound keeps its place until then; 0: it has none, or for ever
  JobState from = JobState::kIncomplete;  // what it was
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "cause", cause);
    v(4, "by", by);
    v(5, "until_ms", until_ms);
    v(6, "from", from);
  }
};

// Nothing of the attempt is left: every slot that is still held unbound is given back, and the job
// waits again or is done.
struct AttemptEnded {
  static constexpr std::string_view kName = "attempt_ended";
  JobId id;
  std::uint32_t attempt = 0;  // 0: of a job that was found running
  Cause cause = Cause::kNone;
  JobState to = JobState::kDone;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "cause", cause);
    v(4, "to", to);
  }
};

// A pod that was on its way gives its place back, and stays.
struct PlaceLost {
  static constexpr std::string_view kName = "place_lost";
  JobId job;
  std::uint32_t rank = 0;
  Cause cause = Cause::kNone;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "cause", cause);
  }
};

// The hold became a meter at `at_ms` on `slot` (the reserved one unless somebody bound it
// elsewhere). A second one for a bound pod corrects where it is: it ran before its node was known,
// and was taken to be on its reserved one.
struct PodBound {
  static constexpr std::string_view kName = "pod_bound";
  JobId job;
  std::uint32_t rank = 0;
  TimeMs at_ms = 0;
  PodSlot slot;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "at_ms", at_ms);
    v(4, "slot", slot);
  }
};

struct PodRunning {
  static constexpr std::string_view kName = "pod_running";
  JobId job;
  std::uint32_t rank = 0;
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "at_ms", at_ms);
  }
};

// The pod gave its slot back at `at_ms`, whatever it held.
struct PodGone {
  static constexpr std::string_view kName = "pod_gone";
  JobId job;
  std::uint32_t rank = 0;
  TimeMs at_ms = 0;
  Cause cause = Cause::kNone;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "at_ms", at_ms);
    v(4, "cause", cause);
  }
};

// One row of the books.
struct Charged {
  static constexpr std::string_view kName = "charged";
  LedgerRow row;
  template <class V>
  void fields(V& v) {
    v(1, "row", row);
  }
};

// Nodes are kept free for this queued job, the neediest that did not fit; no job: for nobody.
struct Awaited {
  static constexpr std::string_view kName = "awaited";
  ClusterId cluster;
  JobId job;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "job", job);
  }
};

// The capacity side of one node's bill up to `as_of_ms`; written at each UTC midnight, and in
// checkpoints.
struct NodeBilled {
  static constexpr std::string_view kName = "node_billed";
  NodeId node;
  TimeMs as_of_ms = 0;
  StoredGpuTime installed, allocated, idle, stranded, unusable;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "as_of_ms", as_of_ms);
    v(3, "installed", installed);
    v(4, "allocated", allocated);
    v(5, "idle", idle);
    v(6, "stranded", stranded);
    v(7, "unusable", unusable);
  }
};

// A job as it stands, pods and all. Only in checkpoints; the others of these are in fact_kept.h.
// Of a job that is too large for one fact there are several in a row, with the pods in order of
// rank: all but the last have `more` and nothing else.
struct JobKept {
  static constexpr std::string_view kName = "job_kept";
  struct Pod {
    std::string uid;
    std::string name;
    PodState state = PodState::kWaiting;
    bool controlled = false;
    PodSlot slot;
    TimeMs since_ms = 0;
    PodShape shape;  // pods of Kubernetes only; an API job's shapes are in its request
    std::string dispute;
    template <class V>
    void fields(V& v) {
      v(1, "uid", uid);
      v(2, "name", name);
      v(3, "state", state);
      v(4, "controlled", controlled);
      v(5, "slot", slot);
      v(6, "since_ms", since_ms);
      v(7, "shape", shape);
      v(8, "dispute", dispute);
    }
    friend bool operator==(const Pod&, const Pod&) = default;
  };
  JobCreated job;
  std::vector<Pod> pods;  // empty while an API job has never been reserved
  TimeMs submit_ms = 0;
  std::uint32_t attempt = 0;
  TimeMs until_ms = 0;
  Cause cause = Cause::kNone;
  TimeMs started_ms = 0;
  TimeMs ended_ms = 0;
  bool more = false;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "pods", pods);
    v(3, "submit_ms", submit_ms);
    v(4, "attempt", attempt);
    v(5, "until_ms", until_ms);
    v(6, "cause", cause);
    v(7, "started_ms", started_ms);
    v(8, "ended_ms", ended_ms);
    v(9, "more", more);
  }
};

// The store holds facts of `version` from here on: programs that know only older ones refuse it.
struct Finalized {
  static constexpr std::string_view kName = "finalized";
  std::uint32_t version = 0;
  EditStamp edit;
  template <class V>
  void fields(V& v) {
    v(1, "version", version);
    v(2, "edit", edit);
  }
};

// The wall clock was taken over by hand: time is `after_ms` from here on, unless that is earlier.
struct ClockAccepted {
  static constexpr std::string_view kName = "clock_accepted";
  TimeMs before_ms = 0;
  TimeMs after_ms = 0;
  EditStamp edit;
  template <class V>
  void fields(V& v) {
    v(1, "before_ms", before_ms);
    v(2, "after_ms", after_ms);
    v(3, "edit", edit);
  }
};

// A cluster is no more. Its id is never given to another: job ids and ledger rows keep it.
struct ClusterRemoved {
  static constexpr std::string_view kName = "cluster_removed";
  ClusterId id;
  EditStamp edit;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "edit", edit);
  }
};

// What is remembered of a node that turned such pods away `times` in a row. While `barred` it is not
// tried for them, until `until_ms`; then only the times are known, again until then. No times:
// nothing is remembered any more.
struct NodeBarred {
  static constexpr std::string_view kName = "node_barred";
  NodeId node;
  PodShape shape;
  std::uint32_t times = 0;
  TimeMs until_ms = 0;
  bool barred = false;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "shape", shape);
    v(3, "times", times);
    v(4, "until_ms", until_ms);
    v(5, "barred", barred);
  }
};

using Body =
    std::variant<ClusterSet, ClusterSynced, NodeSet, NodeRemoved, PolicySet, AccountSet,
                 AccountDeleted, EditRefused, JobCreated, PodAdded, JobMoved, JobAdopted,
                 AttemptStarted, DeadlinePassed, StopAsked, AttemptEnded, PlaceLost, PodBound,
                 PodRunning, PodGone, Charged, Awaited, NodeBilled, MetersKept, LedgerKept, JobKept,
                 RequestKept, CountersKept, NodeBarred, Finalized, ClockAccepted, ClusterRemoved>;

}  // namespace fact

// How many kinds each version has, from version 1 on. A store starts at version 1 and holds the
// kinds of its version only; a Finalized fact raises it.
inline constexpr std::array<std::uint32_t, 2> kKindsOfVersion{29, 32};
static_assert(kKindsOfVersion.back() == std::variant_size_v<fact::Body>);
// The newest version that this program knows.
inline constexpr auto kFactVersion = static_cast<std::uint32_t>(kKindsOfVersion.size());

struct Fact {
  std::uint64_t seq = 0;  // 0 in checkpoints
  TimeMs time_ms = 0;
  fact::Body body;
};

// "#12 @1000 job_created id=1-1 ..." and back. One line, canonical: equal facts have equal bytes.
std::string fact_to_text(const Fact& fact);
Result<Fact> fact_from_text(std::string_view line);
std::string_view fact_kind(const Fact& fact);  // "job_created"

}  // namespace subak
