// What a pass remembers of the last one: a queue with a memory beside copies of it, which have none,
// while nothing happens but that time passes, and while jobs come, start and end.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "queue/ready.h"

namespace subak {
namespace {

struct Teams {
  // `alike`: all with the same shares, none has had anything.
  explicit Teams(std::uint64_t seed, bool all_alike = false) : random(seed), alike(all_alike) {
    for (const char* path : {"a", "b", "c", "a.x", "a.y", "b.x", "b.y"}) add(path);
    for (const char* path :
         {"a.x/u", "a.x/v", "a.y/u", "a.y/v", "b.x/u", "b.y/u", "b.y/v", "c/u", "c/v", "c/w"}) {
      add(path);
      leaves.push_back(tree.find(path));
    }
    for (const AccountId leaf : leaves) {
      if (alike) continue;
      had(leaf);
      submit(leaf, 1);
    }
  }
  static MilliGpu cost(ShapeId shape) { return 2000 * shape.value; }
  void submit(AccountId leaf, std::uint32_t classes) {
    const ShapeId shape(alike ? 1 + 31 * pick(2) : pick(4) + 1);
    ReadyJob job{.id = JobId(jobs.size() + 1), .leaf = leaf, .shape = shape};
    job.priority = static_cast<std::int32_t>(pick(classes));
    queue.add(job, tree);
    jobs.push_back(job);
  }
  void start(JobId id, TimeMs now) {
    const ReadyJob& job = jobs[id.value - 1];
    queue.remove(id);
    tree.hold(job.leaf, ProductId(1), cost(job.shape), now);
    running.push_back(job);
  }
  void end_one(TimeMs now) {
    if (running.empty()) return;
    std::swap(running[pick(static_cast<std::uint32_t>(running.size()))], running.back());
    tree.release(running.back().leaf, ProductId(1), cost(running.back().shape), false, now);
    running.pop_back();
  }
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); }
  void add(const std::string& path) {
    AccountSpec spec;
    spec.path = path;
    spec.user = path.find('/') != std::string::npos;
    spec.shares = alike ? 1 : pick(3) + 1;
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
  bool alike;
  AccountTree tree{12 * kHourMs};
  ReadyQueue queue{[](ShapeId shape) { return ShapeCost{cost(shape), {}}; }};
  std::vector<AccountId> leaves;
  std::vector<ReadyJob> jobs, running;  // all that ever waited, by id; those that hold GPUs
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

// Several starts in a pass, passes close together and far apart, and between them what else changes
// an account: each answer is that of a queue which has never been asked.
TEST(ReadyMemo, StandsWhileJobsComeStartAndEnd) {
  const TargetShareRule rule;
  std::size_t started = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Teams teams(seed);
    TimeMs now = 2 * kDayMs;
    for (int i = 0; i < 200; ++i) {
      now += TimeMs{1} << teams.pick(seed % 2 == 0 ? 10 : 26);
      if (teams.pick(3) != 0) {
        const auto leaf = teams.pick(static_cast<std::uint32_t>(teams.leaves.size()));
        teams.submit(teams.leaves[leaf], 1 + static_cast<std::uint32_t>(seed % 3));
      }
      if (teams.pick(3) == 0) teams.end_one(now);
      ReadyQueue::Pass pass(teams.queue, teams.tree, OrderPolicy::kTargetShare, rule, nullptr, now);
      for (std::uint32_t starts = teams.pick(4); starts > 0; --starts) {
        const std::optional<JobId> next = pass.next();
        ASSERT_EQ(next, Teams::next(*teams.queue.copy(), teams.tree, now))
            << "seed " << seed << ", step " << i;
        if (!next) break;
        teams.start(*next, now);
        pass.started(*next, teams.jobs[next->value - 1].leaf);
        ++started;
      }
    }
  }
  EXPECT_GT(started, 30'000u);
}

// Many ties: of accounts that have had nothing, which stay, and of such that have had the same.
TEST(ReadyMemo, StandsAmongAccountsThatAreAlike) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Teams teams(seed, true);
    std::vector<AccountId> holding;
    const auto some_leaf = [&] {
      return teams.leaves[teams.pick(static_cast<std::uint32_t>(teams.leaves.size()))];
    };
    TimeMs now = 2 * kDayMs;
    for (int i = 0; i < 60; ++i) {
      now += kHourMs * teams.pick(3);
      if (teams.pick(2) == 0) teams.submit(some_leaf(), 1);
      if (teams.pick(3) == 0) {
        for (int leaves = 0; leaves < 2; ++leaves) {
          holding.push_back(some_leaf());
          teams.tree.hold(holding.back(), ProductId(1), 8000, now);
        }
      }
      for (; teams.pick(4) == 0 && !holding.empty(); holding.pop_back()) {
        teams.tree.release(holding.back(), ProductId(1), 8000, false, now);
      }
      ASSERT_EQ(Teams::next(teams.queue, teams.tree, now),
                Teams::next(*teams.queue.copy(), teams.tree, now))
          << "seed " << seed << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace subak
