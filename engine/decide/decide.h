// The decisions: one function for each kind of input, and the steps that several decisions share.
// decide::apply() (requested.h) calls the function of an input. Each function reads the state as
// const, and changes it only through Decision::emit(). Decision::tell() changes only the observed
// reports, which no fact records.
//
// Words of this file. An *attempt* is one try of a job to start, from its holds to its end. A
// *hold* (in names: `place`) is GPUs on a node that Subak gives to a pod before the pod is bound. A
// *rank* is the number of a pod in its gang. A gang is *inferred* if only the kind of the pods'
// owner suggests that the pods start together; its pods run on if one pod is lost. A pod is
// *expected* if it does not exist yet, but its owner will create it. A job is *parked* while Subak
// keeps the owner of its pods suspended until the job's turn. A *shape* is what a pod or a gang
// requests. An *API job* is one that a user submitted over the API; its *launcher* creates the
// pods. An *edge* is the program that reports a cluster.
//
// Errors: a decision refuses its input with Decision::refuse(), which sets the error of the reply.
// Threads: one at a time; all functions run inside Engine::apply.
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

// The cache that one pass leaves for the next pass. With the cache, the next pass searches again
// only for jobs whose inputs have changed. With an empty cache, a pass makes the same decisions,
// but more slowly.
struct PassMemory {
  // Records that a shape had no placement at a certain freed_version(shape) of the fleet. This
  // version rises with each release or node change that may make room for the shape. While it is
  // the same, the shape still has no placement. For shapes with non-GPU pods it also rises with
  // each start, because such pods must leave CPU and memory for each free GPU, and a start makes
  // free GPUs fewer. The index in BlockedShapes is the shape number.
  struct Blocked {
    // The serial of the shape. If the number now belongs to a shape with another serial, the entry
    // is void.
    std::uint64_t serial = 0;
    // The fleet's freed_version(shape) plus 1. 0: no search was recorded.
    std::uint64_t at = 0;
  };
  using BlockedShapes = std::vector<Blocked>;
  // A rule of an account that stops jobs. Either it stops one job class: the waiting jobs of one
  // leaf and shape. Then `line` is a job of the class, and names it while this job's request stays
  // the same. Or it stops all jobs at or below `account` that ask for `least` or more. Example: 6
  // of at most 8 GPUs are held, so the rule stops jobs of 3 GPUs.
  struct BlockedByRule {
    // The job that identifies the class, or else the account. Exactly one of `line` and `account`
    // is set.
    JobId line;
    // The serial of the job's shape.
    std::uint64_t serial = 0;
    AccountId account;
    // With `account`: the rule stops jobs that ask for at least this much.
    MilliGpu least = 0;
  };
  // The versions of the inputs of a cached result. The pass computes the result again if one of
  // these versions has changed.
  struct Point {
    // The versions of the fleet, of the account tree, and of the reserved nodes. 0: the result does
    // not depend on this input.
    std::uint64_t fleet = 0, structure = 0, reserved = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };
  // The versions of the inputs of the last search for promised starts, which are the starts of
  // reservations that follow from time limits. If none of these versions has changed, the pass
  // skips the search.
  struct StartsPoint {
    // Each number is the version of the input that its name says. Versions are compared only for
    // equality. `grace_ms` and `enforced` are settings of the policy about time limits.
    std::uint64_t freed = 0, structure = 0, reserved = 0, drains = 0, overruns = 0;
    DurationMs grace_ms = 0;
    bool enforced = false;
    friend bool operator==(const StartsPoint&, const StartsPoint&) = default;
  };
  // Shapes that had no placement on unreserved nodes.
  BlockedShapes blocked;
  // Shapes that had no placement on unreserved nodes, nor on nodes that are reserved for jobs
  // beyond their quota.
  BlockedShapes blocked_for_all;
  // Shapes that had no placement on any node, reserved or not.
  BlockedShapes blocked_for_fill;
  // The rules that the last pass found, if that pass ended before it had tried all jobs. The next
  // pass skips the jobs that these rules stop.
  std::vector<BlockedByRule> blocked_by_rule;
  Point blocked_by_rule_at;
  // The version of State::reserved_nodes() for which the blocked shapes are valid.
  std::uint64_t reserved_at = 0;
  // The nodes of finishing gangs for which the blocked shapes are valid. Some pods of such a gang
  // have finished, and others still run.
  derive::NodesOfGangs finishing;
  // The versions of the inputs at which all reserved nodes were last known to take pods.
  Point open_at;
  // The versions of the inputs at which no promised start could move to an earlier time.
  StartsPoint pulled_at;
  // The jobs that got a claim in this pass. A job gets at most one claim in a pass.
  std::set<JobId> claimed;
  // Job classes, by leaf and shape, for which this pass found no claim before it started a job
  // beyond quota. Before the next such start, the pass does not search for them again.
  std::set<std::pair<AccountId, ShapeId>> claim_tried;
  // The number of searches for claims in this pass. The search for a claim of a gang counts as
  // several searches.
  std::size_t claim_steps = 0;
  // Jobs for which no nodes can be reserved, each with the serial of its shape.
  std::set<std::pair<JobId, std::uint64_t>> refused;
  // The versions for which `refused` is valid.
  StartsPoint refused_at;
};

