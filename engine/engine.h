// The engine owns all state and is its only writer. It takes inputs and returns facts, effects and
// a reply. It does no I/O, reads no clock, starts no threads and uses no third-party library.
//
// Duties of the caller:
//  1. Stamp Input::time_ms with a time that never goes backwards.
//  2. End each batch of inputs with in::Pass. Inputs never schedule by themselves.
//  3. Make the facts durable before showing replies, effects or views that rest on them.
//  4. After recovery (evolve() of every stored fact, in order) apply in::Restarted first.
//  5. Send in::Tick no later than next_deadline().
//
// Promises: the same state and input give the same outcome, byte for byte. A repeated mutation
// (request_id) makes no fact. The state is the fold of the facts. check_invariants() holds after
// each call.
// Threads: none. One thread owns an engine, for const calls too: they fill caches, which never
// change an answer. References hold until the next apply() or evolve().
// Units: milli-GPU; milli-GPU x ms in GpuTime; ms since 1970-01-01 UTC. Other units are in the
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

// The answer to the caller of an input. If the input is refused, `error` is set and the only fact
// is EditRefused.
struct Reply {
  std::optional<Error> error;
  JobId job;          // SubmitJob
  AccountId account;  // SetAccount
  // SetAccount: the new one (validate_only: the one it would be). Finalize: the fact version.
  // AcceptClock: the time of the wall clock.
  std::int64_t revision = 0;
  std::optional<AccountSpec> before;  // SetAccount, DeleteAccount: for the diff
  std::optional<AccountSpec> after;
  std::vector<std::string> warnings;
  bool repeated = false;  // the request_id is known, and this is its first reply
};

// The result of one input. `facts` are in order, and each is already applied to the state.
// `effects` are the commands that follow from them; send them once the facts are durable.
struct ApplyOutcome {
  std::vector<Fact> facts;
  std::vector<Effect> effects;
  Reply reply;
};

// The drain of a node: whether it is drained, when a planned drain begins, and when it ends by
// itself. 0: no time is set.
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

// A job as reads show it. A copy, cheap enough for pages of them.
struct JobRow {
  JobId id;
  std::string name, cluster, account, user;  // account path without the user
  JobState state = JobState::kQueued;
  JobOrigin origin = JobOrigin::kApi;
  Cause cause = Cause::kNone;  // why the job ended, or its current or last attempt
  GangRequest request;
  std::uint32_t gang_size = 0;
  MilliGpu milligpu = 0;  // held or running now, else the least it will cost
  std::int32_t priority = 0;
  DurationMs time_limit_ms = 0;
  TimeMs submit_ms = 0, started_ms = 0, ended_ms = 0;
  // Starting, ending: all pods must be bound by then. Incomplete: the job is done unless a pod
  // comes by then. Paused: the job is queued again then.
  TimeMs until_ms = 0;
  TimeMs end_refused_ms = 0;  // ending: when the cluster refused to end one of its pods
  std::uint32_t attempt = 0;
  // When the GPUs that it holds are expected to be free: by its time limit, else by the policy's
  // default. 0: it holds nothing, or the end is not known.
  TimeMs planned_end_ms = 0;
  // Of a queued job with reserved nodes: its latest start. 0: it has no reservation, or the start
  // is not known. A promised start rests on time limits and moves later only for a cause. Any other
  // start is a guess.
  TimeMs start_ms = 0;
  // When the present holders are expected to end; never after start_ms.
  TimeMs start_expected_ms = 0;
  bool start_promised = false;
  ReserveCause start_cause = ReserveCause::kMade;  // why the reservation was made or moved last
  std::uint32_t start_moves = 0;                   // how often the start has moved later
  std::uint32_t overruns = 0;     // how often its attempt ran beyond its planned end
  bool refused = false;           // the cluster's scheduler refused it (reason Unschedulable)
  bool limit_enforced = false;    // Subak asks it to end after its time limit
  bool limit_distrusted = false;  // it has a limit that is not relied on: State::trusts_limit
  std::vector<NodeId> nodes;      // where it holds GPUs, by id, each once
  std::vector<PodRow> pods;       // filled only on request
};

