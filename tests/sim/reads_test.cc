// What the follower says of the queue is what the loop says, byte for byte: in random states, with
// an engine beside that only ever saw the facts. SUBAK_READ_STATES sets how many states (300).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "core/limits.h"
#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

constexpr int kInputsPerState = 40;
constexpr std::size_t kJobsAsked = 5;  // of each state

std::size_t states() {
  const char* const text = std::getenv("SUBAK_READ_STATES");
  return text ? std::strtoull(text, nullptr, 10) : 300;
}

std::string text_of(const Explanation& why) {
  std::ostringstream out;
  out << std::hexfloat << text::job_id_text(why.job.id) << " at " << why.position << "\n";
  for (const Reason& r : why.reasons) {
    out << enum_name(r.token) << " " << r.subject << " " << r.need << " " << r.have << " "
        << r.detail;
    for (const std::string& blocker : r.blockers) out << " " << blocker;
    out << "\n";
  }
  out << why.patience_until_ms;
  for (const std::string& node : why.reserved_nodes) out << " " << node;
  out << "\n";
  for (const RankStep& step : why.ranking) {
    out << step.node << ":\n";
    for (const RankStep::Entry& e : step.entries) {
      out << e.path << " " << e.shares << " " << e.target << " " << e.usage_gpu_seconds << " "
          << e.surplus_gpu_seconds << " " << e.alloc << " " << e.quota << " " << e.next << " "
          << e.on_path << "\n";
    }
  }
  return out.str();
}

std::string text_of(const Survey& survey) {
  std::ostringstream out;
  out << std::hexfloat;
  for (const Survey::OfCluster& c : survey.clusters) {
    out << c.id.value << " " << c.foreign << " " << c.fragmentation << " " << c.reserved_idle << " "
        << c.non_gpu.cpu_milli << " " << c.non_gpu.broken_nodes << " " << c.non_gpu.short_gpus
        << "\n";
  }
  for (const auto& [account, submit] : survey.oldest_submit)
    out << account.value << " " << submit << "\n";
  for (const JobId id : survey.head) out << text::job_id_text(id) << " ";
  for (const auto& [token, jobs] : survey.reasons) out << enum_name(token) << " " << jobs << "\n";
  return out.str();
}

// The walk that ranks a job is the one that decides: the first of all is the first at each node.
void expect_first_everywhere(const Explanation& why) {
  for (const RankStep& step : why.ranking) {
    ASSERT_FALSE(step.entries.empty());
    EXPECT_TRUE(step.entries.front().on_path) << text_of(why);
  }
}

// Everything that waits has its place, but what its account's hold keeps out of the order.
void expect_all_but_held(const Engine& loop, const QueueSnapshot& order) {
  std::size_t held = 0;
  for (const JobRow& job : loop.jobs(JobId(), limits::kMaxQueuedJobs, JobState::kQueued, "", "")) {
    if (order.position(job.id) > 0) continue;
    ++held;
    const auto why = loop.explain(job.id, loop.now(), 0);
    EXPECT_TRUE(std::any_of(why->reasons.begin(), why->reasons.end(), [](const Reason& r) {
      return r.token == ReasonToken::kOnHold;
    })) << text_of(*why);
  }
  EXPECT_EQ(order.order().size() + held, loop.count(JobState::kQueued));
}

void compare(const Engine& loop, const Engine& follower) {
  const QueueSnapshot order = loop.queue_snapshot();
  ASSERT_EQ(order.order(), follower.queue_snapshot().order());
  static QueueCopy copy;  // of all worlds, one after the other
  follower.copy_queue(copy);
  ASSERT_EQ(order.order(), copy.make().order());
  expect_all_but_held(loop, order);
  ASSERT_EQ(text_of(loop.survey()), text_of(follower.survey()));
  for (std::size_t i = 0; i < std::min(kJobsAsked, order.order().size()); ++i) {
    const JobId id = order.order()[i];
    ASSERT_EQ(order.position(id), i + 1);
    const auto why = loop.explain(id, loop.now(), i + 1);
    ASSERT_EQ(text_of(*why), text_of(*follower.explain(id, loop.now(), i + 1)));
    ASSERT_FALSE(why->reasons.empty());
    if (i == 0) expect_first_everywhere(*why);
    const auto first = loop.first_reason(id, i + 1);
    ASSERT_TRUE(first);
    for (const ReasonToken free : {ReasonToken::kNext, ReasonToken::kOutranked}) {
      ASSERT_EQ(first->token == free, why->reasons.front().token == free) << text_of(*why);
    }
  }
  for (const ClusterId cluster : {ClusterId(1), ClusterId(2)}) {
    if (loop.cluster_name(cluster).empty()) continue;
    const auto ours = loop.outstanding(cluster), theirs = follower.outstanding(cluster);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_EQ(to_text(ours[i]), to_text(theirs[i]));
  }
}

TEST(Reads, TheFollowersEqualTheLoops) {
  std::size_t waiting = 0;
  for (std::size_t state = 0; state < states();) {
    RandomWorld world({.seed = state + 1, .plain = false});
    Engine loop, follower;
    for (int part = 0; part < 25 && state < states(); ++part, ++state) {
      // To the end of an input that was a fact: then both have the same time.
      for (int i = 0; i < kInputsPerState || follower.now() != loop.now(); ++i) {
        const Input input = world.next(loop.next_deadline());
        const ApplyOutcome outcome = loop.apply(input);
        world.saw(input, outcome);
        for (const Fact& fact : outcome.facts) follower.evolve(fact);
      }
      if (loop.policy().order == OrderPolicy::kFifo) continue;
      compare(loop, follower);
      if (testing::Test::HasFatalFailure()) FAIL() << "state " << state;
      waiting += loop.count(JobState::kQueued);
    }
  }
  EXPECT_GT(waiting, states()) << "hardly anything waits";
}

}  // namespace
}  // namespace subak::sim
