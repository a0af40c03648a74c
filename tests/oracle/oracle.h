// The oracle: a second, simple implementation of Subak's rules, for tests. It reads each input of
// an engine with the facts that followed, and reports every fact that breaks a rule. It has lists
// and loops where the engine has fast tables, so both are unlikely to have the same mistake. Start
// with saw() and compare(). The oracle checks
//   each start        Only complete gangs start, of one product, on GPUs that are present and free,
//                     on nodes that take work. Pods that NVLink must join are in one domain of a
//                     product with NVLink. No pod goes to a node whose back-off for such pods has
//                     not ended. Non-GPU pods leave the CPU and memory that the policy reserves
//                     for free GPUs.
//   each ledger row   The rows of one hold follow each other without gap or overlap, at its rate,
//                     from the hold to the end of the pod, each in one UTC day. Each bound pod in
//                     a cluster with a complete list has the row of a closed day.
//   the order         Each started job is next by the order rule, if all waiting jobs could start.
//                     A pass starts every job that could start: one product can hold it, and its
//                     accounts' limits and borrow allow it. The oracle checks the order only with
//                     `judge_order`: the world must then use only whole GPUs, no late reports and
//                     no patience.
//   ends              Each overrun is real. A job that a limit ends has reached the limit, and its
//                     account enforces limits. After a tick, each job beyond its expected end has
//                     overrun. No promise relies on the limit of a job if similar jobs overran
//                     lately.
//   gangs and gates   A member joins the gang's live job. A gang is queued exactly if it is
//                     complete. A job whose attempt ended waits again exactly if pods are left or
//                     still come. Subak never ends a pod whose gate is closed, unless a person, a
//                     time limit or a budget asks for it.
//   parked owners     A job of an owner that is parked expects all its pods and has none. It goes
//                     through the states of docs/design/0119. No pod of such an owner becomes a
//                     second job while the job lacks pods.
//   the sums          For each account: held and running GPUs, usage, decayed usage and surplus.
//                     After a move of an account or a change of the half-life, these are the sums
//                     of a tree that had the present place and half-life from the start.
//                     For each node: the allocation. Also the ledger's sums, the jobs by state,
//                     and the residual.
// The oracle stores every interval of usage, and integrates usage in long double.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace subak::sim {

class Oracle {
 public:
  struct Options {
    // True: also checks the order of starts.
    bool judge_order = false;
    // False: does not compare surplus. Use it if ends are reported late while quotas are edited.
    bool judge_surplus = true;
  };
  explicit Oracle(Options options) : options_(options) {}

  // Reads one input and the engine's outcome, and checks all facts and effects of the outcome. Call
  // it for each input of the engine, in order.
  void saw(const Input& input, const ApplyOutcome& outcome);
  // Compares each sum with the sum that the engine has. O(all inputs so far).
  void compare(const Engine& engine);
  // Returns the mistakes found so far, in order, each as a sentence with its time in ms. There are
  // at most 20; empty: none.
  const std::vector<std::string>& mistakes() const { return mistakes_; }
  // Counts, so that a test sees that its world reaches these cases. In this order: starts whose
  // order was checked, reservations made or moved, and starts while the policy left cliques to
  // gangs (keep_whole). Then preemptions, and starts on nodes that are reserved for another job.
  std::size_t starts_judged() const { return judged_; }
  std::size_t reservations() const { return reservations_; }
  std::size_t beside_whole() const { return beside_whole_; }
  std::size_t taken() const { return calm_.taken; }
  std::size_t fills() const { return fills_; }

