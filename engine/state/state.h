// The state: the fold of the facts and nothing else. It holds jobs, clusters, nodes, allocations,
// requests, accounts, fleet, books and policy. Each keeps its own indexes, and State changes them
// together, fact by fact. It holds no policy of its own: decide/ makes the decisions, derive/
// computes from the state, and both see it as const.
//
// References into it hold until the next fact or ephemeral change. References to jobs and clusters
// hold longer, as their headers say. Code that reads on after a fact sees the new values. Threads:
// none; an engine owns one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accounting/ledger.h"
#include "accounting/tree.h"
#include "core/error.h"
#include "engine/state/allocations.h"
#include "engine/state/jobs/jobs.h"
#include "engine/state/jobs/leap.h"
#include "engine/state/nodes.h"
#include "engine/state/observed/clusters.h"
#include "engine/state/observed/node_backoff.h"
#include "engine/state/observed/non_gpu_pods.h"
#include "engine/state/observed/note.h"
#include "engine/state/observed/unmanaged_pods.h"
#include "engine/state/requests.h"
#include "model/fact.h"
#include "model/input.h"
#include "placement/fleet/fleet.h"
#include "placement/fleet/reserved_nodes.h"

namespace subak {

// Whether a state records usage that is not charged yet. The state of a forecast does not: no
// decision depends on it.
enum class Books : std::uint8_t { kKept, kLeftOut };

// Which parts of a state are passed on as facts.
enum class SnapshotParts : std::uint8_t {
  kAll,  // a checkpoint
  kWithoutRequests,
  kToLookAhead,  // for a forecast: also without books and unneeded ended jobs
};

// The state of an engine.
namespace state {
class StateCopy;
}

// A remembered request as the fact of a checkpoint.
fact::RequestSnapshot request_snapshot(const RequestKey& key, const RememberedRequest& request);

class State {
 public:
  explicit State(Books books = Books::kKept);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // --- reads -------------------------------------------------------------------------------------
  std::uint64_t seq() const { return seq_; }   // of the last fact
  TimeMs fact_ms() const { return fact_ms_; }  // of the last fact: the state is as of then
  TimeMs now() const { return now_; }          // of the last input or fact; not in the digest
  std::uint32_t fact_version() const { return fact_version_; }
  const Policy& policy() const { return policy_; }
  const AccountTree& tree() const { return tree_; }
  const Fleet& fleet() const { return fleet_; }
  const Ledger& ledger() const { return ledger_; }
  // False with Books::kLeftOut: nothing is charged or billed, and no day ends by itself.
  bool keeps_books() const { return allocations_.keeps_books(); }
  const state::Jobs& jobs() const { return jobs_; }
  const state::Clusters& clusters() const { return clusters_; }
  const state::Nodes& nodes() const { return nodes_; }
  const state::Allocations& allocations() const { return allocations_; }
  const state::NodeBackoff& node_backoff() const { return node_backoff_; }
  const state::NonGpuPods& non_gpu_pods() const { return non_gpu_pods_; }
  const state::UnmanagedPods& unmanaged_pods() const { return unmanaged_pods_; }
  const RequestLog& requests() const { return requests_; }
  const state::Leap& leap() const { return leap_; }
  // The nodes of all reservations with their jobs. Follows from the clusters.
  const ReservedNodes& reserved_nodes() const { return reserved_nodes_; }
  // True if a change since the last pass may let a job start.
  bool pass_due() const { return pass_due_; }

  // The GPU product of the slot's node.
  std::string product_of(const PodSlot& slot) const;
  // The capacity side of one node's bill, as a fact.
  fact::NodeBilled billed(NodeId id, TimeMs as_of) const;
  // The number of a request that a ShapeSeen or a job named.
  ShapeId shape_of(ClusterId cluster, const GangRequest& request) const;
  // single_pod(shape): the request of a single pod. single_pod(id): the pod of that request.
  // single_pod_bytes(id): its stored size in bytes. The id is the shape of an added pod and is in
  // use.
  static GangRequest single_pod(const PodShape& shape, bool compute_domain = false);
  const PodShape& single_pod(ShapeId shape) const {
    return fleet_.request(shape).groups.front().shape;
  }
  std::size_t single_pod_bytes(ShapeId shape) const {
    return bytes_of_shape_.at(shape.value).bytes;
  }
  // True if the job, which is known, uses a ComputeDomain.
  bool uses_compute_domain(JobId id) const;
  // True if Subak ends the job after its own time limit. The nearest account with a setting
  // decides, else the policy. False for a job that was found running. O(depth).
  bool enforces_limit(const state::Job& job) const;
  // True if other jobs may rely on this job's end by its limit. It has a limit that it has not
  // overrun. The limit is enforced, or similar jobs kept theirs lately (Jobs::overran_lately()).
  // O(log kinds of jobs).
  bool trusts_limit(const state::Job& job) const;
  // When the job's GPUs are expected to be free, for this start and number of overruns. It uses its
  // limit, trusted or not, else the policy's default. state::kNever: not known.
  TimeMs planned_end(const state::Job& job, TimeMs started_ms, std::uint32_t overruns) const;
  // When a waiting job would be gone by its limit if it started now. state::kNever: it has no
  // trusted limit. Guesses do not count, since other jobs rely on the result.
  TimeMs sure_end(const state::Job& job) const;
  // Checks that there is room for these GPU products. Some of them may be known already.
  std::optional<Error> check_products(const std::set<std::string_view>& names) const;

