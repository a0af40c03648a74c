// The state of an engine, which follows from the facts alone. A fact is a durable decision or
// observation (model/fact.h). The state has jobs, clusters, nodes, allocations, requests, accounts,
// fleet, books and policy. Each of these parts has its own indexes, and State changes the parts
// together, fact by fact. State decides nothing: decide/ makes the decisions, derive/ computes
// results from the state, and both see the state as const.
//
// An edge is the program that reports a cluster. Its reports that no fact records are in
// observed/observed.h, not in the state. planned_end.h and snapshot.h have functions over a state.
//
// References into a state are valid until the next fact. References to jobs and clusters are valid
// longer, as their headers say. A reference to a job or cluster shows the new values after a fact.
// Threads: one at a time; an engine owns one state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "accounting/ledger.h"
#include "accounting/tree.h"
#include "engine/state/allocations.h"
#include "engine/state/claims.h"
#include "engine/state/clusters.h"
#include "engine/state/jobs/jobs.h"
#include "engine/state/leap.h"
#include "engine/state/log_position.h"
#include "engine/state/node_backoff.h"
#include "engine/state/nodes.h"
#include "engine/state/requests.h"
#include "model/fact.h"
#include "model/input.h"
#include "placement/fleet/fleet.h"
#include "placement/fleet/reserved_nodes.h"

namespace subak {

// Whether a state indexes the bound pods by the start of their next ledger row. The state of a
// forecast does not, because it writes no ledger rows.
enum class Books : std::uint8_t { kKept, kLeftOut };

namespace state {
class StateCopy;

// When the next pass is due. This follows from the last pass and the facts since then. The digest
// (Engine::digest(), which compares states) leaves it out. In a new state, a pass is due at once.
struct PassDue {
  // True: a change since the last pass may let a job start.
  bool now = true;
  // When a limit on GPU-minutes in flight, a budget or a finishing gang (Job::is_finishing()) will
  // let a job start that the last pass did not start. kNever: no job waits for that.
  TimeMs at_ms = kNever;
};
}  // namespace state

// The state of an engine.
class State {
 public:
  explicit State(Books books = Books::kKept);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // --- reads -------------------------------------------------------------------------------------
  // The number and the time of the last fact that was applied.
  std::uint64_t seq() const { return log_.seq(); }
  TimeMs fact_ms() const { return log_.fact_ms(); }
  // The time of the last input or fact. now() is not before fact_ms(), and is not in the digest.
  TimeMs now() const { return log_.now(); }
  // The version of facts that the store allows (fact::Finalized).
  std::uint32_t fact_version() const { return log_.version(); }
  const Policy& policy() const { return policy_; }
  const AccountTree& tree() const { return tree_; }
  const Fleet& fleet() const { return fleet_; }
  const Ledger& ledger() const { return ledger_; }
  const state::Jobs& jobs() const { return jobs_; }
  const state::Clusters& clusters() const { return clusters_; }
  const state::Nodes& nodes() const { return nodes_; }
  const state::Allocations& allocations() const { return allocations_; }
  const state::NodeBackoff& node_backoff() const { return node_backoff_; }
  const state::Claims& claims() const { return claims_; }
  const RequestLog& requests() const { return requests_; }
  const state::Leap& leap() const { return leap_; }
  // The nodes of all reservations, with the jobs that have reserved them. This list follows from
  // the reservations of the clusters.
  const ReservedNodes& reserved_nodes() const { return reserved_nodes_; }
  const state::PassDue& pass_due() const { return pass_due_; }

  // Returns the stored size, in bytes, of a request that has only one pod. `shape` is the shape of
  // the request. A pod of the state must use this shape now.
  std::size_t single_pod_bytes(ShapeId shape) const {
    return bytes_of_shape_.at(shape.value).bytes;
  }

