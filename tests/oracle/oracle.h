// The naive oracle of tests: follows the facts with lists and loops, in data structures of its own,
// and reports where an engine and the facts disagree. It checks
//   each reservation  Only complete gangs start, of one product, on GPUs that are present and free,
//                     on nodes that take work. Pods that NVLink must join are in one domain of a
//                     product with NVLink. No node is tried again early after it rejected such a
//                     pod. Non-GPU pods leave what the policy reserves beside free GPUs.
//   each ledger row   The rows of one allocation follow each other without gap or overlap, at its
//                     rate, from reservation to end, each in one UTC day. Each bound pod in a
//                     cluster with a complete list has the row of a closed day.
//   the order         Each started job is next by the order rule, if all waiting jobs could start.
//                     A pass starts every job that could start: one product can hold it, and its
//                     accounts allow it (limits, of any and of each product, borrow). Only checked
//                     with `judge_order`: the world must then use only whole GPUs, no late
//                     reports, no patience.
//   ends              Each overrun is real. A job that a limit ends has reached it, and its limits
//                     are enforced. After a tick each job beyond its end is marked. No decision
//                     relies on a limit that similar jobs overran lately.
//   gangs and gates   A member joins the gang's live job. A gang is queued exactly if it is
//                     complete. An attempt that ended leaves the job waiting exactly if pods are
//                     left or come. Only a person ends a pod whose gate is closed.
//   the sums          Per account: held and running GPUs, usage, decayed usage and surplus. Per
//                     node: the allocation. Also the ledger's sums, jobs by state, and the bill's
//                     residual.
// It integrates usage in long double from every interval that ever existed. Threads: none.
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
    bool judge_order = false;
    bool judge_surplus = true;  // off where late ends and quota edits mix
  };
  explicit Oracle(Options options) : options_(options) {}

  // Reads one input and the engine's outcome.
  void saw(const Input& input, const ApplyOutcome& outcome);
  // Compares every sum with the engine's. O(all inputs so far).
  void compare(const Engine& engine);
  // Returns the mistakes found, in order; empty: none.
  const std::vector<std::string>& mistakes() const { return mistakes_; }
  std::size_t starts_judged() const { return judged_; }       // by the order
  std::size_t reservations() const { return reservations_; }  // made or moved
  std::size_t beside_whole() const {
    return beside_whole_;
  }                                                  // starts while cliques were left to gangs
  std::size_t taken() const { return calm_.taken; }  // jobs that gave GPUs back
  std::size_t fills() const { return fills_; }       // starts on nodes reserved for another job

 private:
  friend class OracleBudgets;
  friend class OracleLimits;
  friend class OracleQuota;
  struct Step {  // of a rate
    TimeMs t = 0;
    MilliGpu level = 0;
  };
  struct BudgetMemory {  // one budget of an account
    Budget budget;
    PeriodSpan span;
    TimeMs until = 0;
    GpuTime base;             // used before the period
    bool relabelled = false;  // a node got another product
    bool excused = false;     // some job could not be ended in time
  };
  struct Account {
    AccountId id, parent;
    AccountSpec spec;
    bool live = true;
    std::int64_t revision = 0;
    TimeMs last_change = 0;  // of its allocation, or of its quota
    std::vector<BudgetMemory> budgets;
    std::vector<Step> surplus;
    std::vector<std::pair<TimeMs, long double>> adjustments;
  };
  struct Node {
    NodeId id;
    ClusterId cluster;
    NodeSpec spec;
    bool there = true, drained = false;
    std::int64_t others_cpu = 0;             // of non-GPU pods
    TimeMs drain_from = 0, drain_until = 0;  // planned; ends by itself
  };
  struct LightPod {
    std::string uid, cluster, node;
    std::int64_t cpu = 0;
  };
  struct Slot {
    JobId job;
    std::uint32_t rank = 0, attempt = 0;
    AccountId leaf;
    PodSlot at;
    TimeMs from = 0, charged_to = 0;
    bool bound = false, ours = false;  // ours: placed by a reservation
  };
  struct Bar {  // node back-off: the node rejected these pods
    NodeId node;
    PodShape shape;
    int times = 0;
    TimeMs until = 0;
  };
  struct Interval {  // of usage; to < 0: still open
    AccountId leaf;
    MilliGpu rate = 0;
    TimeMs from = 0, to = -1;
    JobId job;
    std::uint32_t rank = 0;
  };
  struct Pod {
    PodShape shape;
    bool live = false, controlled = false;
    PodGate gate = PodGate::kOpen;
    bool disputed = false;    // it contradicts its gang
    bool expected = false;    // no pod yet: one comes when those before it run
    std::uint32_t order = 0;  // 1 + its own rank in its gang; 0: not known
  };
  struct Job {
    JobId id;
    std::string name, owner;
    bool gang = false;
    bool runs_on =
        false;  // a gang whose other pods stay when one goes; else: one pod apart from it
    AccountId leaf;
    JobState state = JobState::kIncomplete;
    JobOrigin origin = JobOrigin::kApi;
    GangRequest request;    // of pods: joined from theirs when complete
    std::vector<Pod> pods;  // of pods: by rank, then those that wait behind
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
    struct Last {
      Cause ended = Cause::kNone;  // of its last attempt
      std::uint64_t taken_at = 0;  // Calm::events when it was preempted last; 0: never
      bool late = false;           // it was asked to end, and the deadline for that has passed
      Cause ill = Cause::kNone;    // the first in its attempt that a pod ended with
    };
    Last last;
  };
  struct Kind {  // of jobs: owner, cluster, name without digits, request
    AccountId leaf;
    ClusterId cluster;
    std::string stem;
    std::vector<PodShape> pods;
    GangRequest rest;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  struct Told {  // how an ended job kept its limit
    Kind kind;
    bool over = false;
    std::size_t number = 0;  // so many jobs had ended
  };
  struct Cluster {
    ClusterId id;
    std::string name;
    bool synced = false, owned = false;
    std::uint64_t session = 0;
    TimeMs since = 0;  // its events are not known since then
  };
  struct Choice {
    const Job* job = nullptr;
    bool within = false;
    bool close = false;  // rounding alone decided against another job
  };
  struct Candidate {
    AccountId id;
    Choice choice;
    bool by_class = false, own = false;
    int band = 1;
    long double first = 0, second = 0;
    long double shares = 0, alloc = 0, quota = 0, v = 0;
  };

  // oracle.cc: the facts
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
  bool is_synced(ClusterId id) const;  // its state is known
  Node* node(NodeId id);
  Job* job(JobId id);
  Slot* slot(JobId id, std::uint32_t rank);
  void open(const Job& job, std::uint32_t rank, const PodSlot& at, bool bound, TimeMs from);
  void close(JobId id, std::uint32_t rank, TimeMs at);
  void end_use(JobId id, std::uint32_t rank, TimeMs at);
  void begin_use(AccountId leaf, MilliGpu rate, TimeMs from, JobId id, std::uint32_t rank);
  void changed(AccountId leaf, TimeMs at);  // surplus follows the allocation
  // Effective quotas from this account up, and the effects of a change.
  std::vector<std::map<std::string, MilliGpu>> quotas_of_path(AccountId id) const;
  void quotas_changed(AccountId id, const std::vector<std::map<std::string, MilliGpu>>& before);
  void follow_level(Account& a, TimeMs at);
  void move(Job& job, JobState to);
  static void join(Job& job);  // its request becomes the sum of its pods
  const PodShape& shape_of(const Job& job, std::uint32_t rank) const;

  // oracle_time.cc
  bool enforced(const Job& j) const;
  static bool is_ours(const Job& j);
  static Kind kind_of(const Job& j);
  bool trusted(const Job& j) const;   // its limit
  TimeMs end_of(const Job& j) const;  // when its GPUs are expected to be free
  static bool holds(const Job& j);
  void judge_limit(const Job& j);
  void judge_ends();
  void compare_end(const Job& j, const JobRow& row);

  // oracle_reserve.cc
  fact::Reserved* reservation(JobId id);  // nullptr: none
  void unreserve(JobId id);
  // `or_unknown`: also true if the node is closed only because its GPUs are unknown.
  bool is_open(NodeId id, bool or_unknown = false);
  DurationMs length_of(const Job& j) const;  // at most, if it started now
  static bool is_drained_before(const Node& n, TimeMs start, DurationMs length);
  bool is_in_time(const fact::Reserved& r);
  std::set<JobId> too_many_beside(const fact::Reserved& r, TimeMs start);
  std::set<JobId> keepers_beside(const fact::Reserved& r);
  // Equal except for what keepers_beside() leaves open.
  struct FreeAt {
    TimeMs least = 0, most = 0;
    bool guess = false;  // some end is a guess
  };
  FreeAt free_at(const fact::Reserved& r, TimeMs start);
  void judge_delay(const fact::Reserved& before, const fact::Reserved& after);
  void judge_kept(const Job& job, const fact::AttemptStarted& f);
  void judge_promises();

  // oracle_claims.cc
  const fact::Claimed* claim_of(JobId claimant) const;
  void drop_claim(JobId claimant);
  bool is_there(const fact::Claimed::Victim& victim) const;
  MilliGpu claimed(AccountId id) const;  // by jobs at or below it
  bool borrows(AccountId id) const;
  void judge_victims(const Job& claimant, const fact::Claimed& f);
  void judge_claimed_slots(const Job& job, const std::vector<PodSlot>& slots);
  void judge_taken(const Job& job);
  struct ClaimedHere {
    std::uint64_t gpus = 0;
    std::int64_t cpu = 0, slices = 0;  // beyond what the victims hold
  };
  ClaimedHere claimed_on(NodeId node) const;

  // oracle_place.cc
  void judge_place(const Job& job, const fact::AttemptStarted& f);
  void judge_gpus(const Job& job, const fact::AttemptStarted& f);
  void judge_cpu(const Job& job, const fact::AttemptStarted& f);
  void judge_beside(const Job& job, const fact::AttemptStarted& f);
  void judge_together(const Job& job, const fact::AttemptStarted& f);
  void judge_spare(const Job& job, const fact::AttemptStarted& f);
  std::string home_of(NodeId node);  // the clique that it is wired to; empty: none
  std::set<std::string> reserved_domains(ClusterId cluster);  // cliques, by keep_whole
  void judge_whole(const Job& job, const fact::AttemptStarted& f);
  // Returns the other jobs with a ComputeDomain in the domain of the node, and their nodes.
  std::map<JobId, std::set<NodeId>> computing_beside(JobId job, NodeId node);
  void judge_computing(const Job& job, const fact::AttemptStarted& f);
  bool barred(NodeId node, const PodShape& shape) const;
  // True if the cluster's scheduler refused the job there lately.
  bool refused(JobId job, NodeId node) const;
  void turned_away(const Slot& slot, const PodShape& shape);

  // oracle_gang.cc: gangs that come back, and gates
  static bool is_whole(const Job& job);
  static std::size_t live(const Job& job);
  static std::vector<Pod>::const_iterator ranks_end(const Job& job);  // behind them are reserves
  void judge_end(const Job& job, const fact::AttemptEnded& f);
  void judge_effect(const Effect& effect);
  bool drains(AccountId leaf);
  void judge_drain(const fact::JobCreated& f);
  void judge_gangs();
  bool in_system_namespace(const Job& job) const;

  // oracle_sums.cc
  bool below(AccountId leaf, AccountId node) const;
  MilliGpu allocated(AccountId node, bool bound_only) const;
  MilliGpu quota(AccountId id) const;  // effective, all products together
  // Also what is claimed for its jobs, unless `claims` is false.
  ProductAmounts held(AccountId id, const ProductAmount& more, bool claims = true) const;
  MilliGpu uncovered(AccountId id, const ProductAmounts& held) const;
  ProductAmounts quota_list(const Account& a) const;
  long double weight(TimeMs t) const;  // 2^-((now - t) / h)
  long double decayed(MilliGpu rate, TimeMs from, TimeMs to) const;
  GpuTime undecayed(AccountId id) const;
  long double usage(AccountId id) const;  // as of now_
  long double surplus(AccountId id) const;
  long double sort_surplus(AccountId id) const;
  // Mean surplus of a new node's siblings, for each of their shares.
  long double mean_surplus(const Account& fresh, bool user) const;
  void judge_days(const Engine& engine);
  void compare_accounts(const Engine& engine);
  void compare_fleet(const Engine& engine);
  void compare_jobs(const Engine& engine);

  // oracle_order.cc
  bool is_waiting(const Job& job) const;
  bool may_start(const Job& job) const;
  struct Space {                     // on a node that takes work
    std::int64_t gpus = 0, cpu = 0;  // free
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
  TimeMs leapt_until_ = 0;  // limits wait until then (fact::TimeLeapt); 0: none
  bool in_pass_ = false;
  Policy policy_;
  std::vector<Account> accounts_;
  std::vector<Node> nodes_;
  std::vector<LightPod> light_;  // as reported since their cluster's list began
  std::vector<Cluster> clusters_;
  std::vector<Job> jobs_;                     // live ones
  std::vector<Told> told_;                    // in their order
  std::size_t done_ = 0;                      // jobs that ended
  std::vector<Slot> slots_;                   // open ones
  std::vector<Bar> bars_;                     // expired ones too
  std::vector<fact::NodeBackedOff> refused_;  // of jobs, in force
  std::vector<Interval> uses_;                // all
  std::vector<LedgerRow> rows_;               // all
  std::vector<fact::Reserved> reserved_;
  std::vector<fact::Claimed> claims_;  // in force
  struct Calm {
    std::size_t taken = 0;                    // jobs taken back
    std::uint64_t events = 1;                 // outside events, and one
    std::vector<BudgetMemory> fresh_budgets;  // of the account that the present fact makes
    std::size_t rows_before = 0;              // ledger rows before the present input
  };
  Calm calm_;
  bool claimed_now_ = false;  // the job that starts had a claim
  std::size_t reservations_ = 0, fills_ = 0, beside_whole_ = 0;
  std::size_t judged_ = 0;
  std::vector<std::string> mistakes_;
};

}  // namespace subak::sim
