// Private to engine/: the state, and the turn in which one input is decided.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "accounting/ledger.h"
#include "accounting/order.h"
#include "accounting/tree.h"
#include "engine/engine.h"
#include "engine/job_ids.h"
#include "engine/requests.h"
#include "placement/fleet.h"
#include "placement/search.h"
#include "queue/job.h"
#include "queue/ready.h"

namespace subak {

struct Cluster {
  ClusterId id;
  std::string name;
  Mode mode = Mode::kObserve;
  std::vector<NamespaceMode> namespaces;
  bool synced = false;
  bool owned = false;
  std::uint64_t next_job = 1;
  JobId awaited;  // nodes are kept free for it
  Mode mode_of(std::string_view ns) const;
};

struct Pod {
  std::string uid;
  std::string name;
  PodState state = PodState::kWaiting;
  bool controlled = false;
  PodSlot slot;
  TimeMs since_ms = 0;           // start of the interval that its next ledger row covers
  ShapeId shape;                 // what the fleet holds for it: the job's shape and this rank,
  std::uint32_t shape_rank = 0;  // or a shape of its own, rank 0
  bool holds_slot() const {
    return state == PodState::kHeld || state == PodState::kBound || state == PodState::kRunning;
  }
  bool is_bound() const { return state == PodState::kBound || state == PodState::kRunning; }
};

struct Job {
  JobId id;
  AccountId leaf;
  ShapeId shape;  // none while incomplete and for foreign jobs
  JobState state = JobState::kIncomplete;
  JobOrigin origin = JobOrigin::kApi;
  Outcome outcome = Outcome::kNone;
  bool cancelling = false;
  std::int32_t priority = 0;
  std::uint32_t gang_size = 0;
  std::uint32_t attempt = 0;
  TimeMs submit_ms = 0, started_ms = 0, ended_ms = 0, until_ms = 0;
  DurationMs time_limit_ms = 0;
  std::string name;
  std::vector<Pod> pods;                // by rank; empty for an API job never reserved
  std::unique_ptr<GangRequest> wishes;  // topology, segment of a gang still incomplete

  bool from_pods() const { return origin != JobOrigin::kApi; }
  bool waits() const {
    return state == JobState::kQueued || state == JobState::kHeld || state == JobState::kIncomplete;
  }
  bool all_pods(PodState state_wanted) const;
  std::size_t pods_holding() const;
};

// What a list has named since it began. Derived from inputs, not part of the state.
struct ListMarks {
  std::set<NodeId> nodes;
  std::set<std::pair<JobId, std::uint32_t>> pods;
};

struct Engine::Impl {
  // --- the state: a fold of the facts ------------------------------------------------------------
  std::uint64_t seq = 0;
  TimeMs fact_ms = 0;  // time of the last fact: the state is as of then
  TimeMs now = 0;      // time of the last input or fact: never part of the digest
  Policy policy;
  AccountTree tree;
  Fleet fleet;
  Ledger ledger;
  ReadyQueue ready;
  std::map<ClusterId, Cluster> clusters;
  std::map<ClusterId, std::string> removed_clusters;  // their names, for rows of ended jobs
  std::unordered_map<JobId, Job> jobs;                // look-up; iterate via job_ids()
  JobIds ids;                                         // of `jobs`
  std::deque<JobId> done;                             // oldest first
  std::set<JobId> active;                             // reserved or cancelling
  std::set<std::pair<TimeMs, JobId>> deadlines;       // of holds
  std::map<NodeId, std::set<std::pair<JobId, std::uint32_t>>> on_node;  // pods that hold slots
  std::map<std::pair<ClusterId, std::string>, NodeId> node_ids;
  std::map<std::pair<ClusterId, std::string>, JobId> gangs;  // "ns/gang" of live pod jobs
  std::unordered_map<std::string, std::pair<JobId, std::uint32_t>> uids;
  RequestLog requests;
  std::array<std::size_t, EnumText<JobState>::names.size()> counts{};
  NodeId last_node;
  std::uint32_t fact_version = 1;
  TimeMs billed_until = 0;  // the last UTC midnight up to which node_billed facts exist

