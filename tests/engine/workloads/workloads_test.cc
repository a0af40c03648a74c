// The jobs of one workload: their numbers, and their place in the order of the queue.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/workloads/replicas.h"

namespace subak {
namespace {

class Workloads : public ReplicasTest {
 protected:
  // "3 of 5 run, 2 wait, 2 queued" of the job's workload; empty: the job has none.
  std::string numbers(const std::string& name) {
    const auto of = row(name).owners.siblings;
    if (!of) return "";
    return std::to_string(of->running) + " of " + std::to_string(of->jobs) + " run, " +
           std::to_string(of->waiting) + " wait, " + std::to_string(of->queued) + " queued";
  }
};

TEST_F(Workloads, CountWhatRunsAndWhatWaits) {
  for (const char* name : {"1", "2", "3", "4", "5"}) see("a", name, "llm");
  EXPECT_EQ(numbers("a/1"), "0 of 5 run, 5 wait, 5 queued");
  apply(in::Pass{});
  EXPECT_EQ(numbers("a/5"), "0 of 5 run, 2 wait, 2 queued") << "three start";
  for (const char* name : {"1", "2", "3"}) apply(in::PodBound{"k8s", {name, {}, 0}, "n0", now_});
  EXPECT_EQ(numbers("a/5"), "3 of 5 run, 2 wait, 2 queued");
  EXPECT_EQ(row("a/5").owners.siblings->kind, "Deployment");
  EXPECT_EQ(row("a/5").owners.siblings->name, "a/llm");
  gone("2");
  EXPECT_EQ(numbers("a/5"), "2 of 4 run, 2 wait, 2 queued");
  EXPECT_EQ(numbers("a/2"), "") << "a job that has ended is no sibling";
  pass();
  EXPECT_EQ(numbers("a/5"), "3 of 4 run, 1 wait, 1 queued");
}

TEST_F(Workloads, ArePartsOfOneAccountEach) {
  see("a", "1", "llm");
  see("b", "2", "llm");
  see("a", "3", "other");
  see("a", "4", "");
  EXPECT_EQ(numbers("a/1"), "0 of 1 run, 1 wait, 1 queued");
  EXPECT_EQ(numbers("b/2"), "0 of 1 run, 1 wait, 1 queued");
  EXPECT_EQ(numbers("a/3"), "0 of 1 run, 1 wait, 1 queued");
  EXPECT_EQ(numbers("a/4"), "");
}

TEST_F(Workloads, FollowAJobThatGetsAnAccount) {
  see("c", "1", "llm");
  see("c", "2", "llm");
  EXPECT_EQ(numbers("c/1"), "0 of 2 run, 2 wait, 0 queued");
  in::SetAccount set;
  set.spec.path = "c";
  set.spec.shares = 1;
  set.spec.namespaces = {"c"};
  apply(set);
  EXPECT_EQ(numbers("c/1"), "0 of 2 run, 2 wait, 2 queued");
}

TEST_F(Workloads, SurviveACheckpointAndALog) {
  for (const char* name : {"1", "2", "3", "4", "5"}) see("a", name, "llm");
  pass();
  Engine copy;
  for (const Fact& fact : engine_.checkpoint()) copy.evolve(fact);
  copy.set_seq(engine_.seq());
  copy.check_invariants();
  EXPECT_EQ(copy.digest(), engine_.digest());
  const auto of = copy.job(row("a/5").id, false)->owners.siblings;
  ASSERT_TRUE(of);
  EXPECT_EQ(of->name, "a/llm");
  EXPECT_EQ(of->running, 3u);
  EXPECT_EQ(of->waiting, 2u);
}

TEST_F(Workloads, AreFoundInTheOrder) {
  see("a", "1", "llm");
  see("b", "2", "");
  see("a", "3", "other");
  see("a", "4", "llm");
  see("b", "5", "");
  see("a", "6", "llm");
  const QueueSnapshot order = engine_.queue_snapshot();
  const auto place = [&](const std::string& name) { return order.position(row(name).id) - 1; };
  EXPECT_EQ(order.sibling_before(place("a/1")), std::nullopt);
  EXPECT_EQ(order.sibling_before(place("a/4")), place("a/1"));
  EXPECT_EQ(order.sibling_before(place("a/6")), place("a/4"));
  EXPECT_EQ(order.sibling_before(place("a/3")), std::nullopt);
  EXPECT_EQ(order.sibling_before(place("b/2")), std::nullopt);
  EXPECT_EQ(order.sibling_before(place("b/5")), std::nullopt) << "bare pods have no workload";
}

// The copy for another thread finds the same siblings as a plain search.
TEST_F(Workloads, AreFoundInAnyOrder) {
  std::mt19937 random(7);
  constexpr int kRounds = 20, kPods = 40;
  QueueCopy copy;
  for (int round = 0; round < kRounds; ++round) {
    for (int n = 0; n < kPods; ++n) {
      const std::string name = std::to_string(round) + "-" + std::to_string(n);
      PodRecord pod = record(random() % 2 ? "a" : "b", name, "w" + std::to_string(random() % 4));
      pod.shape.gpus = 1 + static_cast<std::int64_t>(random() % 2);
      pod.priority = static_cast<std::int32_t>(random() % 3);
      apply(in::PodSeen{"k8s", pod});
    }
    pass();
    for (const JobRow& job : engine_.jobs(JobId(), 1000, JobState::kRunning, ""))
      gone(job.name.substr(job.name.find('/') + 1));
    engine_.copy_queue(copy);
    const QueueSnapshot order = copy.make();
    const std::vector<JobId>& ids = order.order();
    ASSERT_EQ(ids.size(), engine_.count(JobState::kQueued));
    std::vector<std::string> groups;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const JobRow job = *engine_.job(ids[i], false);
      groups.push_back(job.account + " " + job.owners.siblings->name);
      std::optional<std::size_t> before;
      for (std::size_t k = 0; k < i; ++k) {
        if (groups[k] == groups[i]) before = k;
      }
      ASSERT_EQ(order.sibling_before(i), before) << "at " << i << " of round " << round;
    }
  }
}

}  // namespace
}  // namespace subak