// model/input.h describes each input and when it is refused.
//
// cluster.cc: clusters. node.cc: nodes and lists. service.cc: the policy and the service itself.
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
// half_life.cc
void decide(Decision& d, const in::HalfLifeRead& i);
// Call it when the service starts. Restarts a change of the half-life that is under way. A
// checkpoint does not have the second meters of such a change, so a restored state has none.
void begin_half_life_again(Decision& d);
// Returns the policy that an edit to `wanted` leads to. If jobs have used GPUs, a new half-life is
// not in force at once: the edit begins or cancels a change of the half-life. If the edit changes
// `monthOpenDays`, closed months stay closed.
Policy policy_of_edit(const Decision& d, const Policy& wanted);
// True if jobs hold or have held GPUs.
bool has_usage(const State& s);
void decide(Decision& d, const in::Restarted& i);
void decide(Decision& d, const in::CallDenied& i);
// leap.cc
void decide(Decision& d, const in::ClockWrong& i);
// Records a leap of time (state/leap.h) if the service starts so long after the last fact that its
// clock may be wrong.
void note_leap(Decision& d);
// seen.cc
void decide(Decision& d, const in::SeenUntil& i);
void decide(Decision& d, const in::NamespaceSeen& i);
void decide(Decision& d, const in::GangGone& i);
// expected.cc
void decide(Decision& d, const in::GangSeen& i);
// parked.cc
void decide(Decision& d, const in::OwnerSeen& i);
// Call it when the owner of a parked job is no longer suspended. A waiting job then waits for pods,
// and a starting job waits for pods that take its holds. Does nothing if the job is not parked.
void unpark(Decision& d, JobId id);
// Call it when no pod of a waiting parked job exists. If pods of the job had come and are gone, the
// owner will create them again. The job then expects pods with the same requests.
void expect_again(Decision& d, JobId id);
// account.cc
void decide(Decision& d, const in::SetAccount& i);
void decide(Decision& d, const in::DeleteAccount& i);
// account_batch.cc
void decide(Decision& d, const in::ApplyAccounts& i);
// account_move.cc
void decide(Decision& d, const in::MoveAccount& i);
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

// Returns the error for an input whose cluster does not exist. `name`: the name in the input; empty
// if the input names no cluster although there is not exactly one.
Error no_cluster(const std::string& name);
// account.cc: checks that the table of GPU products has room for these names. Some of them may
// already be in it. nullopt: it has room.
std::optional<Error> check_products(const Fleet& fleet, const std::set<std::string_view>& names);
// node.cc: returns why the input's session may not report on the input's cluster; nullopt if it
// may.
std::optional<Error> check_session(const Decision& d);