  // --- derived, rebuilt at will, never decides differently
  // -----------------------------------------
  bool dirty = true;
  std::map<ClusterId, ListMarks> lists;
  std::unique_ptr<UsageTick> tick;  // baseline policy of the simulator only
  struct ShapeCache {
    std::uint64_t blocked_at = 0;  // fleet.freed_version() + 1 at which find() failed
  };
  std::vector<ShapeCache> shape_cache;
  mutable std::vector<std::uint32_t> bytes_of_shape;  // as stored; 0: not asked for yet
  std::vector<NodeId> earmarked;
  KeptNodes kept_nodes;  // the same nodes, each for its cluster's awaited job
  std::uint64_t earmark_at = 0;
  mutable Search search{fleet};  // reads ask it too; it remembers, but decides nothing differently
  mutable std::shared_ptr<const AccountsView> accounts_view;
  mutable std::uint64_t accounts_view_version = ~std::uint64_t{0};
  std::uint64_t nodes_version = 1;
  mutable std::map<ClusterId, std::map<std::string, std::int64_t>> mig_view;  // slices by profile
  mutable std::uint64_t mig_view_version = 0;

  // --- look-ups
  // ------------------------------------------------------------------------------------
  Job* find_job(JobId id);
  const Job* find_job(JobId id) const;
  std::vector<JobId> job_ids() const;  // sorted
  Cluster* find_cluster(std::string_view name);
  const Cluster* find_cluster(std::string_view name) const;
  NodeId find_node(ClusterId cluster, std::string_view name) const;
  ClusterId next_cluster() const;                  // none: all numbers are used
  const std::string& name_of(ClusterId id) const;  // also of one that was removed
  std::optional<std::pair<JobId, std::uint32_t>> find_pod(const PodRef& ref) const;
  std::vector<std::pair<ProductId, MilliGpu>> intern(const ProductAmounts& amounts);
  std::string product_of(const PodSlot& slot) const;
  MilliGpu least_milligpu(const Job& job) const;
  const PodShape& pod_shape(const Pod& pod) const;
  GangRequest request_of(const Job& job) const;
  // Is there room for these GPU products, of which some may be known?
  std::optional<Error> check_products(const std::set<std::string_view>& names) const;

  // --- evolve, one per kind (evolve_*.cc)
  // ----------------------------------------------------------
  void on(const fact::ClusterSet& f);
  void on(const fact::ClusterSynced& f);
  void on(const fact::NodeSet& f);
  void on(const fact::NodeRemoved& f);
  void on(const fact::PolicySet& f);
  void on(const fact::AccountSet& f);
  void on(const fact::AccountDeleted& f);
  void on(const fact::EditRefused&) {}
  void on(const fact::JobCreated& f);
  void on(const fact::PodAdded& f);
  void on(const fact::JobMoved& f);
  void on(const fact::JobReserved& f);
  void on(const fact::PodBound& f);
  void on(const fact::PodRunning& f);
  void on(const fact::PodGone& f);
  void on(const fact::HoldReleased& f);
  void on(const fact::Charged& f);
  void on(const fact::Awaited& f);
  void on(const fact::NodeBilled& f);
  void on(const fact::MetersKept& f);
  void on(const fact::LedgerKept& f);
  void on(const fact::JobKept& f);
  void on(const fact::RequestKept& f);
  void on(const fact::CountersKept& f);
  void on(const fact::Finalized& f);
  void on(const fact::ClockAccepted& f);
  void on(const fact::ClusterRemoved& f);
  bool restoring = false;                     // the fact at hand is of a checkpoint
  std::vector<fact::JobKept::Pod> kept_pods;  // of a job whose last part is still to come

  void take(Job& job, std::uint32_t rank, const PodSlot& slot);
  void give(Job& job, std::uint32_t rank, TimeMs at);
  fact::NodeBilled billed(NodeId id, TimeMs as_of) const;
  void bind_in_tree(const Job& job, const Pod& pod);
  void relabel(NodeId node, ProductId before);
  ShapeId intern_alone(ClusterId cluster, const PodShape& shape);
  const PodShape& alone(ShapeId shape) const;    // of intern_alone()
  std::size_t alone_bytes(ShapeId shape) const;  // as stored
  void set_state(Job& job, JobState to);
  void complete_gang(Job& job);
  void run_if_bound(Job& job);
  void forget_done();
  void remember(const EditStamp& edit, RememberedRequest request);  // content: the stamp's
  ReadyJob ready_job(const Job& job) const;
  ProductId only_product(const GangRequest& request) const;
  void keep(const Job& job, const std::function<void(fact::Body)>& sink) const;
  fact::JobKept kept(const Job& job) const;  // without its pods
  fact::JobKept::Pod kept(const Job& job, const Pod& pod) const;
  void restore_pod(Job& job, std::uint32_t rank, const fact::JobKept::Pod& kept_pod);

