// Facts are the durable decisions and observations of the engine. The facts of a store are numbered
// from 1 without gaps, versioned and append-only. The engine's state follows from the facts alone.
// Engine::apply makes facts. Engine::evolve applies facts to the state, also at recovery and in the
// engine that serves reads. The store writes facts as protobuf: proto/subak/fact/v1/fact.proto has
// the same field numbers, and a test compares them.
//
// Versions: kinds, fields and enum values are only added, never changed. Each addition has a first
// version (kKindsOfVersion, in_version<N>, values_of_version). A program writes an addition only
// after `admin finalize` to that version. A program refuses to start if it does not know the
// version of the store. The position of a kind in fact::Body is its durable kind number minus 1, so
// new kinds go to the end (docs/design/0002, 0030).
// Threads: any; plain values.
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
#include "core/text.h"
#include "model/fact_account.h"
#include "model/fact_claim.h"
#include "model/fact_job.h"
#include "model/fact_snapshot.h"
#include "model/input.h"
#include "model/job.h"
#include "model/node.h"
#include "model/request.h"

namespace subak {

// Why a reservation was made, moved or ended. Values are durable: append only.
enum class ReserveCause : std::uint8_t {
  kMade,     // the job did not fit in its turn
  kEarlier,  // moved: an earlier start, a promise instead of a guess, or nodes with fewer held GPUs
  kOverrun,  // a job on the reserved nodes runs longer than expected
  kNode,     // a reserved node is gone, unfit, not ready, cordoned or drained
  kTaken,    // others took nodes: a job within its quota, or pods that Subak did not place
  kAccount,  // ended: a rule of the job's accounts stops the job
  kPolicy,   // ended: the policy allows fewer reservations, or none
  kNoPlace,  // ended: there is no placement for which the job could wait
};
template <>
struct EnumText<ReserveCause> {
  static constexpr std::array<std::string_view, 8> names{"made",  "earlier", "overrun", "node",
                                                         "taken", "account", "policy",  "no_place"};
};

namespace fact {

// Creates a cluster, or replaces the settings of the cluster with this name. JobAdopted facts
// follow for the running pods of namespaces that change to mode `enforce`.
struct ClusterSet {
  static constexpr std::string_view kName = "cluster_set";
  // Never 0. A new cluster gets an id that no earlier cluster had.
  ClusterId id;
  // A DNS label. No two clusters have the same name.
  std::string name;
  // The mode of all namespaces that `namespaces` does not list.
  Mode mode = Mode::kObserve;
  // Namespaces whose mode differs from `mode`, sorted by name.
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

// Says whether a cluster's list is complete, whether its nodes are owned (imported) or watched, and
// which session watches them. While a cluster is not synced, Subak does not know its events since
// `since_ms`. So no hold in the cluster expires until the cluster is synced again.
struct ClusterSynced {
  static constexpr std::string_view kName = "cluster_synced";
  ClusterId id;
  // False: an edge must list the cluster, or the edge's list is not complete yet.
  bool synced = false;
  // True: the nodes were imported, and no edge reports them.
  bool owned = false;
  // The newest session: the number of an edge's complete report (list); 0: no list ever began.
  std::uint64_t session = 0;
  // The time since which Subak may have missed events. Set only while the cluster is not synced.
  TimeMs since_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "synced", synced);
    v(3, "owned", owned);
    v(4, "session", session);
    v(5, "since_ms", since_ms);
  }
};

// Sets a node and its installed GPUs from now on. The fact replaces all earlier facts about the
// node's description and drain.
struct NodeSet {
  static constexpr std::string_view kName = "node_set";
  // The node's id: never 0, and never used for another node.
  NodeId id;
  ClusterId cluster;
  // The node as the edge or the import reported it. The engine has added the fields that only the
  // engine sets.
  NodeSpec spec;
  bool drained = false;
  // The import or drain that caused the fact; empty if a watch reported the node.
  EditStamp edit;
  // When a planned drain begins (0: no drain is planned), and when a drain ends (0: no end is set).
  TimeMs drain_from_ms = 0;
  TimeMs drain_until_ms = 0;
  // The time since which Subak knows the node. Set in checkpoints only.
  TimeMs since_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "cluster", cluster);
    v(3, "spec", spec);
    v(4, "drained", drained);
    v(5, "edit", edit);
    v(6, "drain_from_ms", drain_from_ms);
    v(7, "drain_until_ms", drain_until_ms);
    v(8, "since_ms", since_ms);
  }
};

