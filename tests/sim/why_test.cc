// What `why` says is true: in random states, judged by what a pass does. SUBAK_WHY_STATES sets how
// many states (1000), SUBAK_WHY_SEED the first seed (20001).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "random_states.h"
#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

constexpr int kStatesPerWorld = 20;
constexpr int kInputsPerState = 35;

bool is_free(ReasonToken token) {
  return token == ReasonToken::kNext || token == ReasonToken::kOutranked ||
         token == ReasonToken::kPendingEvaluation;
}

std::string text_of(const Explanation& why) {
  std::string out = text::job_id_text(why.job.id) + " at " + std::to_string(why.position) + ":";
  for (const Reason& r : why.reasons) {
    out += " " + std::string(enum_name(r.token)) + " (" + r.subject + ") " + r.detail + ";";
  }
  return out;
}

std::set<JobId> started_by_a_pass(const Engine& engine) {
  std::set<JobId> out;
  const auto copy = copy_of(engine);
  for (const Fact& f : copy->apply({engine.now(), "", "", in::Pass{}}).facts) {
    if (const auto* s = std::get_if<fact::AttemptStarted>(&f.body)) out.insert(s->id);
  }
  return out;
}

std::vector<JobId> in_state(const Engine& engine, JobState state) {
  std::vector<JobId> out;
  for (const JobRow& row : engine.jobs(JobId(), limits::kMaxQueuedJobs, state, "", "")) {
    out.push_back(row.id);
  }
  return out;
}

std::vector<JobId> queued(const Engine& engine) { return in_state(engine, JobState::kQueued); }