 private:
  friend class OracleBudgets;
  friend class OracleLimits;
  friend class OracleMeters;
  friend class OracleParking;
  friend class OracleQuota;
  // A rate in milli-GPU that begins at `t`. A change may be reported late, so each change also has
  // the number of edits in Calm::meter_edits that came before it.
  struct Step {
    TimeMs t = 0;
    MilliGpu level = 0;
    std::size_t edits = 0;
  };
  // One budget of an account.
  struct BudgetMemory {
    Budget budget;
    PeriodSpan span;
    TimeMs until = 0;
    GpuTime base;               // GPU time that the account used before the period
    TimeMs since = 0;           // when the budget began to count
    std::uint32_t reached = 0;  // percent
    BudgetCalendarPtr calendar;
    PeriodSpan after(const PeriodSpan& of) const {
      return period_after(calendar.get(), budget.period, of.to_ms);
    }
    bool relabelled = false;  // a node got another product, so the figures cannot be compared
    bool excused = false;     // Subak could not end some job in time, so it may be overdrawn
  };
  struct Account {
    AccountId id, parent;
    AccountSpec spec;
    bool live = true;
    std::int64_t revision = 0;
    TimeMs last_change = 0;  // the last change of its allocation or its quota
    std::vector<BudgetMemory> budgets;
    std::vector<Step> surplus;
    std::vector<std::pair<TimeMs, long double>> adjustments;
    std::vector<std::pair<TimeMs, long double>> moved_surplus;  // by moves of accounts below
    std::vector<std::pair<TimeMs, AccountId>> parents;          // each from its time on
  };
  // An edit that adds to surplus or adjustments, by amounts that depend on the half-life.
  struct MeterEdit {
    enum class Kind : std::uint8_t { kShares, kNew, kMove } kind = Kind::kShares;
    TimeMs t = 0;
    AccountId id;
    long double factor = 0;  // of the sum to add
    // kNew: the siblings with shares, and accounts whose usage is of jobs beside the users.
    std::vector<AccountId> siblings, own;
    std::vector<AccountId> left, joined;  // kMove: the accounts above that lose and gain
  };
  struct Node {
    NodeId id;
    ClusterId cluster;
    NodeSpec spec;
    bool there = true, drained = false;
    std::int64_t others_cpu = 0;             // CPU of non-GPU pods, in thousandths
    TimeMs drain_from = 0, drain_until = 0;  // a planned drain; 0: none
  };
  // A non-GPU pod that an edge reported.
  struct LightPod {
    std::string uid, cluster, node;
    std::int64_t cpu = 0;
  };
  // What one pod holds.
  struct Slot {
    JobId job;
    std::uint32_t rank = 0, attempt = 0;
    AccountId leaf;
    PodSlot at;
    TimeMs from = 0, charged_to = 0;
    // `ours`: the pod is where Subak placed it.
    bool bound = false, ours = false;
  };
  // A node back-off: the node rejected such pods, `times` in a row.
  struct Bar {
    NodeId node;
    PodShape shape;
    int times = 0;
    TimeMs until = 0;
  };
  // An interval in which a pod held GPUs of an account. `to` < 0: the pod still holds them.
  struct Interval {
    AccountId leaf;
    MilliGpu rate = 0;
    TimeMs from = 0, to = -1;
    JobId job;
    std::uint32_t rank = 0;
    std::size_t edits = 0, edits_to = 0;  // before its begin and before its end
  };
  struct Pod {
    PodShape shape;
    bool live = false, controlled = false;
    PodGate gate = PodGate::kOpen;
    bool disputed = false;    // the pod contradicts its gang
    bool expected = false;    // a late member: it comes only when the earlier pods run
    std::uint32_t order = 0;  // 1 + the rank that the pod itself states; 0: it states none
  };
  struct Job {
    JobId id;
    std::string name, owner;
    bool gang = false;
    // With `gang`: the gang is inferred, so its other pods run on if one is lost. Without `gang`:
    // the job is a pod that such a gang left behind when it started.
    bool runs_on = false;
    AccountId leaf;
    JobState state = JobState::kIncomplete;
    JobOrigin origin = JobOrigin::kApi;
    // For a job of Kubernetes pods: the sum of their requests, made when the gang is complete.
    GangRequest request;
    // For such a job: the pods by rank, then pods beyond the gang's size (reserves).
    std::vector<Pod> pods;
    std::uint32_t gang_size = 0, attempt = 0;
    Cause stop = Cause::kNone;
    TimeMs until = 0;
    std::int32_t priority = 0;
    bool has_class = false;
    TimeMs submit = 0;
    bool awaits_resume = false;
    DurationMs limit = 0;
    TimeMs started = 0;
    std::uint32_t overruns = 0;
    // What the oracle remembers of the job's last attempts and of its owner.
    struct Last {
      Cause ended = Cause::kNone;  // the cause of the end of its last attempt
      std::uint64_t taken_at = 0;  // Calm::events when it was preempted last; 0: never
      bool late = false;           // it was asked to end, and the deadline for that has passed
      Cause ill = Cause::kNone;    // the first cause in this attempt with which a pod was lost
      Parking parking = Parking::kNone;
      // When the first pod of the gang finished in this attempt (0: none did), and the nodes of the
      // pods that finished within limits::kGangFinishMs.
      TimeMs finishing = 0;
      std::set<NodeId> finished_on;
      bool had_pod = false;  // since the attempt began; while it waits: since it was parked
    };
    Last last;
  };
  // Jobs are similar if they have the same owner, cluster, request, and name without digits.
  struct Kind {
    AccountId leaf;
    ClusterId cluster;
    std::string stem;
    std::vector<PodShape> pods;
    GangRequest rest;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  // A job with a time limit that has ended. `over`: it ran past the limit.
  struct Told {
    Kind kind;
    bool over = false;
    std::size_t number = 0;  // how many jobs had ended by then
  };
  struct Cluster {
    ClusterId id;
    std::string name;
    bool synced = false, owned = false;
    std::uint64_t session = 0;
    TimeMs since = 0;       // no edge has reported its events since then; 0: an edge reports them
    bool enforced = false;  // all its namespaces have the mode enforce
    std::vector<std::pair<MilliGpu, DurationMs>> held{};  // the holds that ended, and their times
    std::set<std::string> named{};  // the owners that were reported parked since its list began
  };
  // The next job at or below an account. `within`: the job is within quota. `close`: the oracle
  // cannot tell whether this job or another comes first, for example because of rounding.
  struct Choice {
    const Job* job = nullptr;
    bool within = false;
    bool close = false;
  };
  // A child of an account in the order, with its sort key: `band`, then `first`, then `second`.
  struct Candidate {
    AccountId id;
    Choice choice;
    bool by_class = false, own = false;
    int band = 1;
    long double first = 0, second = 0;
    long double shares = 0, alloc = 0, quota = 0, v = 0;
  };