// One account (or user) as `share` and `account tree` show it.
struct AccountRow {
  AccountId id, parent;
  AccountSpec spec;
  std::int64_t revision = 0;
  double norm_shares = 0;           // as a part of its siblings' sum
  double usage_gpu_seconds = 0;     // decayed
  double effective_usage = 0;       // as a part of the parent's decayed usage
  double level_fs = 0;              // norm_shares / effective_usage; infinity where unused
  std::optional<double> fairshare;  // Fair Tree's factor, leaves only
  double share_factor = 0;          // 2^-(usage share / share), over the whole tree
  double surplus_gpu_seconds = 0;
  GpuTime usage_total;  // undecayed
  MilliGpu held = 0, running = 0, queued = 0, quota = 0;
  std::size_t jobs_queued = 0;
};

// One step of the walk that ranks a job: the siblings that are compared at one node of the tree.
// Siblings that hold GPUs but have no job that could start follow behind them.
struct RankStep {
  std::string node;  // path of the parent
  struct Entry {
    std::string path;
    double shares = 0;  // its part of the whole fleet by shares alone, with or without jobs
    double target = 0;  // its part of the whole fleet now, among those with jobs
    double usage_gpu_seconds = 0, surplus_gpu_seconds = 0;
    MilliGpu alloc = 0, quota = 0;
    MilliGpu next = 0;     // of its next job, half of which counts beside `alloc`; 0: it has none
    bool on_path = false;  // the job is below this one
  };
  std::vector<Entry> entries;  // best first
};

// Why a job waits. For a job that does not wait, its state.
struct Explanation {
  JobRow job;
  std::size_t position = 0;     // 1 = next; 0 if not waiting
  std::vector<Reason> reasons;  // all that apply now, structural first; never empty while it waits
  std::vector<RankStep> ranking;
  // Of a queued job: the time from which Subak may reserve nodes for it if it does not fit in its
  // turn. 0: never. `kept_nodes` are the names of the nodes that are reserved for it now.
  TimeMs patience_until_ms = 0;
  std::vector<std::string> kept_nodes;
};

// A job with more pods than ranks. The pods without a rank are JobRow::pods from JobRow::gang_size
// on.
struct CrowdedJob {
  JobRow job;
  Reason reason;
};

// One row of the shadow queue: the queue as it would be if all namespaces were in `enforce`
// (docs/design/0035).
struct WouldRow {
  std::size_t index = 0;            // among all rows, from 0
  std::size_t position = 0;         // 1 = next; 0: its gang is incomplete, or has no account
  bool pending = false;             // its pods wait outside Subak, and job.id is none
  JobRow job;                       // as the next pass would leave it
  std::optional<Reason> waits_for;  // none: the pass would start it, on job.nodes
};

// The usage of one pod since its last ledger row. The books do not have it yet.
struct OpenUsage {
  AccountId payer;
  UsageState state = UsageState::kUsed;  // as the row will say, if nothing goes wrong
  std::string product;
  TimeMs since_ms = 0;
  MilliGpu milligpu = 0;
};

// The bill of one node up to now: both books, and the time that neither explains (always zero).
struct NodeBill {
  NodeId node;
  NodeBooks capacity;
  GpuTime charged;   // closed rows + open meters, by the ledger's side
  GpuTime residual;  // capacity.allocated - charged
};

