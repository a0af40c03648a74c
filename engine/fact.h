// Facts: what we decided and stand by. Numbered from 1 without gaps, durable, versioned,
// append-only: the state is the fold of the facts and of nothing else. Engine::apply makes them,
// Engine::evolve applies them (also at recovery and in the follower), the store keeps them as
// protobuf (proto/subak/fact/v1/fact.proto has the same field numbers; a test compares).
//
// Evolution: kinds, fields and values of enums are only added, each with the version that brings it
// (kKindsOfVersion, in_version<N>, values_of_version); they are written only after `admin finalize`
// to that version, and a program that does not know one does not start. The position in fact::Body
// is the durable kind number minus 1: append only (docs/design/0002, 0030).
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
#include "engine/fact_job.h"
#include "engine/fact_kept.h"
#include "engine/input.h"
#include "placement/node.h"
#include "placement/request.h"
#include "queue/job.h"

namespace subak {

// Why a reservation was made, moved or given up. Values are durable: append only.
enum class ReserveCause : std::uint8_t {
  kMade,     // it did not fit in its turn
  kEarlier,  // a better place was found: an earlier start, or one that is not a guess any more
  kOverrun,  // what runs there stays longer than it was taken to
  kNode,     // a node of it is gone or closed
  kTaken,    // something else is there now: a job within its quota, or pods that we did not place
  kAccount,  // given up: a rule of its accounts stops it
  kPolicy,   // given up: fewer reservations are to be kept, or none
  kNoPlace,  // given up: there is no place that it could wait for
};
template <>
struct EnumText<ReserveCause> {
  static constexpr std::array<std::string_view, 8> names{"made",  "earlier", "overrun", "node",
                                                         "taken", "account", "policy",  "no_place"};
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

// Whether a cluster's list is complete, whether its fleet is owned (imported) or watched, and by
// which session. What happens in a cluster that is not synced is not known since `since_ms`: until
// it is synced again the clocks of its holds stand.
struct ClusterSynced {
  static constexpr std::string_view kName = "cluster_synced";
  ClusterId id;
  bool synced = false;
  bool owned = false;
  std::uint64_t session = 0;  // the newest; 0: no list ever began
  TimeMs since_ms = 0;        // only of one that is not synced
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "synced", synced);
    v(3, "owned", owned);
    v(4, "session", session);
    v(5, "since_ms", since_ms);
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
  // When it is drained, and when that ends. 0: not planned; nobody said when.
  TimeMs drain_from_ms = 0;
  TimeMs drain_until_ms = 0;
  TimeMs since_ms = 0;  // only in a checkpoint: since when we know the node
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

// One row of the books.
struct Charged {
  static constexpr std::string_view kName = "charged";
  LedgerRow row;
  template <class V>
  void fields(V& v) {
    v(1, "row", row);
  }
};

// Nodes are kept for this queued job: it starts there by `start_ms` at the latest, when all that they
// hold has ended. Takes the place of its earlier reservation. No nodes: it has none any more.
struct Reserved {
  static constexpr std::string_view kName = "reserved";
  struct Kept {
    NodeId node;
    template <class V>
    void fields(V& v) {
      v(1, "node", node);
    }
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  JobId job;
  std::vector<Kept> nodes;  // ascending; no node is kept for two jobs
  TimeMs start_ms = 0;      // limits::kMaxTimeMs: what is there is not known to end
  bool estimated = false;   // it rests on an end that is a guess
  ReserveCause cause = ReserveCause::kMade;
  TimeMs made_ms = 0;      // when the job got its first one, of those that followed each other
  std::uint32_t late = 0;  // how often since then it has moved later
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

// The capacity side of one node's bill up to `as_of_ms`; written at each UTC midnight, and in
// checkpoints.
struct NodeBilled {
  static constexpr std::string_view kName = "node_billed";
  NodeId node;
  TimeMs as_of_ms = 0;
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
// nothing is remembered any more. With a job the cluster's scheduler refused pods of it there, for a reason
// that may be the job's own: others with such pods only try the node last.
struct NodeBarred {
  static constexpr std::string_view kName = "node_barred";
  NodeId node;
  PodShape shape;
  std::uint32_t times = 0;
  TimeMs until_ms = 0;
  bool barred = false;
  JobId job{};  // none: the node's kubelet turned them away, whosever they were
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "shape", shape);
    v(3, "times", times);
    v(4, "until_ms", until_ms);
    v(5, "barred", barred);
    v(6, "job", job);
  }
};

// What of a node pods take that have no GPUs, all together: such pods are no jobs.
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

// What its edges have said of a cluster as a whole: which it is (in::ListBegin::uid; empty: not known),
// and up to when it is known what happened there (0: never yet).
struct ClusterSeen {
  static constexpr std::string_view kName = "cluster_seen";
  ClusterId id;
  std::string uid;
  TimeMs until_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "uid", uid);
    v(3, "until_ms", until_ms);
  }
};

// A namespace names this account by its label; empty: none any more.
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

// A gang that waits has another size: its owner was changed, or some of its pods are done or by
// themselves. Pods beyond the new size wait behind the ranks.
struct GangResized {
  static constexpr std::string_view kName = "gang_resized";
  JobId id;
  std::uint32_t size = 0;  // from 1
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "size", size);
  }
};

// At a start the clock was far ahead of the last fact, at `from_ms`; time went on at `to_ms`. Until it has been
// right for limits::kClockProofMs the rows over that time are remembered, so that they can be given back if it was
// wrong (docs/design/0078). Both 0: it is settled. In a checkpoint one more for each such row: `row`, of fact `charged`.
struct TimeLeapt {
  static constexpr std::string_view kName = "time_leapt";
  TimeMs from_ms = 0;
  TimeMs to_ms = 0;
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

// All kinds, in the order of their durable numbers.
using Kinds =
    std::variant<ClusterSet, ClusterSynced, NodeSet, NodeRemoved, PolicySet, AccountSet,
                 AccountDeleted, EditRefused, JobCreated, PodAdded, JobMoved, JobAdopted,
                 AttemptStarted, DeadlinePassed, StopAsked, AttemptEnded, PlaceLost, PodBound,
                 PodRunning, PodGone, Charged, Reserved, NodeBilled, MetersKept, LedgerKept,
                 JobKept, RequestKept, CountersKept, NodeBarred, Finalized, ClockAccepted,
                 ClusterRemoved, PodChanged, NodeLoad, PodSeated, PodGated, GangEmptied,
                 JobAssigned, ClusterSeen, NamespaceLabelled, PodsExpected, EndRefused, JobOverran,
                 TimeLeapt, PodsRanked, SchedulerRefused, RefusalsForgotten, GangResized>;

// One fact of any kind. Use it like the variant that it is. Copy, move and destruction are defined in
// bodies.cc: compiled inline in every file, they took a quarter of a clean build.
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

// How many kinds each version has, from version 1 on. A store starts at version 1 and holds kinds,
// fields and values of its version only; a Finalized fact raises it. What each version has is also
// in tests/golden/format, where a test finds what was added without its version.
inline constexpr std::array<std::uint32_t, 1> kKindsOfVersion{48};
static_assert(kKindsOfVersion.back() == std::variant_size_v<fact::Kinds>);
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

}  // namespace subak
