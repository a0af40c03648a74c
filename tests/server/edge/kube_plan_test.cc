// What the edge writes next, without any I/O.
#include <gmock/gmock.h>

#include "core/limits.h"
#include "kube_seen.h"
#include "server/edge/writes/write_queue.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(Kube, OpensWhatIsWanted) {
  see({"1"});
  see({"2", 1, true, "", "", "Pending", R"(,{"name":"other"})"});
  want(EffectKind::kOpenGate, 1, {"1"});
  want(EffectKind::kOpenGate, 2, {"2"});
  want(EffectKind::kOpenGate, 3, {"3"});
  EXPECT_THAT(plan(), ElementsAre("release 1"));
  EXPECT_EQ(last.writes[0].node, "n1");
  EXPECT_THAT(last.settled, ElementsAre(JobId(ClusterId(1), 3)));
}

TEST_F(Kube, AGangThatIsHalfOpenComesFirst) {
  for (const char* uid : {"1", "2", "3"}) see({uid});
  see({"4", 2, false});
  want(EffectKind::kOpenGate, 1, {"1"});
  want(EffectKind::kOpenGate, 2, {"2"});
  want(EffectKind::kOpenGate, 3, {"3", "4"});
  EXPECT_THAT(plan(2), ElementsAre("release 3", "release 1"));
}

TEST_F(Kube, OnePodThatFailsHoldsUpNoOther) {
  for (const char* uid : {"1", "2", "3"}) see({uid});
  want(EffectKind::kOpenGate, 1, {"1", "2", "3"});
  attempts["1"].under_way = true;
  attempts["2"].next_ms = monotonic + 700;
  EXPECT_THAT(plan(), ElementsAre("release 3"));
  EXPECT_EQ(last.next_ms, monotonic + 700);
}

TEST_F(Kube, AHoldThatHasEndedIsNotActedOn) {
  see({"1"});
  want(EffectKind::kOpenGate, 1, {"1"});
  EXPECT_THAT(plan(100, kNow + 1000), IsEmpty());
  EXPECT_THAT(last.settled, IsEmpty());  // the core will say what is to be done now
}

TEST_F(Kube, AGangIsTakenBackThroughItsJob) {
  see_job("J", 2);
  see({"1", 1, false, "n1", "J", "Running", "", "", "", 2});
  see({"2", 1, false, "", "J", "Pending", "", "", "", 2});
  see({"3"});
  want(EffectKind::kOpenGate, 1, {"3"});
  want(EffectKind::kEvict, 2, {"1", "2"}, Cause::kUnschedulable);
  EXPECT_THAT(plan(), ElementsAre("suspend J", "release 3"));
  see_job("J", 2, true, "taken-back");
  EXPECT_THAT(plan(), ElementsAre("release 3"));  // its controller is at it
  see({"1", 2, false, "n1", "J", "Failed", "", "", "", 2}, WatchKind::kDeleted);
  EXPECT_THAT(plan(), ElementsAre("release 3"));
  see({"2", 2, false, "", "J", "Pending", "", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")", "",
       2},
      WatchKind::kDeleted);
  EXPECT_THAT(plan(), ElementsAre("resume J", "release 3"));
  see_job("J", 2, false);
  EXPECT_THAT(plan(), ElementsAre("release 3"));
}

// Its Job may be listed later: an eviction meanwhile would count as the Job's failure.
TEST_F(Kube, APodWaitsForItsOwnerToBeSeenBeforeItIsTakenBack) {
  see({"1", 1, false, "", "J"});
  want(EffectKind::kEvict, 2, {"1"}, Cause::kUnschedulable);
  EXPECT_THAT(plan(), IsEmpty());
  EXPECT_THAT(last.settled, IsEmpty());
  see_job("J", 1);
  EXPECT_THAT(plan(), ElementsAre("suspend J"));
}