// node.cc: removes a node. Pods with holds on the node lose these holds. Bound pods end at the time
// `at`. The last two facts are the node's last NodeBilled fact and NodeRemoved.
void remove_node(Decision& d, NodeId id, TimeMs at);

// node.cc: releases holds on a node whose holds exceed its GPUs. Holds exceed the GPUs when a pod
// was bound there without Subak, or when the node shrank. The function releases holds of pods with
// a closed gate, the newest first, until the other holds fit. It does nothing while an edge sends a
// list, because some pods on the node may be gone, and the list shows that only at its end.
void evict_overcommit(Decision& d, NodeId node);

// node.cc: begins the drains whose begin has come, and ends the drains whose end has come.
void begin_and_end_drains(Decision& d);

// job.cc: returns the user's account below `account`, and creates it at the first use.
AccountId leaf_of(Decision& d, AccountId account, const std::string& user);

// life.cc: the end of attempts, and the next state of their jobs.
//
// ask_stop() asks the job's pods to end. A job that is already ending gets the new cause. Subak
// asks again at `until_ms`. 0: Subak asks again at the deadline that the job has already, if any.
// If the job has no pods, its attempt ends at once.
void ask_stop(Decision& d, const state::Job& job, Cause cause, EditStamp by, TimeMs until_ms = 0);
// Gives up an attempt that cannot continue. give_up() releases the holds of pods whose gate is
// closed, and the holds of unbound pods of API jobs. It asks the job's other pods to end, except
// for pods that no controller would recreate. If some pods of an inferred gang are already bound,
// these pods run on, and give_up() only calls part_unbound().
void give_up(Decision& d, JobId id, Cause cause);
// Ends the hold of an unbound pod that cannot use it, and gives up the attempt of the pod's gang.
// If some pods of an inferred gang are already bound, only this pod leaves the gang (part()).
void lose_place(Decision& d, JobId id, std::uint32_t rank, Cause cause);
// Makes an unbound pod of an inferred gang a job of its own, and moves the pod's hold to that job.
// If the pod has not come yet, the function releases the hold and returns none.
JobId part(Decision& d, JobId id, std::uint32_t rank);
// Calls part() for all unbound pods, and gives up the attempts of the new jobs for this cause. The
// function asks pods with an open gate to end.
void part_unbound(Decision& d, JobId id, Cause cause);
// Call it when an inferred gang waits again. Makes the gang smaller by the pods that became jobs of
// their own (part()), so that the gang does not wait for them.
void leave_out_apart(Decision& d, JobId id);
// Ends the attempt if it is over: no pod has a hold, and no pod still has to end. The job then
// waits again or is done. For a job that waits, the function calls settle().
void finish_if_over(Decision& d, JobId id);
// Updates a waiting job that consists of pods: pods without a rank take free ranks, and the job is
// queued if and only if may_queue() is true. If no pod is left, the job waits for its controller to
// recreate the pods, or it ends with `cause`.
void settle(Decision& d, JobId id, Cause cause = Cause::kVanished);
// True if the job only has to wait for its turn. For a job of pods this means that all ranks are
// present and agree, that the job has an account, and that the account has accepted the job.
bool may_queue(const state::Job& job);
// Checks that the stored size of the gang's request, with this pod at this rank, stays within
// bounds. nullopt: it does.
std::optional<Error> check_gang_bytes(Decision& d, const state::Job& job, std::uint32_t rank,
                                      const PodShape& shape);
// shared_bounds.cc: return why the account may not have one more waiting job, or one more waiting
// pod in the cluster; nullopt if it may. `joins`: the pod belongs to a gang that already waits
// there.
std::optional<Error> queue_is_full(const Decision& d, AccountId account);
std::optional<Error> too_many_wait(const Decision& d, ClusterId cluster, const PodRecord& pod,
                                   AccountId account, bool joins);
