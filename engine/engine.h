// The engine owns all state, and only the engine writes the state. The engine does no I/O, reads no
// clock, starts no threads and uses no third-party library.
//
// apply() takes an input, which is an event of a cluster or a request of a caller. It returns
// facts, effects and a reply. A fact is a decision or observation that the caller makes durable. An
// effect is a command to a cluster, such as to open a pod's scheduling gate or to evict a pod.
//
// The leader's loop (server/runtime) owns one engine. The follower (server/runtime/follower.h) has
// a second engine, which only applies the stored facts, and serves reads.
//
// Duties of the caller:
//  1. Set Input::time_ms to a time that never goes backwards.
//  2. End each batch of inputs with in::Pass. Other inputs start no jobs.
//  3. Make the facts durable before you show replies, effects or views that depend on them.
//  4. After recovery (evolve() of every stored fact, in order), first apply in::Restarted.
//  5. Send in::Tick no later than next_deadline().
//
// Promises: the same state and input give the same outcome, byte for byte. A request that repeats
// the request id of an earlier one makes no fact. The state follows from the facts alone.
// check_invariants() passes after each call.
// Threads: one at a time, even for const calls, because const calls fill caches. The caches never
// change a result.
// References that the engine returns are valid until the next apply() or evolve().
// Units: milli-GPU; milli-GPU x ms in GpuTime; ms since 1970-01-01 UTC. All other units are in the
// names.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accounting/ledger.h"
#include "accounting/tree.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/reason.h"
#include "engine/answers/answers.h"
#include "engine/answers/fleet_map.h"
#include "engine/answers/growth.h"
#include "engine/answers/plan.h"
#include "engine/answers/queue_snapshot.h"
#include "engine/answers/view.h"
#include "engine/forecast/forecast.h"
#include "model/effect.h"
#include "model/fact.h"
#include "model/input.h"
#include "model/job.h"
#include "placement/explain/mig_plan.h"
#include "placement/fleet/fleet.h"

namespace subak {

// The purpose of a copy of the state.
enum class CopyFor : std::uint8_t {
  // The copy gives the facts of Engine::checkpoint().
  kCheckpoint,
  // The copy gives the facts of Engine::forecast_basis().
  kForecast,
};

class Engine {
 public:
  // Makes an engine without facts. evolve() and apply() add facts to the engine.
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  // The moved-from engine must not be used.
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Decides on an input, and applies the facts of this decision to the state. The facts get the
  // numbers from seq() + 1 on. The reply says if the engine refuses the input.
  ApplyOutcome apply(const Input& input);
  // Applies one stored fact, and decides nothing. Facts must arrive in the order of their numbers.
  // Facts of a checkpoint (Fact::seq 0) come before all others, and set_seq() must follow them.
  void evolve(const Fact& fact);
  // Sets the number of the last fact that the checkpoint includes.
  void set_seq(std::uint64_t seq);
  // Returns the number of the last fact. 0: there is no fact yet.
  std::uint64_t seq() const;
  // Returns the time of the last input or fact.
  TimeMs now() const;

  // Returns the next time at which a Tick changes something; nullopt if a Tick changes nothing
  // before another input comes.
  std::optional<TimeMs> next_deadline() const;
  // True if a change since the last in::Pass may let a job start, so that the caller should apply
  // one.
  bool pass_due() const;
  // Returns all effects that the present state of the cluster's jobs requires, even if they were
  // sent before. Effects of jobs that wait again after an attempt come first, then effects of jobs
  // that start or end. Each of the two parts has one effect for each job, by job id, with its pods
  // by rank.
  std::vector<Effect> outstanding(ClusterId cluster) const;
  // Returns the present View: an immutable snapshot for the webhook, the metrics and other threads.
  // It shares the unchanged parts with the previous View.
  std::shared_ptr<const View> view() const;