TEST_F(Kube, OfAnElasticJobOnlyThatPodGoes) {
  see_job("J", 8);
  see({"1", 1, false, "", "J"});
  see({"2", 1, false, "n1", "J", "Running"});
  want(EffectKind::kEvict, 2, {"1"}, Cause::kUnschedulable);
  EXPECT_THAT(plan(), ElementsAre("evict 1"));
  see_job("J", 1);  // it was made smaller, and the one that runs is not to end
  EXPECT_THAT(plan(), ElementsAre("evict 1"));
  see_job("J", 8);
  see({"2", 2, false, "n1", "J", "Succeeded"});
  EXPECT_THAT(plan(), ElementsAre("suspend J"));  // none of its pods is anywhere
}

// An Indexed Job whose pods are a gang by inference only: to suspend it would end who runs.
TEST_F(Kube, WhoRunsOnIsNotEndedWithAnother) {
  const auto pod = [this](const std::string& uid, const std::string& node) {
    see({uid, ++version_, false, node, "I", node.empty() ? "Pending" : "Running"});
  };
  see_owner(indexed(3, ""));
  pod("1", "n1");
  pod("2", "n1");
  pod("3", "");
  want(EffectKind::kEvict, 2, {"3"}, Cause::kUnschedulable);
  EXPECT_THAT(plan(), ElementsAre("evict 3"));
  want(EffectKind::kEvict, 3, {"1", "2"}, Cause::kCancelled);
  EXPECT_THAT(plan(), ElementsAre("suspend I")) << "all of them are to end";
  jobs.erase(JobId(ClusterId(1), 3));
  see_owner(indexed(3, "", R"({"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]})"));
  EXPECT_THAT(plan(), IsEmpty()) << "its own controller ends its pods";
}

// The last failure that an index may have is its own.
TEST_F(Kube, AnEvictionFailsNoIndexForGood) {
  const auto pod = [this](const std::string& uid, int failures) {
    see({uid, ++version_, false, "", "I", "Pending", "",
         R"(,"annotations":{"batch.kubernetes.io/job-index-failure-count":")" +
             std::to_string(failures) + "\"}"});
  };
  see_owner(indexed(3, R"("backoffLimitPerIndex":2,)"));
  see({"1", ++version_, false, "n1", "I", "Running"});
  pod("2", 0);
  pod("3", 1);
  want(EffectKind::kEvict, 2, {"2", "3"}, Cause::kUnschedulable);
  EXPECT_THAT(plan(), ElementsAre("evict 2"));
  ASSERT_THAT(last.withheld, SizeIs(1));
  EXPECT_EQ(last.withheld[0].uid, "3");
}

TEST_F(Kube, EvictionsLeaveAJobItsLastFailures) {
  see_job("J", 16);
  see({"0", 1, false, "n1", "J", "Running"});
  std::vector<std::string> uids;
  for (int i = 1; i < 16; ++i) {
    uids.push_back(std::to_string(i));
    see({uids.back(), 1, false, "", "J"});
  }
  want(EffectKind::kEvict, 2, uids, Cause::kUnschedulable);
  EXPECT_THAT(plan(), SizeIs(5));  // backoffLimit is 6
  EXPECT_THAT(last.withheld, SizeIs(10));
  want(EffectKind::kEvict, 2, uids, Cause::kCancelled);
  EXPECT_THAT(plan(), SizeIs(15));  // a person wants it
  EXPECT_THAT(last.withheld, IsEmpty());
  want(EffectKind::kEvict, 2, uids, Cause::kTimeLimit);
  EXPECT_THAT(plan(), SizeIs(15));  // two people do: who said how long, and who holds him to it
}