// The node is gone, and its node backoffs end. All holds on the node have already ended.
struct NodeRemoved {
  static constexpr std::string_view kName = "node_removed";
  NodeId id;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
  }
};

// Replaces the whole policy. A new half-life restarts all decayed meters from 0. If there is usage,
// MetersSnapshot facts of the same input follow with the new values (in::HalfLifeRead).
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

// The engine refused an edit. The fact is for the audit log and changes no state.
struct EditRefused {
  static constexpr std::string_view kName = "edit_refused";
  // The input's kind (`kName` of its struct).
  std::string what;
  // The object of the edit: an account path, a job, a cluster or a node.
  std::string subject;
  // Error::message() of the refusal.
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

// One row of the ledger: what a pod held up to now, or a correction of an earlier row.
struct Charged {
  static constexpr std::string_view kName = "charged";
  LedgerRow row;
  template <class V>
  void fields(V& v) {
    v(1, "row", row);
  }
};

// Reserves nodes for this queued job. Subak expects that all jobs on these nodes end by `start_ms`,
// so that the job starts there at that time at the latest. The fact replaces the job's earlier
// reservation. A fact without nodes ends the reservation.
struct Reserved {
  static constexpr std::string_view kName = "reserved";
  // One reserved node.
  struct Kept {
    NodeId node;
    template <class V>
    void fields(V& v) {
      v(1, "node", node);
    }
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  JobId job;
  // Ascending. A node is in one reservation at most.
  std::vector<Kept> nodes;
  // The expected start. limits::kMaxTimeMs: the end of some job on these nodes is not known.
  TimeMs start_ms = 0;
  // True: the start depends on the guessed end of a job without a trusted time limit.
  bool estimated = false;
  ReserveCause cause = ReserveCause::kMade;
  // When the job got the first of its consecutive reservations.
  TimeMs made_ms = 0;
  // How often `start_ms` has moved to a later time since `made_ms`.
  std::uint32_t late = 0;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "nodes", nodes);
    v(3, "start_ms", start_ms);
    v(4, "estimated", estimated);
    v(5, "cause", cause);
    v(6, "made_ms", made_ms);
    v(7, "late", late);
  }
  friend bool operator==(const Reserved&, const Reserved&) = default;
};

// The capacity of one node, summed over time up to `as_of_ms`. The engine writes the fact at each
// UTC midnight, and in checkpoints. In each fact, installed + overcommitted = allocated + idle +
// stranded + unusable (NodeBooks).
struct NodeBilled {
  static constexpr std::string_view kName = "node_billed";
  NodeId node;
  TimeMs as_of_ms = 0;
  // Sums up to `as_of_ms`. The parts are those of NodeLevels (placement/tables/totals.h).
  StoredGpuTime installed, allocated, idle, stranded, unusable, overcommitted;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "as_of_ms", as_of_ms);
    v(3, "installed", installed);
    v(4, "allocated", allocated);
    v(5, "idle", idle);
    v(6, "stranded", stranded);
    v(7, "unusable", unusable);
    v(8, "overcommitted", overcommitted);
  }
};

// After this fact, the store may have facts of `version`. A program that knows only older versions
// refuses the store.
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

// An operator accepted the time of the wall clock. The engine's time continues at `after_ms`.
struct ClockAccepted {
  static constexpr std::string_view kName = "clock_accepted";
  // The engine's time before the edit.
  TimeMs before_ms = 0;
  // Never less than `before_ms`.
  TimeMs after_ms = 0;
  EditStamp edit;
  template <class V>
  void fields(V& v) {
    v(1, "before_ms", before_ms);
    v(2, "after_ms", after_ms);
    v(3, "edit", edit);
  }
};

