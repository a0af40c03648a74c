#include "accounting/limits/job_limits.h"

#include <gtest/gtest.h>

#include "accounting/quota/entitlement.h"
#include "accounting/quota/rule_text.h"
#include "core/account_limits.h"
#include "core/limits.h"
#include "tests/accounting/tree_fixture.h"

namespace subak {
namespace {

using test::TreeFixture;

TEST(JobLimits, ReadAListInAnyOrderAndWriteItInOne) {
  const auto limits = parse_job_limits("time=2d,jobs=20,queued=500,gpu-minutes=6000", "f");
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->jobs, 20);
  EXPECT_EQ(limits->queued, 500);
  EXPECT_EQ(limits->time_ms, 2 * kDayMs);
  EXPECT_EQ(limits->gpu_minutes, 6000);
  const std::string text = job_limits_text(*limits);
  EXPECT_EQ(text, "gpu-minutes=6000,jobs=20,queued=500,time=2d");
  EXPECT_EQ(*parse_job_limits(text, "f"), *limits);
  EXPECT_FALSE(parse_job_limits("", "f")->any());
  const auto user = parse_user_limits("jobs=2,H100=1,gpu=8", "f");
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(user_limits_text(*user), "H100=1,gpu=8,jobs=2");
}

TEST(JobLimits, RefuseWhatIsNoLimitAndNameIt) {
  const auto got = [](std::string_view text) { return parse_job_limits(text, "f").error().got; };
  EXPECT_EQ(got("jobs"), "jobs");
  EXPECT_EQ(got("jobs=2,cores=4"), "cores=4");
  EXPECT_EQ(got("jobs=2,jobs=3"), "jobs=3");
  EXPECT_EQ(got("jobs=two"), "jobs=two");
  EXPECT_EQ(got("time=0s"), "time=0s");
  EXPECT_EQ(got("jobs=2,"), ",");
  EXPECT_EQ(parse_user_limits("gpu=x", "f").error().field, "f");
}

TEST(JobLimits, HaveTheBoundsOfTheirNumbers) {
  const auto ok = [](const std::string& text) { return parse_job_limits(text, "f").ok(); };
  EXPECT_TRUE(ok("jobs=" + std::to_string(limits::kMaxJobLimit)));
  EXPECT_FALSE(ok("jobs=" + std::to_string(limits::kMaxJobLimit + 1)));
  EXPECT_TRUE(ok("queued=0"));
  EXPECT_FALSE(ok("queued=-1"));
  EXPECT_TRUE(ok("gpu-minutes=" + std::to_string(limits::kMaxGpuMinutes)));
  EXPECT_FALSE(ok("gpu-minutes=" + std::to_string(limits::kMaxGpuMinutes + 1)));
  EXPECT_TRUE(ok("time=" + std::to_string(limits::kMaxTimeLimitMs) + "ms"));
  EXPECT_FALSE(ok("time=" + std::to_string(limits::kMaxTimeLimitMs + 1) + "ms"));
}

TEST(JobSums, FlightFallsByTheRate) {
  JobSums sums{2, 3000, GpuTime::of(3000, 10 * kMinuteMs)};
  EXPECT_EQ(sums.in_flight(0), gpu_minutes(30));
  EXPECT_EQ(sums.in_flight(4 * kMinuteMs), gpu_minutes(18));
  sums += -JobSums{1, 1000, GpuTime::of(1000, 10 * kMinuteMs)};
  EXPECT_EQ(sums.jobs, 1);
  EXPECT_EQ(sums.in_flight(4 * kMinuteMs), gpu_minutes(12));
  EXPECT_EQ(whole_gpu_minutes(gpu_minutes(12)), 12);
  EXPECT_EQ(whole_gpu_minutes(gpu_minutes(12) + GpuTime::of(1, 1)), 13);
}

class JobLimitRules : public TreeFixture {
 protected:
  const ProductId h100{1};
  AccountId set_limits(const char* path, const char* jobs, const char* users) {
    AccountSpec spec = spec_of(path);
    spec.job_limits = jobs;
    spec.user_limits = users;
    return set(spec);
  }
  std::optional<Binding> asked(AccountId leaf, JobDemand job, Asking asking = Asking::kStart) {
    const ProductDemand two{h100, 2000};
    job.jobs = 1;
    return first_binding(tree, {leaf, {&two, 1}, job}, asking);
  }
};

TEST_F(JobLimitRules, CountJobsAtEachAccountOfThePath) {
  const AccountId ml = set_limits("ml", "jobs=2", ""), a = add("ml.a"), b = add("ml.b");
  tree.add_sums(a, {1, 0, {}});
  EXPECT_FALSE(asked(b, {}));
  tree.add_sums(b, {1, 0, {}});
  const auto rule = asked(b, {});
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->kind, BindingKind::kJobs);
  EXPECT_EQ(rule->subject, ml);
  EXPECT_EQ(rule->used, 2);
  EXPECT_FALSE(rule->never);
  EXPECT_EQ(rule_text(*rule, "account ml", ""),
            "account ml allows at most 2 jobs that hold GPUs at once");
  EXPECT_FALSE(asked(b, {}, Asking::kSubmit));
}

