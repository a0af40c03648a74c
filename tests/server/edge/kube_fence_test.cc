// Places that were taken back while their pods' gates were closed: nobody is let go to one before no
// earlier word can open its former pod's gate any more.
#include <gmock/gmock.h>

#include "kube_seen.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const JobId kFirst(ClusterId(1), 1), kSecond(ClusterId(1), 2);

std::string pinned_to(const std::string& node) {
  return R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
         R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In",)"
         R"("values":[")" +
         node + R"("]}]}]}}},)";
}

class KubeFence : public Kube {
 protected:
  // The core's word on a job with one pod.
  void word(EffectKind kind, JobId job, std::uint32_t attempt, const std::string& uid,
            const std::string& node, bool inherited = false) {
    Effect effect;
    effect.kind = kind;
    effect.cluster = ClusterId(1);
    effect.job = job;
    effect.attempt = attempt;
    if (kind == EffectKind::kOpenGate) effect.until_ms = kNow + 1000;
    if (kind == EffectKind::kEvict) effect.cause = Cause::kCancelled;
    EffectPod pod;
    pod.uid = uid;
    pod.node = node;
    (kind == EffectKind::kKeepClosed ? effect.keep_closed : effect.pods).push_back(pod);
    fence.take(effect, inherited);
    jobs[job] = {effect, ++words_};
  }
  // The place of pod 1 on n1 is taken back, and given to pod 2.
  void give_again() {
    word(EffectKind::kKeepClosed, kFirst, 1, "1", "");
    word(EffectKind::kOpenGate, kSecond, 1, "2", "n1");
  }
  void see_marked(const std::string& uid, JobId job, std::uint32_t attempt, int version = 2) {
    PodText pod{uid, version};
    pod.meta =
        R"(,"annotations":{"subak.gpu/kept-closed":")" + kept_closed_mark(job, attempt) + "\"}";
    see(pod);
  }
  // As it was seen after an opening that came late.
  void see_open(const std::string& uid, const std::string& node, const std::string& status = "") {
    PodText pod{uid, status.empty() ? 3 : 4, false};
    pod.status = status;
    pod.meta = R"(,"annotations":{"subak.gpu/status":"Starting on node )" + node + "\"}";
    std::string text = text_of(pod);
    const std::string_view spec = R"("spec":{)";
    text.insert(text.find(spec) + spec.size(), pinned_to(node));
    see_text(text);
  }

 private:
  std::uint64_t words_ = 0;
};

TEST_F(KubeFence, APlaceIsGivenAgainOnceItsFormerPodIsMarked) {
  see({"1"});
  see({"2"});
  see({"3"});
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  EXPECT_THAT(plan(), ElementsAre("release 1"));
  give_again();
  word(EffectKind::kOpenGate, JobId(ClusterId(1), 3), 1, "3", "n2");
  EXPECT_THAT(plan(), ElementsAre("keep 1", "release 3"));  // whoever has another node goes
  EXPECT_EQ(last.writes[0].attempt, 1u);
  EXPECT_EQ(last.writes[0].job, kFirst);
  see_marked("1", kFirst, 1);
  EXPECT_THAT(plan(), UnorderedElementsAre("release 2", "release 3"));
}

// A hold that ends by itself: whether it has, and is not put off, is for the core to say.
TEST_F(KubeFence, AHoldThatHasEndedIsMarkedWhenTheCoreSaysSo) {
  see({"1"});
  see({"2"});
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  EXPECT_THAT(plan(100, kNow + 1000), IsEmpty());
  give_again();
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
}

TEST_F(KubeFence, ALaterAttemptSaysThatTheOneBeforeWasTakenBack) {
  see({"1"});
  see({"2"});
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  word(EffectKind::kOpenGate, kFirst, 2, "1", "n2");
  word(EffectKind::kOpenGate, kSecond, 1, "2", "n1");
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
  see_marked("1", kFirst, 1);
  EXPECT_THAT(plan(), UnorderedElementsAre("release 1", "release 2"));
}

// After a start nobody knows where it was to go.
TEST_F(KubeFence, WhoseFormerPlaceIsNotKnownHoldsUpAll) {
  see({"1"});
  see({"2"});
  word(EffectKind::kKeepClosed, kFirst, 4, "1", "", true);
  word(EffectKind::kOpenGate, kSecond, 1, "2", "n7", true);
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
  see_marked("1", kFirst, 3);  // that was for an earlier attempt
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
  see_marked("1", kSecond, 9, 3);  // and that of another job
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
  see_marked("1", kFirst, 4, 4);
  EXPECT_THAT(plan(), ElementsAre("release 2"));
}

TEST_F(KubeFence, ALaterAttemptOfBeforeTheStartIsMarkedFirst) {
  see({"1"});
  word(EffectKind::kOpenGate, kFirst, 2, "1", "n1", true);
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
  EXPECT_EQ(last.writes[0].attempt, 1u);
  see_marked("1", kFirst, 1);
  EXPECT_THAT(plan(), ElementsAre("release 1"));
}

TEST_F(KubeFence, AFirstAttemptNeedsNoMark) {
  see({"1"});
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1", true);
  EXPECT_THAT(plan(), ElementsAre("release 1"));
}