// A cluster is removed. Its id is never reused, because job ids and ledger rows contain the id.
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

// Node backoff: a node rejected pods of this shape `times` times in a row. If `barred` is set, the
// engine does not use the node for such pods until `until_ms` comes. If `barred` is not set, the
// fact only stores the count `times` until that time. If `times` is 0, the fact deletes the count
// and the backoff.
// If `any_pod` is set, the record counts the node's rejections of pods of all shapes. Then `barred`
// means that the node is unfit (NodeSpec::rejects).
// If `job` is set, the cluster's scheduler refused to bind pods of that job to the node. The cause
// of the refusal may be in the job itself. So other jobs with pods of this shape may still use the
// node, but only as the last choice (docs/design/0072).
struct NodeBackedOff {
  static constexpr std::string_view kName = "node_barred";
  NodeId node;
  PodShape shape;
  std::uint32_t times = 0;
  TimeMs until_ms = 0;
  bool barred = false;
  // No job: the node's kubelet rejected the pods, so the backoff is for pods of all jobs.
  JobId job{};
  // What the kubelet said about the pod that it rejected last.
  Rejection rejection{};
  bool any_pod = false;  // true: `shape` and `job` are empty
  // With `any_pod`: up to limits::kMaxRejections rejections of the last limits::kRejectionsMs.
  std::vector<RejectionTime> recent{};
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "shape", shape);
    v(3, "times", times);
    v(4, "until_ms", until_ms);
    v(5, "barred", barred);
    v(6, "job", job);
    v(7, "rejection", rejection);
    v(8, "any_pod", any_pod);
    v(9, "recent", recent);
  }
};

// The sum of the resources that non-GPU pods use on a node. These pods are not jobs.
struct NodeLoad {
  static constexpr std::string_view kName = "node_load";
  NodeId node;
  NodeUse use;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "use", use);
  }
};

// The identity of a cluster (in::ListBegin::uid; empty: not known), and the time up to which its
// edges have reported all events (0: no such report yet).
struct ClusterSeen {
  static constexpr std::string_view kName = "cluster_seen";
  ClusterId id;
  // The first list with a uid sets this uid. An import of nodes clears it.
  std::string uid;
  TimeMs until_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "uid", uid);
    v(3, "until_ms", until_ms);
  }
};

// The label of a namespace names `account`. If `account` is empty, the label no longer names an
// account.
struct NamespaceLabelled {
  static constexpr std::string_view kName = "namespace_labelled";
  ClusterId cluster;
  std::string ns;
  std::string account;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "ns", ns);
    v(3, "account", account);
  }
};

// The size of a waiting gang changed. The gang's owner was edited, or some of its pods are done or
// became jobs of their own. Pods beyond the new size wait without a rank.
struct GangResized {
  static constexpr std::string_view kName = "gang_resized";
  JobId id;
  // The number of ranks, from 1.
  std::uint32_t size = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "size", size);
  }
};

// A pod of the attempt was not Ready in time (GangSettings::ready_within_ms). A StopAsked fact of
// the same decision, or the end of the attempt, follows.
struct ReadyTimedOut {
  static constexpr std::string_view kName = "ready_timed_out";
  JobId id;
  std::uint32_t rank = 0;
  // Why the pod is not Ready, in the words of its cluster; never empty.
  std::string words;
  std::uint32_t times = 0;  // how many attempts in a row were not Ready in time, from 1
  TimeMs until_ms = 0;      // the job is not queued again before this time
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "rank", rank);
    v(3, "words", words);
    v(4, "times", times);
    v(5, "until_ms", until_ms);
  }
};