TEST_F(JobLimitRules, ATimeLimitIsNeverBeyondTheLongest) {
  const AccountId ml = set_limits("ml", "time=2h", "");
  EXPECT_FALSE(asked(ml, {1, 2 * kHourMs, 2 * kHourMs, 0}));
  for (const DurationMs limit : {DurationMs{0}, 2 * kHourMs + 1}) {
    const auto rule = asked(ml, {1, limit, limit, 0}, Asking::kSubmit);
    ASSERT_TRUE(rule) << limit;
    EXPECT_EQ(rule->kind, BindingKind::kTime);
    EXPECT_TRUE(rule->never && rule->of_job_alone());
  }
}

TEST_F(JobLimitRules, MinutesInFlightFallWithTime) {
  const AccountId ml = set_limits("ml", "gpu-minutes=100", "");
  tree.add_sums(ml, {1, 1000, GpuTime::of(1000, 60 * kMinuteMs)});
  const auto rule = asked(ml, {1, 30 * kMinuteMs, 30 * kMinuteMs, 0});
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->kind, BindingKind::kMinutes);
  EXPECT_EQ(rule->used, 60);
  EXPECT_EQ(rule->need, 60);
  EXPECT_EQ(rule->have, 40);
  EXPECT_EQ(rule->allows_at, 20 * kMinuteMs);
  EXPECT_TRUE(asked(ml, {1, 30 * kMinuteMs, 30 * kMinuteMs, 20 * kMinuteMs - 1}));
  EXPECT_FALSE(asked(ml, {1, 30 * kMinuteMs, 30 * kMinuteMs, 20 * kMinuteMs}));
  EXPECT_TRUE(asked(ml, {1, 0, 0, 0}, Asking::kSubmit));
  EXPECT_TRUE(asked(ml, {1, 51 * kMinuteMs, 51 * kMinuteMs, 0}, Asking::kSubmit)->never);
}

TEST_F(JobLimitRules, OfEachUserCountTheUsersOwnAccount) {
  const AccountId ml = set_limits("ml", "", "gpu=3,jobs=2"), team = add("ml.team");
  AccountSpec user = spec_of("ml.team/ana");
  user.user = true;
  const AccountId ana = set(user);
  user.path = "ml.team/bob";
  const AccountId bob = set(user);
  tree.hold(ana, h100, 2000, 0);
  tree.add_sums(ana, {1, 0, {}});
  const auto rule = asked(ana, {});
  ASSERT_TRUE(rule);
  EXPECT_TRUE(rule->per_user);
  EXPECT_EQ(rule->kind, BindingKind::kLimit);
  EXPECT_EQ(rule->subject, ml);
  EXPECT_EQ(rule->counted, ana);
  EXPECT_EQ(rule_text(*rule, "account ml", ""),
            "account ml allows each user at most 3 GPUs at once");
  EXPECT_FALSE(asked(bob, {}));
  EXPECT_FALSE(asked(team, {}));
  JobDemand fresh;
  fresh.new_user = true;
  EXPECT_FALSE(asked(team, fresh, Asking::kSubmit));
  const ProductDemand four{h100, 4000};
  fresh.jobs = 1;
  EXPECT_TRUE(first_binding(tree, {team, {&four, 1}, fresh}, Asking::kSubmit)->per_user);
}

}  // namespace
}  // namespace subak
