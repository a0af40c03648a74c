#include "engine/state/jobs/jobs.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "fixture.h"

namespace subak::state {
namespace {

// A gang of two pods, of which none has come.
Job& gang(Small& small, std::uint64_t number, const std::string& name) {
  fact::JobCreated f;
  f.id = JobId(small.cluster, number);
  f.leaf = small.ml;
  f.origin = JobOrigin::kPods;
  f.name = name;
  f.gang_size = 2;
  f.gang = true;
  f.owner = "o";
  return small.jobs.create(f, ShapeUse(), 0);
}

fact::PodAdded pod(const Job& job, std::uint32_t rank, const std::string& uid) {
  fact::PodAdded f;
  f.job = job.id;
  f.rank = rank;
  f.uid = uid;
  f.name = "ns/" + uid;
  f.shape = Small::gpus(1, 1).groups.front().shape;
  f.gate = PodGate::kClosed;
  return f;
}

void come(Small& small, Job& job, std::uint32_t rank, const std::string& uid) {
  const fact::PodAdded f = pod(job, rank, uid);
  GangRequest alone;
  alone.groups.push_back({1, f.shape});
  small.jobs.add_pod(f, small.fleet.use(small.cluster, alone));
}

TEST(Jobs, AQueuedJobIsInTheQueueAndCounted) {
  Small small;
  Job& job = small.submit(1, Small::gpus(2, 1));
  EXPECT_TRUE(small.jobs.ready().contains(job.id));
  EXPECT_EQ(small.jobs.sets().count(JobState::kQueued), 1u);
  EXPECT_EQ(least_milligpu(small.fleet, job), 2000);
  small.jobs.set_state(job, JobState::kPaused);
  EXPECT_FALSE(small.jobs.ready().contains(job.id));
  EXPECT_EQ(small.jobs.sets().count(JobState::kPaused), 1u);
  small.check();
}

TEST(Jobs, WhatIsLeftOfAGangFindsTheGang) {
  Small small;
  Job& whole = gang(small, 1, "ns/train");
  const auto found = [&](const char* name, const char* owner) {
    return small.jobs.gangs().of_owner(small.cluster, name, owner);
  };
  EXPECT_EQ(found("ns/train", "o"), whole.id);
  EXPECT_EQ(found("ns/train", "o+1"), whole.id);
  EXPECT_FALSE(found("ns/train", "o1"));
  EXPECT_FALSE(found("ns/train", ""));
  EXPECT_FALSE(found("ns/other", "o"));
  small.jobs.await_resume(whole, true);
  EXPECT_TRUE(whole.awaits_resume());
  EXPECT_EQ(small.jobs.sets().awaiting_resume().size(), 1u);
  small.check();
  small.jobs.await_resume(whole, false);
  EXPECT_TRUE(small.jobs.sets().awaiting_resume().empty());
  small.check();
}

TEST(Jobs, AGangIsFoundByItsNameAndItsPodsByUid) {
  Small small;
  Job& job = gang(small, 1, "ns/train");
  come(small, job, 1, "u1");
  EXPECT_EQ(small.jobs.gangs().of_gang(small.cluster, "ns/train", "o"), job.id);
  EXPECT_FALSE(small.jobs.gangs().of_gang(ClusterId(2), "ns/train", "o"));
  ASSERT_TRUE(small.jobs.find(small.cluster, "u1"));
  EXPECT_EQ(*small.jobs.find(small.cluster, "u1"), (PodPlace{job.id, 1}));
  EXPECT_EQ(small.jobs.find(small.cluster, PodRef{"u1", {}, 0}), (PodPlace{job.id, 1}));
  EXPECT_FALSE(small.jobs.find(small.cluster, PodRef{"u2", {}, 0}));
  small.check();
}

TEST(Jobs, APodOfAnAttemptThatWasTakenBackIsNotFoundByRank) {
  Small small;
  Job& job = small.submit(1, Small::gpus(1, 1));
  small.reserve(job, small.n1, 5);
  job.attempt = 2;
  EXPECT_TRUE(small.jobs.find(small.cluster, PodRef{"", job.id, 0, 2}));
  EXPECT_FALSE(small.jobs.find(small.cluster, PodRef{"", job.id, 0, 1}));
  EXPECT_FALSE(small.jobs.find(small.cluster, PodRef{"", job.id, 1, 2}));
}

TEST(Jobs, TheSameUidInAnotherClusterIsAnotherPod) {
  Small small;
  Job& here = gang(small, 1, "ns/train");
  come(small, here, 0, "u0");
  fact::JobCreated f;
  f.id = JobId(ClusterId(2), 1);
  f.leaf = small.ml;
  f.origin = JobOrigin::kPods;
  f.gang_size = 1;
  Job& there = small.jobs.create(f, ShapeUse(), 0);
  come(small, there, 0, "u0");
  EXPECT_EQ(small.jobs.find(small.cluster, "u0"), (PodPlace{here.id, 0}));
  EXPECT_EQ(small.jobs.find(ClusterId(2), "u0"), (PodPlace{there.id, 0}));
  EXPECT_FALSE(small.jobs.find(ClusterId(2), PodRef{"", here.id, 0, 0}));
  small.check();
}

TEST(Jobs, AnotherOwnerIsAnotherGangAndAPodAloneIsNone) {
  Small small;
  Job& job = gang(small, 1, "ns/train");
  EXPECT_EQ(small.jobs.gangs().of_gang(small.cluster, "ns/train", "o"), job.id);
  EXPECT_FALSE(small.jobs.gangs().of_gang(small.cluster, "ns/train", "o2"));
  fact::JobCreated f;
  f.id = JobId(small.cluster, 2);
  f.leaf = small.ml;
  f.origin = JobOrigin::kPods;
  f.name = "ns/alone";
  small.jobs.create(f, ShapeUse(), 0);
  EXPECT_FALSE(small.jobs.gangs().of_gang(small.cluster, "ns/alone", ""));
  small.check();
}

TEST(Jobs, WhoWaitsBehindTheRanksTakesOneThatIsFree) {
  Small small;
  Job& job = gang(small, 1, "ns/train");
  come(small, job, 0, "u0");
  come(small, job, 1, "u1");
  come(small, job, 2, "u2");
  EXPECT_EQ(job.ranks(), 2u);
  EXPECT_EQ(request_of(small.fleet, job).pods(), 2u);  // not its gang's yet
  EXPECT_TRUE(job.is_whole());
  small.jobs.end_pod(job, 1);
  EXPECT_FALSE(job.is_whole());
  small.jobs.seat_pod(job, 2, 1);
  EXPECT_TRUE(job.is_whole());
  EXPECT_EQ(job.pods.size(), 2u);
  EXPECT_EQ(small.jobs.find(small.cluster, "u2"), (PodPlace{job.id, 1}));
  small.check();
}

TEST(Jobs, AGangThatIsOpenedIsOneRequestAPodAgain) {
  Small small;
  Job& job = gang(small, 1, "ns/train");
  come(small, job, 0, "u0");
  come(small, job, 1, "u1");
  GangRequest request = request_of(small.fleet, job);
  request.terms.topology = Topology::kNode;
  complete_gang(small.fleet, job, small.fleet.use(small.cluster, request));
  open_gang(small.fleet, job, [&](const PodShape& shape) {
    GangRequest alone;
    alone.groups.push_back({1, shape});
    return small.fleet.use(small.cluster, alone);
  });
  EXPECT_FALSE(job.shape);
  EXPECT_EQ(job.pods[1].shape_rank, 0u);
  EXPECT_EQ(request_of(small.fleet, job).pods(), 2u);
  small.check();
}

TEST(Jobs, AJobThatEndsForGoodGivesItsNameAway) {
  Small small;
  Job& job = gang(small, 1, "ns/train");
  come(small, job, 0, "u0");
  job.stop = Cause::kCancelled;
  small.jobs.set_state(job, JobState::kEnding);
  small.jobs.forget_gang(job);
  EXPECT_FALSE(small.jobs.gangs().of_gang(small.cluster, "ns/train", "o"));
  Job& next = gang(small, 2, "ns/train");
  EXPECT_EQ(small.jobs.gangs().of_gang(small.cluster, "ns/train", "o"), next.id);
  small.check();
}

TEST(Jobs, ACompleteGangIsOneRequestOfItsRanks) {
  Small small;
  Job& job = gang(small, 1, "ns/train");
  come(small, job, 0, "u0");
  come(small, job, 1, "u1");
  const GangRequest request = request_of(small.fleet, job);
  ASSERT_EQ(request.groups.size(), 1u);  // equal neighbours count once
  EXPECT_EQ(request.groups[0].count, 2u);
  complete_gang(small.fleet, job, small.fleet.use(small.cluster, request));
  small.jobs.set_state(job, JobState::kQueued);
  EXPECT_EQ(job.pods[1].shape_rank, 1u);
  EXPECT_EQ(least_milligpu(small.fleet, job), 2000);
  small.check();
}

TEST(Jobs, AnEndedGangIsNobodysNameAndItsPodsAreNobody) {
  Small small;
  Job& job = gang(small, 1, "ns/train");
  come(small, job, 0, "u0");
  small.jobs.end_pod(job, 0);
  EXPECT_FALSE(small.jobs.find(small.cluster, "u0"));
  small.jobs.set_state(job, JobState::kDone);
  small.jobs.end(job, 9);
  EXPECT_FALSE(small.jobs.gangs().of_gang(small.cluster, "ns/train", "o"));
  EXPECT_EQ(small.jobs.find(job.id)->run().ended_ms, 9);
  small.check();
}

TEST(Jobs, TheOldestEndedAreForgotten) {
  Small small;
  for (std::uint64_t n = 1; n <= limits::kDoneJobsKept + 5; ++n) {
    Job& job = small.submit(n, Small::gpus(1, 1));
    small.jobs.set_state(job, JobState::kDone);
    small.jobs.end(job, 0);
  }
  EXPECT_EQ(small.jobs.table().all().size(), limits::kDoneJobsKept);
  EXPECT_EQ(small.jobs.find(JobId(small.cluster, 5)), nullptr);
  EXPECT_NE(small.jobs.find(JobId(small.cluster, 6)), nullptr);
  EXPECT_EQ(small.jobs.table().ids().front(), JobId(small.cluster, 6));
  small.check();
}

TEST(Jobs, DeadlinesAreOfActiveJobsOnly) {
  Small small;
  Job& job = small.submit(1, Small::gpus(1, 1));
  small.reserve(job, small.n1, 5, 60);
  ASSERT_EQ(small.jobs.times().deadlines().size(), 1u);
  EXPECT_EQ(small.jobs.times().deadlines().begin()->first, 60);
  EXPECT_TRUE(small.jobs.sets().active().contains(job.id));
  small.jobs.set_state(job, JobState::kRunning);
  EXPECT_TRUE(small.jobs.times().deadlines().empty());
  EXPECT_FALSE(small.jobs.sets().active().contains(job.id));
}

TEST(Jobs, AnyPartsOfACheckpointMakeTheSameJob) {
  Small small;
  Job& job = gang(small, 3, "ns/train");
  come(small, job, 0, "u0");
  std::vector<fact::JobSnapshot> kept;
  snapshot_job(small.fleet, job,
               [&](fact::Body body) { kept.push_back(std::get<fact::JobSnapshot>(body)); });
  ASSERT_EQ(kept.size(), 1u);
  fact::JobSnapshot first;
  first.job.id = job.id;
  first.more = true;
  first.pods = std::exchange(kept[0].pods, {});
  Small again;
  EXPECT_EQ(again.jobs.gather(first), nullptr);
  const fact::JobSnapshot* const all = again.jobs.gather(kept[0]);
  ASSERT_NE(all, nullptr);
  Job& back = again.jobs.restore(*all, ShapeUse());
  ASSERT_EQ(back.pods.size(), 1u);
  again.jobs.restore_pod(back, 0, all->pods[0], again.fleet.use(again.cluster, Small::gpus(1, 1)));
  again.jobs.restored(back, *all);
  EXPECT_EQ(again.jobs.gangs().of_gang(again.cluster, "ns/train", "o"), job.id);
  EXPECT_EQ(again.jobs.find(again.cluster, "u0"), (PodPlace{job.id, 0}));
  EXPECT_EQ(again.jobs.sets().count(JobState::kIncomplete), 1u);
  again.check();
}

TEST(JobParts, AJobOfOneFactIsNotCopied) {
  fact::JobSnapshot only;
  only.job.id = JobId(ClusterId(1), 1);
  JobParts parts;
  EXPECT_EQ(parts.add(only), &only);
}

TEST(JobParts, TheFactsOfAJobComeOneAfterTheOther) {
  fact::JobSnapshot first, last;
  first.job.id = JobId(ClusterId(1), 1);
  first.more = true;
  first.pods.resize(2);
  first.pods[1].uid = "b";
  last.job.id = first.job.id;
  last.pods.resize(1);
  last.job.name = "ns/train";
  JobParts parts;
  EXPECT_EQ(parts.add(first), nullptr);
  const fact::JobSnapshot* const all = parts.add(last);
  ASSERT_NE(all, nullptr);
  ASSERT_EQ(all->pods.size(), 3u);
  EXPECT_EQ(all->pods[1].uid, "b");
  EXPECT_EQ(all->job.name, "ns/train");
  EXPECT_EQ(parts.add(first), nullptr);
  last.job.id = JobId(ClusterId(1), 2);
  EXPECT_DEATH(static_cast<void>(parts.add(last)), "one after the other");
}

TEST(JobSets, ASetThatDisagreesWithItsJobsIsFound) {
  JobTable table;
  JobSets sets;
  Job& job = table.add(JobId(ClusterId(1), 1));
  sets.add(job);
  sets.check(table);
  job.make_extras().backoff = std::make_unique<Backoff>(Backoff{"no room", 1, 0});
  EXPECT_DEATH(sets.check(table), "who was refused is indexed");
  sets.change_waits(job);
  sets.check(table);
  job.state = JobState::kPaused;
  EXPECT_DEATH(sets.check(table), "counted by state");
}

TEST(PodIndex, APodThatWentOnInAnotherJobIsFoundThere) {
  JobTable table;
  PodIndex index;
  Job& before = table.add(JobId(ClusterId(1), 1));
  Job& after = table.add(JobId(ClusterId(1), 2));
  before.pods.resize(1);
  after.pods.resize(1);
  before.state = JobState::kDone;
  before.pods[0].uid = after.pods[0].uid = "u";
  index.put("u", {before.id, 0});
  index.put("u", {after.id, 0});
  index.erase(before);
  EXPECT_EQ(index.find(ClusterId(1), "u"), (PodPlace{after.id, 0}));
  index.check(table);
  after.state = JobState::kDone;
  index.erase(after);
  EXPECT_FALSE(index.find(ClusterId(1), "u"));
}

TEST(JobsDeath, AStepThatTheTableLacksIsABrokenPromise) {
  Small small;
  Job& job = small.submit(1, Small::gpus(1, 1));
  small.jobs.set_state(job, JobState::kDone);
  EXPECT_DEATH(small.jobs.set_state(job, JobState::kQueued), "as the table says");
  EXPECT_DEATH(static_cast<void>(small.jobs.at(JobId(small.cluster, 9))), "is there");
}

}  // namespace
}  // namespace subak::state