// Figures for metrics that need a scan of everything that waits or holds GPUs. A collector reads
// them.
struct Survey {
  struct OfCluster {
    ClusterId id;
    MilliGpu foreign = 0;  // held by foreign pods
    // The part of the free GPUs that common pods cannot use: Search::fragmentation over the
    // limits::kSurveyShapes shapes that most waiting or running pods have.
    double fragmentation = 0;
    MilliGpu kept_idle = 0;      // Engine::kept_idle() of the cluster
    MilliGpu left_to_gangs = 0;  // idle on NVLink domains that Policy::keep_whole leaves to gangs
    LightWork light;             // of non-GPU pods: Fleet::light_work() of the cluster
  };
  std::vector<OfCluster> clusters;  // by id
  // The earliest submit time of the jobs that are queued at or below an account. No entry: none is
  // queued.
  std::map<AccountId, TimeMs> oldest_submit;
  std::vector<JobId> head;  // the first limits::kSurveyQueue of the queue, in order
  // How many of the first limits::kSurveyExplained jobs wait for each reason. A job may have
  // several reasons.
  std::map<ReasonToken, std::size_t> reasons;
};

class Engine {
 public:
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  Engine(Engine&&) noexcept;  // the moved-from engine must not be used
  Engine& operator=(Engine&&) noexcept;

  // Decides on an input and applies the facts. It numbers them from seq() + 1.
  ApplyOutcome apply(const Input& input);
  // Applies one fact that is already decided, without any policy. Facts must arrive in order. Facts
  // of a checkpoint (seq 0) come first, then set_seq().
  void evolve(const Fact& fact);
  void set_seq(std::uint64_t seq);  // number of the last fact that the checkpoint includes
  std::uint64_t seq() const;        // of the last fact; 0: none yet
  TimeMs now() const;               // time of the last input or fact

  // The next time at which a Tick changes something. nullopt: never, unless another input comes.
  std::optional<TimeMs> next_deadline() const;
  // True if a change since the last Pass may let a job start.
  bool pass_due() const;
  // The effects to send now: first of jobs that wait again, then of jobs that start or end, by job
  // id, then rank.
  std::vector<Effect> outstanding(ClusterId cluster) const;
  // The snapshot for other threads, as of now. It shares the unchanged parts with the previous one.
  std::shared_ptr<const View> view() const;

  // Facts that rebuild this state in an empty engine (recovery without history). All have number 0
  // and the state's time. The second form passes each fact on and stores none. O(state).
  std::vector<Fact> checkpoint() const;
  void checkpoint(const std::function<void(const Fact&)>& each) const;
  // A digest of the checkpoint's facts: equal states have equal digests. It detects mistakes, not
  // forgery. O(state).
  std::array<std::uint64_t, 2> digest() const;
  // Asserts that nothing is above capacity, that tree sums and open holds are right, and that the
  // residual of the bill is zero. O(state).
  void check_invariants() const;

