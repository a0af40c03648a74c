// The ledger's meters and the ready queue: a start or end, the next job of a million.
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "queue/ready.h"
#include "row.h"

namespace subak {
namespace {

ShapeCost cost_of(ShapeId shape) {
  return {1000 * (1 + static_cast<MilliGpu>(shape.value % 8)), {}};
}

struct World {
  AccountTree tree;
  ReadyQueue queue{cost_of};
  TargetShareRule rule;
  std::vector<AccountId> leaves;
  std::vector<ReadyJob> jobs;
  TimeMs now = 1'700'000'000'000;
  std::mt19937_64 random{42};

  AccountId account(const std::string& path, bool user, MilliGpu quota_milligpu = 0) {
    AccountSpec spec;
    spec.path = path;
    spec.user = user;
    spec.shares = static_cast<std::int64_t>(random() % 10 + 1);
    std::vector<std::pair<ProductId, MilliGpu>> quota;
    if (quota_milligpu != 0) {
      spec.quota = {{kAnyProduct, quota_milligpu}};
      quota = {{ProductId(), quota_milligpu}};
    }
    const AccountId id = tree.next_id();
    tree.set(id, spec, 1, now, quota, {});
    return id;
  }
  void grow(const std::string& path, const std::vector<int>& fan, std::size_t level,
            MilliGpu quota) {
    for (int i = 0; i < fan[level]; ++i) {
      const bool user = level + 1 == fan.size();
      const std::string label = "n" + std::to_string(i);
      const std::string child = path.empty() ? label : path + (user ? "/" : ".") + label;
      const AccountId id = account(child, user, level == 1 ? quota : 0);
      if (user) {
        leaves.push_back(id);
      } else {
        grow(child, fan, level + 1, quota);
      }
    }
  }
  void fill(std::size_t count, std::uint32_t shapes) {
    jobs.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto shape = static_cast<std::uint32_t>(random() % shapes + 1);
      jobs.push_back({.id = JobId(ClusterId(1), i + 1),
                      .leaf = leaves[random() % leaves.size()],
                      .shape = ShapeId(shape),
                      .priority = static_cast<std::int32_t>(random() % 3),
                      .submit_ms = now + static_cast<TimeMs>(i)});
    }
    const std::size_t before = bench::heap_bytes();
    const bench::Stopwatch watch;
    for (const ReadyJob& job : jobs) queue.add(job, tree);
    std::fprintf(stderr, "  add: %.0f ns, %.1f bytes per queued job\n",
                 watch.ns() / static_cast<double>(count),
                 static_cast<double>(bench::heap_bytes() - before) / static_cast<double>(count));
    now += static_cast<TimeMs>(count);
  }
  void start(ReadyQueue::Pass& pass, JobId id) {
    const ReadyJob& job = jobs[id.sequence() - 1];
    queue.remove(id);
    tree.hold(job.leaf, ProductId(1), cost_of(job.shape).milligpu, now);
    pass.started(id, job.leaf);
  }
};

double pick_and_hold(const char* name, MilliGpu quota) {
  std::fprintf(stderr, "%s\n", name);
  World world;
  world.grow("", {6, 6, 6, 6, 7}, 0, quota);
  world.fill(1'000'000, 100);
  std::size_t picks = 0;
  const bench::Stopwatch watch;
  for (;;) {
    world.now += static_cast<TimeMs>(world.random() % 100 + 1);
    ReadyQueue::Pass pass(world.queue, world.tree, OrderPolicy::kTargetShare, world.rule, nullptr,
                          world.now);
    const auto id = pass.next();
    if (!id) break;
    world.start(pass, *id);
    if (++picks % 250'000 == 0) {
      std::fprintf(stderr, "  %zu picks: %.0f ns each\n", picks,
                   watch.ns() / static_cast<double>(picks));
    }
  }
  return watch.ns() / static_cast<double>(picks) / 1000;
}

void drain(int queues, int each, OrderPolicy policy) {
  World world;
  for (int i = 0; i < queues; ++i) {
    world.leaves.push_back(world.account("q" + std::to_string(i), false));
  }
  std::fprintf(stderr, "drain %d x %d, %s\n", queues, each, std::string(enum_name(policy)).c_str());
  world.fill(static_cast<std::size_t>(queues) * static_cast<std::size_t>(each), 5);
  const bench::Stopwatch watch;
  ReadyQueue::Pass pass(world.queue, world.tree, policy, world.rule, nullptr, world.now);
  std::size_t picks = 0;
  while (const auto id = pass.next()) {
    world.start(pass, *id);
    ++picks;
  }
  std::fprintf(stderr, "  %.0f ns per job in one pass\n", watch.ns() / static_cast<double>(picks));
}

void idle() {
  std::fprintf(stderr, "idle pass: 1,000,000 jobs of 100 shapes, none fits\n");
  World world;
  world.grow("", {6, 6, 6, 6, 7}, 0, 0);
  world.fill(1'000'000, 100);
  {
    const bench::Stopwatch watch;
    ReadyQueue::Pass pass(world.queue, world.tree, OrderPolicy::kTargetShare, world.rule, nullptr,
                          world.now);
    std::fprintf(stderr, "  first pass after an edit of the tree: %.1f us\n", watch.ns() / 1000);
  }
  for (const bool first : {true, false}) {
    const bench::Stopwatch watch;
    ReadyQueue::Pass pass(world.queue, world.tree, OrderPolicy::kTargetShare, world.rule, nullptr,
                          world.now);
    if (first) {
      for (const ShapeId shape : world.queue.waiting_shapes()) pass.block_shape(shape);
    }
    int asked = 0;
    while (const auto id = pass.next()) {
      pass.block_shape(world.jobs[id->sequence() - 1].shape);
      ++asked;
    }
    std::fprintf(stderr, "  %s: %.1f us, %d picks\n",
                 first ? "blocked before" : "blocked one by one", watch.ns() / 1000, asked);
  }
  const bench::Stopwatch watch;
  const auto order = world.queue.order(world.tree, OrderPolicy::kTargetShare, world.rule, nullptr,
                                       world.now, 50'000);
  std::fprintf(stderr, "order() of %zu: %.1f ms\n", order.size(), watch.ns() / 1e6);
}

// Random starts and ends on one meter, and on a user's whole path of a tree of five levels.
void usage_events() {
  constexpr int kEvents = 5'000'000;
  std::mt19937_64 random(3);
  std::vector<DurationMs> steps(4096);
  for (auto& step : steps) step = static_cast<DurationMs>(random() % 5000);
  const DecayClock clock(7 * kDayMs);
  DecayedMeter meter;
  TimeMs t = 1'700'000'000'000;
  const bench::Stopwatch events;
  for (int i = 0; i < kEvents; ++i) {
    t += steps[static_cast<std::size_t>(i) % steps.size()];
    meter.change_rate(clock, (i & 1) == 0 ? 8000 : -8000, t);
  }
  const double ours = events.ns() / kEvents;
  bench::keep(meter.value(clock, t));

  t = 1'700'000'000'000;
  double sum = 0;
  const bench::Stopwatch bare;
  for (int i = 0; i < kEvents; ++i) {
    t += steps[static_cast<std::size_t>(i) % steps.size()];
    const double x = static_cast<double>(t & 0xffffff) * 0x1p-24;
    sum += exp2_exact(x) * 8000;
  }
  bench::row("usage_event_ns", ours, "ns", bare.ns() / kEvents, bench::Better::kLess,
             "one exp2 and one addition an event");
  bench::keep(sum);

  World world;
  world.grow("", {6, 6, 6, 6, 7}, 0, 0);
  const bench::Stopwatch path;
  constexpr int kJobs = 500'000;
  for (int i = 0; i < kJobs; ++i) {
    world.now += steps[static_cast<std::size_t>(i) % steps.size()];
    const AccountId leaf = world.leaves[static_cast<std::size_t>(random() % world.leaves.size())];
    world.tree.hold(leaf, ProductId(1), 8000, world.now);
  }
  std::fprintf(stderr, "a start on a path of five levels, usage, surplus and limits: %.0f ns\n",
               path.ns() / kJobs);
}

}  // namespace
}  // namespace subak

int main() {
  using namespace subak;
  usage_events();
  const double mean_us =
      pick_and_hold("pick and hold, 1,000,000 jobs, 10,000 accounts in 5 levels", 0);
  bench::row("next_job_us", mean_us, "us");
  pick_and_hold("the same, 36 departments with a quota of 50 GPUs", 50'000);
  pick_and_hold("the same, quotas never filled", 1'000'000'000);
  for (const auto policy : {OrderPolicy::kTargetShare, OrderPolicy::kExact, OrderPolicy::kFifo}) {
    drain(30, 500, policy);
    drain(1000, 4, policy);
  }
  idle();
}
