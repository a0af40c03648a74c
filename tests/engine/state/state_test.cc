// Facts that the state does not bear out stop the program before they become durable.
#include "engine/state/state.h"

#include <gtest/gtest.h>

#include <utility>

#include "engine/state/snapshot.h"
#include "fixture.h"

namespace subak {
namespace {

using state::Small;

// One cluster, one node, one account, and a job of one pod that has its place since 10.
class StateDeath : public testing::Test {
 protected:
  const ClusterId cluster{1};
  const NodeId node{1};
  const AccountId ml{2};
  const JobId job{cluster, 1};
  State s;

  StateDeath() {
    s.advance(5);
    say(fact::ClusterSet{cluster, "main", Mode::kEnforce, {}, {}});
    say(fact::NodeSet{node, cluster, Small::node("n1"), false, {}});
    say(fact::AccountSet{ml, Small::account("ml"), 1, {}});
    fact::JobCreated created;
    created.id = job;
    created.leaf = ml;
    created.state = JobState::kQueued;
    created.request = Small::gpus(1, 1);
    created.gang_size = 1;
    say(std::move(created));
    s.advance(10);
    say(fact::AttemptStarted{job, 1, 99, {Small::slot(node, 0)}});
    s.advance(20);
  }
  void say(fact::Body body) { s.apply(Fact{s.seq() + 1, s.now(), std::move(body)}); }
};

TEST_F(StateDeath, NothingIsBoundOrGivenBackUncharged) {
  EXPECT_DEATH(say(fact::PodBound{job, 0, 20, Small::slot(node, 0)}), "charged up to its bind");
  EXPECT_DEATH(say(fact::PlaceLost{job, 0, Cause::kExpired}), "charged up to then");
  EXPECT_DEATH(say(fact::PodGone{job, 0, 20, Cause::kFinished}), "charged up to then");
}

TEST_F(StateDeath, ARowIsOfWhatThePodHolds) {
  LedgerRow row;
  row.allocation = {job, 0, 1};
  row.from_ms = 10;
  row.to_ms = 20;
  row.holder = row.payer = ml;
  row.state = UsageState::kHeld;
  row.node = node;
  row.product = "H100";
  row.milligpu = 1000;
  LedgerRow elsewhere = row, anothers = row;
  elsewhere.node = NodeId(2);
  anothers.holder = kPlatform;
  EXPECT_DEATH(say(fact::Charged{elsewhere}), "where the pod is");
  EXPECT_DEATH(say(fact::Charged{anothers}), "whose job it is");
  say(fact::Charged{row});
  s.check();
}

TEST_F(StateDeath, ABillCloses) {
  fact::NodeBilled bill = state::billed(s, node, 20);
  say(bill);
  bill.idle = StoredGpuTime::of(bill.idle.get() + GpuTime::of(1, 1));
  EXPECT_DEATH(say(bill), "allocated, idle, stranded or unusable");
}

TEST_F(StateDeath, NumbersCountOn) {
  EXPECT_DEATH(say(fact::AccountSet{ml, Small::account("ml"), 3, {}}), "one by one");
  fact::JobCreated again;
  again.id = job;
  again.leaf = ml;
  EXPECT_DEATH(say(again), "new number");
  EXPECT_DEATH(s.apply(Fact{s.seq() + 2, 20, fact::PodRunning{job, 0, 20}}), "come in order");
}

}  // namespace
}  // namespace subak