  // --- reads
  // ---------------------------------------------------------------------------------------
  JobRow row(const Job& job, bool with_pods) const;
  std::string_view user_of(const Job& job) const;  // name; empty: the account itself
  // All that bind a job that waits, structural first. `position` in the queue; 0: not known, or
  // not in it.
  std::vector<Reason> reasons_of(const Job& job, std::size_t position) const;
  void explain_limits(const Job& job, std::vector<Reason>& out) const;
  void explain_place(const Job& job, std::size_t position, std::vector<Reason>& out) const;
  void survey_queue(Survey& out) const;
  std::vector<RankStep> ranking(const Job& job, TimeMs t) const;
  std::shared_ptr<const AccountsView> view_of_accounts() const;
  std::shared_ptr<const std::vector<ClusterView>> view_of_clusters() const;

  // --- effects
  // -------------------------------------------------------------------------------------
  std::optional<Effect> effect_of(const Job& job) const;
};

// The decision of one input: facts are evolved as they are made.
class Turn {
 public:
  Turn(Engine::Impl& state, const Input& input) : s_(state), input_(input) {}
  ApplyOutcome run();

 private:
  void emit(fact::Body body);
  void refuse(Error error, const std::string& subject);
  EditStamp stamp(const std::string& reason) const;
  void warn_of(const AccountSpec& spec);  // before it is set
  void note_request();
  const RememberedRequest* find_request() const;
  void answer_again(const RememberedRequest& known);
  void refuse_reused(TimeMs used_at);
  void keep_request();
  void close_days();

  // decide_cluster.cc
  void on(const in::SetCluster& i);
  void on(const in::DeleteCluster& i);
  void on(const in::ImportNodes& i);
  void on(const in::DrainNode& i);
  void on(const in::Finalize& i);
  void on(const in::AcceptClock& i);
  void on(const in::SetPolicy& i);
  void on(const in::ListBegin& i);
  void on(const in::ListComplete& i);
  void on(const in::NodeSeen& i);
  void on(const in::NodeGone& i);
  void on(const in::Restarted& i);
  void on(const in::CallDenied& i);
  static std::optional<Error> check_node(const NodeSpec& spec);
  std::optional<Error> check_room(const Cluster& cluster, std::span<const NodeSpec> specs) const;
  void set_node(Cluster& cluster, const NodeSpec& spec, const EditStamp& edit);
  void remove_node(NodeId id);
  void release_lost(const Job& job, NodeId node);
  void adopt_running(const Cluster& cluster);
  void replace_unused(const std::string& name, const std::string& by);
  void remove_cluster(ClusterId id, const EditStamp& edit);

  // decide_account.cc
  void on(const in::SetAccount& i);
  void on(const in::DeleteAccount& i);

  // decide_job.cc
  void on(const in::SubmitJob& i);
  void on(const in::CancelJob& i);
  void on(const in::HoldJob& i);
  void on(const in::Tick& i);
  std::optional<Error> check_submit(const in::SubmitJob& i, const Cluster* cluster) const;
  AccountId leaf_of(AccountId account, const std::string& user);
  void expire(Job& job);
  static bool may_evict(const Job& job);
  void finish_if_over(JobId id, Outcome outcome);

  // decide_pod.cc
  void on(const in::PodSeen& i);
  void on(const in::PodBound& i);
  void on(const in::PodRunning& i);
  void on(const in::PodGone& i);
  void mark_seen(ClusterId cluster, JobId job, std::uint32_t rank);
  AccountId account_of_pod(const Cluster& cluster, const PodRecord& pod) const;
  void queue_pod(Cluster& cluster, const PodRecord& pod, AccountId account);
  std::optional<Error> check_gang_bytes(const Job& job, std::uint32_t rank,
                                        const PodShape& shape) const;
  void add_foreign(Cluster& cluster, const PodRecord& pod, AccountId account);
  void bind(Job& job, std::uint32_t rank, const std::string& node, TimeMs at);
  void rebind(const Job& job, std::uint32_t rank, NodeId node);
  void end_pod(JobId id, std::uint32_t rank, TimeMs at, Outcome outcome);
  void charge(const Job& job, std::uint32_t rank, TimeMs to, UsageState state, AccountId payer);
  void charge_end(const Job& job, std::uint32_t rank, TimeMs to);

  // decide_pass.cc
  void on(const in::Pass& i);
  bool try_start(const Job& job, ReadyQueue::Pass* pass);
  void refresh_earmarks();
  void start_awaited();
  void await(const Job& job);
  void reserve(const Job& job, Placement placement);
  AccountId over_limit(const Job& job, const Placement& placement) const;

  Engine::Impl& s_;
  const Input& input_;
  Method method_ = Method::kNone;
  std::uint64_t content_ = 0;  // 0: the input has no request id that counts
  ApplyOutcome out_;
};

}  // namespace subak
