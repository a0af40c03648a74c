// The nodes of a gang stay together while its pods finish one by one (docs/design/0127).
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "core/limits.h"
#include "engine/engine.h"
#include "tests/engine/inputs.h"

namespace subak {
namespace {

constexpr TimeMs kStart = 1'767'225'600'000;

// Four nodes of 8 GPUs. A gang of two nodes runs, and so do two jobs of one node each.
class FinishingGangs : public testing::Test {
 protected:
  void SetUp() override {
    send(main_cluster());
    in::SetAccount account;
    account.spec.path = "ml";
    send(account);
    send(h100_nodes(4));
    gang = start(2), one = start(1), other = start(1);
    big = submit(2), small = submit(1);
  }

  Reply send(in::Body body) {
    ApplyOutcome out = engine.apply({now, "", "ana", std::move(body)});
    EXPECT_FALSE(out.reply.error) << out.reply.error->message();
    for (const Effect& effect : out.effects) {
      for (const EffectPod& pod : effect.pods) node_of[{effect.job, pod.rank}] = pod.node;
    }
    return out.reply;
  }
  JobId submit(std::uint32_t pods) {
    const JobId id = send(job_of_pods("ml", pods, 8)).job;
    pass();
    return id;
  }
  // Submits a job that starts at once. Its pods are bound to their nodes.
  JobId start(std::uint32_t pods) {
    const JobId id = submit(pods);
    for (std::uint32_t rank = 0; rank < pods; ++rank) {
      in::PodBound bound;
      bound.cluster = "main";
      bound.pod = {"", id, rank};
      bound.node = node_of.at({id, rank});
      send(bound);
    }
    return id;
  }
  void finish(JobId job, std::uint32_t rank, Cause cause = Cause::kFinished) {
    in::PodGone gone;
    gone.cluster = "main";
    gone.pod = {"", job, rank};
    gone.cause = cause;
    send(gone);
    pass();
  }
  void pass() {
    while (engine.pass_due()) send(in::Pass{});
  }
  void wait(DurationMs length) {
    now += length;
    send(in::Tick{});
    pass();
  }
  bool waits(JobId id) { return engine.job(id, false)->state == JobState::kQueued; }

  TimeMs now = kStart;
  Engine engine;
  std::map<std::pair<JobId, std::uint32_t>, std::string> node_of;
  JobId gang, one, other, big, small;
};

// Without the rule, the small job starts on the first node, and the next gang waits on.
TEST_F(FinishingGangs, TheNextGangGetsTheNodesTogether) {
  finish(gang, 0);
  EXPECT_TRUE(waits(big) && waits(small));
  wait(limits::kGangFinishMs - 1);
  EXPECT_TRUE(waits(big) && waits(small));
  finish(gang, 1);
  EXPECT_FALSE(waits(big));
  EXPECT_TRUE(waits(small));
}

TEST_F(FinishingGangs, AGangThatRunsOnGivesItsFreeNodeAway) {
  finish(gang, 0);
  EXPECT_EQ(engine.next_deadline(), kStart + limits::kGangFinishMs);
  wait(limits::kGangFinishMs);
  EXPECT_FALSE(waits(small));
  EXPECT_TRUE(waits(big));
}

TEST_F(FinishingGangs, OtherNodesAreGivenAtOnce) {
  finish(gang, 0);
  finish(one, 0);
  EXPECT_FALSE(waits(small));
  wait(limits::kGangFinishMs / 2);
  finish(gang, 1);
  EXPECT_FALSE(waits(big));
}

// Its controller makes another pod at once, which needs the place.
TEST_F(FinishingGangs, APodThatFailedLeavesItsNodeAtOnce) {
  finish(gang, 0, Cause::kFailed);
  EXPECT_FALSE(waits(small));
}

TEST_F(FinishingGangs, ACheckpointHasThem) {
  finish(gang, 0);
  Engine restarted;
  for (const Fact& fact : engine.checkpoint()) restarted.evolve(fact);
  EXPECT_EQ(restarted.digest(), engine.digest());
  for (Engine* const each : {&engine, &restarted}) {
    now = kStart + limits::kGangFinishMs - 1;
    EXPECT_TRUE(each->apply({now, "", "ana", in::Pass{}}).facts.empty());
    now = kStart + limits::kGangFinishMs;
    each->apply({now, "", "ana", in::Tick{}});
    EXPECT_TRUE(each->pass_due());
    EXPECT_EQ(each->apply({now, "", "ana", in::Pass{}}).facts.size(), 1u) << "the small job starts";
    each->check_invariants();
  }
  EXPECT_EQ(restarted.digest(), engine.digest());
}

// While a gang finishes, `why` does not say that a job could start on its nodes.
TEST_F(FinishingGangs, TheReasonNamesTheGang) {
  finish(gang, 0);
  const auto why = engine.explain(small, now);
  ASSERT_FALSE(why->reasons.empty());
  EXPECT_EQ(why->reasons.front().token, ReasonToken::kReservedForOther);
  EXPECT_EQ(why->reasons.front().detail,
            "the nodes of the finished pods of 1-1 stay free until its other pods finish, for at "
            "most 2s");
}

}  // namespace
}  // namespace subak