// The mark came too late: the pod is on its way to the place that is another's by now.
TEST_F(KubeFence, WhoIsOpenIsWaitedFor) {
  see({"1"});
  see({"2"});
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  give_again();
  see_open("1", "n1");
  EXPECT_THAT(plan(), IsEmpty());
  see({"1", 4, false, "n1"}, WatchKind::kDeleted);
  EXPECT_THAT(plan(), ElementsAre("release 2"));
}

TEST_F(KubeFence, WhoIsOpenAndFindsNoWayIsNotWaitedFor) {
  see({"1"});
  see({"2"});
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  give_again();
  see_open("1", "n1");
  EXPECT_THAT(plan(), IsEmpty());
  see_open("1", "n1",
           R"(,"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",)"
           R"("message":"0/5 nodes are available"}])");
  EXPECT_THAT(plan(), ElementsAre("release 2"));
}

TEST_F(KubeFence, WhoTakesNoMarkIsGivenUp) {
  see({"1"});
  see({"2"});
  give_again();
  attempts["1"].next_ms = monotonic + 500;
  EXPECT_THAT(plan(), IsEmpty());
  fence.give_up("1");
  EXPECT_THAT(plan(), ElementsAre("release 2"));
}

// After a start: who is to go and holds nothing was let go for a place that it had lost.
TEST_F(KubeFence, WhoWasLetGoBeforeTheStartIsWaitedFor) {
  see_open("1", "n1");
  see({"2"});
  see({"3"});
  word(EffectKind::kEvict, kFirst, 1, "1", "", true);
  word(EffectKind::kOpenGate, kSecond, 1, "2", "n1", true);
  word(EffectKind::kOpenGate, JobId(ClusterId(1), 3), 1, "3", "n2", true);
  EXPECT_THAT(plan(), ElementsAre("evict 1", "release 3"));
  see({"1", 4, false, "n1"});  // bound: the core hears of it
  told();
  jobs.erase(kFirst);
  EXPECT_THAT(plan(), UnorderedElementsAre("release 2", "release 3"));
}

// The core may have given its node to others before it heard of it, and then takes that back.
TEST_F(KubeFence, WhoIsBoundIsWaitedForUntilTheCoreHasAnswered) {
  see({"1"});
  see({"2"});
  told();
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  give_again();
  see({"1", 4, false, "n1"});
  EXPECT_THAT(plan(), IsEmpty());
  std::optional<News> news = cache.outbox().next(Outbox::kAllPodsKnown);
  ASSERT_TRUE(news && news->uid == "1");
  EXPECT_THAT(plan(), IsEmpty());  // it is on the way
  cache.outbox().put_back(*news);
  EXPECT_THAT(plan(), IsEmpty());
  news = cache.outbox().next(Outbox::kAllPodsKnown);
  see({"1", 5, false, "n1", "", "Running"});
  cache.outbox().answered("1");
  EXPECT_THAT(plan(), IsEmpty());  // there is more to be said of it
  told();
  EXPECT_THAT(plan(), ElementsAre("release 2"));
}

// What is bound and is to go is no matter of the fence.
TEST_F(KubeFence, AnEvictionHoldsUpNobody) {
  see({"1", 1, false, "n1", "", "Running"});
  see({"2"});
  word(EffectKind::kEvict, kFirst, 1, "1", "n1");
  word(EffectKind::kOpenGate, kSecond, 1, "2", "n1");
  EXPECT_THAT(plan(), ElementsAre("evict 1", "release 2"));
}

// One pod is written once at a time: a mark, and then what else there is.
TEST_F(KubeFence, AMarkComesBeforeAnEviction) {
  see({"1"});
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  word(EffectKind::kEvict, kFirst, 1, "1", "");
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
  attempts["1"].next_ms = monotonic + 500;  // it has failed once
  EXPECT_THAT(plan(), IsEmpty());
  EXPECT_EQ(last.next_ms, monotonic + 500);
}

TEST_F(KubeFence, TheCoreSaysTheSameAgain) {
  see({"1"});
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  EXPECT_THAT(fence.pods(), IsEmpty());
  EXPECT_THAT(plan(), ElementsAre("release 1"));
}

// The edge reports such a pod as gone, and then as new. The core sends no effect on it in between.
TEST_F(KubeFence, APodThatIsReportedAsGoneIsGuarded) {
  see({"1"});
  see({"2"});
  word(EffectKind::kOpenGate, kFirst, 1, "1", "n1");
  EXPECT_THAT(plan(), ElementsAre("release 1"));
  fence.withdraw("1");
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
  word(EffectKind::kOpenGate, kSecond, 1, "2", "n1");
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
  see_marked("1", kFirst, 1);
  EXPECT_THAT(plan(), ElementsAre("release 2")) << "the effect on the first pod is outdated";
  fence.answered("1", 0);
  EXPECT_THAT(plan(), ElementsAre("release 2")) << "and so it is after the answer";
  jobs.erase(kSecond);
  word(EffectKind::kOpenGate, kFirst, 2, "1", "n1");
  EXPECT_THAT(plan(), ElementsAre("release 1"));
}

}  // namespace
}  // namespace subak