// Checks that a gang's request of this many stored bytes is within bounds. nullopt: it is.
std::optional<Error> check_bytes(std::size_t of_gang);
// Give an account to jobs that have none: to the jobs in all namespaces of this account, or to the
// jobs in one namespace of a cluster.
void assign_jobs(Decision& d, const AccountSpec& spec);
void assign_jobs(Decision& d, ClusterId cluster, const std::string& ns);
// Queues the jobs that their accounts had not accepted, in the order of their ids, if the accounts
// accept them now (derive::accepts_job).
void resume_jobs(Decision& d);
// Does the same as resume_jobs(), but queues one job of each account in turn. So no account uses up
// a limit of an account above it alone. Returns true if it queued a job. O(accounts with such
// jobs), and O(log jobs) for each job.
bool accept_jobs(Decision& d);
// Forgets the account labels of the cluster's namespaces that are not among `listed`.
void forget_namespaces(Decision& d, ClusterId id, const std::set<std::string>& listed);
// Call it when the time of a job's holds is over. Releases the holds, or asks their pods to end. A
// hold stays if, for example, no controller would recreate its pod. A fact then records that the
// deadline has passed.
void expire(Decision& d, const state::Job& job);
// Ends the wait of a job because no pod came in time, or because its pause is over. An incomplete
// job is then done. A paused job is queued, or incomplete if it lacks pods.
void end_wait(Decision& d, const state::Job& job);

// node_backoff.cc: records that the kubelet of the node rejected a pod of this shape. Subak then
// places no pod of this shape on the node until the backoff ends. Each rejection makes the backoff
// longer. After limits::kMaxRejections rejections within limits::kRejectionsMs the node is unfit
// for all pods.
void bar_node(Decision& d, NodeId node, const PodShape& shape, const Rejection& rejection);
// Adds to a node's new spec what Subak knows of its rejections. Before the call, `spec.unfit` has
// only the cause that the edge reported. If the node is unfit because of rejections, the function
// adds this cause. Sets `spec.rejects` and `spec.reported_unfit`. For a new node, `node` is 0.
void set_rejections(const Decision& d, NodeId node, NodeSpec& spec);
// Call it when an operator says that the node is repaired. Drops the backoffs that the node has for
// all jobs, and its count of rejections. The node is fit again, unless its edge reports a cause.
void forgive_rejections(Decision& d, NodeId node, const EditStamp& edit);
// node.cc: computes NodeSpec::unfit of the node again, from the cause that the edge reported and
// from the rejections of pods (set_rejections()).
void renew_fitness(Decision& d, NodeId node, const EditStamp& edit = {});
// Call it when a pod of this job and shape runs on the node. Drops the node's backoffs for the
// shape. Backoffs that come from scheduler refusals of other jobs stay.
void clear_backoff(Decision& d, NodeId node, const PodShape& shape, JobId job);
// Records that the cluster's scheduler cannot bind this pod to the node of its hold. Subak then
// avoids the node for this job. After refusals on two nodes, the job itself is paused for a while
// (docs/design/0072). The function does nothing if this hold already had a refusal.
void note_refusal(Decision& d, const state::Job& job, std::uint32_t rank, std::string_view words);
// Drops all refusals of the job by the scheduler, and its count of backoffs. A job that is paused
// because of refusals stays paused.
void forget_refusals(Decision& d, JobId id);
// True if the scheduler refused the job, and this shape is new to the job: no pod of the job,
// present or gone, has had it. A pod with a new shape may fit where the scheduler refused the
// others.
bool asks_anew(const Decision& d, const state::Job& job, const PodShape& shape);
// Call it when the job's request has changed. Drops the job's refusals. If the job is paused
// because of refusals, the function ends the pause at once.
void job_changed(Decision& d, JobId id);
// Ends the job's own backoff after refusals, and resets its count. The job's backoffs on single
// nodes stay.
void retry(Decision& d, JobId id);
// Call it when a node has changed. If the node takes pods, drops the scheduler's refusals on the
// node, and calls retry() for each job of the cluster that the scheduler refused.
void forgive_refusals(Decision& d, NodeId node);
// Ends the node backoffs whose time is over, and deletes old records.
void end_backoffs(Decision& d);
// node.cc: removes nodes from their clique if their clique label has been missing for
// limits::kCliqueKeptMs.
void end_cliques(Decision& d);
// node.cc: for nodes whose GPUs have been unknown for limits::kGpusUnknownMs, accepts the last
// report as it is, even if the report says that the node has no GPUs.
void end_unknown_gpus(Decision& d);

