// Which facts give a notice, and what it says.
#include "server/notify/notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/notify/receivers.h"

namespace subak {
namespace {

using ::testing::HasSubstr;

const JobId kJob(ClusterId(3), 1042);

NoticeSubjects subjects() {
  NoticeSubjects out;
  out.jobs[kJob] = {"ml.vision", "train", "ana"};
  out.nodes[NodeId(7)] = "n7";
  return out;
}

template <class Body>
Fact fact(Body body, std::uint64_t seq = 9) {
  return {seq, 1'767'225'600'000, std::move(body)};
}

fact::Reserved reserved(TimeMs start_ms, std::uint32_t late, ReserveCause cause) {
  fact::Reserved out;
  out.job = kJob;
  out.nodes = {{NodeId(7)}};
  out.start_ms = start_ms;
  out.late = late;
  out.cause = cause;
  return out;
}

fact::AttemptEnded ended(Cause cause, JobState to) {
  fact::AttemptEnded out;
  out.id = kJob;
  out.cause = cause;
  out.to = to;
  return out;
}

std::optional<Notice> notice_of(fact::Body body) {
  NoticeMaker maker;
  return maker.make(fact(std::move(body)), subjects());
}

TEST(Notice, AStartSaysWhoAndHowMuch) {
  fact::AttemptStarted started;
  started.id = kJob;
  started.slots = {{NodeId(7), 1, 1000}, {NodeId(7), 2, 500}};
  EXPECT_EQ(
      notice_of(started),
      (Notice{9, 1'767'225'600'000, NoticeKind::kJobStarted, "ml.vision", "3-1042", "train", "ana",
              "Job 3-1042 (train) of ml.vision/ana starts: Subak holds 1.5 GPUs for 2 "
              "pods."}));
}

TEST(Notice, AJobThatIsNotKnownHasOnlyItsId) {
  fact::AttemptStarted started;
  started.id = JobId(ClusterId(3), 5);
  const auto notice = notice_of(started);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->account, "");
  EXPECT_THAT(notice->text, HasSubstr("Job 3-5 starts"));
}

TEST(Notice, OnlyAnEndThatNobodyAskedForIsTold) {
  EXPECT_EQ(notice_of(ended(Cause::kTimeLimit, JobState::kDone))->text,
            "Job 3-1042 (train) of ml.vision/ana ended: it reached its time limit.");
  EXPECT_EQ(notice_of(ended(Cause::kNodeLost, JobState::kDone))->kind, NoticeKind::kJobEnded);
  EXPECT_EQ(notice_of(ended(Cause::kNodeLost, JobState::kQueued))->text,
            "Job 3-1042 (train) of ml.vision/ana waits again: its node disappeared.");
  for (const Cause cause : {Cause::kFinished, Cause::kFailed, Cause::kCancelled, Cause::kNone}) {
    EXPECT_FALSE(notice_of(ended(cause, JobState::kDone))) << enum_name(cause);
  }
  fact::JobMoved moved;
  moved.id = kJob;
  moved.to = JobState::kDone;
  moved.cause = Cause::kCancelled;
  EXPECT_FALSE(notice_of(moved));
  moved.cause = Cause::kMisconfigured;
  EXPECT_EQ(notice_of(moved)->kind, NoticeKind::kJobEnded);
}

TEST(Notice, AJobIsTakenBackOnlyForAnotherJob) {
  fact::StopAsked asked;
  asked.id = kJob;
  asked.cause = Cause::kCancelled;
  EXPECT_FALSE(notice_of(asked));
  asked.cause = Cause::kPreempted;
  EXPECT_EQ(notice_of(asked)->kind, NoticeKind::kJobTakenBack);
  fact::EndRefused refused;
  refused.id = kJob;
  EXPECT_EQ(notice_of(refused)->kind, NoticeKind::kEndRefused);
}

TEST(Notice, APromiseIsToldOnlyWhenItMovesLater) {
  NoticeMaker maker;
  const auto tell = [&](fact::Reserved r) { return maker.make(fact(std::move(r)), subjects()); };
  EXPECT_FALSE(tell(reserved(1000, 0, ReserveCause::kMade)));
  EXPECT_FALSE(tell(reserved(500, 0, ReserveCause::kEarlier)));
  const auto later = tell(reserved(2000, 1, ReserveCause::kOverrun));
  ASSERT_TRUE(later);
  EXPECT_EQ(later->kind, NoticeKind::kPromiseMoved);
  EXPECT_EQ(later->text,
            "The start of job 3-1042 (train) of ml.vision/ana moved later, to "
            "1970-01-01T00:00:02.000Z: a job on the reserved nodes runs longer than expected.");
  EXPECT_FALSE(tell(reserved(2000, 1, ReserveCause::kTaken)));  // other nodes, the same start
  fact::Reserved guess = reserved(limits::kMaxTimeMs, 2, ReserveCause::kNode);
  guess.estimated = true;
  EXPECT_THAT(tell(guess)->text, HasSubstr("to an unknown time, which is a guess: a reserved"));
  guess.start_ms = 9000;
  EXPECT_FALSE(tell(guess));  // a guess is no promise
  fact::Reserved over = reserved(0, 0, ReserveCause::kPolicy);
  over.nodes.clear();
  EXPECT_FALSE(tell(over));
  EXPECT_FALSE(tell(reserved(1000, 0, ReserveCause::kMade)));
  EXPECT_THAT(tell(over)->text, HasSubstr("no promised start any more: the policy"));
}

// After a restart, the maker has not seen the promise before. The cause says if it moved later.
TEST(Notice, AMoveIsToldWithoutTheFactsBeforeIt) {
  EXPECT_TRUE(notice_of(reserved(2000, 1, ReserveCause::kNode)));
  EXPECT_FALSE(notice_of(reserved(500, 1, ReserveCause::kEarlier)));
}

TEST(Notice, ABudgetIsOfItsAccountAndTheServiceOfNone) {
  const auto budget = notice_of(fact::BudgetReached{AccountId(2), 0, 80, "ml", "100h/month"});
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->account, "ml");
  EXPECT_EQ(budget->text, "Account ml has spent 80 % of its budget 100h/month.");
  fact::NodeBackedOff backed_off;
  backed_off.node = NodeId(7);
  backed_off.times = 1;
  backed_off.barred = true;
  EXPECT_FALSE(notice_of(backed_off));
  backed_off.any_pod = true;
  EXPECT_THAT(notice_of(backed_off)->text, HasSubstr("Node n7 rejects pods"));
  EXPECT_EQ(notice_of(backed_off)->kind, NoticeKind::kServiceWarning);
}

TEST(Notice, AFactThatIsNoNewsGivesNone) {
  EXPECT_FALSE(may_give_notice(fact::NodeRemoved{}));
  EXPECT_TRUE(may_give_notice(fact::Body(ended(Cause::kFinished, JobState::kDone))));
  EXPECT_FALSE(notice_of(fact::NodeRemoved{}));
}

TEST(Notice, AReceiverGetsItsSubtreeAlone) {
  NoticeReceiver receiver;
  receiver.account = "ml.vision";
  Notice notice;
  notice.account = "ml.vision.east";
  EXPECT_TRUE(receiver.wants(notice));
  notice.account = "ml.visionary";
  EXPECT_FALSE(receiver.wants(notice));
  notice.account = "";
  EXPECT_FALSE(receiver.wants(notice));
  receiver.account = "";
  EXPECT_TRUE(receiver.wants(notice));
  receiver.account = "ml.vision/ana";
  notice.account = "ml.vision";
  EXPECT_FALSE(receiver.wants(notice));
  notice.user = "ana";
  EXPECT_TRUE(receiver.wants(notice));
}

}  // namespace
}  // namespace subak
