// The decisions: one function for each kind of input, and the steps that several of them share.
// Each sees the state const and changes it only by Decision::emit() and tell().
//
// Errors: Decision::refuse() refuses an input. The refusal is then its only fact.
// Threads: none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "engine/decide/decision.h"
#include "engine/derive/reservations.h"
#include "model/input.h"

namespace subak::decide {

// The cache of a pass, with which the next pass looks only at changes. It is derived: a pass with
// an empty one makes the same decisions.
struct PassMemory {
  // By shape number: the freed_version(shape) of the fleet at which the shape had no placement. A
  // start only takes GPUs, except that it frees the CPU and memory that were reserved beside them.
  // The versions of shapes with non-GPU pods count that.
  struct Blocked {
    // Of the shape. Another serial: the number belongs to another shape now, and nothing is known.
    std::uint64_t serial = 0;
    // The fleet's freed_version(shape) plus 1. 0: not known.
    std::uint64_t at = 0;
  };
  using BlockedShapes = std::vector<Blocked>;
  // A rule of accounts that stops jobs. It stops a whole job class, named by one of its jobs while
  // that has the same request. Or it stops all jobs that ask for as much at or below an account.
  struct BlockedByRule {
    // One of these two is set.
    JobId line;
    // Of the job's shape.
    std::uint64_t serial = 0;
    AccountId account;
    // Of an account: jobs that ask for at least this much are stopped.
    MilliGpu least = 0;
  };
  // Versions of the inputs to a cached result. If one changed, the result is computed again.
  struct Point {
    // Of the fleet, of the account tree, and of the reserved nodes. 0: it does not matter.
    std::uint64_t fleet = 0, structure = 0, reserved = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };
  // Versions of the inputs to the last search for promised starts. If none changed, the search is
  // skipped.
  struct StartsPoint {
    // Of the inputs that are named like them; each is compared for equality only.
    std::uint64_t freed = 0, structure = 0, reserved = 0, drains = 0, overruns = 0;
    DurationMs grace_ms = 0;
    bool enforced = false;
    friend bool operator==(const StartsPoint&, const StartsPoint&) = default;
  };
  // Shapes that had no placement on unreserved nodes.
  BlockedShapes blocked;
  // Nor on nodes that are reserved for jobs beyond their quota.
  BlockedShapes blocked_for_all;
  // Nor on nodes that are reserved for any job.
  BlockedShapes blocked_for_fill;
  // Set by a pass that stopped before it asked all jobs. The next pass skips these.
  std::vector<BlockedByRule> blocked_by_rule;
  Point blocked_by_rule_at;
  // The version of State::reserved_nodes() for which the blocked shapes hold.
  std::uint64_t reserved_at = 0;
  // When all reserved nodes were found open.
  Point open_at;
  // When no promised start could be earlier.
  StartsPoint pulled_at;
  // The jobs that claimed in this pass: each does so once.
  std::set<JobId> claimed;
  // Jobs for which no nodes can be reserved, with the serial of their shape.
  std::set<std::pair<JobId, std::uint64_t>> refused;
  // The inputs for which `refused` holds.
  StartsPoint refused_at;
};

// model/input.h describes each input and when it is refused.
//
// cluster.cc, node.cc, service.cc: clusters; nodes and lists; policy and the service itself
void decide(Decision& d, const in::SetCluster& i);
void decide(Decision& d, const in::DeleteCluster& i);
void decide(Decision& d, const in::ImportNodes& i);
void decide(Decision& d, const in::DrainNode& i);
void decide(Decision& d, const in::ListBegin& i);
void decide(Decision& d, const in::ListComplete& i);
void decide(Decision& d, const in::NodeSeen& i);
void decide(Decision& d, const in::NodeGone& i);
void decide(Decision& d, const in::Finalize& i);
void decide(Decision& d, const in::AcceptClock& i);
void decide(Decision& d, const in::SetPolicy& i);
void decide(Decision& d, const in::Restarted& i);
void decide(Decision& d, const in::CallDenied& i);
// leap.cc
void decide(Decision& d, const in::ClockWrong& i);
// Records a start so long after the last fact that the clock may be wrong.
void note_leap(Decision& d);
// seen.cc
void decide(Decision& d, const in::SeenUntil& i);
void decide(Decision& d, const in::NamespaceSeen& i);
void decide(Decision& d, const in::GangGone& i);
// expected.cc
void decide(Decision& d, const in::GangSeen& i);
// account.cc
void decide(Decision& d, const in::SetAccount& i);
void decide(Decision& d, const in::DeleteAccount& i);
// job.cc
void decide(Decision& d, const in::SubmitJob& i);
void decide(Decision& d, const in::CancelJob& i);
void decide(Decision& d, const in::HoldJob& i);
void decide(Decision& d, const in::Tick& i);
// pod.cc
void decide(Decision& d, const in::PodSeen& i);
void decide(Decision& d, const in::PodBound& i);
void decide(Decision& d, const in::PodRunning& i);
void decide(Decision& d, const in::PodRefused& i);
// pod_end.cc
void decide(Decision& d, const in::PodGone& i);
// pass.cc
void decide(Decision& d, const in::Pass& i, PassMemory& memory);

// --- steps that several subjects share -----------------------------------------------------------

// The error "there is no such cluster", or that a name is missing.
Error no_cluster(const std::string& name);
// account.cc: checks that there is room for these GPU products. Some of them may be known already.
std::optional<Error> check_products(const Fleet& fleet, const std::set<std::string_view>& names);
// node.cc: why the input's session may not report on its cluster. nullopt: it may.
std::optional<Error> check_session(const Decision& d);

// node.cc: removes a node. Pods that hold something there lose it; bound pods end at `at`. The node
// goes last, with its closing bill.
void remove_node(Decision& d, NodeId id, TimeMs at);

// node.cc: releases excess holds on a node that holds more than it has. That happens when a pod was
// bound there without Subak, or the node shrank. It releases holds that do not fit beside the rest
// and whose gate is closed, the newest first, until the rest fits. It does nothing while a list is
// read, since objects that the list does not name may be gone.
void evict_overcommit(Decision& d, NodeId node);

// node.cc: begins and ends drains whose time has come.
void begin_and_end_drains(Decision& d);

// job.cc: the user's node below the account. Created at its first use.
AccountId leaf_of(Decision& d, AccountId account, const std::string& user);

// life.cc: when an attempt is over, and the next state of its job.
// Asks the job's pods to end. A job that already ends gets the new cause. `until_ms`: when Subak
// asks again; 0: at the end of its hold, if it has one.
void ask_stop(Decision& d, const state::Job& job, Cause cause, EditStamp by, TimeMs until_ms = 0);
// Gives up an attempt that cannot continue. It releases the holds of pods that are not on their way
// yet: a rank without a launcher's pod, or a pod whose gate is closed. It asks the other pods to
// end, unless no controller would recreate them: then they stay.
void give_up(Decision& d, JobId id, Cause cause);
// Ends the hold (the "place") of a pod that is on its way; the pod stays. Its gang's attempt cannot
// continue.
void lose_place(Decision& d, JobId id, std::uint32_t rank, Cause cause);
// Makes an unbound pod of an inferred gang a job of its own, which keeps the hold. None: the pod
// had not come yet, and its hold is released.
JobId part(Decision& d, JobId id, std::uint32_t rank);
// Parts all unbound pods and gives up their holds for this cause. Pods on their way are asked to
// end.
void part_unbound(Decision& d, JobId id, Cause cause);
// Resizes an inferred gang when it waits again: it does not wait for those of its pods that became
// jobs of their own.
void leave_out_apart(Decision& d, JobId id);
// Ends the attempt if no pod of it holds anything or still has to end. The job then waits again or
// is done.
void finish_if_over(Decision& d, JobId id);
// Updates a waiting job of pods: pods behind the ranks take free ranks, and the job is queued
// exactly if its gang is complete. `cause`: the cause of its end if no pod is left.
void settle(Decision& d, JobId id, Cause cause = Cause::kVanished);
// True if the job needs only its turn. In a job of pods all ranks can be placed, agree, and have an
// account.
bool may_queue(const state::Job& job);
// Checks that the gang's request stays within bounds with this pod at this rank.
std::optional<Error> check_gang_bytes(Decision& d, const state::Job& job, std::uint32_t rank,
                                      const PodShape& shape);
// shared_bounds.cc: why the account may not have one more waiting job, or one more waiting pod in
// the cluster. nullopt: it may. `joins`: the pod is of a gang that already waits there.
std::optional<Error> queue_is_full(const Decision& d, AccountId account);
std::optional<Error> too_many_wait(const Decision& d, ClusterId cluster, const PodRecord& pod,
                                   AccountId account, bool joins);
// Checks that the size of the complete gang's request is within bounds.
std::optional<Error> check_bytes(std::size_t of_gang);
// Assigns jobs without an account in the namespaces of this account to it.
void assign_jobs(Decision& d, const AccountSpec& spec);
void assign_jobs(Decision& d, ClusterId cluster, const std::string& ns);
// Lets jobs wait for their turn that awaited the resume of their account, once none of their
// accounts drains.
void resume_jobs(Decision& d);
// Removes the labels of the cluster's namespaces that are not among `listed`.
void forget_namespaces(Decision& d, ClusterId id, const std::set<std::string>& listed);
// Ends the time of a job's hold. A pod that no controller would recreate keeps its hold and says
// so.
void expire(Decision& d, const state::Job& job);
// Ends a wait: no pod came in time, or a pause is over.
void end_wait(Decision& d, const state::Job& job);

// node_backoff.cc: the node rejected a pod of this shape. Backs the node off for the shape, longer
// each time.
void bar_node(Decision& d, NodeId node, const PodShape& shape);
// A pod of this shape of the job runs there: forgets the node's backoffs for the shape. Scheduler
// refusals of other jobs stay.
void clear_backoff(Decision& d, NodeId node, const PodShape& shape, JobId job);
// Records that the cluster's scheduler cannot bind this pod to the node of its hold. The node is
// backed off for the job. Once two nodes refused it, the whole job is backed off
// (docs/design/0072). It does nothing if this hold already had a refusal.
void note_refusal(Decision& d, const state::Job& job, std::uint32_t rank, std::string_view words);
// Forgets all refusals of the job by the scheduler. The job may still be backed off.
void forget_refusals(Decision& d, JobId id);
// True if the scheduler refused the job and no pod of it, present or gone, has asked for this
// shape.
bool asks_anew(const Decision& d, const state::Job& job, const PodShape& shape);
// The job's request changed: forgets its refusals and queues it at once.
void job_changed(Decision& d, JobId id);
// Ends the job's backoff and resets its count. Node backoffs stay.
void retry(Decision& d, JobId id);
// The node changed and takes pods: retries the jobs that the scheduler refused there or elsewhere
// in its cluster.
void forgive_refusals(Decision& d, NodeId node);
// Ends node backoffs whose time is over, and deletes old records.
void end_backoffs(Decision& d);
// node.cc: removes nodes from their clique after their clique label was missing for
// limits::kCliqueKeptMs.
void end_cliques(Decision& d);

// non_gpu_pod.cc: a non-GPU pod is on a node. The node exists.
void see_non_gpu_pod(Decision& d, ClusterId cluster, const PodRecord& pod);
// Removes the pod. False: the pod was never seen.
bool end_non_gpu_pod(Decision& d, ClusterId cluster, const std::string& uid);
// Emits the sum of the node's non-GPU pods if it changed.
void sum_non_gpu_pods(Decision& d, NodeId node);

// expected.cc: the rank whose hold is for a pod like this one, its own rank before others. None:
// the pod has to wait.
std::optional<std::uint32_t> kept_place(const Decision& d, const state::Job& job,
                                        const PodRecord& pod);
// In a waiting gang: the rank that the pod asks for, or the first free one. Otherwise, or if all
// are taken: a rank behind the gang, where the pod waits for a free rank. The result may exceed the
// largest allowed rank.
std::uint32_t rank_for(const state::Job& job, const PodRecord& pod);
// fact::PodAdded::order of the pod.
std::uint32_t order_of(const PodRecord& pod);
// Orders the ranks of a waiting gang that has all its pods by PodRecord::rank. Pods without one
// come behind the others, in order of arrival. Expected pods keep their ranks.
void order_ranks(Decision& d, JobId id);

// pod.cc: decides the early reports of pods on a node that was just seen for the first time.
void decide_early(Decision& d, ClusterId cluster, const std::string& node);
// unmanaged_pod.cc: records whether the pod of the decided input waits outside Subak.
void note_unmanaged(Decision& d);

// seen.cc: true if `below` is `account` or below it.
bool is_below(const AccountTree& tree, AccountId below, AccountId account);
// The account of a pod: its label `said` if that is within its namespace's account, else the
// namespace's account. kUnassigned if no account has the namespace.
AccountId account_of(const Decision& d, ClusterId cluster, const std::string& ns,
                     const std::string& said);
// The pod that a cluster's edge names. nullopt: there is none, and the input is refused.
std::optional<state::PodPlace> find_named(Decision& d, const std::string& cluster,
                                          const PodRef& ref);
// pod_end.cc: the key of a pod whose node has not been seen: its uid, or "1-42/0/1" of a launcher's
// pod.
std::string early_name(const PodRef& ref);
// pod_end.cc: ends the pod at `at`, by `clock`, or at its last sign of life if that is later.
// Charges and releases what it held.
void end_pod(Decision& d, JobId id, std::uint32_t rank, TimeMs at, Cause cause,
             RowClock clock = RowClock::kService);

// charge.cc: writes the ledger rows for what the pod held since its last row, one for each UTC day.
// Non-GPU pods cost nothing. `clock`: the clock that gave `to`.
void charge(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to, UsageState state,
            AccountId payer, RowClock clock = RowClock::kService);
// Writes the rows of a bound pod up to its end, or to a midnight. On a node that went silent the
// platform pays from its last heartbeat on.
void charge_end(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to,
                RowClock clock = RowClock::kService);
// Writes the capacity side of the bill for each UTC midnight that has passed.
void close_days(Decision& d);
// Charges bound pods up to each midnight whose day is closed: at most limits::kMaxCutRowsPerTurn
// rows (and one), oldest first in each cluster. Unbound holds are charged later, since their payer
// is not known yet.
void close_rows(Decision& d);

// account_warnings.cc: warns of settings of the account that are legal but hardly intended.
void warn_of(Decision& d, const AccountSpec& spec);

}  // namespace subak::decide