  // oracle.cc: takes the facts. Functions judge_...() check one rule and report mistakes with
  // wrong(). Functions compare_...() compare with the engine's figures.
  void judge_start(const Job& j, const fact::AttemptStarted& f);
  bool keeps_place(const Job& j) const;
  void on(const fact::ClusterSet& f);
  void on(const fact::ClusterSynced& f);
  void on(const fact::NodeSet& f);
  void on(const fact::NodeRemoved& f);
  void on(const fact::NodeLoad& f);
  void on(const fact::PolicySet& f);
  void on(const fact::AccountSet& f);
  void on(const fact::AccountDeleted& f);
  void on(const fact::AccountMoved& f);
  void on(const fact::JobCreated& f);
  void on(const fact::PodAdded& f);
  void on(const fact::PodChanged& f);
  void on(const fact::JobMoved& f);
  void on(const fact::AttemptStarted& f);
  void on(const fact::StopAsked& f);
  void on(const fact::AttemptEnded& f);
  void on(const fact::EndRefused& f);
  void on(const fact::PlaceLost& f);
  void on(const fact::PodBound& f);
  void on(const fact::PodRunning& f);
  void on(const fact::PodSeated& f);
  void on(const fact::PodsRanked& f);
  void on(const fact::PodGated& f);
  void on(const fact::JobAssigned& f);
  void on(const fact::GangEmptied& f);
  void on(const fact::GangResized& f);
  void on(const fact::PodsExpected& f);
  void on(const fact::PodGone& f);
  void on(const fact::Charged& f);
  void on(const fact::Reserved& f);
  void on(const fact::Claimed& f);
  void on(const fact::JobOverran& f);
  void on(const fact::NodeBackedOff& f);
  void on(const fact::TimeLeapt& f);
  template <class Other>
  void on(const Other&) {}
  void wrong(std::string what);
  bool is_stale(const Input& input) const;
  void note_light(const Input& input);
  void forget_early_light();
  void judge_light();
  Account* account(AccountId id);
  const Account* account(AccountId id) const;
  bool is_synced(ClusterId id) const;  // an edge has reported the complete cluster
  Node* node(NodeId id);
  Job* job(JobId id);
  Slot* slot(JobId id, std::uint32_t rank);
  void open(const Job& job, std::uint32_t rank, const PodSlot& at, bool bound, TimeMs from);
  void close(JobId id, std::uint32_t rank, TimeMs at);
  void end_use(JobId id, std::uint32_t rank, TimeMs at);
  void begin_use(AccountId leaf, MilliGpu rate, TimeMs from, JobId id, std::uint32_t rank);
  // Begins a new level of surplus at the account and all accounts above it.
  void changed(AccountId leaf, TimeMs at);
  // Returns the effective quotas by product, of this account and of each account above it.
  std::vector<std::map<std::string, MilliGpu>> quotas_of_path(AccountId id) const;
  void quotas_changed(AccountId id, const std::vector<std::map<std::string, MilliGpu>>& before);
  void follow_level(Account& a, TimeMs at);
  void move(Job& job, JobState to);
  static void join(Job& job);  // makes Job::request from the pods
  const PodShape& shape_of(const Job& job, std::uint32_t rank) const;

