// What a pass remembers of the last one ends with time: a queue with a memory beside copies of it,
// which have none, while nothing happens but that time passes.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "queue/ready.h"

namespace subak {
namespace {

struct Teams {
  explicit Teams(std::uint64_t seed) : random(seed) {
    for (const char* path : {"a", "b", "c", "a.x", "a.y", "b.x", "b.y"}) add(path);
    for (const char* path :
         {"a.x/u", "a.x/v", "a.y/u", "a.y/v", "b.x/u", "b.y/u", "b.y/v", "c/u", "c/v", "c/w"}) {
      add(path);
      leaves.push_back(tree.find(path));
    }
    std::uint64_t jobs = 0;
    for (const AccountId leaf : leaves) {
      had(leaf);
      queue.add({.id = JobId(++jobs), .leaf = leaf, .shape = ShapeId(pick(4) + 1)}, tree);
    }
  }
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); }
  void add(const std::string& path) {
    AccountSpec spec;
    spec.path = path;
    spec.user = path.find('/') != std::string::npos;
    spec.shares = pick(3) + 1;
    tree.set(tree.next_id(), spec, 1, 0, {}, {});
  }
  // Some of what it had has ended, some of it runs.
  void had(AccountId leaf) {
    for (int i = 0; i < 3; ++i) {
      const MilliGpu amount = 1000 * (pick(8) + 1);
      tree.hold(leaf, ProductId(1), amount, kDayMs + pick(1000));
      if (pick(2) == 0) {
        tree.release(leaf, ProductId(1), amount, false, kDayMs + kHourMs * pick(20));
      }
    }
  }
  static std::optional<JobId> next(const ReadyQueue& queue, const AccountTree& tree, TimeMs now) {
    const TargetShareRule rule;
    ReadyQueue::Pass pass(queue, tree, OrderPolicy::kTargetShare, rule, nullptr, now);
    return pass.next();
  }

  std::mt19937_64 random;
  AccountTree tree{12 * kHourMs};
  ReadyQueue queue{[](ShapeId shape) { return ShapeCost{2000 * shape.value, {}}; }};
  std::vector<AccountId> leaves;
};

TEST(ReadyMemo, EndsBeforeTimeChangesTheOrder) {
  int changes = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Teams teams(seed);
    std::optional<JobId> last;
    TimeMs now = 2 * kDayMs;
    for (int i = 0; i < 150; ++i) {
      now += TimeMs{1} << teams.pick(23);
      const std::optional<JobId> next = Teams::next(teams.queue, teams.tree, now);
      ASSERT_EQ(next, Teams::next(*teams.queue.copy(), teams.tree, now)) << "seed " << seed;
      if (last && next != last) ++changes;
      last = next;
    }
  }
  EXPECT_GT(changes, 100);
}

}  // namespace
}  // namespace subak