  // --- changes -----------------------------------------------------------------------------------
  // Sets the time of an input, which never goes back.
  void advance(TimeMs now);
  // Lets the simulator's baseline order (OrderPolicy::kUsageTick) run its ticks up to now.
  void advance_tick() { allocations_.advance_tick(now_); }
  // Applies a fact. Facts come in order. Number 0: a fact of a checkpoint, which restores a record
  // instead of making the event happen again.
  void apply(const Fact& fact);
  // Applies an ephemeral change: it has no number, and is in no checkpoint or digest.
  void apply(const Note& note);
  void set_seq(std::uint64_t seq) { seq_ = seq; }  // of the facts that a checkpoint stands for

  // Passes this state on as facts that rebuild it in an empty one. O(state).
  using Sink = std::function<void(fact::Body)>;
  void snapshot(const Sink& sink, SnapshotParts what = SnapshotParts::kAll) const;
  // The parts of keep(), in order: before the facts of the live jobs; after them, up to the requests
  // (SnapshotParts::kAll); and after those. Not O(live jobs).
  void snapshot_before_live(const Sink& sink, SnapshotParts what) const;
  void snapshot_books(const Sink& sink, SnapshotParts what) const;
  void snapshot_last(const Sink& sink, SnapshotParts what) const;
  // Asserts all invariants of the parts and between them. O(state).
  void check() const;

 private:
  friend class state::StateCopy;  // begins a copy of the live jobs
  // apply_fleet.cc: clusters, nodes, accounts, policy, books
  void on(const fact::ClusterSet& f);
  void on(const fact::ClusterRemoved& f);
  void on(const fact::ClusterSynced& f);
  void on(const fact::ClusterSeen& f) { clusters_.apply(f); }
  void on(const fact::NamespaceLabelled& f) { clusters_.apply(f); }
  void on(const fact::NodeSet& f);
  void on(const fact::NodeRemoved& f);
  void on(const fact::PolicySet& f);
  void on(const fact::Finalized& f);
  void on(const fact::AccountSet& f);
  void on(const fact::AccountDeleted& f);
  void on(const fact::EditRefused& /*f*/) {}
  void on(const fact::Charged& f);
  void on(const fact::Reserved& f);
  void on(const fact::NodeBilled& f);
  void on(const fact::MetersSnapshot& f);
  void on(const fact::LedgerSnapshot& f);
  void on(const fact::RequestSnapshot& f);
  void on(const fact::CountersSnapshot& f);
  void on(const fact::ClockAccepted& f);
  void on(const fact::TimeLeapt& f) { leap_.apply(f); }
  void on(const fact::NodeBackedOff& f);
  void on(const fact::NodeLoad& f);
  // apply_job.cc: jobs and pods
  void on(const fact::JobCreated& f);
  void on(const fact::PodAdded& f);
  void on(const fact::PodChanged& f);
  void on(const fact::JobMoved& f);
  void on(const fact::JobAdopted& f);
  void on(const fact::AttemptStarted& f);
  void on(const fact::DeadlinePassed& f);
  void on(const fact::StopAsked& f);
  void on(const fact::AttemptEnded& f);
  void on(const fact::EndRefused& f);
  void on(const fact::JobOverran& f);
  void on(const fact::SchedulerRefused& f);
  void on(const fact::RefusalsForgotten& f);
  void on(const fact::PlaceLost& f);
  void on(const fact::PodBound& f);
  void on(const fact::PodSeated& f);
  void on(const fact::PodsRanked& f);
  void on(const fact::PodGated& f);
  void on(const fact::GangEmptied& f);
  void on(const fact::GangResized& f);
  void on(const fact::PodsExpected& f);
  void on(const fact::JobAssigned& f);
  void on(const fact::PodRunning& f);
  void on(const fact::PodGone& f);
  void on(const fact::JobSnapshot& f);