  // oracle_time.cc
  bool enforced(const Job& j) const;
  static bool is_ours(const Job& j);
  static Kind kind_of(const Job& j);
  bool trusted(const Job& j) const;   // promises may rely on the job's time limit
  TimeMs end_of(const Job& j) const;  // when the job's GPUs are expected to be free
  static bool holds(const Job& j);
  void judge_limit(const Job& j);
  void judge_ends();
  void compare_end(const Job& j, const JobRow& row);

  // oracle_reserve.cc
  fact::Reserved* reservation(JobId id);  // nullptr: the job has none
  void unreserve(JobId id);
  // True if the node takes work. `or_unknown`: also true if only unknown GPUs prevent that.
  bool is_open(NodeId id, bool or_unknown = false);
  DurationMs length_of(const Job& j) const;  // the longest time that it runs, if it starts now
  static bool is_drained_before(const Node& n, TimeMs start, DurationMs length);
  bool is_in_time(const fact::Reserved& r);
  std::set<JobId> too_many_beside(const fact::Reserved& r, TimeMs start);
  std::set<JobId> keepers_beside(const fact::Reserved& r);
  // When the nodes of a reservation become free: from `least` to `most`. The two differ if the
  // oracle cannot tell whether jobs of keepers_beside() must end first. `guess`: this time relies
  // on an end that is not trusted().
  struct FreeAt {
    TimeMs least = 0, most = 0;
    bool guess = false;
  };
  FreeAt free_at(const fact::Reserved& r, TimeMs start);
  void judge_delay(const fact::Reserved& before, const fact::Reserved& after);
  void judge_kept(const Job& job, const fact::AttemptStarted& f);
  void judge_promises();

  // oracle_claims.cc
  const fact::Claimed* claim_of(JobId claimant) const;
  void drop_claim(JobId claimant);
  bool is_there(const fact::Claimed::Victim& victim) const;
  MilliGpu claimed(AccountId id) const;  // by jobs at or below the account
  bool borrows(AccountId id) const;
  void judge_victims(const Job& claimant, const fact::Claimed& f);
  void judge_claimed_slots(const Job& job, const std::vector<PodSlot>& slots);
  void judge_taken(const Job& job);
  // What is claimed on one node. `gpus` is a mask. `cpu` and `slices` do not include what the
  // victims still hold.
  struct ClaimedHere {
    std::uint64_t gpus = 0;
    std::int64_t cpu = 0, slices = 0;
  };
  ClaimedHere claimed_on(NodeId node) const;

  // oracle_place.cc
  void judge_place(const Job& job, const fact::AttemptStarted& f);
  void judge_gpus(const Job& job, const fact::AttemptStarted& f);
  void judge_cpu(const Job& job, const fact::AttemptStarted& f);
  void judge_beside(const Job& job, const fact::AttemptStarted& f);
  void judge_together(const Job& job, const fact::AttemptStarted& f);
  void judge_spare(const Job& job, const fact::AttemptStarted& f);
  std::string home_of(NodeId node);  // the clique to which the node is wired; empty: none
  // Returns the cliques that the rule keep_whole leaves to gangs.
  std::set<std::string> reserved_domains(ClusterId cluster);
  void judge_whole(const Job& job, const fact::AttemptStarted& f);
  // Returns the other jobs with a ComputeDomain in the domain of the node, and their nodes.
  std::map<JobId, std::set<NodeId>> computing_beside(JobId job, NodeId node);
  void judge_computing(const Job& job, const fact::AttemptStarted& f);
  // True during the back-off of the node for pods of this shape.
  bool barred(NodeId node, const PodShape& shape) const;
  // True if the cluster's scheduler refused the job on the node lately.
  bool refused(JobId job, NodeId node) const;
  void turned_away(const Slot& slot, const PodShape& shape);

