// What `why` says is true: in random states, judged by what a pass does. SUBAK_WHY_STATES sets how
// many states (1000), SUBAK_WHY_SEED the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "sim/random_world.h"

namespace subak::sim {
namespace {

constexpr int kStatesPerWorld = 20;
constexpr int kInputsPerState = 35;

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

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

std::unique_ptr<Engine> copy_of(const Engine& engine) {
  auto copy = std::make_unique<Engine>();
  engine.checkpoint([&](const Fact& fact) { copy->evolve(fact); });
  copy->set_seq(engine.seq());
  return copy;
}

std::set<JobId> started_by_a_pass(const Engine& engine) {
  std::set<JobId> out;
  const auto copy = copy_of(engine);
  for (const Fact& f : copy->apply({engine.now(), "", "", in::Pass{}}).facts) {
    if (const auto* s = std::get_if<fact::AttemptStarted>(&f.body)) out.insert(s->id);
  }
  return out;
}

std::vector<JobId> queued(const Engine& engine) {
  std::vector<JobId> out;
  for (const JobRow& row :
       engine.jobs(JobId(), limits::kMaxQueuedJobs, JobState::kQueued, "", "")) {
    out.push_back(row.id);
  }
  return out;
}

// Calls visit(engine) in random states, each at the end of an input.
template <class Visit>
void in_random_states(bool after_a_pass, Visit&& visit) {
  const std::uint64_t states = setting("SUBAK_WHY_STATES", 1000);
  const std::uint64_t first = setting("SUBAK_WHY_SEED", 1);
  for (std::uint64_t state = 0; state < states;) {
    const std::uint64_t seed = first + state;
    RandomWorld world({.seed = seed, .plain = seed % 40 == 1});
    Engine engine;
    for (int part = 0; part < kStatesPerWorld && state < states; ++part, ++state) {
      bool passed = false;
      for (int i = 0; i < kInputsPerState || passed != after_a_pass; ++i) {
        const Input input = world.next(engine.next_deadline());
        const ApplyOutcome outcome = engine.apply(input);
        world.saw(input, outcome);
        passed = std::holds_alternative<in::Pass>(input.body) && !engine.pass_due();
      }
      if (engine.policy().order == OrderPolicy::kFifo) continue;
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
    for (const NodeId id : engine.nodes(cluster.id)) {
      NodeSpec spec = *engine.fleet().node(id);
      spec.ready = true;
      spec.unschedulable = false;
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

void end_all(Engine& engine) {
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

// Takes away what the reason names. False: nothing that could be taken away here.
bool mend(Engine& engine, const Explanation& why, const Reason& reason) {
  switch (reason.token) {
    case ReasonToken::kOnHold:
    case ReasonToken::kWaitingForQuota:
    case ReasonToken::kExceedsMaxQuota:
      return free_account(engine, reason.subject);
    case ReasonToken::kWaitingForNodes:
      return apply(engine, in::ListBegin{why.job.cluster}) &&
             apply(engine, in::ListComplete{why.job.cluster});
    case ReasonToken::kReservedForOther: {
      Policy policy = engine.policy();
      policy.patience_ms = 0;
      return apply(engine, in::SetPolicy{policy}) && apply(engine, in::Pass{});
    }
    case ReasonToken::kWaitingForCapacity:
    case ReasonToken::kTopologyPlacementFailed:
    case ReasonToken::kMigGeometry:
      if (reason.blockers.empty()) return false;  // nothing but other nodes would do
      end_all(engine);
      return true;
    case ReasonToken::kNodeConditions:
      if (reason.detail.find("turned such a pod away") != std::string::npos) return false;
      mend_nodes(engine);
      return true;
    case ReasonToken::kNodeResources:
      mend_nodes(engine);
      return true;
    default:
      return false;
  }
}

TEST(Why, NamesWhatBinds) {
  std::map<ReasonToken, int> mended;
  in_random_states(true, [&](const Engine& engine) {
    for (const JobId id : queued(engine)) {
      const auto why = engine.explain(id, engine.now());
      for (const Reason& reason : why->reasons) {
        const auto copy = copy_of(engine);
        if (!mend(*copy, *why, reason)) continue;
        ++mended[reason.token];
        const auto after = copy->explain(id, copy->now());
        const bool still =
            std::any_of(after->reasons.begin(), after->reasons.end(), [&](const Reason& r) {
              return r.token == reason.token && r.subject == reason.subject;
            });
        EXPECT_FALSE(still) << text_of(*why) << "\nafter " << enum_name(reason.token) << " "
                            << reason.subject << ": " << text_of(*after);
      }
    }
  });
  for (const ReasonToken token :
       {ReasonToken::kOnHold, ReasonToken::kWaitingForQuota, ReasonToken::kWaitingForCapacity,
        ReasonToken::kReservedForOther, ReasonToken::kTopologyPlacementFailed,
        ReasonToken::kNodeConditions, ReasonToken::kNodeResources}) {
    EXPECT_GT(mended[token], 0) << enum_name(token);
  }
}

}  // namespace
}  // namespace subak::sim