  // Returns facts that rebuild this state in an empty engine, without the facts that led to it. All
  // these facts have number 0 and the time of the last fact. The second form passes each fact on to
  // `each` and stores no facts. O(state).
  std::vector<Fact> checkpoint() const;
  void checkpoint(const std::function<void(const Fact&)>& each) const;
  // Returns a digest of the checkpoint's facts. Equal states have equal digests. The digest detects
  // mistakes, not forgery. O(state).
  std::array<std::uint64_t, 2> digest() const;
  // Asserts the invariants of the state and of its parts: for example, the account tree's sums
  // equal the GPUs that jobs hold. Also asserts that the residual of each node (bill()) is zero.
  // O(state).
  void check_invariants() const;

  // --- reads (the follower serves them) ----------------------------------------------------------
  // Returns the cluster of this name; an empty name means the only cluster. Returns none if the
  // name is unknown, or if the name is empty and there are several clusters.
  ClusterId find_cluster(std::string_view name) const;
  // Returns the name of the cluster; empty if the cluster was removed, or never existed.
  std::string cluster_name(ClusterId id) const;
  const Policy& policy() const;
  const AccountTree& accounts() const;
  const Fleet& fleet() const;
  const Ledger& ledger() const;
  // Returns the node's drain, which may be planned or in force.
  NodeDrain drain_of(NodeId id) const;
  // Returns the row of a job; nullopt if the job is unknown or forgotten. `with_pods` fills in
  // JobRow::pods.
  std::optional<JobRow> job(JobId id, bool with_pods) const;
  // Returns at most `most` jobs with ids after `after`, by id. `state`, `account` (subtree path)
  // and `user` (name below any account) filter the jobs.
  std::vector<JobRow> jobs(JobId after, std::size_t most, std::optional<JobState> state,
                           std::string_view account, std::string_view user = {}) const;
  // Returns the complete present order of the queue. O(n log n) for n waiting jobs. For a long
  // queue, call copy_queue(), and compute the order from the copy on another thread
  // (QueueCopy::make()). copy_queue() costs O(n + accounts). Nearly all of this cost is one copy of
  // memory.
  QueueSnapshot queue_snapshot() const;
  void copy_queue(QueueCopy& into) const;
  // Returns the input of make_forecast() at `t`, which must not be before now(). Any thread may use
  // the result. O(state).
  ForecastBasis forecast_basis(TimeMs t) const;
  // Begins a copy of the state as facts, in slices, so that other calls need not wait for the
  // complete copy. The copy shows the state at this call. If a copy is already in progress, the
  // call drops it. The call costs O(accounts + nodes + ended jobs), and one copy of the ids of jobs
  // and requests. For a forecast at `t`, append the facts of the slices to the result. The result
  // has no run times, because make_forecast() predicts them.
  ForecastBasis begin_copy(CopyFor what, TimeMs t);
  // Passes on the next slice, about `most` facts, to `sink`. Returns true when the copy is
  // complete. apply() and evolve() may be called between slices, but the copy does not show their
  // changes. A copy must be in progress.
  bool copy_slice(std::size_t most, const std::function<void(Fact&&)>& sink);
  // Returns the timeline of the fleet (engine/answers/plan.h) from `t` on. `t` must not be before
  // now(). O(jobs + nodes).
  FleetPlan plan(const PlanAsked& asked, const Forecast& forecast, TimeMs t) const;
  // Returns each GPU of the cluster with its state and its job (engine/answers/fleet_map.h). The
  // cluster must exist. O(GPUs + nodes log nodes).
  FleetMap fleet_map(ClusterId cluster) const;
  // queue() and queue_order() return the first `most` jobs in the order in which the next pass
  // would take them if every job fitted. With `as_if`, the order follows from other rules or
  // shares.
  std::vector<JobRow> queue(std::size_t most) const;
  std::vector<JobId> queue_order(std::size_t most, const OrderAsIf& as_if = {}) const;
  // True if the job waits for its turn at or below this account. An empty path stands for all
  // accounts. O(1).
  bool is_queued_below(JobId id, std::string_view account) const;
  // Returns at most `most` jobs after `after`, by id, that have waiting pods but are not in the
  // order. These are incomplete or paused jobs, and jobs with more pods than ranks. A rank is the
  // number of a pod in its gang; further pods wait for a free rank. The jobs are at or below
  // `account`; an empty path stands for all accounts. O(these jobs).
  std::vector<JobRow> beside_queue(JobId after, std::size_t most, std::string_view account) const;
  // Returns at most `most` jobs after `after`, by id, that have more pods than ranks. The jobs may
  // be in any state. O(these jobs).
  std::vector<CrowdedJob> crowded(JobId after, std::size_t most) const;
  // Returns all accounts and users, parents first, with the usage at `t` and Fair Tree's factors.
  std::vector<AccountRow> account_rows(TimeMs t) const;
  // Explains why a job waits at the time `t`; nullopt if the job is unknown. `position`: the job's
  // position in the order, so that the call does not compute the order. `growth`, here and below:
  // the newest result of plan_growth(), which says which jobs wait for nodes of a pool. It may be
  // older than the state. nullptr: it is not known.
  std::optional<Explanation> explain(JobId id, TimeMs t,
                                     std::optional<std::size_t> position = std::nullopt,
                                     const Growth* growth = nullptr) const;
  // Returns the claims of jobs at or below the account, in the order in which they were made. A
  // claim sets GPUs aside for a waiting job, and asks the jobs that hold these GPUs to end. An
  // empty path stands for all accounts. With `would`, the result has instead the claims that the
  // next pass would make with a policy that reclaims (Policy::reclaim). Use `would` only if
  // live_size() is at most limits::kMaxShadowQueue, because this call costs O(state).
  std::vector<ClaimRow> claims(std::string_view account, bool would = false) const;
  // Returns only the reasons of a job that waits or has more pods than ranks; empty for other jobs.
  // `position` is the job's position in the order; 0: the position is not known. The call does not
  // read the queue. O(nodes).
  std::vector<Reason> reasons(JobId id, std::size_t position, const Growth* growth = nullptr) const;
  // Returns the main reason why a job or its pods wait. nullopt: the job does not wait, and has no
  // more pods than ranks. The result is the first of reasons() if that reason comes from the
  // account's rules or from the cluster. Otherwise the result says whether there is room for the
  // job now. The call costs O(depth) and one search for a placement. reasons() reads every node.
  std::optional<Reason> first_reason(JobId id, std::size_t position,
                                     const Growth* growth = nullptr) const;
  // Returns the shadow queue: the queue, and the jobs that the next pass would start, if every
  // namespace were enforced and all pods that wait outside Subak were gated. System namespaces are
  // left out. `view` has the pods that wait outside Subak: it is a View of this engine, or of the
  // engine from which this engine gets its facts. Returns at most `most` rows from `begin` on, at
  // or below `account`. An empty path stands for all accounts. Returns nullopt if the numbers of
  // jobs, nodes and pods add up to more than limits::kMaxShadowQueue. The first call for a state
  // and a view costs O(state). Each row costs one search for a placement.
  std::optional<std::vector<ShadowRow>> shadow_queue(const View& view, std::string_view account,
                                                     std::size_t begin, std::size_t most) const;
  // Returns the usage of all pods that hold GPUs since their last ledger row, by node, job and
  // rank. O(these pods).
  std::vector<OpenUsage> open_usage() const;
  // Returns the bill of every present node, by cluster and name. `t` must not be before the last
  // change of any node. O(nodes + pods that hold GPUs).
  std::vector<NodeBill> bill(TimeMs t) const;
  // Returns the number of jobs that have not ended plus the number of nodes.
  std::size_t live_size() const;
  // Returns the number of jobs in the state. Ended jobs count only while the engine remembers them.
  std::size_t count(JobState state) const;
  // Returns the number of node filters that the searches of this engine have cached, one for each
  // kind of pod.
  std::size_t filters() const;
  // Returns the free milli-GPU of the cluster on reserved nodes. O(reserved nodes).
  MilliGpu reserved_idle(ClusterId cluster) const;
  // Returns the slices of a cluster by profile, and the MIG configuration with which more waiting
  // jobs could start. O(queued jobs + nodes).
  MigPlan mig_plan(ClusterId cluster) const;
  // Returns the figures for metrics that no index has. Costs O(queued jobs + pods that hold GPUs +
  // nodes), so call it rarely.
  Survey survey(const Growth* growth = nullptr) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