  // oracle_gang.cc: gangs that come back, and gates
  static bool is_whole(const Job& job);
  static std::size_t live(const Job& job);
  // Returns the end of the pods with ranks. Later pods wait without a rank.
  static std::vector<Pod>::const_iterator ranks_end(const Job& job);
  void judge_end(const Job& job, const fact::AttemptEnded& f);
  void judge_effect(const Effect& effect);
  bool drains(AccountId leaf);
  void judge_drain(const fact::JobCreated& f);
  void judge_gangs();
  bool in_system_namespace(const Job& job) const;

  // oracle_sums.cc
  bool below(AccountId leaf, AccountId node) const;
  MilliGpu allocated(AccountId node, bool bound_only) const;
  MilliGpu quota(AccountId id) const;  // the effective quota, all products together
  // Returns what jobs at or below the account hold, with `more` on top. With `claims`, also what is
  // claimed for these jobs.
  ProductAmounts held(AccountId id, const ProductAmount& more, bool claims = true) const;
  MilliGpu uncovered(AccountId id, const ProductAmounts& held) const;
  ProductAmounts quota_list(const Account& a) const;
  long double weight(TimeMs t) const;  // 2^-((now - t) / h)
  long double decayed(MilliGpu rate, TimeMs from, TimeMs to) const;
  GpuTime undecayed(AccountId id) const;
  long double usage(AccountId id) const;  // as of now_
  long double surplus(AccountId id) const;
  long double sort_surplus(AccountId id) const;
  void judge_days(const Engine& engine);
  void compare_accounts(const Engine& engine);
  void compare_fleet(const Engine& engine);
  void compare_jobs(const Engine& engine);

  // oracle_order.cc
  bool is_waiting(const Job& job) const;
  bool may_start(const Job& job) const;
  // What is free on a node that takes work.
  struct Space {
    std::int64_t gpus = 0, cpu = 0;
    const Node* node = nullptr;
  };
  std::vector<Space> spaces(const Job& job) const;
  bool fits(const Job& job, const std::string& product) const;
  bool fits_with_launcher(const Job& job, const std::string& product) const;
  bool allowed(const Job& job, const std::string& product) const;
  bool covers(AccountId id, const Job& job) const;
  Choice choose(AccountId id) const;
  std::vector<Candidate> candidates(AccountId id) const;
  static std::string text_of(const Candidate& c);
  void set_keys(std::vector<Candidate>& all) const;
  void judge_order(const Job& chosen);
  void judge_nobody_waits();

  Options options_;
  TimeMs now_ = 0;
  TimeMs leapt_until_ = 0;  // no limit ends a job before this time (fact::TimeLeapt); 0: none
  bool in_pass_ = false;
  Policy policy_;
  std::vector<Account> accounts_;
  std::vector<Node> nodes_;
  std::vector<LightPod> light_;  // reported since the list of their cluster began
  std::vector<Cluster> clusters_;
  std::vector<Job> jobs_;                     // jobs that have not ended
  std::vector<Told> told_;                    // in the order of the ends
  std::size_t done_ = 0;                      // the number of jobs that ended
  std::vector<Slot> slots_;                   // slots that pods hold now
  std::vector<Bar> bars_;                     // including those whose time is over
  std::vector<fact::NodeBackedOff> refused_;  // nodes that the scheduler refused for jobs, in force
  std::vector<Interval> uses_;                // all intervals since the start
  std::vector<LedgerRow> rows_;               // all rows since the start
  std::vector<fact::Reserved> reserved_;      // in force
  std::vector<fact::Claimed> claims_;         // in force
  // Counts for the rule "Calm" of docs/design/0084, and data about the present fact or input.
  struct Calm {
    std::size_t taken = 0;                    // preempted jobs
    std::uint64_t events = 1;                 // 1 + the number of outside events
    std::vector<BudgetMemory> fresh_budgets;  // budgets of the account that the present fact makes
    BudgetCalendarPtr calendar;               // the calendar of new budgets
    std::size_t rows_before = 0;              // ledger rows before the present input
    std::vector<MeterEdit> meter_edits;       // all of them, in their order
    std::size_t known = SIZE_MAX;             // only what came before so many edits counts now
  };
  Calm calm_;
  bool claimed_now_ = false;  // the job that starts now had a claim
  std::size_t reservations_ = 0, fills_ = 0, beside_whole_ = 0;
  std::size_t judged_ = 0;
  std::vector<std::string> mistakes_;
};

}  // namespace subak::sim
