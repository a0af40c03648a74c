#include "engine/state/jobs/limit_record.h"

#include <gtest/gtest.h>

#include <string>

#include "core/limits.h"
#include "fixture.h"

namespace subak::state {
namespace {

// One at a time runs on a node, from 0 to 10.
struct Kinds : Small {
  std::uint64_t number = 0;

  Job& submit_named(const std::string& name, AccountId leaf, std::int64_t each = 1) {
    fact::JobCreated f;
    f.id = JobId(cluster, ++number);
    f.leaf = leaf;
    f.name = name;
    f.request = gpus(each, 1);
    f.gang_size = 1;
    f.time_limit_ms = 5;
    Job& job = jobs.create(f, fleet.use(cluster, f.request), 0);
    jobs.set_state(job, JobState::kQueued);
    return job;
  }
  Job& start(const std::string& name) {
    Job& job = submit_named(name, ml);
    reserve(job, n1, 0);
    job.make_run().started_ms = 1;
    return job;
  }
  void end(Job& job, Cause cause = Cause::kFinished) {
    allocations.give(job, 0, 10, 10);
    jobs.end_pod(job, 0);
    job.cause = cause;
    jobs.set_state(job, JobState::kDone);
    jobs.end(job, 10);
    check();
  }
  // The answer for a job that is not there yet.
  bool asks(const std::string& name, AccountId leaf, std::int64_t each = 1) {
    Job& job = submit_named(name, leaf, each);
    const bool answer = jobs.limit_record().overran_lately(job, fleet.request(job.shape));
    jobs.set_state(job, JobState::kDone);
    jobs.end(job, 10);
    return answer;
  }
  bool asks() { return asks("train-7", ml); }
};

TEST(LimitRecord, OneThatIsLateIsKnownUntilTwoKeptTheirLimits) {
  Kinds k;
  EXPECT_FALSE(k.asks());
  Job& late = k.start("train-1");
  k.jobs.overran(late, 1);
  EXPECT_TRUE(k.asks()) << "it is there, beyond its limit";
  k.jobs.overran(late, 2);
  k.end(late);
  EXPECT_TRUE(k.asks()) << "the last was late";
  k.end(k.start("train-2"));
  EXPECT_TRUE(k.asks()) << "the last but one was late";
  k.end(k.start("train-3"));
  EXPECT_FALSE(k.asks());
}

TEST(LimitRecord, OnlyJobsThatRanTheirCourseTell) {
  Kinds k;
  Job& late = k.start("train-1");
  k.jobs.overran(late, 1);
  k.end(late, Cause::kCancelled);
  k.end(k.start("train-2"), Cause::kNodeLost);
  k.end(k.start("train-3"), Cause::kVanished);
  EXPECT_TRUE(k.asks());
  k.end(k.start("train-4"), Cause::kFailed);
  k.end(k.start("train-5"), Cause::kCancelled);
  EXPECT_FALSE(k.asks());
}

TEST(LimitRecord, OneThatWaitsAgainIsLateNoLonger) {
  Kinds k;
  Job& late = k.start("train-1");
  k.jobs.overran(late, 1);
  k.allocations.give(late, 0, 10, 10);
  late.pods[0].state = PodState::kWaiting;
  k.jobs.end_run(late);
  k.jobs.set_state(late, JobState::kQueued);
  k.check();
  EXPECT_FALSE(k.asks());
}

TEST(LimitRecord, OthersAreOfAnotherKind) {
  Kinds k;
  Job& late = k.start("train-1");
  k.jobs.overran(late, 1);
  EXPECT_TRUE(k.asks("train-", k.ml)) << "digits do not matter";
  EXPECT_FALSE(k.asks("eval-1", k.ml));
  EXPECT_FALSE(k.asks("train-1", k.bio));
  EXPECT_FALSE(k.asks("train-1", k.ml, 2));
}

TEST(LimitRecord, WhoIsForgottenTellsNothing) {
  Kinds k;
  Job& late = k.start("train-1");
  k.jobs.overran(late, 1);
  const std::uint64_t before = k.jobs.limit_record().version();
  k.end(late);
  EXPECT_TRUE(k.jobs.limit_record().rests_on(late));
  for (std::size_t i = 1; i < limits::kDoneJobsKept; ++i) k.asks("eval", k.bio);
  EXPECT_TRUE(k.jobs.limit_record().rests_on(late));
  EXPECT_EQ(k.jobs.limit_record().version(), before);
  EXPECT_TRUE(k.asks());
  EXPECT_FALSE(k.asks());
  EXPECT_NE(k.jobs.limit_record().version(), before);
  k.check();
}

}  // namespace
}  // namespace subak::state