// The Job has not counted all of them yet: pods that end, have failed, or were asked to end.
TEST_F(Kube, FailuresThatAJobHasNotCountedYetCount) {
  const auto pod = [this](const std::string& uid, const std::string& phase,
                          const std::string& more) {
    see({uid, ++version_, false, "n1", "I", phase, "",
         R"(,"finalizers":["batch.kubernetes.io/job-tracking"])" + more});
  };
  const std::string going = R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
  const auto may_evict = [&](const std::string& status) {
    see_owner(indexed(5, R"("backoffLimit":4,)", status));
    return plan().size();
  };
  for (const char* uid : {"1", "2", "3", "4", "5"}) pod(uid, "Running", "");
  want(EffectKind::kEvict, 3, {"4"}, Cause::kPreempted);
  EXPECT_EQ(may_evict(R"({"failed":2})"), 1u);
  EXPECT_EQ(may_evict(R"({"failed":3})"), 0u);
  EXPECT_EQ(may_evict(R"({"failed":2,"uncountedTerminatedPods":{"failed":["x"]}})"), 0u);
  EXPECT_EQ(may_evict(R"({"failed":1})"), 1u);
  pod("1", "Running", going);
  EXPECT_EQ(may_evict(R"({"failed":1})"), 1u);
  pod("2", "Failed", "");
  EXPECT_EQ(may_evict(R"({"failed":1})"), 0u);
  EXPECT_THAT(last.withheld, SizeIs(1));
  see({"2", ++version_, false, "n1", "I", "Failed"});
  EXPECT_EQ(may_evict(R"({"failed":1})"), 1u) << "the Job has counted it";
  want(EffectKind::kEvict, 2, {"3"}, Cause::kPreempted);
  attempts["3"].next_ms = monotonic + 1000;
  EXPECT_EQ(may_evict(R"({"failed":1})"), 0u) << "it was asked to end, and does not yet";
}

// A request to the core that was made before the core knows of a refusal brings no release back.
TEST_F(Kube, AReleaseThatWasGivenUpWaitsForTheCore) {
  see({"1"});
  want(EffectKind::kOpenGate, 1, {"1"});
  const JobId id(ClusterId(1), 1);
  const Effect effect = jobs.at(id).effect;
  WriteQueue queue(cache);
  const auto releases = [&] {
    queue.outdate();
    queue.plan(attempts, kNow, monotonic);
    std::size_t count = 0;
    for (; !queue.is_empty(); queue.take()) ++count;
    return count;
  };
  queue.want(effect, false);
  EXPECT_EQ(releases(), 1u);
  const WriteQueue::Request before = queue.request_all();
  queue.give_up(id);
  queue.confirm({effect}, before, false);
  queue.confirm({}, before, false);
  EXPECT_EQ(releases(), 0u);
  EXPECT_TRUE(queue.wanted().contains(id)) << "its attempt has not ended";
  queue.answered_give_up(id);
  queue.confirm({effect}, before, false);
  EXPECT_EQ(releases(), 0u) << "this request was made before the answer";
  queue.confirm({effect}, queue.request_all(), false);
  EXPECT_EQ(releases(), 1u) << "the core ignored the refusal";
  queue.give_up(id);
  queue.answered_give_up(id);
  queue.confirm({}, queue.request_all(), false);
  EXPECT_FALSE(queue.wanted().contains(id)) << "the attempt has ended";
}

class KubeQueue : public Kube {
 protected:
  // What the queue would write now; nothing of it is left.
  std::vector<WriteKind> planned(WriteQueue& queue) {
    queue.outdate();
    queue.plan(attempts, kNow, monotonic);
    std::vector<WriteKind> kinds;
    while (!queue.is_empty()) kinds.push_back(queue.take().kind);
    return kinds;
  }
};

// The answer of the core may come before an effect that it sent earlier: the edge takes answers first.
TEST_F(KubeQueue, AnEffectThatComesWithTheAnswerIsOlderThanTheReport) {
  see({"1"});
  told();
  want(EffectKind::kOpenGate, 1, {"1"});
  const Effect effect = jobs.at(JobId(ClusterId(1), 1)).effect;
  WriteQueue queue(cache);
  queue.withdraw("1");
  queue.answered("1");
  queue.want(effect, false);
  queue.took_effects();
  EXPECT_THAT(planned(queue), ElementsAre(WriteKind::kKeep))
      << "it opens no gate, and the pod is guarded";
  Effect next = effect;
  next.attempt = 2;
  queue.want(next, false);
  queue.took_effects();
  EXPECT_THAT(planned(queue), ::testing::Contains(WriteKind::kKeep)) << "the pod has no mark yet";
}

