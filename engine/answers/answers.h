// The records that the engine returns: outcomes of inputs, and rows of jobs, accounts, nodes and the
// queue as reads show them. All are copies that the caller owns. Times are TimeMs of the engine.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accounting/ledger.h"
#include "accounting/tree.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/reason.h"
#include "model/effect.h"
#include "model/fact.h"
#include "model/job.h"
#include "placement/fleet/fleet.h"
#include "placement/fleet/views.h"

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
  bool limit_distrusted = false;  // it has a limit that is not relied on: state::trusts_limit
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
  // turn. 0: never. `reserved_nodes` are the names of the nodes that are reserved for it now.
  TimeMs patience_until_ms = 0;
  std::vector<std::string> reserved_nodes;
};

// A job with more pods than ranks. The pods without a rank are JobRow::pods from JobRow::gang_size
// on.
struct CrowdedJob {
  JobRow job;
  Reason reason;
};

// One row of the shadow queue: the queue as it would be if all namespaces were in `enforce`
// (docs/design/0035).
struct ShadowRow {
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
    MilliGpu reserved_idle = 0;  // Engine::reserved_idle() of the cluster
    MilliGpu reserved_domains_idle =
        0;              // idle on NVLink domains that Policy::keep_whole leaves to gangs
    NonGpuUse non_gpu;  // of non-GPU pods: non_gpu_use() of the cluster
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

}  // namespace subak
