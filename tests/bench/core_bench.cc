// Figures of the ready queue: time per pick and hold, time per job of long passes, bytes per queued
// job. Not a test: prints, decides nothing.
#include <malloc.h>
#include <time.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "queue/ready.h"

namespace subak {
namespace {

// Processor time: other work on the machine counts less.
class Stopwatch {
 public:
  double ns() const { return now() - start_; }

 private:
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  }
  double start_ = now();
};

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct World {
  AccountTree tree;
  ReadyQueue queue;
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
                      .submit_ms = now + static_cast<TimeMs>(i),
                      .milligpu = 1000 * (1 + static_cast<MilliGpu>(shape % 8)),
                      .product = {}});
    }
    const std::size_t before = heap_bytes();
    const Stopwatch watch;
    for (const ReadyJob& job : jobs) queue.add(job, tree);
    std::printf("  add: %.0f ns, %.1f bytes per queued job\n",
                watch.ns() / static_cast<double>(count),
                static_cast<double>(heap_bytes() - before) / static_cast<double>(count));
    now += static_cast<TimeMs>(count);
  }
  void start(ReadyQueue::Pass& pass, JobId id) {
    const ReadyJob& job = jobs[id.sequence() - 1];
    queue.remove(id);
    tree.hold(job.leaf, ProductId(1), job.milligpu, now);
    pass.started(id, job.leaf);
  }
};

void pick_and_hold(const char* name, MilliGpu quota) {
  std::printf("%s\n", name);
  World world;
  world.grow("", {6, 6, 6, 6, 7}, 0, quota);
  world.fill(1'000'000, 100);
  std::size_t picks = 0;
  const Stopwatch watch;
  for (;;) {
    world.now += static_cast<TimeMs>(world.random() % 100 + 1);
    ReadyQueue::Pass pass(world.queue, world.tree, OrderPolicy::kTargetShare, world.rule, nullptr,
                          world.now);
    const auto id = pass.next();
    if (!id) break;
    world.start(pass, *id);
    if (++picks % 250'000 == 0) {
      std::printf("  %zu picks: %.0f ns each\n", picks, watch.ns() / static_cast<double>(picks));
    }
  }
}

void drain(int queues, int each, OrderPolicy policy) {
  World world;
  for (int i = 0; i < queues; ++i) {
    world.leaves.push_back(world.account("q" + std::to_string(i), false));
  }
  std::printf("drain %d x %d, %s\n", queues, each, std::string(enum_name(policy)).c_str());
  world.fill(static_cast<std::size_t>(queues * each), 5);
  const Stopwatch watch;
  ReadyQueue::Pass pass(world.queue, world.tree, policy, world.rule, nullptr, world.now);
  std::size_t picks = 0;
  while (const auto id = pass.next()) {
    world.start(pass, *id);
    ++picks;
  }
  std::printf("  %.0f ns per job in one pass\n", watch.ns() / static_cast<double>(picks));
}

void idle() {
  std::printf("idle pass: 1,000,000 jobs of 100 shapes, none fits\n");
  World world;
  world.grow("", {6, 6, 6, 6, 7}, 0, 0);
  world.fill(1'000'000, 100);
  {
    const Stopwatch watch;
    ReadyQueue::Pass pass(world.queue, world.tree, OrderPolicy::kTargetShare, world.rule, nullptr,
                          world.now);
    std::printf("  first pass after an edit of the tree: %.1f us\n", watch.ns() / 1000);
  }
  for (const bool first : {true, false}) {
    const Stopwatch watch;
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
    std::printf("  %s: %.1f us, %d picks\n", first ? "blocked before" : "blocked one by one",
                watch.ns() / 1000, asked);
  }
  const Stopwatch watch;
  const auto order = world.queue.order(world.tree, OrderPolicy::kTargetShare, world.rule, nullptr,
                                       world.now, 50'000);
  std::printf("order() of %zu: %.1f ms\n", order.size(), watch.ns() / 1e6);
}

}  // namespace
}  // namespace subak

int main() {
  subak::pick_and_hold("pick and hold, 1,000,000 jobs, 10,000 accounts in 5 levels", 0);
  subak::pick_and_hold("the same, 36 departments with a quota of 50 GPUs", 50'000);
  subak::pick_and_hold("the same, quotas never filled", 1'000'000'000);
  for (const auto policy :
       {subak::OrderPolicy::kTargetShare, subak::OrderPolicy::kExact, subak::OrderPolicy::kFifo}) {
    subak::drain(30, 500, policy);
    subak::drain(1000, 4, policy);
  }
  subak::idle();
}
