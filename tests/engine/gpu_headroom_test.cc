// Pods without GPUs, and what the policy keeps from them beside free GPUs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/engine.h"
#include "inputs.h"

namespace subak {
namespace {

// A launcher without GPUs and one worker, which ask for so much CPU.
GangRequest with_launcher(std::int64_t launcher_cpus, std::int64_t worker_cpus) {
  GangRequest r;
  r.groups.resize(2);
  r.groups[0].shape.cpu_milli = launcher_cpus * 1000;
  r.groups[1].shape.kind = GpuKind::kWhole;
  r.groups[1].shape.gpus = 1;
  r.groups[1].shape.cpu_milli = worker_cpus * 1000;
  for (PodGroup& g : r.groups) g.count = 1;
  return r;
}

in::SubmitJob submit(const GangRequest& request) {
  in::SubmitJob job;
  job.cluster = "main";
  job.account = "a";
  job.request = request;
  return job;
}

void set_up_beside(Engine& engine, std::int64_t cpus_per_gpu) {
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  in::ImportNodes import;
  import.cluster = "main";
  NodeSpec node;
  node.name = "n0";
  node.product = "H100";
  node.gpus = 8;
  node.cpu_milli = 64'000;
  import.nodes = {node};
  engine.apply(at(0, import));
  in::SetAccount account;
  account.spec.path = "a";
  engine.apply(at(0, account));
  in::SetPolicy set;
  set.policy.gpu_headroom.cpu_milli = cpus_per_gpu * 1000;
  ASSERT_FALSE(engine.apply(at(0, set)).reply.error);
}

TEST(Beside, WhatIsKeptBesideGpusMayChange) {
  Engine engine;
  set_up_beside(engine, 8);
  const JobId id = engine.apply(at(1, submit(with_launcher(20, 4)))).reply.job;
  engine.apply(at(1, in::Pass{}));
  EXPECT_EQ(engine.job(id, false)->state, JobState::kQueued);
  const std::vector<Reason> why = engine.reasons(id, 1);
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].token, ReasonToken::kNodeResources);
  EXPECT_NE(why[0].detail.find("(cpuPerGpu)"), std::string::npos) << why[0].detail;
  in::SetPolicy set{engine.policy(), {}};
  set.policy.gpu_headroom.cpu_milli = 6000;
  engine.apply(at(2, set));
  engine.apply(at(2, in::Pass{}));
  EXPECT_EQ(engine.job(id, false)->state, JobState::kQueued) << "42 are kept, 40 would be left";
  set.policy.gpu_headroom.cpu_milli = 5000;
  engine.apply(at(3, set));
  EXPECT_TRUE(engine.pass_due());
  engine.apply(at(3, in::Pass{}));
  EXPECT_EQ(engine.job(id, false)->state, JobState::kStarting);
  engine.check_invariants();
}

// GPUs that are taken with less CPU than was kept for them: who came first has a place then, in the same pass.
TEST(Beside, AStartMayMakeRoomForALauncher) {
  Engine engine;
  set_up_beside(engine, 8);
  const JobId id = engine.apply(at(1, submit(with_launcher(8, 8)))).reply.job;
  engine.apply(at(1, in::Pass{}));
  EXPECT_EQ(engine.job(id, false)->state, JobState::kQueued);
  EXPECT_FALSE(engine.pass_due());
  GangRequest worker = with_launcher(0, 0);
  worker.groups.erase(worker.groups.begin());
  const JobId other = engine.apply(at(2, submit(worker))).reply.job;
  engine.apply(at(2, in::Pass{}));
  EXPECT_EQ(engine.job(other, false)->state, JobState::kStarting);
  EXPECT_EQ(engine.job(id, false)->state, JobState::kStarting);
  EXPECT_FALSE(engine.pass_due());
  engine.check_invariants();
}

}  // namespace
}  // namespace subak
