// The engine: all state, one writer. Inputs in; facts, effects and a reply out. No I/O, no clock,
// no threads, no third-party library.
//
// Duties of the caller:
//  1. Stamp Input::time_ms with a time that never goes backwards.
//  2. End each batch of inputs with in::Pass; inputs never schedule by themselves.
//  3. Make the facts durable before anything that rests on them (replies, effects, views) is shown.
//  4. After recovery (evolve of every stored fact, in order) apply in::Restarted first.
//  5. Send in::Tick no later than next_deadline().
//
// Promises: same state and input, same outcome, byte for byte. A repeated mutation (request_id)
// makes no fact. The state is the fold of the facts. check_invariants() holds after each call.
// Threads: none; one thread owns an engine, for const calls too: they remember, to be quick the next
// time, and answer the same. References hold until the next apply() or evolve().
// Units: milli-GPU, milli-GPU x ms in GpuTime, ms since 1970-01-01 UTC; others are in names.
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
#include "engine/effect.h"
#include "engine/fact.h"
#include "engine/forecast.h"
#include "engine/input.h"
#include "engine/plan.h"
#include "engine/queue_picture.h"
#include "engine/view.h"
#include "placement/fleet.h"
#include "queue/job.h"

namespace subak {

// What the asker learns. For refused inputs `error` is set and nothing but an EditRefused fact was
// made.
struct Reply {
  std::optional<Error> error;
  JobId job;                  // SubmitJob
  AccountId account;          // SetAccount
  std::int64_t revision = 0;  // SetAccount: the new one (validate_only: the one it would be);
                              // Finalize: the fact version; AcceptClock: the wall clock's time
  std::optional<AccountSpec> before;  // SetAccount, DeleteAccount: for the diff
  std::optional<AccountSpec> after;
  std::vector<std::string> warnings;
  bool repeated = false;  // the request_id was known: this is what it did then
};

// What one input led to: facts in order, each already part of the state; what is to be done outside
// because of them, which may be shown once they are durable; the answer.
struct ApplyOutcome {
  std::vector<Fact> facts;
  std::vector<Effect> effects;
  Reply reply;
};

// Of a node: whether it is drained, when that begins as planned, and when it ends by itself; 0: it does not.
struct NodeDrain {
  bool drained = false;
  TimeMs from_ms = 0, until_ms = 0;
};

// One pod of a job as reads show it.
struct PodRow {
  std::uint32_t rank = 0;
  std::string uid, name;
  PodState state = PodState::kWaiting;
  PodGate gate = PodGate::kOpen;
  PodSlot slot;
  TimeMs since_ms = 0;
};

// A job as reads show it. Copies; cheap enough for pages of them.
struct JobRow {
  JobId id;
  std::string name, cluster, account, user;  // account path without the user
  JobState state = JobState::kQueued;
  JobOrigin origin = JobOrigin::kApi;
  Cause cause = Cause::kNone;  // why it ended, or its present or last attempt
  GangRequest request;
  std::uint32_t gang_size = 0;
  MilliGpu milligpu = 0;  // held or running now, else the least it will cost
  std::int32_t priority = 0;
  DurationMs time_limit_ms = 0;
  TimeMs submit_ms = 0, started_ms = 0, ended_ms = 0;
  // Starting, ending: its pods must be bound by then. Incomplete: done unless a pod comes by then.
  // Paused: queued again then.
  TimeMs until_ms = 0;
  TimeMs end_refused_ms = 0;  // ending: when its cluster said that it does not let a pod of it end
  std::uint32_t attempt = 0;
  // When what it holds is taken to be free: by its time limit, else by the policy's default. 0: it holds
  // nothing, or nobody knows.
  TimeMs planned_end_ms = 0;
  // Of a queued job that nodes are kept for: by when it starts; 0: there are none, or nobody knows.
  // Promised: by time limits, and it moves later only for a cause. Else a guess.
  TimeMs start_ms = 0;
  TimeMs start_expected_ms = 0;  // when what its nodes hold now is taken to end: not after start_ms
  bool start_promised = false;
  ReserveCause start_cause = ReserveCause::kMade;  // why it is what it is
  std::uint32_t start_moves = 0;                   // how often it has moved later
  std::uint32_t overruns = 0;     // how often its attempt was there beyond such an end
  bool refused = false;           // the cluster's scheduler refused it (reason Unschedulable)
  bool limit_enforced = false;    // it is asked to end once it has had its time limit
  bool limit_distrusted = false;  // it has one that nobody relies on: State::trusts_limit
  std::vector<NodeId> nodes;      // where it holds GPUs: by id, each once
  std::vector<PodRow> pods;       // only when asked for
};

// One account (or user) as `share` and `account tree` show it.
struct AccountRow {
  AccountId id, parent;
  AccountSpec spec;
  std::int64_t revision = 0;
  double norm_shares = 0;           // of the parent
  double usage_gpu_seconds = 0;     // decayed
  double effective_usage = 0;       // part of the parent's decayed usage
  double level_fs = 0;              // norm_shares / effective_usage; infinity where unused
  std::optional<double> fairshare;  // Fair Tree's factor, leaves only
  double share_factor = 0;          // 2^-(usage share / share), over the whole tree
  double surplus_gpu_seconds = 0;
  GpuTime usage_total;  // undecayed
  MilliGpu held = 0, running = 0, queued = 0, quota = 0;
  std::size_t jobs_queued = 0;
};

// One step of the walk that ranks a job: the siblings compared at one node of the tree, and behind them those that
// hold GPUs and have no job that could start.
struct RankStep {
  std::string node;  // path of the parent
  struct Entry {
    std::string path;
    double shares = 0;  // its part of the whole fleet by shares alone, whoever has jobs
    double target = 0;  // its part of the whole fleet at the moment, beside those with jobs
    double usage_gpu_seconds = 0, surplus_gpu_seconds = 0;
    MilliGpu alloc = 0, quota = 0;
    MilliGpu next = 0;     // of its next job: half of it counts beside `alloc`; 0: it has none
    bool on_path = false;  // the job is below this one
  };
  std::vector<Entry> entries;  // best first
};

// Why a job waits, or what it is if it does not.
struct Explanation {
  JobRow job;
  std::size_t position = 0;     // 1 = next; 0 if not waiting
  std::vector<Reason> reasons;  // all that bind now, structural first; never empty while it waits
  std::vector<RankStep> ranking;
  // Of a queued job: from then on nodes may be kept for it, when it does not fit in its turn; 0: never.
  // And those that are kept for it now, by name, until it starts.
  TimeMs patience_until_ms = 0;
  std::vector<std::string> kept_nodes;
};

// A job with pods that its gang has no rank for: JobRow::pods from JobRow::gang_size on.
struct CrowdedJob {
  JobRow job;
  Reason reason;
};

// One row of what the queue would be if what is only observed were enforced (docs/design/0035).
struct WouldRow {
  std::size_t index = 0;            // among all rows, from 0
  std::size_t position = 0;         // 1 = next; 0: its gang is not whole, or has no account
  bool pending = false;             // pods that wait without us: job.id is none
  JobRow job;                       // as the next pass would leave it
  std::optional<Reason> waits_for;  // none: the pass would start it, on job.nodes
};

// What one pod has held since its last ledger row: not in the books yet.
struct OpenUsage {
  AccountId payer;
  UsageState state = UsageState::kUsed;  // as the row will say, if nothing goes wrong
  std::string product;
  TimeMs since_ms = 0;
  MilliGpu milligpu = 0;
};

// The bill of one node up to now: both books and what is left unexplained (always zero).
struct NodeBill {
  NodeId node;
  NodeBooks capacity;
  GpuTime charged;   // closed rows + open meters, by the ledger's side
  GpuTime residual;  // capacity.allocated - charged
};

// Figures that need a look at everything that waits or holds GPUs, for metrics.
struct Survey {
  struct OfCluster {
    ClusterId id;
    MilliGpu foreign = 0;  // held by pods that were bound without us
    // Part of the free GPUs that the usual pods cannot use: Search::fragmentation over the
    // limits::kSurveyShapes shapes that most pods that wait or run have.
    double fragmentation = 0;
    MilliGpu kept_idle = 0;      // kept_idle() of the cluster
    MilliGpu left_to_gangs = 0;  // idle on NVLink domains that Policy::keep_whole keeps
    LightWork light;             // Fleet::light_work() of the cluster
  };
  std::vector<OfCluster> clusters;  // by id
  // Earliest submit time of what is queued at or below an account; none if nothing is.
  std::map<AccountId, TimeMs> oldest_submit;
  std::vector<JobId> head;  // the first limits::kSurveyQueue of the queue, in order
  // How many of the first limits::kSurveyExplained wait for each reason; a job may have several.
  std::map<ReasonToken, std::size_t> reasons;
};

class Engine {
 public:
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  Engine(Engine&&) noexcept;  // of the other nothing may be asked any more
  Engine& operator=(Engine&&) noexcept;

