// The nodes that pools should get, in random worlds: if the wanted nodes come, exactly the jobs that wait for
// nodes start, and no pool gets more than its maximum.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/reason.h"
#include "engine/engine.h"
#include "engine/forecast/growth_run.h"
#include "tests/engine/inputs.h"

namespace subak {
namespace {

constexpr TimeMs kStart = 1'767'225'600'000;

NodePool pool_of(const std::string& name, std::uint32_t least, std::uint32_t most,
                 std::int64_t gpus) {
  NodePool pool{name, "main", {"pool", name}, least, most, {}};
  pool.node.product = "H100";
  pool.node.gpus = gpus;
  pool.node.labels = {pool.label, {"zone", name == "big" ? "a" : "b"}};
  return pool;
}

class World {
 public:
  explicit World(unsigned seed) : bits_(seed) {
    send(in::SetCluster{"main", Mode::kEnforce, {}, "test", false});
    for (const char* path : {"a", "b", "c"}) {
      in::SetAccount account;
      account.spec.path = path;
      account.reason = "test";
      if (below(2) == 0) account.spec.limit = {{"gpu", static_cast<MilliGpu>(below(40)) * 1000}};
      send(account);
    }
    Policy policy;
    policy.queue.node_pools = {pool_of("big", 0, static_cast<std::uint32_t>(1 + below(5)), 8),
                               pool_of("small", 1, 3, 4)};
    policy.reclaim = below(2) == 0;
    policy.patience_ms = below(2) == 0 ? 0 : kHourMs;
    send(in::SetPolicy{policy, {}});
    for (std::size_t i = below(4); i > 0; --i) {
      nodes_.push_back({});
      nodes_.back().name = "fixed" + std::to_string(i);
      nodes_.back().product = below(4) == 0 ? "A100" : "H100";
      nodes_.back().gpus = 8;
    }
    list_nodes();
  }

  void submit() {
    in::SubmitJob job;
    job.cluster = "main";
    job.account = std::string(1, static_cast<char>('a' + below(3)));
    job.priority = static_cast<std::int32_t>(below(3));
    PodGroup group;
    group.count = static_cast<std::uint32_t>(1 + below(3));
    group.shape.kind = GpuKind::kWhole;
    group.shape.gpus = static_cast<std::int64_t>(1 + below(8));
    if (below(3) == 0) group.shape.node_selector = {{"zone", below(2) == 0 ? "a" : "b"}};
    if (below(3) == 0) group.shape.products = {"H100"};
    if (below(3) == 0) job.request.terms.topology = Topology::kNode;
    job.request.groups.push_back(group);
    send(job);
  }
  void pass() { send(in::Pass{}); }
  Growth growth() { return plan_growth(engine.forecast_basis(engine.now())); }

  // Adds nodes of a pool, which take pods or not.
  void add(const NodePool& pool, std::size_t count, bool ready) {
    for (std::size_t i = 0; i < count; ++i) {
      NodeSpec node = pool.node;
      node.name = pool.name + std::to_string(nodes_.size());
      node.ready = ready;
      nodes_.push_back(std::move(node));
    }
    list_nodes();
  }
  void make_ready() {
    for (NodeSpec& node : nodes_) node.ready = true;
    list_nodes();
  }
  std::set<JobId> queued() const {
    std::set<JobId> out;
    for (const JobRow& row : engine.queue(1000)) out.insert(row.id);
    return out;
  }
  std::size_t below(std::size_t n) { return bits_() % n; }

  Engine engine;

 private:
  void list_nodes() { send(in::ImportNodes{"main", nodes_, "test", false}); }
  void send(in::Body body) {
    now_ += kSecondMs;
    const ApplyOutcome outcome = engine.apply(at(now_, std::move(body)));
    engine.check_invariants();
    // A limit may refuse a job, but no input is wrong.
    EXPECT_TRUE(!outcome.reply.error || outcome.reply.error->code != ErrorCode::kInvalid);
  }

  std::mt19937 bits_;
  TimeMs now_ = kStart;
  std::vector<NodeSpec> nodes_;
};

void expect_reasons(World& world, const Growth& growth) {
  for (const Growth::Job& job : growth.jobs) {
    const std::vector<Reason> all = world.engine.reasons(job.job, 0, &growth);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front().token, ReasonToken::kWaitingForNodes);
    EXPECT_EQ(world.engine.first_reason(job.job, 0, &growth)->token, ReasonToken::kWaitingForNodes);
    EXPECT_EQ(world.engine.first_reason(job.job, 0, &growth)->need, all.front().need);
    std::uint32_t nodes = 0;
    for (const Growth::Part& part : job.parts) nodes += part.nodes;
    EXPECT_EQ(all.front().need, nodes);
  }
}

void expect_same_after_restart(World& world, const Growth& growth) {
  Engine restored;
  for (const Fact& fact : world.engine.checkpoint()) restored.evolve(fact);
  restored.set_seq(world.engine.seq());
  const Growth again = plan_growth(restored.forecast_basis(world.engine.now()));
  EXPECT_EQ(again.pools, growth.pools);
  EXPECT_EQ(again.jobs, growth.jobs);
}

void check(World& world) {
  world.pass();
  const Growth growth = world.growth();
  ASSERT_EQ(growth.pools.size(), 2);
  std::set<JobId> waits_for_nodes;
  for (const Growth::Job& job : growth.jobs) waits_for_nodes.insert(job.job);
  const std::set<JobId> before = world.queued();
  EXPECT_TRUE(
      std::includes(before.begin(), before.end(), waits_for_nodes.begin(), waits_for_nodes.end()));
  expect_reasons(world, growth);
  expect_same_after_restart(world, growth);

  const std::vector<NodePool> pools = world.engine.policy().queue.node_pools;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    EXPECT_LE(growth.pools[i].present + growth.pools[i].wanted, growth.pools[i].most);
    EXPECT_GE(growth.pools[i].present + growth.pools[i].wanted, growth.pools[i].least);
    world.add(pools[i], growth.pools[i].wanted, false);
  }
  // While the nodes start, nothing more is wanted, and the same jobs wait.
  const Growth starting = world.growth();
  EXPECT_EQ(starting.jobs, growth.jobs);
  for (std::size_t i = 0; i < pools.size(); ++i) {
    EXPECT_EQ(starting.pools[i].starting, growth.pools[i].wanted);
    EXPECT_EQ(starting.pools[i].wanted, 0);
  }
  world.make_ready();
  world.pass();
  std::set<JobId> started = before;
  for (const JobId id : world.queued()) started.erase(id);
  EXPECT_EQ(started, waits_for_nodes);
}

TEST(Growth, WantedNodesStartTheJobsThatWaitForThem) {
  std::size_t found = 0;
  for (unsigned seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    for (std::size_t i = 0; i < 1 + world.below(10); ++i) world.submit();
    world.pass();
    found += world.growth().jobs.size();
    check(world);
    for (std::size_t i = 0; i < world.below(4); ++i) world.submit();
    check(world);
  }
  EXPECT_GT(found, 100);
}

TEST(Growth, WithoutPoolsThereIsNothing) {
  Engine engine;
  engine.apply(at(kStart, in::SetCluster{"main", Mode::kEnforce, {}, "test", false}));
  const Growth growth = plan_growth(engine.forecast_basis(engine.now()));
  EXPECT_TRUE(growth.pools.empty() && growth.jobs.empty());
  EXPECT_EQ(growth.find(JobId(ClusterId(1), 1)), nullptr);
}

}  // namespace
}  // namespace subak
