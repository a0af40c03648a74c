// The history of a job: which events facts make, and their sentences.
#include "engine/derive/history/job_history.h"

#include <gtest/gtest.h>

#include "core/limits.h"

namespace subak::derive {
namespace {

const JobId kJob(ClusterId(1), 7), kOther(ClusterId(1), 8);

class JobHistoryTest : public testing::Test {
 protected:
  template <class T>
  void add(TimeMs time, T body) {
    history_.add({++seq_, time, std::move(body)});
  }
  const JobEvent& last() const { return history_.events().back(); }
  void create(JobState state = JobState::kQueued) {
    fact::JobCreated created;
    created.id = kJob;
    created.state = state;
    created.gang_size = 2;
    created.edit.actor = "token:ci";
    add(1000, created);
  }
  void start(std::uint32_t attempt, TimeMs t) {
    add(t, fact::AttemptStarted{
               kJob, attempt, t + 60'000, {{NodeId(4), 1, 1000}, {NodeId(3), 1, 1000}}});
  }
  JobHistory history_{kJob};
  std::uint64_t seq_ = 0;
};

TEST_F(JobHistoryTest, ALifeFromSubmissionToEnd) {
  create();
  start(1, 2000);
  add(3000, fact::PodBound{kJob, 0, 3000, {NodeId(4), 1, 1000}});
  add(3000, fact::PodRunning{kJob, 0, 3000});
  add(4000, fact::PodBound{kJob, 1, 4000, {NodeId(3), 1, 1000}});
  add(5000, fact::PodGone{kJob, 0, 5000, Cause::kFinished});
  add(6000, fact::PodGone{kJob, 1, 6000, Cause::kFinished});
  EXPECT_FALSE(history_.ended());
  add(6000, fact::AttemptEnded{kJob, 1, Cause::kFinished, JobState::kDone});
  EXPECT_TRUE(history_.ended());
  std::vector<std::string> texts;
  for (const JobEvent& e : history_.events()) texts.push_back(event_text(e));
  EXPECT_EQ(texts,
            (std::vector<std::string>{
                "created by token:ci with 2 pods, queued",
                "started: GPUs held for 2 pods until 1970-01-01T00:01:02.000Z", "2 pods bound",
                "1 pod running", "2 pods ended: finished", "attempt ended: finished; done"}));
  const JobEvent& bound = history_.events()[2];
  EXPECT_EQ(bound.time_ms, 3000);
  EXPECT_EQ(bound.last_ms, 4000);
  EXPECT_EQ(bound.attempt, 1u);
  EXPECT_EQ(bound.nodes, (std::vector<NodeId>{NodeId(4), NodeId(3)}));
  EXPECT_EQ(history_.events()[1].nodes, (std::vector<NodeId>{NodeId(3), NodeId(4)}));
}

TEST_F(JobHistoryTest, ReservationsSayTheirStartAndWhyTheyMoved) {
  create();
  add(2000, fact::Reserved{kJob, {{NodeId(5)}}, 10'000, false, ReserveCause::kMade, 2000, 0});
  EXPECT_EQ(event_text(last()),
            "nodes reserved, starts by 1970-01-01T00:00:10.000Z: the job did not fit in its turn");
  add(3000, fact::Reserved{kJob, {{NodeId(5)}}, 20'000, true, ReserveCause::kOverrun, 2000, 1});
  EXPECT_EQ(event_text(last()),
            "nodes reserved, estimated start 1970-01-01T00:00:20.000Z, moved later 1 time: a job "
            "on these nodes runs longer than expected");
  EXPECT_EQ(last().start.moved_later, 1u);
  add(4000, fact::Reserved{kJob, {}, 0, false, ReserveCause::kPolicy, 2000, 1});
  EXPECT_EQ(last().kind, JobEventKind::kReservationEnded);
  EXPECT_EQ(last().start.at_ms, 0);
}

TEST_F(JobHistoryTest, AVictimKnowsWhoClaimedItsGpus) {
  create();
  start(1, 2000);
  fact::Claimed claim;
  claim.job = kOther;
  claim.slots = {{NodeId(3), 1, 1000}};
  claim.victims = {{kJob, 1, 9000}};
  add(3000, claim);
  EXPECT_EQ(last().kind, JobEventKind::kChosenAsVictim);
  EXPECT_EQ(last().jobs, std::vector<JobId>{kOther});
  EXPECT_EQ(last().until_ms, 9000);
  add(9000, fact::StopAsked{kJob, 1, Cause::kPreempted, {}, 0, JobState::kRunning});
  EXPECT_EQ(last().jobs, std::vector<JobId>{kOther});
  EXPECT_EQ(event_text(last()), "asked to end: preempted");
  add(9500, fact::AttemptEnded{kJob, 1, Cause::kPreempted, JobState::kQueued});
  EXPECT_EQ(event_text(last()), "attempt ended: preempted; queued");
  EXPECT_FALSE(history_.ended());
  // The claim is over: its end says nothing about this job.
  const std::size_t events = history_.events().size();
  add(9600, fact::Claimed{kOther, {}, {}, 3000, ClaimCause::kPolicy});
  EXPECT_EQ(history_.events().size(), events);
}

TEST_F(JobHistoryTest, AClaimThatEndsFreesItsVictim) {
  create();
  start(1, 2000);
  add(3000, fact::Claimed{kOther, {{NodeId(3), 1, 1000}}, {{kJob, 1, 9000}}, 3000});
  add(4000, fact::Claimed{kOther, {}, {}, 3000, ClaimCause::kPlace});
  EXPECT_EQ(event_text(last()),
            "no longer has to end for another job: the claimed GPUs are gone or taken");
}

TEST_F(JobHistoryTest, PodsOfDifferentCausesAndAttemptsAreDifferentEvents) {
  create();
  start(1, 2000);
  add(3000, fact::PodGone{kJob, 0, 3000, Cause::kRejected, {"OutOfcpu", "too little"}});
  EXPECT_EQ(event_text(last()), "1 pod ended: rejected: OutOfcpu: too little");
  add(3100, fact::PodGone{kJob, 1, 3100, Cause::kMemberLost});
  EXPECT_EQ(event_text(last()), "1 pod ended: member_lost");
  add(3200, fact::AttemptEnded{kJob, 1, Cause::kRejected, JobState::kPaused, 8000});
  EXPECT_EQ(event_text(last()), "attempt ended: rejected; paused until 1970-01-01T00:00:08.000Z");
  start(2, 9000);
  add(9100, fact::PodGone{kJob, 1, 9100, Cause::kMemberLost});
  EXPECT_EQ(last().attempt, 2u);
  EXPECT_EQ(last().pods, 1u);
}

TEST_F(JobHistoryTest, EditsNameTheirCallerAndReason) {
  create(JobState::kPaused);
  EXPECT_EQ(event_text(last()),
            "created by token:ci with 2 pods, paused until a person releases it");
  fact::JobMoved moved;
  moved.id = kJob;
  moved.to = JobState::kDone;
  moved.cause = Cause::kCancelled;
  moved.edit.actor = "socket";
  moved.edit.reason = "a mistake";
  add(2000, moved);
  EXPECT_EQ(event_text(last()), "ended while it waited by socket: cancelled: a mistake");
  EXPECT_TRUE(history_.ended());
}

TEST_F(JobHistoryTest, OtherJobsAndCheckpointsSayNothing) {
  fact::JobCreated created;
  created.id = kOther;
  add(1000, created);
  add(1000, fact::PodBound{kOther, 0, 1000, {NodeId(1), 1, 1000}});
  add(1000, fact::AttemptStarted{kOther, 1, 2000, {}});
  created.id = kJob;
  history_.add({0, 1000, created});
  EXPECT_TRUE(history_.events().empty());
}

TEST_F(JobHistoryTest, EachKindHasASentence) {
  for (int kind = 0; kind <= static_cast<int>(JobEventKind::kAdopted); ++kind) {
    JobEvent event;
    event.kind = static_cast<JobEventKind>(kind);
    event.why = "made";
    EXPECT_FALSE(event_text(event).empty()) << kind;
  }
}

}  // namespace
}  // namespace subak::derive