// non_gpu_pod.cc: records that a non-GPU pod is on a node, which must exist. Refuses the input if
// the node has too many such pods.
void see_non_gpu_pod(Decision& d, ClusterId cluster, const PodRecord& pod);
// Removes the pod. Returns false if the pod was never seen.
bool end_non_gpu_pod(Decision& d, ClusterId cluster, const std::string& uid);
// Emits the sum of the node's non-GPU pods if it changed and the cluster's list is complete.
void sum_non_gpu_pods(Decision& d, NodeId node);

// expected.cc: returns a rank of a starting job with a hold for an expected pod that this pod can
// take. The hold must be for the same GPUs, and for at least the pod's CPU and memory. The function
// prefers the rank that the pod asks for. nullopt: no rank has such a hold, so the pod has to wait.
std::optional<std::uint32_t> kept_place(const Decision& d, const state::Job& job,
                                        const PodRecord& pod);
// Returns the rank for a pod that joins the job. In a waiting gang, the result is the rank that the
// pod asks for, or else the first free rank. If the gang does not wait, or if all ranks are taken,
// the result is a number after the gang's ranks. The pod then waits there for a free rank. The
// result may exceed the largest allowed rank.
std::uint32_t rank_for(const state::Job& job, const PodRecord& pod);
// Returns the rank that a pod of a gang states, plus 1 (fact::PodAdded::order). 0: it states none.
std::uint32_t order_of(const PodRecord& pod);
// Call it for a waiting gang that has all its pods. Orders the gang's ranks by PodRecord::rank.
// Pods without such a rank come after the others, in order of arrival. The ranks of expected pods
// do not change.
void order_ranks(Decision& d, JobId id);

// pod.cc: decides the reports about pods on this node that came before the node itself was seen.
void decide_early(Decision& d, ClusterId cluster, const std::string& node);
// unmanaged_pod.cc: if the input is about a pod, records whether this pod waits for a node without
// being a job of Subak.
void note_unmanaged(Decision& d);

// seen.cc: returns the account of a pod of this namespace. `said`: the account that the pod's label
// names. The result is this account if it is at or below the namespace's account, or else the
// namespace's account. Returns kUnassigned if no account has the namespace.
AccountId account_of(const Decision& d, ClusterId cluster, const std::string& ns,
                     const std::string& said);
// Returns the pod that an edge or a launcher names. If there is no such pod, the function refuses
// the input and returns nullopt.
std::optional<state::PodPlace> find_named(Decision& d, const std::string& cluster,
                                          const PodRef& ref);
// pod_end.cc: returns the key of a pod whose node has not been seen: its uid, or for a launcher's
// pod its job, rank and attempt: "1-42/0/1".
std::string early_name(const PodRef& ref);
// pod_end.cc: ends the pod at the time `at`, which was read from `clock`. If the pod certainly
// existed later (Pod::seen_ms), the pod ends at that later time. Charges and releases the GPUs that
// the pod held. `rejection`: what the kubelet said, for the cause kRejected.
void end_pod(Decision& d, JobId id, std::uint32_t rank, TimeMs at, Cause cause,
             RowClock clock = RowClock::kService, const Rejection& rejection = {});

