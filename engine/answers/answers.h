// The records that the engine returns: outcomes of inputs, and rows of jobs, accounts, nodes and
// the queue as reads show them. The API, the metrics and the console show them. All records are
// copies that the caller owns. All times are by the engine's clock.
// Words: an attempt is one try of a job to start, from its holds to its end. A hold is GPUs on a
// node that Subak gives to a pod before the pod is bound. A rank is the number of a pod in its
// gang. A leaf is the account that a job counts for: its user, or its account if the job names no
// user.
// Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/ledger.h"
#include "accounting/tree.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/reason.h"
#include "engine/answers/growth.h"
#include "model/effect.h"
#include "model/fact.h"
#include "model/job.h"
#include "placement/fleet/fleet.h"
#include "placement/fleet/views.h"

namespace subak {

// The mode of a cluster, and the modes of its namespaces that have a mode of their own, by name.
struct ClusterModes {
  Mode mode = Mode::kObserve;
  std::vector<NamespaceMode> namespaces;
};

// The answer to the caller of an input. If the engine refuses the input, `error` is set. A refused
// edit changes nothing. The fact EditRefused records it, unless it only validates.
struct Reply {
  // One account of an edit of several accounts. A created account has no `before`, and a removed
  // account has no `after`. `revision`: as Reply::revision.
  struct Edited {
    std::optional<AccountSpec> before;
    std::optional<AccountSpec> after;
    std::int64_t revision = 0;
  };
  // Why the input was refused. nullopt: the input was accepted.
  std::optional<Error> error;
  // The created or edited job: SubmitJob, CancelJob, HoldJob.
  JobId job;
  // The edited account: SetAccount, DeleteAccount.
  AccountId account;
  // SetAccount: the account's new revision; with `validate_only` the revision that it would get.
  // ApplyAccounts, MoveAccount: the tree's revision after the edit; with `validate_only` the
  // present revision. Finalize: the fact version. AcceptClock: the time of the wall clock.
  std::int64_t revision = 0;
  // The account's settings before and after the edit, so that the caller can show the changes.
  // DeleteAccount sets only `before`.
  std::optional<AccountSpec> before;
  std::optional<AccountSpec> after;
  // ApplyAccounts: the accounts in the order of the changes. MoveAccount: the account that moves.
  // Empty for a repeated request.
  std::vector<Edited> edited;
  // MoveAccount: how many accounts and users below the account move along.
  std::size_t moved_below = 0;
  // SetCluster: the modes after the edit; with `validate_only` the modes that the edit would set.
  // The modes are not set for a repeated request.
  std::optional<ClusterModes> modes;
  // Sentences for the caller about a request that was accepted.
  std::vector<std::string> warnings;
  // True: the request id was used before, and this is the reply to its first use. The outcome then
  // has no facts.
  bool repeated = false;
};

// The result of one input. `facts` are in order, and each is already applied to the state.
// `effects` are the commands that follow from the facts. Send them only after the facts are
// durable.
struct ApplyOutcome {
  // The facts. Empty if nothing changed, for example because the input is a repeated request. Facts
  // that were due by now, such as the end of a day, come before those of the input.
  std::vector<Fact> facts;
  // The effects of the jobs that the input concerned: commands to clusters, such as to open a gate.
  // A job that needs no effect has none.
  std::vector<Effect> effects;
  // The reply. Show it to the caller only after the facts are durable.
  Reply reply;
};

// The drain of a node: whether the node is drained, when a planned drain begins, and when a drain
// ends by itself. 0: no time is set.
struct NodeDrain {
  bool drained = false;
  // When the drain begins, and when it ends by itself. Both times are by the engine's clock.
  TimeMs from_ms = 0, until_ms = 0;
};

// One pod of a job as reads show it.
struct PodRow {
  // The index of the pod in its job, from 0.
  std::uint32_t rank = 0;
  // The pod's uid, and the pod's name as "namespace/name". Uid and name are empty for a pod of an
  // API job.
  std::string uid, name;
  PodState state = PodState::kWaiting;
  PodGate gate = PodGate::kOpen;
  // The slot of the pod: its node, and the GPUs of that node that the pod holds. A slot without a
  // node means that the pod holds no GPUs.
  PodSlot slot;
  // The start of the pod's next ledger row. From this time on, its GPUs are not charged yet.
  TimeMs since_ms = 0;
};

// A job as reads show it. A row is small, so a read can copy a page of rows.
struct JobRow {
  JobId id;
  // `account` is a path without the user. `account` and `user` are empty if the job has no account.
  std::string name, cluster, account, user;
  // The job's present state, and its origin.
  JobState state = JobState::kQueued;
  JobOrigin origin = JobOrigin::kApi;
  // Why the job ended, or why its current or last attempt ended.
  Cause cause = Cause::kNone;
  // The request. The request of an incomplete gang has the pods that were seen so far.
  GangRequest request;
  // How many pods start together. 0: the number is not known.
  std::uint32_t gang_size = 0;
  // The GPUs that the job's pods hold now. If the pods hold no GPUs: the least that the request can
  // cost.
  MilliGpu milligpu = 0;
  // Among the waiting jobs of one leaf, the job with the highest number comes first.
  std::int32_t priority = 0;
  // The priority class that the job named. Empty: the job named no class, or the class is gone.
  std::string priority_class;
  // The time limit; 0: the job has none.
  DurationMs time_limit_ms = 0;
  // The grace period of an API job (in::SubmitJob::grace_ms).
  DurationMs grace_ms = 0;
  // When the job began to wait, when its attempt started, and when it ended. 0: the event has not
  // happened.
  TimeMs submit_ms = 0, started_ms = 0, ended_ms = 0;
  // The job's deadline. In the states starting and ending: all pods must be bound by then. In the
  // state incomplete: the job is done unless a pod comes by then. In the state paused: the job is
  // queued again at that time.
  TimeMs until_ms = 0;
  // When the cluster refused to evict one of the job's pods. 0: the cluster did not refuse.
  TimeMs end_refused_ms = 0;
  // The number of the job's current or last attempt, from 1. 0: there was no attempt.
  std::uint32_t attempt = 0;
  // When the GPUs that the job holds are expected to be free. The time follows from the job's time
  // limit, or else from a default time limit or a hard budget. 0: the job holds nothing, or the end
  // is not known.
  TimeMs planned_end_ms = 0;
  // For a queued job with reserved nodes: its latest start. 0: the job has no reservation, or the
  // start is not known. A promised start follows from time limits, and moves later only for a
  // ReserveCause. Any other start is a guess.
  TimeMs start_ms = 0;
  // When the jobs on the reserved nodes are expected to end; never after start_ms.
  TimeMs start_expected_ms = 0;
  // True: `start_ms` is a promised start. False: it is a guess.
  bool start_promised = false;
  // The history of the job's reservation: why it was made or moved last, and how often its start
  // has moved later.
  struct StartMoved {
    ReserveCause cause = ReserveCause::kMade;
    std::uint32_t times = 0;
  };
  StartMoved start_moved;
  // How often the job's attempt reached a planned end and still held GPUs.
  std::uint32_t overruns = 0;
  // True: the cluster's scheduler refused the job (reason Unschedulable).
  bool refused = false;
  // The last time that a kubelet rejected a pod of the job.
  NodeRejection rejected;
  // How the job's time limit counts.
  struct Limit {
    // True: Subak asks the job to end after its time limit.
    bool enforced = false;
    // True: reservations do not rely on the time limit, because this job or similar jobs overran
    // theirs (state::trusts_limit, docs/design/0061).
    bool distrusted = false;
  };
  Limit limit;
  // The object that creates the pods of this job, and how many jobs of the job's account it has.
  struct Siblings {
    // The kind as Kubernetes writes it, and "namespace/name" of the object.
    std::string kind, name;
    // The jobs that have not ended: all of them, those in state running, and those that wait.
    std::size_t jobs = 0, running = 0, waiting = 0;
    // The jobs in state queued, which are one row of the queue.
    std::size_t queued = 0;
  };
  // What is known of the owners of the job's pods.
  struct Owners {
    // Whether Subak keeps the owner of the job's pods suspended, so that the pods do not exist yet.
    Parking parking = Parking::kNone;
    // The job's workload: the object that creates the pods of this job and of others, such as a
    // Deployment. nullopt: the job has no workload, or has ended.
    std::optional<Siblings> siblings;
  };
  Owners owners;
  // The job's part in the reclaim of GPUs by jobs within quota (docs/design/0084).
  struct Reclaim {
    // True: the job is queued and has a claim on GPUs.
    bool claims = false;
    // The last preemption of the job. nullopt: the job was never preempted.
    std::optional<Preemption> preempted;
    // The part of the job's GPUs that no quota covers.
    Loan loan;
  };
  Reclaim reclaim;
  // The nodes where the job holds GPUs, by id, each once.
  std::vector<NodeId> nodes;
  // The pods, by rank. The list is filled in only on request.
  std::vector<PodRow> pods;
};

// Why jobs within quota cannot reclaim GPUs: Subak never asks the job that holds them to end.
enum class Unrecallable : std::uint8_t {
  // Subak never admitted the job.
  kForeign,
  // The job already ran when its cluster changed to enforce.
  kAdopted,
  // No controller would create the job's pods again.
  kBare,
  // The job's pods or its user say that the job is not preemptible.
  kMarked,
};
template <>
struct EnumText<Unrecallable> {
  static constexpr std::array<std::string_view, 4> names{"foreign", "adopted", "bare", "marked"};
};

// One account (or user) as `share` and `account tree` show it. Doubles are for display: no decision
// reads them. The figures of Fair Tree are as in Slurm.
// Source: https://slurm.schedmd.com/fair_tree.html
struct AccountRow {
  // The account and its parent. The root has no parent.
  AccountId id, parent;
  // The settings that were last configured.
  AccountSpec spec;
  std::int64_t revision = 0;
  // The account's part of the sum of its siblings' shares; 1 for the root.
  double norm_shares = 0;
  // The account's decayed usage, in GPU-seconds.
  double usage_gpu_seconds = 0;
  // The account's part of its parent's decayed usage; 0 if the parent has no usage.
  double effective_usage = 0;
  // norm_shares / effective_usage. The value is infinity without usage, and 0 without shares.
  double level_fs = 0;
  // Fair Tree's factor; nullopt for an account that is not a leaf.
  std::optional<double> fairshare;
  // The classic factor: 2^-(usage / share). Usage and share are parts of the complete tree. The
  // factor is 0 without shares.
  double share_factor = 0;
  // The decayed usage that the account's quota did not cover.
  double surplus_gpu_seconds = 0;
  // The exact usage without decay.
  GpuTime usage_total;
  // `held`: the milli-GPU on hold for pods that are not bound. `running`: the milli-GPU of bound
  // pods. `queued`: the least milli-GPU that the waiting jobs at or below the account can cost.
  // `quota`: the account's quota.
  MilliGpu held = 0, running = 0, queued = 0, quota = 0;
  struct Lending {
    // The part of `held` and `running` that the account's quota does not cover; 0 for a user
    // without quota.
    MilliGpu borrowed = 0;
    // The part of the account's unused quota for which no GPUs are idle: other accounts hold them.
    MilliGpu lent = 0;
    // The part of `borrowed` that jobs within quota cannot reclaim, by reason (Unrecallable). The
    // root has the sum over all accounts, and the GPUs of such jobs without an account.
    std::array<MilliGpu, EnumText<Unrecallable>::names.size()> not_recallable{};
  };
  Lending lending;
  // The number of queued jobs at or below the account.
  std::size_t jobs_queued = 0;
};

// One step of the walk that ranks a job: the siblings that the walk compares at one account.
// Siblings that hold GPUs but have no job that could start come last.
struct RankStep {
  // The path of the account whose children are compared; empty for the root.
  std::string node;
  struct Entry {
    // The path of the sibling. For jobs of the account `node` itself, the path is `node` followed
    // by " (itself)".
    std::string path;
    // The sibling's part of the complete fleet by shares alone, among all siblings.
    double shares = 0;
    // The sibling's part of the complete fleet now, among the siblings with jobs. It follows from
    // the shares, lowered or raised by surplus: past usage that no quota covered.
    double target = 0;
    // The sibling's decayed usage and surplus, in GPU-seconds.
    double usage_gpu_seconds = 0, surplus_gpu_seconds = 0;
    // The GPUs that the sibling holds, and its effective quota.
    MilliGpu alloc = 0, quota = 0;
    // The cost of the sibling's next job. The order adds half of this cost to `alloc`. 0: the
    // sibling has no next job.
    MilliGpu next = 0;
    // True: the explained job is at or below this sibling.
    bool on_path = false;
  };
  // The siblings in the order of the walk, the best first.
  std::vector<Entry> entries;
};

// Explains why a job or its pods without a rank wait. For other jobs, only the field `job` is set.
struct Explanation {
  JobRow job;
  // The position in the queue: 1 is next; 0: the job is not queued.
  std::size_t position = 0;
  // All reasons that apply now, in kReasonOrder. The list has at least one reason while the job
  // waits.
  std::vector<Reason> reasons;
  // For a queued job: the steps from the root down to the job's leaf.
  std::vector<RankStep> ranking;
  // From this time on, Subak may reserve nodes for the queued job if the job does not fit in its
  // turn. 0: Subak never reserves nodes for the job. `reserved_nodes` has the names of the nodes
  // that are reserved for the job now.
  TimeMs patience_until_ms = 0;
  std::vector<std::string> reserved_nodes;
};

// A job with more pods than ranks. Its pods without a rank are the elements of JobRow::pods from
// index JobRow::gang_size on.
struct CrowdedJob {
  JobRow job;
  // Why the pods without a rank have no rank.
  Reason reason;
};

// One claim as reads show it (docs/design/0084). A claim sets GPUs aside for a waiting job. Its
// victims are the jobs that Subak asks to end, because they hold these GPUs.
struct ClaimRow {
  // A job that ends for the claim.
  struct Victim {
    JobId job;
    // The account and user of the job.
    std::string account, user;
    // The milli-GPU that the job still holds. 0: the victim has ended.
    MilliGpu milligpu = 0;
    // The time from which the job may be asked to end.
    TimeMs ask_ms = 0;
    // True: the job was asked to end, or ends by itself.
    bool ending = false;
    // The time by which the victim should have ended. 0: there is no such time, or the time has
    // passed.
    TimeMs by_ms = 0;
  };
  // The claimant: the waiting job that gets the GPUs. Also its account and user.
  JobId job;
  std::string account, user;
  ProductAmounts amounts;
  // The names of the nodes with the claimed GPUs.
  std::vector<std::string> nodes;
  std::vector<Victim> victims;
  TimeMs made_ms = 0;
  ClaimRight right = ClaimRight::kReclaim;
};

// One row of the shadow queue: the queue as it would be if all namespaces were in `enforce`
// (docs/design/0035).
struct ShadowRow {
  // The row's index among the rows of all accounts, from 0, even if the caller asked for one
  // account.
  std::size_t index = 0;
  // The position in the queue: 1 is next. 0: the job is not in the queue, because its gang is
  // incomplete or it has no account.
  std::size_t position = 0;
  // True: the job's pods wait outside Subak, and job.id is none.
  bool pending = false;
  // The job, in its state after the next pass of shadow mode.
  JobRow job;
  // The main reason why the job would wait. nullopt: the pass would start the job on the nodes in
  // job.nodes.
  std::optional<Reason> waits_for;
};

// The usage of one pod that holds GPUs, since the pod's last ledger row. The ledger has no row for
// this usage yet.
struct OpenUsage {
  // The leaf of the pod's job.
  AccountId payer;
  // The state that the ledger row will have if a pod uses the hold.
  UsageState state = UsageState::kUsed;
  // The GPU product of the node, as NodeSpec::product names it.
  std::string product;
  // The end of the last row. The next row begins at this time.
  TimeMs since_ms = 0;
  // The GPUs that the pod holds.
  MilliGpu milligpu = 0;
  // The job, and the node of the GPUs.
  JobId job;
  NodeId node;
  // The number of GPUs of the node that the pod holds completely or in part. 0: the pod holds MIG
  // slices.
  std::uint32_t gpus = 0;
  // The pod's name as "namespace/name", and its uid. Both are empty for a pod of an API job.
  std::string pod, uid;
};

// The bill of one node up to now: capacity, ledger, and the GPU time that these two do not explain
// (always zero).
struct NodeBill {
  NodeId node;
  // The node's own integrals up to now.
  NodeBooks capacity;
  // The sum of the node's ledger rows and open usage.
  GpuTime charged;
  // capacity.allocated - charged, plus the difference between the capacity and the sum of its
  // parts.
  GpuTime residual;
};
// Returns the sum of |residual| over the bills.
inline GpuTime residual_of(const std::vector<NodeBill>& bills) {
  GpuTime sum;
  for (const NodeBill& b : bills)
    sum += b.residual < GpuTime() ? GpuTime() - b.residual : b.residual;
  return sum;
}

// Figures for metrics, which a collector requests. To compute these figures, the engine reads all
// jobs that wait or hold GPUs.
struct Survey {
  struct OfCluster {
    // The id of the cluster; never 0.
    ClusterId id;
    // The milli-GPU held by pods that Subak did not admit.
    MilliGpu foreign = 0;
    // The part of the free GPUs that common pods cannot use: Search::fragmentation over the
    // limits::kSurveyShapes shapes that most waiting or running pods have.
    double fragmentation = 0;
    // Free GPUs on reserved nodes (Engine::reserved_idle()).
    MilliGpu reserved_idle = 0;
    // Free GPUs in NVLink domains that GangSettings::keep_whole leaves to gangs.
    MilliGpu reserved_domains_idle = 0;
    // How many pods the kubelet of a node rejected in the last limits::kRejectionsMs, by node.
    // Nodes without rejections have no entry.
    std::map<NodeId, std::size_t> rejections;
    // The resources that non-GPU pods use (non_gpu_use() of placement/fleet/views.h).
    NonGpuUse non_gpu;
  };
  // The clusters, by id.
  std::vector<OfCluster> clusters;
  // For each account, the earliest submit time of the jobs that are queued at or below the account.
  // An account without queued jobs has no entry.
  std::map<AccountId, TimeMs> oldest_submit;
  // The first limits::kSurveyQueue jobs of the queue, in order.
  std::vector<JobId> head;
  // The number of claims that exist now.
  std::size_t claims = 0;
  // The earliest time by which all victims of a claim should have ended, among claims with victims
  // that have not ended. 0: there is no such claim.
  TimeMs claim_due_ms = 0;
  // For each reason, how many of the first limits::kSurveyExplained jobs have it. A job may have
  // several reasons.
  std::map<ReasonToken, std::size_t> reasons;
  // The node pools (Growth::pools). Empty if the caller does not know the growth of pools.
  std::vector<Growth::Pool> pools;
};

}  // namespace subak