  // Decides and evolves. Facts are numbered from seq() + 1.
  ApplyOutcome apply(const Input& input);
  // Applies one fact that is already decided; holds no policy. Facts must arrive in order;
  // checkpoint facts (seq 0) first, then set_seq().
  void evolve(const Fact& fact);
  void set_seq(std::uint64_t seq);  // the number of the last fact that the checkpoint stands for
  std::uint64_t seq() const;        // of the last fact; 0: none yet
  TimeMs now() const;               // time of the last input or fact

  // When a Tick would change something; nullopt: never, as things stand.
  std::optional<TimeMs> next_deadline() const;
  // Something changed since the last Pass that could let a job start.
  bool pass_due() const;
  // What should be done outside now: of jobs that wait again, then of those that start or end, by job id,
  // then rank.
  std::vector<Effect> outstanding(ClusterId cluster) const;
  // The picture for other threads, as of now. Parts that did not change are those of the last one.
  std::shared_ptr<const View> view() const;

  // Facts that rebuild this state in an empty engine (recovery without history), all with number 0
  // and the state's time. The second form keeps none of them. O(state).
  std::vector<Fact> checkpoint() const;
  void checkpoint(const std::function<void(const Fact&)>& each) const;
  // A digest of these facts: equal states have equal ones. It finds mistakes, not forgery. O(state).
  std::array<std::uint64_t, 2> digest() const;
  // Asserts: nothing above capacity, tree sums, open holds, bill residual zero. O(state).
  void check_invariants() const;