  // --- reads (the follower serves them) ----------------------------------------------------------
  ClusterId find_cluster(std::string_view name) const;  // empty: the only one; none if unknown
  std::string cluster_name(ClusterId id) const;         // empty if it was removed, or never existed
  const Policy& policy() const;
  const AccountTree& accounts() const;
  const Fleet& fleet() const;
  const Ledger& ledger() const;
  NodeDrain drain_of(NodeId id) const;
  std::optional<JobRow> job(JobId id, bool with_pods) const;  // none: unknown, or forgotten
  // Jobs with ids after `after`, at most `most`, by id. `state`, `account` (subtree path) and
  // `user` (name below any account) filter them.
  std::vector<JobRow> jobs(JobId after, std::size_t most, std::optional<JobState> state,
                           std::string_view account, std::string_view user = {}) const;
  // The whole order as it is now: O(n log n) in the waiting jobs. For a long queue copy it with
  // copy_queue() and order the copy on another thread. The copy costs O(n + accounts), nearly all
  // of it one copy of memory.
  QueuePicture queue_picture() const;
  void copy_queue(QueueCopy& into) const;
  // Returns the input of make_forecast() at `t`, which is not before now(). Any thread may use it.
  // O(state).
  ForecastBasis forecast_basis(TimeMs t) const;
  // The same in slices, so that other calls need not wait for all of it. begin_forecast_basis()
  // fixes the state in O(accounts + nodes). apply() and evolve() may come between the slices; the
  // basis does not show their changes. It drops a basis in progress.
  void begin_forecast_basis(TimeMs t);
  // Copies the next slice: jobs and pods together, at most `most`. Returns the basis once it is
  // complete; nullopt: call again. It has no run times, which make_forecast() predicts. Requires a
  // basis in progress.
  std::optional<ForecastBasis> forecast_basis_slice(std::size_t most);
  // The timeline of the fleet from `t` on, which is not before now(): engine/plan.h. O(jobs +
  // nodes).
  FleetPlan plan(const PlanAsked& asked, const Forecast& forecast, TimeMs t) const;
  // The first `most` jobs in the order in which the next pass would take them. To order n jobs
  // costs O(n log n), even for a small `most`.
  std::vector<JobRow> queue(std::size_t most) const;
  std::vector<JobId> queue_order(std::size_t most) const;
  // True if the job waits for its turn at or below this account (subtree path; empty: any). O(1).
  bool is_queued_below(JobId id, std::string_view account) const;
  // Jobs with waiting pods that are not in the order, by id: incomplete or paused jobs, and jobs
  // with more pods than ranks. At or below `account` (empty: any). O(those jobs).
  std::vector<JobRow> beside_queue(JobId after, std::size_t most, std::string_view account) const;
  // Jobs with more pods than ranks, in any state, by id. O(those jobs).
  std::vector<CrowdedJob> crowded(JobId after, std::size_t most) const;
  std::vector<AccountRow> account_rows(TimeMs t) const;  // parents first; with Fair Tree's factors
  // Explains why a job waits, at `t`. None: the job is unknown. With a `position` in the order the
  // call does not compute the order.
  std::optional<Explanation> explain(JobId id, TimeMs t,
                                     std::optional<std::size_t> position = std::nullopt) const;
  // Only the reasons of a job that waits or has more pods than ranks. Empty for other jobs.
  // `position` in the order; 0: not known. Does not look at the queue: O(nodes).
  std::vector<Reason> reasons(JobId id, std::size_t position) const;
  // The main reason why a job waits: the first of reasons() if it comes from its account's rules or
  // its cluster. Otherwise it says whether there is room for it now. nullopt: the job does not
  // wait. O(depth) and one search for a placement, where reasons() looks at every node.
  std::optional<Reason> first_reason(JobId id, std::size_t position) const;
  // The shadow queue, and what the next pass would start, as if every namespace were enforced and
  // all pods that wait outside Subak were gated. These pods come from `view`, which is of this
  // engine or of the one whose facts it is fed. Returns rows from `begin` on at or below `account`
  // (empty: all), at most `most`. nullopt: more than limits::kMaxWouldQueue. O(state) once for each
  // state and view, then one search for a placement per row.
  std::optional<std::vector<WouldRow>> would_queue(const View& view, std::string_view account,
                                                   std::size_t begin, std::size_t most) const;
  // All pods that hold GPUs, by node, job and rank. O(those pods).
  std::vector<OpenUsage> open_usage() const;
  // The bill of every present node, by cluster and name. `t` is not before the last change of any
  // node. O(nodes + pods that hold GPUs).
  std::vector<NodeBill> bill(TimeMs t) const;
  GpuTime residual(TimeMs t) const;  // sum of |residual| over nodes
  // Nodes of a cluster, by id.
  std::vector<NodeId> nodes(ClusterId cluster) const;
  std::size_t live_size() const;            // jobs that have not ended, and nodes
  std::size_t count(JobState state) const;  // jobs; of ended ones only those still remembered
  // How many kinds of pods have cached node filters in the searches of this engine.
  std::size_t filters() const;
  // Free GPUs of the cluster on reserved nodes. O(reserved nodes).
  MilliGpu kept_idle(ClusterId cluster) const;
  Survey survey() const;  // O(queued jobs + pods that hold GPUs + nodes): call rarely

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