// The time of the engine leapt from `from_ms` to `to_ms`, because at a start of the service the
// clock was far ahead of the last fact. The engine remembers the ledger rows for the time of the
// leap until the clock has been right for limits::kClockProofMs. If the clock proves wrong, the
// engine refunds these rows (docs/design/0078). If `from_ms` and `to_ms` are both 0, the clock was
// right or the refund is done.
// For each remembered row, a checkpoint has one more TimeLeapt fact. In this fact, `row` is the row
// of the Charged fact with the number `charged`.
struct TimeLeapt {
  static constexpr std::string_view kName = "time_leapt";
  TimeMs from_ms = 0;
  TimeMs to_ms = 0;
  // `charged` and `row` are set in checkpoints only. If `charged` is 0, the fact is about the leap
  // itself, and `row` is empty.
  std::uint64_t charged = 0;
  LedgerRow row;
  template <class V>
  void fields(V& v) {
    v(1, "from_ms", from_ms);
    v(2, "to_ms", to_ms);
    v(3, "charged", charged);
    v(4, "row", row);
  }
};

// A job of pods is parked (its owner is suspended until its turn), or its owner was resumed. Then
// Subak drops the expected pods of a waiting job, and the owner's pods join the job as they come.
// kResumed is repeated if an attempt ends before all pods have come.
struct JobParked {
  static constexpr std::string_view kName = "job_parked";
  JobId id;
  Parking to = Parking::kNone;
  // The new end of the holds of a starting job. 0: the holds end as before.
  TimeMs until_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "to", to);
    v(3, "until_ms", until_ms);
  }
};

// All kinds, in the order of their durable numbers.
using Kinds = std::variant<
    ClusterSet, ClusterSynced, NodeSet, NodeRemoved, PolicySet, AccountSet, AccountDeleted,
    EditRefused, JobCreated, PodAdded, JobMoved, JobAdopted, AttemptStarted, DeadlinePassed,
    StopAsked, AttemptEnded, PlaceLost, PodBound, PodRunning, PodGone, Charged, Reserved,
    NodeBilled, MetersSnapshot, LedgerSnapshot, JobSnapshot, RequestSnapshot, CountersSnapshot,
    NodeBackedOff, Finalized, ClockAccepted, ClusterRemoved, PodChanged, NodeLoad, PodSeated,
    PodGated, GangEmptied, JobAssigned, ClusterSeen, NamespaceLabelled, PodsExpected, EndRefused,
    JobOverran, TimeLeapt, PodsRanked, SchedulerRefused, RefusalsForgotten, GangResized, Claimed,
    BudgetPeriodSet, CivilEndsSet, BudgetReached, AccountMoved, ReadyTimedOut, JobParked>;

// One fact of any kind, used like a variant. bodies.cc defines copy, move and destruction, because
// inline code for them in every file took a quarter of the time of a clean build.
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

}  // namespace fact

// How many kinds of facts each version has, from version 1 on. A store starts at version 1 and has
// only kinds, fields and values of its version. A Finalized fact raises the store's version.
// tests/golden/format lists the contents of each version, and a test finds additions without a
// version.
inline constexpr std::array<std::uint32_t, 1> kKindsOfVersion{55};
static_assert(kKindsOfVersion.back() == std::variant_size_v<fact::Kinds>);
// The newest version that this program knows.
inline constexpr auto kFactVersion = static_cast<std::uint32_t>(kKindsOfVersion.size());

// Returns kFactVersion, the newest version to which a store can be finalized. The function has an
// object file of its own, so that a test can replace it by a function that returns a later version.
// tests/takeover tests rolling upgrades in this way. Threads: any.
std::uint32_t known_fact_version();

// One fact with its place in the log. `seq` counts all facts of a store from 1, and is 0 in
// checkpoints. `time_ms` is the engine's time of the decision. It never decreases from one fact to
// the next.
struct Fact {
  std::uint64_t seq = 0;
  TimeMs time_ms = 0;
  fact::Body body;
};

// Convert a fact to and from its text form, one canonical line: "#12 @1000 job_created id=1-1 ...".
// Equal facts have equal text. fact_from_text() reads fields in any order. Its error is kInvalid
// and names the field.
std::string fact_to_text(const Fact& fact);
Result<Fact> fact_from_text(std::string_view line);

}  // namespace subak