// charge.cc: writes the ledger rows for the GPUs that the pod held from the end of its last row up
// to `to`, one row for each UTC day. Non-GPU pods cost nothing. `clock` is the clock from which the
// time `to` was read.
void charge(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to, UsageState state,
            AccountId payer, RowClock clock = RowClock::kService);
// Writes the rows of a bound pod up to its end, or up to a midnight. If the node has gone silent,
// the platform pays from the node's last heartbeat on.
void charge_end(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to,
                RowClock clock = RowClock::kService);
// budgets.cc: for each budget whose period ends, begins the next period, or prepares for it
// (accounting/quota/account_budgets.h). If the policy has no default time limit, the function also
// asks jobs without a time limit to end for which a hard budget has too little GPU time left.
void turn_budgets(Decision& d);
// budgets.cc: asks jobs without a time limit to end, one by one, until no hard budget is overdrawn.
// A budget is overdrawn if the running jobs may spend more until their planned ends than it has
// left. Call the function after planned ends have changed.
void keep_within_budgets(Decision& d);
// budgets.cc: call it after an edit of the budgets of an account. Does the same as
// keep_within_budgets() if the policy has no default time limit, and nothing otherwise.
void budgets_changed(Decision& d);
// budgets.cc: records which budgets have reached 80 or 100 percent since the last call, at most
// once in each minute.
void note_reached(Decision& d);
// budgets.cc
void decide(Decision& d, const in::TellCivilEnds& i);
// budgets.cc: true if all hard budgets have enough GPU time for the job until its planned end after
// this number of overruns. Requires that state::ends_by_budget() is true for the job.
bool budgets_allow_longer(const State& s, const state::Job& job, std::uint32_t overruns);
// budgets.cc: adds a warning to the reply for each hard budget that has less than a tenth left. The
// budgets of the account and of all accounts above it count.
void warn_of_budgets(Decision& d, AccountId account);
// refund.cc: refunds to the payer the part of the row `whole` that lies in [from, to). The platform
// pays for this part, because the GPUs were not free. `charged`: the number of the row's fact.
// Priority does not change: the account has used the GPUs.
void refund(Decision& d, std::uint64_t charged, const LedgerRow& whole, TimeMs from, TimeMs to);
// Refunds the work that a pod has lost, if it ended because of a preemption or a lost node: at most
// the last Policy::refund_lost_work_ms. `cause`: the cause of the pod's end. Call it after the pod
// is charged, and before its end. The function refunds only rows that the present decision has
// written. Rows of earlier decisions are not refunded.
void refund_lost_work(Decision& d, const state::Job& job, std::uint32_t rank, Cause cause);
// Writes a NodeBilled fact of each node for each UTC midnight that has passed, but at most for the
// last limits::kMaxClosedDays + 1 midnights.
void close_days(Decision& d);
// Charges bound pods up to each midnight that was limits::kDayOpenMs ago or earlier, the oldest
// midnight first in each cluster. One call writes at most limits::kMaxCutRowsPerTurn + 1 rows.
// Unbound holds are charged later, because their payer is not known yet.
void close_rows(Decision& d);

// account_warnings.cc: warns about account settings that are valid but are probably a mistake.
// `tree`: the tree before the edit. After an edit of several accounts: the tree after the edit.
void warn_of(Decision& d, const AccountTree& tree, const AccountSpec& spec);
// account_warnings.cc: warns if an edit of the quota leaves more of the account's GPUs beyond
// quota. The warning names the jobs that hold these GPUs, the latest start first. `quota`: the
// account's quota after the edit.
void warn_of_borrowers(Decision& d, AccountId id, std::span<const ProductDemand> quota);
// account_warnings.cc: gives the same warning for a move of the account. `after`: the tree after
// the move.
void warn_of_move(Decision& d, AccountId id, const AccountTree& after);

}  // namespace subak::decide
