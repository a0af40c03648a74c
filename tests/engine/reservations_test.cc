// Which jobs nodes are kept for: values that follow from the rules at the top of decide/reservations.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "inputs.h"
#include "model/bounds/pass_limits.h"

namespace subak {
namespace {

constexpr TimeMs kStart = 1'767'225'600'000;

class Reservations : public testing::Test {
 protected:
  void SetUp() override {
    send(main_cluster());
    for (const char* path : {"ml", "bio"}) account(path);
    set_policy([](Policy&) {});
  }

  Reply send(in::Body body) { return engine.apply({now, "", "ana", std::move(body)}).reply; }
  void account(const std::string& path) {
    in::SetAccount set;
    set.spec.path = path;
    EXPECT_FALSE(send(set).error);
  }
  // Nodes are kept for a job after a minute.
  template <class Change>
  void set_policy(Change change) {
    in::SetPolicy set;
    set.policy.patience_ms = kMinuteMs;
    change(set.policy);
    EXPECT_FALSE(send(set).error);
  }
  void nodes(int count) { EXPECT_FALSE(send(h100_nodes(count)).error); }
  void drain(const std::string& node, TimeMs from_ms) {
    in::DrainNode drain;
    drain.cluster = "main";
    drain.node = node;
    drain.drained = true;
    drain.from_ms = from_ms;
    EXPECT_FALSE(send(drain).error);
  }
  JobId submit(std::uint32_t pods, std::int64_t gpus, DurationMs limit_ms,
               const std::string& of = "ml") {
    in::SubmitJob job = job_of_pods(of, pods, gpus);
    job.time_limit_ms = limit_ms;
    const Reply reply = send(job);
    EXPECT_FALSE(reply.error) << reply.error->message();
    pass();
    return reply.job;
  }
  // The started job's only pod is bound, holds its GPUs for `length_ms`, and ends.
  void run(JobId job, DurationMs length_ms) {
    in::PodBound bound;
    bound.cluster = "main";
    bound.pod = {"", job, 0};
    bound.node = "n0";
    EXPECT_FALSE(send(bound).error);
    now += length_ms;
    in::PodGone gone;
    gone.cluster = "main";
    gone.pod = {"", job, 0};
    gone.cause = Cause::kFinished;
    EXPECT_FALSE(send(gone).error);
    pass();
  }
  void pass() {
    while (engine.pass_due()) send(in::Pass{});
  }
  // The patience of all that wait is over, and there is a pass.
  void later() {
    now += 2 * kMinuteMs;
    while (const auto due = engine.next_deadline()) {
      if (*due > now) break;
      send(in::Tick{});
    }
    submit(1, 1, kMinuteMs, "bio");
  }
  // By when it starts as it was promised; 0: nothing is promised.
  TimeMs promised(JobId id) {
    const auto row = engine.job(id, false);
    return row->start_promised ? row->start_ms : 0;
  }
  bool is_estimated(JobId id) {
    return !engine.explain(id, now)->reserved_nodes.empty() && promised(id) == 0;
  }
  bool has_nodes(JobId id) { return !engine.explain(id, now)->reserved_nodes.empty(); }