std::vector<JobId> waiting(const Engine& engine) {
  std::vector<JobId> out = queued(engine);
  for (const JobState state : {JobState::kIncomplete, JobState::kPaused}) {
    const std::vector<JobId> more = in_state(engine, state);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

// Calls visit(engine) in random states, each at the end of an input.
template <class Visit>
void in_random_states(bool after_a_pass, Visit&& visit, bool fifo = false) {
  const std::uint64_t states = setting("SUBAK_WHY_STATES", 1000);
  const std::uint64_t first = setting("SUBAK_WHY_SEED", 20001);
  for (std::uint64_t state = 0; state < states;) {
    const std::uint64_t seed = first + state;
    // The test does not know how to help a job whose owner waits suspended.
    RandomWorld world(
        {.seed = seed, .plain = seed % 40 == 1, .beside = seed % 80 == 21, .parking = false});
    Engine engine;
    for (int part = 0; part < kStatesPerWorld && state < states; ++part, ++state) {
      bool passed = false;
      for (int i = 0; i < kInputsPerState || passed != after_a_pass; ++i) {
        const Input input = world.next(engine.next_deadline());
        const ApplyOutcome outcome = engine.apply(input);
        world.saw(input, outcome);
        passed = std::holds_alternative<in::Pass>(input.body) && !engine.pass_due();
      }
      if (!fifo && engine.policy().order == OrderPolicy::kFifo) continue;
      visit(engine);
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", state " << part;
    }
  }
}

// After a pass nobody waits whom nothing keeps waiting.
TEST(Why, NamesSomethingAfterAPass) {
  std::size_t asked = 0;
  in_random_states(true, [&](const Engine& engine) {
    for (const JobId id : queued(engine)) {
      const auto why = engine.explain(id, engine.now());
      ASSERT_FALSE(why->reasons.empty());
      ++asked;
      EXPECT_FALSE(is_free(why->reasons.front().token)) << text_of(*why);
      const auto first = engine.first_reason(id, why->position);
      EXPECT_FALSE(is_free(first->token)) << text_of(*why) << " first " << first->detail;
    }
  });
  EXPECT_GT(asked, 400u) << "hardly anything waits";
}

// Before one, a job is next exactly if the pass starts it.
TEST(Why, SaysNextOfWhatAPassStarts) {
  std::size_t next = 0, not_next = 0;
  in_random_states(false, [&](const Engine& engine) {
    const std::set<JobId> starts = started_by_a_pass(engine);
    for (const JobId id : queued(engine)) {
      const auto why = engine.explain(id, engine.now());
      const bool says = why->reasons.front().token == ReasonToken::kNext;
      EXPECT_EQ(says, starts.contains(id)) << text_of(*why);
      EXPECT_EQ(engine.first_reason(id, why->position)->token == ReasonToken::kNext, says)
          << text_of(*why);
      ++(says ? next : not_next);
    }
  });
  EXPECT_GT(next, 50u);
  EXPECT_GT(not_next, 50u);
}

// --- each reason is what binds: without what it names it is gone ----------------------------------

bool apply(Engine& engine, in::Body body) {
  return !engine.apply({engine.now(), "", "", std::move(body)}).reply.error;
}

bool free_account(Engine& engine, const std::string& subject) {
  in::SetAccount set;
  const AccountTree& tree = engine.accounts();
  set.spec = tree.node(tree.find(subject == "(root)" ? "" : subject)).spec;
  set.spec.held = set.spec.draining = false;
  set.spec.limit.clear();
  set.spec.borrow.clear();
  set.spec.lend.clear();
  set.spec.budgets.clear();
  set.reason = "test";
  return apply(engine, set);
}

// All nodes as they could be: open, well, with room beside their GPUs.
void mend_nodes(Engine& engine) {
  const auto view = engine.view();
  for (const ClusterView& cluster : *view->clusters) {
    in::ImportNodes import;
    import.cluster = cluster.name;
    import.reason = "test";
    for (const NodeId id : engine.fleet().nodes(cluster.id)) {
      NodeSpec spec = *engine.fleet().node(id);
      spec.ready = true;
      spec.unschedulable = false;
      spec.unfit.clear();
      spec.gpus_unknown = spec.former_gpus = false;
      spec.gpus_unknown_ms = 0;
      spec.unhealthy_gpus = 0;
      spec.cpu_milli = spec.memory_bytes = spec.pod_slots = 0;
      import.nodes.push_back(spec);
    }
    for (const NodeSpec& spec : import.nodes) {
      apply(engine, in::DrainNode{cluster.name, spec.name, false, "test"});
    }
    ASSERT_TRUE(apply(engine, import));
  }
}

void end_all(Engine& engine, JobId waits) {
  for (const ClaimRow& claim : engine.claims("")) {
    if (claim.job == waits) continue;
    in::CancelJob cancel;
    cancel.job = claim.job;
    ASSERT_TRUE(apply(engine, cancel));
  }
  for (const JobRow& row : engine.jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    if (row.state == JobState::kDone) continue;
    const auto job = engine.job(row.id, true);
    for (const PodRow& pod : job->pods) {
      if (!pod.slot.node) continue;
      const PodRef ref = pod.uid.empty() ? PodRef{"", row.id, pod.rank, 0} : PodRef{pod.uid, {}, 0};
      ASSERT_TRUE(apply(engine, in::PodGone{row.cluster, ref, 0, Cause::kFinished}));
    }
  }
}

// The time of every bar is over.
void outlive_backoffs(Engine& engine) {
  engine.apply({engine.now() + 2 * limits::kLongestNodeBackoffMs, "", "", in::Tick{}});
  mend_nodes(engine);
}

// Nodes of which each could hold a pod of the job, and all its gang in one place. False: what it
// asks for is too much for this test to build.
bool add_nodes(Engine& engine, const JobRow& job) {
  in::ImportNodes import;
  import.cluster = job.cluster;
  import.reason = "test";
  const auto view = engine.view();
  for (const ClusterView& cluster : *view->clusters) {
    if (cluster.name != job.cluster) continue;
    for (const NodeId id : engine.fleet().nodes(cluster.id)) {
      import.nodes.push_back(*engine.fleet().node(id));
    }
  }
  std::int64_t all = 0;
  for (const PodGroup& group : job.request.groups) all += group.count * group.shape.gpus;
  if (all > 64 && job.request.terms.topology == Topology::kNode) return false;
  for (const PodGroup& group : job.request.groups) {
    const PodShape& pod = group.shape;
    if (pod.kind != GpuKind::kWhole || !pod.affinity.empty() || group.count > 64) return false;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      NodeSpec node;
      node.name = "new-" + std::to_string(import.nodes.size());
      node.product = pod.products.empty() ? "NVIDIA-H100-80GB-HBM3" : pod.products.front();
      node.gpus = std::max<std::int64_t>({8, pod.gpus, all <= 64 ? all : 0});
      node.clique = "new";
      node.levels = {"new"};
      for (const auto& term : pod.node_selector) node.labels.push_back({term.key, term.value});
      for (const ResourceCount& r : pod.extended) node.extended.push_back({r.name, 64 * r.count});
      import.nodes.push_back(node);
    }
  }
  return apply(engine, import);
}

// All ranks of the gang get a pod.
bool complete(Engine& engine, const JobRow& job, const Reason& reason) {
  if (!reason.blockers.empty()) return false;  // a gate that is gone does not come back
  if (job.gang_size == 1) return false;  // a pod that its gang left behind: its owner's affair
  const auto slash = job.name.find('/');
  const std::string ns = job.name.substr(0, slash), gang = job.name.substr(slash + 1);
  const auto view = engine.view();
  for (const ClusterView& cluster : *view->clusters) {
    const bool gates = cluster.mode_of(ns) == Mode::kEnforce;
    if (cluster.name == job.cluster && !gates) return false;  // no pod joins it
  }
  if (job.account.empty()) {
    in::SetAccount set;
    set.spec.path = "taker";
    set.spec.shares = 1;
    set.spec.namespaces = {job.cluster + "/" + ns};
    set.reason = "test";
    if (!apply(engine, set)) return false;
  }
  for (const std::string& owner : {std::string(), "owner-" + gang}) {
    for (std::uint32_t rank = 0; rank < job.gang_size; ++rank) {
      const auto now = engine.job(job.id, true);
      if (now->state != JobState::kIncomplete) return true;
      if (rank < now->pods.size() && now->pods[rank].state == PodState::kWaiting &&
          !now->pods[rank].uid.empty()) {
        continue;
      }
      in::PodSeen seen;
      seen.cluster = job.cluster;
      seen.pod.ns = ns;
      seen.pod.name = gang + "-new-" + std::to_string(rank);
      seen.pod.uid = owner + seen.pod.name;
      seen.pod.gang = gang;
      seen.pod.owner = owner;
      seen.pod.gang_size = job.gang_size;
      seen.pod.rank = static_cast<std::int32_t>(rank);
      seen.pod.gated = seen.pod.controlled = true;
      seen.pod.shape.kind = GpuKind::kWhole;
      seen.pod.shape.gpus = 1;
      seen.pod.terms = job.request.terms;
      if (!apply(engine, seen)) return false;
    }
  }
  return true;
}

// A pod that contradicts its gang, or has the rank of another pod, goes, one after the other.
bool end_disputes(Engine& engine, const JobRow& job) {
  for (std::uint32_t i = 0; i < limits::kMaxPodsPerJob; ++i) {
    const auto why = engine.explain(job.id, engine.now());
    if (why->reasons.empty() || why->reasons.front().token != ReasonToken::kMisconfigured) break;
    const std::string& detail = why->reasons.front().detail;
    const auto now = engine.job(job.id, true);
    const auto pod = std::find_if(now->pods.begin(), now->pods.end(), [&](const PodRow& p) {
      return !p.uid.empty() && p.state != PodState::kGone &&
             (detail.starts_with("pod " + p.name + " ") ||
              detail.starts_with("pods " + p.name + " and "));
    });
    if (pod == now->pods.end()) ADD_FAILURE() << detail << " names no pod of the job";
    if (pod == now->pods.end()) return false;
    if (!apply(engine, in::PodGone{job.cluster, {pod->uid, {}, 0}, 0, Cause::kFailed}))
      return false;
  }
  return true;
}

// The job may not borrow what quotas promise.
bool is_promise(const Reason& reason) {
  return reason.detail.starts_with("it cannot be preempted");
}

// Takes away what the reason names. False: nothing that could be taken away here.
bool mend(Engine& engine, const Explanation& why, const Reason& reason) {
  switch (reason.token) {
    case ReasonToken::kOnHold:
      if (reason.subject == text::job_id_text(why.job.id)) {
        return apply(engine, in::HoldJob{why.job.id, false, "test"});
      }
      return free_account(engine, reason.subject);
    case ReasonToken::kWaitingForQuota:
    case ReasonToken::kBudgetSpent:
    case ReasonToken::kExceedsMaxQuota:
      if (is_promise(reason)) {
        Policy policy = engine.policy();
        policy.reclaim = false;
        return apply(engine, in::SetPolicy{policy, {}}) && apply(engine, in::Pass{});
      }
      return free_account(engine, reason.subject);
    case ReasonToken::kWaitingForNodes:
      return apply(engine, in::ListBegin{why.job.cluster}) &&
             apply(engine, in::ListComplete{why.job.cluster});
    case ReasonToken::kReservedForOther: {
      Policy policy = engine.policy();
      policy.patience_ms = 0;
      policy.gangs.keep_whole = 0;
      // Gangs that finish give their nodes away.
      engine.apply({engine.now() + limits::kGangFinishMs, "", "why", in::Tick{}});
      return apply(engine, in::SetPolicy{policy, {}}) && apply(engine, in::Pass{});
    }
    case ReasonToken::kWaitingForCapacity:
    case ReasonToken::kTopologyPlacementFailed:
    case ReasonToken::kMigGeometry:
      if (reason.blockers.empty()) return false;  // nothing but other nodes would do
      end_all(engine, why.job.id);
      if (reason.subject == "compute-domain") {  // reserved nodes may be in the way too
        Policy policy = engine.policy();
        policy.gangs.clique_gangs = 0;
        return apply(engine, in::SetPolicy{policy, {}});
      }
      return true;
    case ReasonToken::kNodeConditions:
      outlive_backoffs(engine);
      return true;
    case ReasonToken::kUnschedulable:
      if (why.job.state == JobState::kIncomplete) return false;  // its pods are not there
      if (why.job.state == JobState::kPaused) {
        return apply(engine, in::HoldJob{why.job.id, false, "test"});
      }
      outlive_backoffs(engine);
      return true;
    case ReasonToken::kNodeResources:
      mend_nodes(engine);
      return true;
    case ReasonToken::kNoMatchingFlavor:
    case ReasonToken::kExceedsFleet:
      return add_nodes(engine, why.job);
    case ReasonToken::kGangIncomplete:
      return complete(engine, why.job, reason);
    case ReasonToken::kMisconfigured:
      return end_disputes(engine, why.job);
    default:
      return false;
  }
}

TEST(Why, NamesWhatBinds) {
  std::map<ReasonToken, int> mended;
  in_random_states(
      true,
      [&](const Engine& engine) {
        for (const JobId id : waiting(engine)) {
          const auto why = engine.explain(id, engine.now());
          for (const Reason& reason : why->reasons) {
            const auto copy = copy_of(engine);
            if (!mend(*copy, *why, reason)) continue;
            ++mended[reason.token];
            const auto after = copy->explain(id, copy->now());
            const bool still =
                std::any_of(after->reasons.begin(), after->reasons.end(), [&](const Reason& r) {
                  return r.token == reason.token && r.subject == reason.subject &&
                         is_promise(r) == is_promise(reason);
                });
            EXPECT_FALSE(still) << text_of(*why) << "\nafter " << enum_name(reason.token) << " "
                                << reason.subject << ": " << text_of(*after);
          }
        }
      },
      true);
  for (const ReasonToken token :
       {ReasonToken::kOnHold, ReasonToken::kWaitingForQuota, ReasonToken::kWaitingForCapacity,
        ReasonToken::kReservedForOther, ReasonToken::kTopologyPlacementFailed,
        ReasonToken::kNodeConditions, ReasonToken::kNodeResources, ReasonToken::kExceedsFleet,
        ReasonToken::kGangIncomplete, ReasonToken::kMisconfigured}) {
    EXPECT_GT(mended[token], 0) << enum_name(token);
  }
  if (setting("SUBAK_WHY_STATES", 1000) >= 4000) {  // fewer states hardly have such a job
    EXPECT_GT(mended[ReasonToken::kNoMatchingFlavor], 0);
  }
}

}  // namespace
}  // namespace subak::sim