  void on(const note::Heard& n) { clusters_.heard(n.cluster, n.at_ms); }
  void on(const note::ListBegun& n) {
    clusters_.begin_list(n.cluster, now_);
    clusters_.know_as(n.cluster, n.known_as);
    non_gpu_pods_.forget(n.cluster);
    unmanaged_pods_.forget(n.cluster);
  }
  void on(const note::ListEnded& n) { clusters_.end_list(n.cluster); }
  void on(const note::NamespaceListed& n) { clusters_.mark(n.cluster, n.ns); }
  void on(const note::NodeListed& n) { clusters_.mark(n.cluster, n.node); }
  void on(const note::PodListed& n) { clusters_.mark(n.cluster, n.pod); }
  void on(const note::PodBeforeNode& n) { clusters_.early(n.cluster, n.pod); }
  void on(const note::PodNoLongerBeforeNode& n) { clusters_.not_early(n.cluster, n.pod); }
  void on(const note::NewsForgotten& n) {
    clusters_.forget_news(n.cluster);
    unmanaged_pods_.forget(n.cluster);
  }
  void on(const note::UnmanagedPodSeen& n) { unmanaged_pods_.seen(n.cluster, n.pod); }
  void on(const note::UnmanagedPodGone& n) { unmanaged_pods_.gone(n.cluster, n.uid); }
  void on(const note::NonGpuPodSeen& n) {
    n.node ? non_gpu_pods_.seen(n.cluster, n.uid, n.node, n.shape)
           : non_gpu_pods_.gone(n.cluster, n.uid);
  }
  void on(const note::ShapeSeen& n) { seen_.push_back(fleet_.use(n.cluster, n.request)); }
  void on(const note::Decided& /*n*/) { seen_.clear(); }
  void on(const note::PassDue& n) { pass_due_ = n.due; }

  void reserve_nodes();
  void set_state(state::Job& job, JobState to);
  TimeMs limit_end(const state::Job& job, TimeMs started_ms) const;  // with the grace time
  void plan_end(state::Job& job);
  void plan_ends();
  void run_if_bound(state::Job& job);
  void see_pod(state::Pod& pod, TimeMs seen_ms, DurationMs behind_ms) const;
  // True if all usage of the pod before `at` is in the books.
  bool is_charged(const state::Pod& pod, TimeMs at) const {
    return !keeps_books() || pod.slot.milligpu == 0 || pod.since_ms == at;
  }
  void give_place_back(state::Job& job, std::uint32_t rank);
  void wait_again(state::Job& job);
  void open_gang(state::Job& job);
  void restore_pod(state::Job& job, std::uint32_t rank, const fact::JobSnapshot::Pod& kept,
                   bool lives);
  ShapeUse use_single_pod(const state::Job& job, const PodShape& shape);
  std::vector<std::pair<ProductId, MilliGpu>> intern(const ProductAmounts& amounts);
  void remember(const EditStamp& edit, RememberedRequest request);  // content: the stamp's

  std::uint64_t seq_ = 0;
  TimeMs fact_ms_ = 0;
  TimeMs now_ = 0;
  std::uint32_t fact_version_ = 1;
  Policy policy_;
  AccountTree tree_;
  Fleet fleet_;
  Ledger ledger_;
  state::Clusters clusters_;
  state::Nodes nodes_;
  state::NodeBackoff node_backoff_;
  state::NonGpuPods non_gpu_pods_;
  state::UnmanagedPods unmanaged_pods_;
  ReservedNodes reserved_nodes_;
  state::Jobs jobs_{fleet_, tree_};
  state::Allocations allocations_{fleet_, tree_};
  RequestLog requests_;
  state::Leap leap_;
  struct SinglePodBytes {
    std::uint64_t serial = 0;  // of the shape
    std::uint32_t bytes = 0;
  };
  std::vector<SinglePodBytes> bytes_of_shape_;  // by number; of those of one pod, as stored
  std::vector<ShapeUse> seen_;                  // shapes used by the present input
  bool restoring_ = false;                      // the present fact is of a checkpoint
  bool pass_due_ = true;                        // follows from the facts since the last pass
};

}  // namespace subak
