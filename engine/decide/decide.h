// The decisions: one function for each kind of input, and the steps that several of them share.
// Each sees the state const and changes it by Decision::emit() and tell() alone.
//
// Errors: refused by Decision::refuse(); then nothing but the refusal is a fact.
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
#include "engine/input.h"

namespace subak::decide {

// What a pass remembers for the next one, so that it looks only at what changed. Derived: an empty one
// decides the same.
struct PassMemory {
  // By number of the shape: at what freed_version(shape) of the fleet it had no place. Starts only take, but what was
  // kept beside GPUs that they take: the versions of shapes with pods without GPUs say so.
  struct Blocked {
    std::uint64_t serial = 0;  // of the shape; of another that had its number: not known
    std::uint64_t at = 0;      // freed_version(shape) + 1; 0: not known
  };
  using BlockedShapes = std::vector<Blocked>;
  // A rule of accounts stops a line (named by one of its jobs, as long as that asks for the same), or
  // whatever asks for as much at or below an account.
  struct Barred {
    JobId line;
    std::uint64_t serial = 0;  // of the job's shape
    AccountId account;
    MilliGpu least = 0;
  };
  // What what is known depends on: another one, and it is looked at anew.
  struct Point {
    std::uint64_t fleet = 0, structure = 0, kept = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };
  // What it depends on that there is no start to be promised, or no earlier one.
  struct StartsPoint {
    std::uint64_t freed = 0, structure = 0, kept = 0, drains = 0, overruns = 0;
    DurationMs grace_ms = 0;
    bool enforced = false;
    friend bool operator==(const StartsPoint&, const StartsPoint&) = default;
  };
  BlockedShapes blocked;
  BlockedShapes blocked_for_all;   // nor on nodes that are kept for jobs beyond their quota
  BlockedShapes blocked_for_fill;  // nor on nodes that are kept for anybody
  // Of a pass that had to stop before all were asked: the next one goes on behind them.
  std::vector<Barred> barred;
  Point barred_at;
  std::uint64_t kept_at = 0;  // version of State::kept() at which what is blocked was found
  Point open_at;              // all nodes that are kept were open
  StartsPoint pulled_at;      // no promised start could be earlier
  std::set<JobId> refused;    // there are no nodes to be kept for them
  StartsPoint refused_at;
};

// What each input asks, and when it is refused, is written at its record in engine/input.h.
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
// A start so long after the last fact that the clock may be wrong.
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

// "There is no such cluster", or that a name is missing.
Error no_cluster(const std::string& name);
// node.cc: why the input's session may not speak for its cluster; nothing: it may.
std::optional<Error> check_session(const Decision& d);

// node.cc: what holds something on the node lost it, what ran there at `at`; then the node itself goes,
// with its closing bill.
void remove_node(Decision& d, NodeId id, TimeMs at);

// node.cc: what the node holds is more than it has, as a pod was bound there without us, or it shrank. Holds that
// have no room beside all else, and whose gate is closed, are taken back, the newest first, until the rest fits.
// Not while a list is read: what it does not name may be gone.
void take_back_excess(Decision& d, NodeId node);

// node.cc: drains whose time has come begin, and end.
void begin_and_end_drains(Decision& d);

// job.cc: the user's node below the account, made at its first use.
AccountId leaf_of(Decision& d, AccountId account, const std::string& user);

// life.cc: when an attempt is over, and what comes after it.
// Its pods are asked to end. A job that ends already gets another cause.
void ask_stop(Decision& d, const state::Job& job, Cause cause, EditStamp by);
// The attempt cannot go on as it is. What is not on its way yet gives its place back: a rank that a
// launcher has made no pod of, a pod whose gate is closed. What is, or is there, is asked to end,
// unless nothing would make it anew: then it stays as it is.
void give_up(Decision& d, JobId id, Cause cause);
// The place of a pod that is on its way is no more; the pod stays. Its gang's attempt cannot go on.
void lose_place(Decision& d, JobId id, std::uint32_t rank, Cause cause);
// part.cc: a gang that is only inferred, and of which some run: these are never ended for the others.
bool runs_on(const state::Job& job);
// A pod of such a gang that holds a place and is not bound goes on as a job of its own, with that place.
// None: nobody was there yet, and its place is given back.
JobId part(Decision& d, JobId id, std::uint32_t rank);
// All of them do, and give their places up, of this cause: who is on the way is asked to end.
void part_unbound(Decision& d, JobId id, Cause cause);
// Such a gang waits for pods again, and some of it run by themselves: it does not wait for these.
void leave_out_apart(Decision& d, JobId id);
// If nothing of its attempt is left, or of a job that is to end, the attempt is over: the job waits
// again or is done.
void finish_if_over(Decision& d, JobId id);
// A job of pods that waits: those behind its ranks take those that are free, and it is queued
// exactly if it is whole. `cause`: of its end, if nobody is left.
void settle(Decision& d, JobId id, Cause cause = Cause::kVanished);
// Nothing but its turn is missing: of a job of pods, all ranks can be placed, agree, and have an
// account.
bool may_queue(const state::Job& job);
// Whether the gang's request stays within bounds with this pod at this rank.
std::optional<Error> check_gang_bytes(Decision& d, const state::Job& job, std::uint32_t rank,
                                      const PodShape& shape);
// shared_bounds.cc: why the account may not have one more job that waits, one more pod that waits in the cluster.
// Nothing: it may. `joins`: the pod is of a gang that waits there already.
std::optional<Error> queue_is_full(const Decision& d, AccountId account);
std::optional<Error> too_many_wait(const Decision& d, ClusterId cluster, const PodRecord& pod,
                                   AccountId account, bool joins);
// What the whole gang's request comes to is within bounds.
std::optional<Error> check_bytes(std::size_t of_gang);
// Jobs of no account in the namespaces of this one become its own.
void assign_jobs(Decision& d, const AccountSpec& spec);
void assign_jobs(Decision& d, ClusterId cluster, const std::string& ns);
// Jobs that awaited that their account is resumed, and of which none drains any more, wait for their turn.
void resume_jobs(Decision& d);
// Labels of the cluster's namespaces that are not among `listed` are gone.
void forget_namespaces(Decision& d, ClusterId id, const std::set<std::string>& listed);
// The time of its hold is over. A pod that nothing would make anew keeps its place and says so.
void expire(Decision& d, const state::Job& job);
// Nobody came, or a pause is over.
void end_wait(Decision& d, const state::Job& job);

// bars.cc: the node turned such a pod away: it is not tried for them for a while, longer each time.
void bar_node(Decision& d, NodeId node, const PodShape& shape);
// Such a pod of the job runs there: what was remembered against the node is forgotten, but of other jobs what the
// scheduler refused them.
void forgive_node(Decision& d, NodeId node, const PodShape& shape, JobId job);
// The cluster's scheduler finds no way to the place of this pod, which is on its way there: the job is not tried
// on that node for a while, and once two nodes were refused not at all (docs/design/0072). Nothing if it was said
// of that place before.
void note_refusal(Decision& d, const state::Job& job, std::uint32_t rank, std::string_view words);
// What the scheduler refused to the job counts no longer. It may still be backed off.
void forget_refusals(Decision& d, JobId id);
// The scheduler refused the job, and no pod of it asked for this: neither one that is there nor one that has gone.
bool asks_anew(const Decision& d, const state::Job& job, const PodShape& shape);
// It asks for something else now: what was refused counts no longer, and it is queued at once.
void job_changed(Decision& d, JobId id);
// The job is backed off no longer, and the next time is the first again. What is remembered of nodes stays.
void retry(Decision& d, JobId id);
// The node has changed, and takes pods: whom the scheduler refused there, or elsewhere in its cluster, is tried again.
void forgive_refusals(Decision& d, NodeId node);
// Bars whose time is over are lifted, old memories forgotten.
void end_bars(Decision& d);
// node.cc: nodes whose clique label has been gone for limits::kCliqueKeptMs are in no clique any more.
void end_cliques(Decision& d);

// light_pod.cc: a pod without GPUs is on a node, which is there.
void see_light_pod(Decision& d, ClusterId cluster, const PodRecord& pod);
// It is gone; false: no such pod was seen.
bool end_light_pod(Decision& d, ClusterId cluster, const std::string& uid);
// What such pods take of the node is said, if it is another sum than was said last.
void sum_light_pods(Decision& d, NodeId node);

// expected.cc: the rank whose place is kept for a pod like this one, its own before others; none: the pod
// has to wait.
std::optional<std::uint32_t> kept_place(const Decision& d, const state::Job& job,
                                        const PodRecord& pod);
// While the gang waits: the rank that the pod asks for, or the first that is free. Else, and where all
// are taken: behind them, until a rank is free again. It may be more than there can be.
std::uint32_t rank_for(const state::Job& job, const PodRecord& pod);
// fact::PodAdded::order of the pod.
std::uint32_t order_of(const PodRecord& pod);
// Of a gang that waits and has all its pods: their ranks are in the order of PodRecord::rank. Those that
// say none are behind the others, as they came; those that are expected keep their ranks.
void order_ranks(Decision& d, JobId id);

// pod.cc: a node was seen for the first time: decides what was said of pods on it before.
void decide_early(Decision& d, ClusterId cluster, const std::string& node);
// pending_pod.cc: whether the pod that the input, which is decided, tells of waits without us.
void note_pending(Decision& d);

// seen.cc: the account is this one, or below it.
bool is_below(const AccountTree& tree, AccountId below, AccountId account);
// The account of a pod: its label `said` if it is within its namespace's account, else that account;
// kUnassigned if no account has the namespace.
AccountId account_of(const Decision& d, ClusterId cluster, const std::string& ns,
                     const std::string& said);
// The pod that the edge of a cluster names; nothing, and refused: there is none.
std::optional<state::PodPlace> find_named(Decision& d, const std::string& cluster,
                                          const PodRef& ref);
// pod_end.cc: by what a pod is remembered whose node has not been seen: its uid, or "1-42/0/1" of a launcher's.
std::string early_name(const PodRef& ref);
// pod_end.cc: the pod is gone at `at`, by `clock`, or at the last sign of it if that is later; what it held is charged and
// given back.
void end_pod(Decision& d, JobId id, std::uint32_t rank, TimeMs at, Cause cause,
             RowClock clock = RowClock::kService);

// charge.cc: the ledger rows for what the pod held since its last one, one for each UTC day. Pods
// without GPUs cost nothing. `clock`: by which `to` is known.
void charge(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to, UsageState state,
            AccountId payer, RowClock clock = RowClock::kService);
// The rows of a bound pod up to its end, or to a midnight; on a node that went silent the platform
// pays from its last heartbeat on.
void charge_end(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to,
                RowClock clock = RowClock::kService);
// Writes the capacity side of the bill for each UTC midnight that has passed.
void close_days(Decision& d);
// Charges what is bound up to each midnight whose day is closed: at most
// limits::kMaxCutRowsPerTurn rows (and one), oldest first in each cluster. What is only held waits:
// who pays for it is not known yet.
void close_rows(Decision& d);

// account_warnings.cc: what of the account is legal and can hardly be meant.
void warn_of(Decision& d, const AccountSpec& spec);

}  // namespace subak::decide
