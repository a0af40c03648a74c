// The decisions: one function for each kind of input, and the steps that several of them share.
// Each sees the state const and changes it by Decision::emit() and tell() alone.
//
// Errors: refused by Decision::refuse(); then nothing but the refusal is a fact.
// Threads: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "engine/decide/decision.h"
#include "engine/derive/kept.h"
#include "engine/input.h"

namespace subak::decide {

// What a pass remembers for the next one, so that it looks only at what changed, and goes on where
// it stopped. Derived: an empty one decides the same, later.
struct PassMemory {
  // By number of the shape: at what freed_version() of the fleet it had no place.
  struct Blocked {
    std::uint64_t serial = 0;  // of the shape; of another that had its number: not known
    std::uint64_t at = 0;      // freed_version() + 1; 0: not known
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
  // What what is barred depends on: another one, and it is looked at anew. Starts only take.
  struct Point {
    std::uint64_t freed = 0, structure = 0, kept = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };
  BlockedShapes blocked;
  BlockedShapes blocked_for_all;  // nor on nodes that are kept for jobs beyond their quota
  std::vector<Barred> barred;
  Point barred_at;
  derive::Kept kept;  // nodes for awaited jobs
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
void decide(Decision& d, const in::PodGone& i);
// pass.cc
void decide(Decision& d, const in::Pass& i, PassMemory& memory);

// --- steps that several subjects share -----------------------------------------------------------

// "There is no such cluster", or that a name is missing.
Error no_cluster(const std::string& name);
// node.cc: why the input's session may not speak for its cluster; nothing: it may.
std::optional<Error> check_session(const Decision& d);

// node.cc: what holds something on the node lost it; then the node itself goes, with its closing
// bill.
void remove_node(Decision& d, NodeId id);

// job.cc: the user's node below the account, made at its first use.
AccountId leaf_of(Decision& d, AccountId account, const std::string& user);
// A pod that is not bound yet is never deleted unless something would make it anew.
bool may_evict(const state::Job& job);
// It has its place, and nothing of it was bound yet.
bool is_untouched(const state::Job& job);
// Its pods are asked to end. A job that ends already gets another cause.
void ask_stop(Decision& d, const state::Job& job, Cause cause, EditStamp by);
// The last pod gone ends the job; ranks of a gang that never came do not count. `cause`: unless it
// has one already.
void finish_if_over(Decision& d, JobId id, Cause cause);

// bars.cc: the node turned such a pod away: it is not tried for them for a while, longer each time.
void bar_node(Decision& d, NodeId node, const PodShape& shape);
// Such a pod runs there: what was remembered against the node is forgotten.
void forgive_node(Decision& d, NodeId node, const PodShape& shape);
// Bars whose time is over are lifted, old memories forgotten.
void end_bars(Decision& d);

// light_pod.cc: a pod without GPUs is on a node, which is there.
void see_light_pod(Decision& d, ClusterId cluster, const PodRecord& pod);
// It is gone; false: no such pod was seen.
bool end_light_pod(Decision& d, ClusterId cluster, const std::string& uid);
// What such pods take of the node is said, if it is another sum than was said last.
void sum_light_pods(Decision& d, NodeId node);

// pod.cc: a node was seen for the first time: decides what was said of pods on it before.
void decide_early(Decision& d, ClusterId cluster, const std::string& node);
// pod.cc: the pod is gone at `at`; what it held is charged and given back.
void end_pod(Decision& d, JobId id, std::uint32_t rank, TimeMs at, Cause cause);

// charge.cc: the ledger rows for what the pod held since its last one, one for each UTC day. Pods
// without GPUs cost nothing.
void charge(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to, UsageState state,
            AccountId payer);
// The rows of a bound pod up to its end, or to a midnight; on a node that went silent the platform
// pays from its last heartbeat on.
void charge_end(Decision& d, const state::Job& job, std::uint32_t rank, TimeMs to);
// Writes the capacity side of the bill for each UTC midnight that has passed.
void close_days(Decision& d);
// Charges what is bound up to each midnight whose day is closed: at most
// limits::kMaxCutRowsPerTurn rows (and one), oldest first in each cluster. What is only held waits:
// who pays for it is not known yet.
void close_rows(Decision& d);

// account_warnings.cc: what of the account is legal and can hardly be meant.
void warn_of(Decision& d, const AccountSpec& spec);

}  // namespace subak::decide
