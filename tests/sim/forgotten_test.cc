// What was only looked at, and what has ended, leaves no shape and no filter behind.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

constexpr int kInputs = 3000;

struct Played {
  explicit Played(std::uint64_t seed) : world({seed, seed % 2 == 0}) {}

  void apply(in::Body body) {
    Input input;
    input.time_ms = engine.now();
    input.actor = "ana";
    input.body = std::move(body);
    engine.apply(input);
  }
  void step() {
    const Input input = world.next(engine.next_deadline());
    world.saw(input, engine.apply(input));
  }
  std::vector<JobRow> live() const {
    std::vector<JobRow> rows = engine.jobs(JobId(), 100'000, std::nullopt, "", "");
    std::erase_if(rows, [](const JobRow& r) { return r.state == JobState::kDone; });
    return rows;
  }
  void end(const JobRow& row) {
    apply(in::CancelJob{row.id, "the end"});
    const auto job = engine.job(row.id, true);
    for (const PodRow& pod : job->pods) {
      apply(in::PodGone{row.cluster, {pod.uid, row.id, pod.rank}, 0, Cause::kFinished});
    }
    // If the job is parked, it has the name of its owner, or of a pod "own-OWNER-RANK".
    in::OwnerSeen gone{row.cluster, ParkedOwner::kGone, {}, {}};
    gone.pod.ns = row.name.substr(0, row.name.find('/'));
    gone.pod.name = row.name.substr(row.name.find('/') + 1);
    if (gone.pod.name.starts_with("own-"))
      gone.pod.name = gone.pod.name.substr(0, gone.pod.name.find('-', 4));
    gone.pod.uid = gone.pod.owner = "uid-" + gone.pod.name;
    apply(gone);
  }

  RandomWorld world;
  Engine engine;
};

class Forgotten : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Forgotten, AfterTheEndNoShapeAndNoFilterIsLeft) {
  Played played(GetParam());
  std::set<std::string> asked;
  std::size_t most = 0;
  for (int i = 0; i < kInputs; ++i) {
    played.step();
    most = std::max(most, played.engine.fleet().shapes().in_use());
    if (i % 100 != 0) continue;
    std::set<std::string> live;
    for (const JobRow& row : played.live()) {
      for (const PodGroup& g : row.request.groups) live.insert(to_text(g));
      live.insert(to_text(row.request));
    }
    // One for each live request, and one for each pod that is not part of a whole gang yet.
    ASSERT_LE(played.engine.fleet().shapes().in_use(), 2 * live.size());
  }
  ASSERT_GT(most, 10u);
  for (const JobRow& row : played.live()) played.end(row);
  ASSERT_TRUE(played.live().empty());
  EXPECT_EQ(played.engine.fleet().shapes().in_use(), 0u);
  EXPECT_EQ(played.engine.filters(), 0u);
  played.engine.check_invariants();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Forgotten, testing::Range<std::uint64_t>(1, 9));

TEST(Forgotten, ACheckOfASubmissionLeavesNothing) {
  Played played(1);
  for (int i = 0; i < 60; ++i) played.step();  // clusters, accounts, nodes
  for (const JobRow& row : played.live()) played.end(row);
  in::SubmitJob job;
  job.cluster = "bare";
  job.account = "ml";
  job.request.groups.emplace_back();
  job.request.groups[0].shape.kind = GpuKind::kWhole;
  job.request.groups[0].shape.gpus = 3;
  job.validate_only = true;
  for (std::int64_t cpu = 0; cpu < 100; ++cpu) {
    job.request.groups[0].shape.cpu_milli = cpu;
    played.apply(job);
  }
  EXPECT_EQ(played.engine.fleet().shapes().in_use(), 0u);
  EXPECT_LT(played.engine.fleet().shapes().numbers(), 100u);  // numbers are used again
  EXPECT_EQ(played.engine.filters(), 0u);
}

}  // namespace
}  // namespace subak::sim