  // --- changes -----------------------------------------------------------------------------------
  // Sets the time of an input. This time never goes back.
  void advance(TimeMs now) { log_.advance(now); }
  // Runs the ticks of the order rule OrderPolicy::kUsageTick, which the simulator uses, up to
  // now().
  void advance_tick() { allocations_.advance_tick(now()); }
  // Applies a fact. Facts must come in order. A fact with number 0 belongs to a checkpoint: such a
  // fact restores a record, and does not repeat an event.
  void apply(const Fact& fact);
  // Gives a request of the cluster a ShapeId, which is valid as long as the result lives.
  ShapeUse use_shape(ClusterId cluster, const GangRequest& request) {
    return fleet_.use(cluster, request);
  }
  // Sets pass_due(). The next fact that may let a job start makes a pass due at once.
  void set_pass_due(const state::PassDue& due) { pass_due_ = due; }
  // Says that the checkpoint includes all facts up to the number `seq`.
  void set_seq(std::uint64_t seq) { log_.set_seq(seq); }

  // Asserts all invariants of the parts and between the parts. O(state).
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
  void on(const fact::AccountMoved& f);
  void on(const fact::EditRefused& /*f*/) {}
  void on(const fact::Charged& f);
  void on(const fact::Reserved& f);
  void on(const fact::Claimed& f);
  void on(const fact::BudgetPeriodSet& f);
  void on(const fact::CivilEndsSet& f);
  void on(const fact::BudgetReached& f);
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
  void on(const fact::ReadyTimedOut& f);
  void on(const fact::PlaceLost& f);
  void on(const fact::PodBound& f);
  void on(const fact::PodSeated& f);
  void on(const fact::PodsRanked& f);
  void on(const fact::PodGated& f);
  void on(const fact::GangEmptied& f);
  void on(const fact::GangResized& f);
  void on(const fact::PodsExpected& f);
  void on(const fact::JobParked& f);
  void on(const fact::JobAssigned& f);
  void on(const fact::PodRunning& f);
  void on(const fact::PodGone& f);
  void on(const fact::JobSnapshot& f);

  // Rebuilds reserved_nodes() from the reservations of the clusters. O(reserved nodes).
  void reserve_nodes();
  // Changes the job's state, and also the backoff, the reservation and the planned end, which
  // depend on the state.
  void set_state(state::Job& job, JobState to);
  // plan_end() sets when the job's GPUs are expected to be free, and when Subak checks this time.
  // plan_ends() sets both times for all jobs.
  void plan_end(state::Job& job);
  void plan_ends();
  // Sets a starting job to kRunning if no pod is left to bind.
  void run_if_bound(state::Job& job);
  // Releases the GPUs of a pod at the time `at`. All usage of the pod until then must be in the
  // books (asserted).
  void give_slot(state::Job& job, std::uint32_t rank, TimeMs at);
  // Opens a waiting gang. If the gang is complete, it has one request for all its pods. The call
  // drops this request, and gives each pod a request of its own until the gang is complete again.
  void open_gang(state::Job& job);
  // Restores a pod with its slot. `lives` says that the pod's job is not done.
  void restore_pod(state::Job& job, std::uint32_t rank, const fact::JobSnapshot::Pod& kept,
                   bool lives);
  // Returns the shape of a request that has only this pod of the job. Records the stored size of
  // this request.
  ShapeUse use_single_pod(const state::Job& job, const PodShape& shape);
  // Remembers the reply to an edit with a request id. `request` has no content digest, because the
  // stamp has it.
  void remember(const EditStamp& edit, RememberedRequest request);

  state::LogPosition log_;
  Policy policy_;
  AccountTree tree_;
  Fleet fleet_;
  Ledger ledger_;
  state::Clusters clusters_;
  state::Nodes nodes_;
  state::NodeBackoff node_backoff_;
  ReservedNodes reserved_nodes_;
  state::Jobs jobs_{fleet_, tree_};
  state::Allocations allocations_{fleet_, tree_};
  state::Claims claims_{fleet_, tree_};
  RequestLog requests_;
  state::Leap leap_;
  struct SinglePodBytes {
    // The serial of the shape.
    std::uint64_t serial = 0;
    std::uint32_t bytes = 0;
  };
  // The stored size of a request of one pod, by shape number.
  std::vector<SinglePodBytes> bytes_of_shape_;
  state::PassDue pass_due_;
};

}  // namespace subak