  TimeMs now = kStart;
  Engine engine;
};

// After many holds of 4 minutes, a held GPU becomes free within 2 minutes in the mean. A job waits
// no longer than this for a reservation, and a checkpoint has the times.
TEST_F(Reservations, WhereJobsAreShortAJobWaitsLess) {
  set_policy([](Policy& p) { p.patience_ms = 2 * kHourMs; });
  nodes(1);
  const auto wait_ms = [&](JobId id) {
    const auto why = engine.explain(id, now);
    return why->patience_until_ms - engine.job(id, false)->submit_ms;
  };
  for (std::size_t i = 0; i < limits::kFewestHolds; ++i) {
    const JobId job = submit(1, 8, kHourMs), waits = submit(1, 8, kHourMs, "bio");
    EXPECT_EQ(wait_ms(waits), 2 * kHourMs) << i;
    in::CancelJob cancel;
    cancel.job = waits;
    send(cancel);
    run(job, 4 * kMinuteMs);
  }
  submit(1, 8, kHourMs);
  const JobId waits = submit(1, 8, kHourMs, "bio");
  EXPECT_EQ(wait_ms(waits), 2 * kMinuteMs);
  now += 2 * kMinuteMs - 1;
  submit(1, 9, kMinuteMs);
  EXPECT_FALSE(has_nodes(waits));
  now += 1;
  submit(1, 9, kMinuteMs);
  EXPECT_TRUE(has_nodes(waits));
  set_policy([](Policy& p) { p.patience_ms = kMinuteMs; });
  EXPECT_EQ(wait_ms(waits), kMinuteMs) << "the policy's patience is shorter";
  set_policy([](Policy& p) { p.patience_ms = 0; });
  EXPECT_EQ(engine.explain(waits, now)->patience_until_ms, 0) << "no reservations";
}

// Of a shape the first in the order is asked, and when it gets none, the others are not: also in a later pass, which
// remembers that it got none.
TEST_F(Reservations, WhereTheFirstOfAShapeGetsNoneTheOthersAreNotAsked) {
  nodes(3);
  for (int i = 0; i < 2; ++i) submit(1, 8, 10 * kHourMs);
  for (const char* node : {"n0", "n1", "n2"}) drain(node, kStart + 12 * kHourMs);
  submit(1, 7, 10 * kHourMs);  // one GPU is left for what makes passes
  const JobId too_long = submit(2, 8, 10 * kHourMs), in_time = submit(2, 8, kHourMs);
  for (int i = 0; i < 3; ++i) {
    later();
    EXPECT_FALSE(has_nodes(too_long)) << "it would not be gone before the drains";
    EXPECT_FALSE(has_nodes(in_time)) << i;
  }
  in::CancelJob cancel;
  cancel.job = too_long;
  send(cancel);
  pass();
  EXPECT_EQ(promised(in_time), kStart + 10 * kHourMs);
}

TEST_F(Reservations, OfTwoJobsForOneNodeOnlyTheFirstHasOne) {
  nodes(2);
  for (int i = 0; i < 2; ++i) submit(1, 8, 10 * kHourMs);
  const JobId first = submit(1, 8, kHourMs), second = submit(1, 6, kHourMs, "bio");
  for (int i = 0; i < 3; ++i) {
    now += 2 * kMinuteMs;
    submit(2, 7, kMinuteMs, "bio");
    EXPECT_EQ(has_nodes(first) + has_nodes(second), 1) << i;
  }
  EXPECT_EQ(std::max(promised(first), promised(second)), kStart + 10 * kHourMs);
}

// Half of the reservations, while others wait.
TEST_F(Reservations, AnAccountHasHalfOfThemWhileOthersWait) {
  set_policy([](Policy& p) { p.queue.reserve_jobs = 4; });
  nodes(10);
  for (int i = 0; i < 10; ++i) submit(1, 8, 10 * kHourMs);
  std::vector<JobId> own;
  for (int i = 0; i < 3; ++i) own.push_back(submit(2, 8, kHourMs));
  const JobId other = submit(2, 8, kHourMs, "bio");
  const auto count = [&] {
    return std::count_if(own.begin(), own.end(), [&](JobId id) { return promised(id) != 0; });
  };
  now += 2 * kMinuteMs;
  submit(3, 8, kHourMs, "bio");
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(promised(other), kStart + 10 * kHourMs);
}

TEST_F(Reservations, WhereNoOtherWaitsAnAccountHasAllOfThem) {
  set_policy([](Policy& p) { p.queue.reserve_jobs = 4; });
  nodes(10);
  for (int i = 0; i < 10; ++i) submit(1, 8, 10 * kHourMs);
  std::vector<JobId> own;
  for (int i = 0; i < 5; ++i) own.push_back(submit(2, 8, kHourMs));
  now += 2 * kMinuteMs;
  submit(2, 8, kHourMs);
  EXPECT_EQ(std::count_if(own.begin(), own.end(), [&](JobId id) { return promised(id) != 0; }), 4);
  set_policy([](Policy& p) { p.queue.reserve_jobs = 3; });
  pass();
  EXPECT_EQ(std::count_if(own.begin(), own.end(), [&](JobId id) { return promised(id) != 0; }), 3);
  EXPECT_EQ(promised(own[3]), 0) << "of those that are too many the newest goes";
}

// To the millisecond.
TEST_F(Reservations, PatienceIsOverAfterAsLongAsThePolicySays) {
  nodes(2);
  for (int i = 0; i < 2; ++i) submit(1, 8, 10 * kHourMs);
  const JobId gang = submit(2, 8, kHourMs);
  now = kStart + kMinuteMs - 1;
  submit(2, 7, kHourMs);
  EXPECT_EQ(promised(gang), 0);
  now += 1;
  submit(2, 6, kHourMs);
  EXPECT_EQ(promised(gang), kStart + 10 * kHourMs);
}

// One end is a guess: a start can be estimated, and of such there is one.
TEST_F(Reservations, OneStartIsAnEstimate) {
  nodes(4);
  for (int i = 0; i < 4; ++i) submit(1, 8, 0);
  const JobId first = submit(2, 8, kHourMs), second = submit(2, 8, kHourMs, "bio");
  now += 2 * kMinuteMs;
  submit(3, 8, kHourMs);
  EXPECT_EQ(is_estimated(first) + is_estimated(second), 1);
}

}  // namespace
}  // namespace subak