// The pass of the same turn may start the pod again at once, so its effect comes with the answer too.
TEST_F(KubeQueue, AnEffectThatTheCoreNamesAfterTheAnswerCounts) {
  see({"1"});
  told();
  want(EffectKind::kOpenGate, 1, {"1"});
  const JobId id(ClusterId(1), 1);
  const Effect effect = jobs.at(id).effect;
  WriteQueue queue(cache);
  queue.withdraw("1");
  const WriteQueue::Request early = queue.request_all();
  queue.answered("1");
  queue.want(effect, false);
  queue.took_effects();
  PodText marked{"1", 2};
  marked.meta = R"(,"annotations":{"subak.gpu/kept-closed":")" + kept_closed_mark(id, 1) + "\"}";
  see(marked);
  queue.confirm({effect}, early, false);
  EXPECT_THAT(planned(queue), IsEmpty())
      << "the core may have answered this request before the report";
  queue.confirm({effect}, queue.request_all(), false);
  EXPECT_THAT(planned(queue), ElementsAre(WriteKind::kRelease));
}

// The core learns of each eviction that is left out, once in each session.
TEST_F(Kube, AnEvictionThatIsLeftOutIsReportedOnce) {
  const auto allow = [this](int failures) {
    see_owner(indexed(2, "\"backoffLimit\":" + std::to_string(failures) + ","));
  };
  allow(0);
  see({"0", 1, false, "n1", "I", "Running"});
  see({"1", 1, false, "n1", "I", "Running"});
  want(EffectKind::kEvict, 2, {"1"}, Cause::kPreempted);
  const Effect effect = jobs.at(JobId(ClusterId(1), 2)).effect;
  WriteQueue queue(cache);
  const auto withheld = [&] {
    queue.outdate();
    queue.plan(attempts, kNow, monotonic);
    return queue.withheld().size();
  };
  queue.want(effect, false);
  EXPECT_EQ(withheld(), 1u);
  EXPECT_EQ(withheld(), 1u) << "the core does not know yet";
  queue.withheld_are_known();
  EXPECT_EQ(withheld(), 0u);
  allow(6);
  EXPECT_EQ(withheld(), 0u);
  EXPECT_FALSE(queue.is_empty()) << "now the Job may fail more often";
  queue.forget();
  allow(0);
  queue.want(effect, false);
  EXPECT_EQ(withheld(), 1u);
}

TEST_F(Kube, ACancelledJobIsNotResumed) {
  see_job("J", 1, true, "cancelled");
  EXPECT_THAT(plan(), IsEmpty());
  see_job("J", 1, false, "cancelled");  // somebody has: our mark goes
  EXPECT_THAT(plan(), ElementsAre("resume J"));
}

// An answer that was on its way while the watch said more: the watch does not say it again.
TEST_F(Kube, AnOlderAnswerAboutAnOwnerIsNoNews) {
  const auto job = [](int version, const char* notes, const char* suspend) {
    return R"({"metadata":{"uid":"J","namespace":"a","name":"j","resourceVersion":")" +
           std::to_string(version) + "\"" + notes + R"(},"spec":{"suspend":)" + suspend + "}}";
  };
  see_owner(job(7, R"(,"annotations":{"subak.gpu/suspended":"taken-back"})", "true"));
  see_answered_owner(job(6, "", "false"));
  EXPECT_THAT(plan(), ElementsAre("resume J"));
  see_answered_owner(job(8, "", "false"));
  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(Kube, ATerminatingPodIsLeftAlone) {
  see({"1", 1, false, "n1", "", "Running", "", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"});
  want(EffectKind::kEvict, 1, {"1"}, Cause::kCancelled);
  EXPECT_THAT(plan(), IsEmpty());
  EXPECT_THAT(last.settled, SizeIs(1));
}

}  // namespace
}  // namespace subak