  // --- reads (the follower serves them) ----------------------------------------------------------
  ClusterId find_cluster(std::string_view name) const;  // empty: the only one; none if unknown
  std::string cluster_name(ClusterId id) const;         // empty if it was removed, or never was
  const Policy& policy() const;
  const AccountTree& accounts() const;
  const Fleet& fleet() const;
  const Ledger& ledger() const;
  NodeDrain drain_of(NodeId id) const;
  std::optional<JobRow> job(JobId id, bool with_pods) const;  // none: unknown, or forgotten
  // Jobs after `after` by id, at most `most`; `state`, `account` (subtree path) and `user` (name
  // below any account) filter.
  std::vector<JobRow> jobs(JobId after, std::size_t most, std::optional<JobState> state,
                           std::string_view account, std::string_view user = {}) const;
  // The whole order as it is now: O(n log n) in what waits. Of a long queue rather make it
  // elsewhere, from a copy: O(n + accounts), nearly all of it one copy of memory.
  QueuePicture queue_picture() const;
  void copy_queue(QueueCopy& into) const;
  // What a forecast of every start is made of, anywhere, at `t`, which is not before now(). O(state).
  ForecastBasis forecast_basis(TimeMs t) const;
  // The same in slices, so that other calls need not wait for all of it. begin_forecast_basis() fixes the
  // state and takes O(accounts + nodes); apply() and evolve() may come between the slices and do not show
  // in the basis. A basis that is under way is dropped.
  void begin_forecast_basis(TimeMs t);
  // The next slice, of so many jobs and pods. The basis once it is complete; nullopt: go on. It has no run
  // times: make_forecast() predicts them. One is under way.
  std::optional<ForecastBasis> forecast_basis_slice(std::size_t most);
  // The fleet by time from `t` on, which is not before now(): engine/plan.h. O(jobs + nodes).
  FleetPlan plan(const PlanAsked& asked, const Forecast& forecast, TimeMs t) const;
  // The queue in the order in which the next pass would take it. The order of n jobs costs
  // O(n log n), whatever is copied of them.
  std::vector<JobRow> queue(std::size_t most) const;
  std::vector<JobId> queue_order(std::size_t most) const;
  // It waits for its turn, at or below this account (subtree path; empty: any). O(1).
  bool is_queued_below(JobId id, std::string_view account) const;
  // Jobs with pods that wait and that are not in the order, by number: incomplete or paused ones, and those
  // with pods beyond their gang's size. At or below `account` (empty: any). O(them).
  std::vector<JobRow> beside_queue(JobId after, std::size_t most, std::string_view account) const;
  // Of all jobs, those with pods beyond their gang's size, by number. O(them).
  std::vector<CrowdedJob> crowded(JobId after, std::size_t most) const;
  std::vector<AccountRow> account_rows(TimeMs t) const;  // parents first; with Fair Tree's factors
  // Why a job waits, at `t`; none if it is unknown. `position` in the order, if the asker has it: the
  // order is not made then.
  std::optional<Explanation> explain(JobId id, TimeMs t,
                                     std::optional<std::size_t> position = std::nullopt) const;
  // Only the reasons, of a job that waits or has pods beyond its gang's size; empty if neither.
  // `position` in the order (0: not
  // known). Does not look at the queue: O(nodes).
  std::vector<Reason> reasons(JobId id, std::size_t position) const;
  // What keeps a job that waits: the first of reasons() if its account's rules or its cluster do,
  // else whether a place is free for it now. nullopt if it does not wait. O(depth) and one search
  // for a place, where reasons() looks at every node.
  std::optional<Reason> first_reason(JobId id, std::size_t position) const;
  // The queue as it would be, and what the next pass would start, if every namespace were enforced and
  // the pods that wait without us had been gated. Those are read from `view`, which is of this engine,
  // or of the one whose facts it is fed. From the row `begin` on those at or below `account` (empty:
  // all), at most `most`. nullopt: more than limits::kMaxWouldQueue. O(state) once for each state and
  // view, then one search for a place a row.
  std::optional<std::vector<WouldRow>> would_queue(const View& view, std::string_view account,
                                                   std::size_t begin, std::size_t most) const;
  // All pods that hold GPUs, by node, job and rank. O(them).
  std::vector<OpenUsage> open_usage() const;
  // Of every node that is there, by cluster and name. `t` is not before the last change of any. O(nodes
  // + pods that hold GPUs).
  std::vector<NodeBill> bill(TimeMs t) const;
  GpuTime residual(TimeMs t) const;  // sum of |residual| over nodes
  // Nodes of a cluster with their ids, by id.
  std::vector<NodeId> nodes(ClusterId cluster) const;
  std::size_t live_size() const;            // jobs that have not ended, and nodes
  std::size_t count(JobState state) const;  // jobs; of ended ones those that are remembered
  // How many kinds of pods the searches of this engine remember nodes for.
  std::size_t filters() const;
  // Free GPUs of the cluster on nodes that are kept for jobs. O(nodes that are kept).
  MilliGpu kept_idle(ClusterId cluster) const;
  Survey survey() const;  // O(queued jobs + pods that hold GPUs + nodes): now and then

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
