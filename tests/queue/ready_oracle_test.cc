// The queue against the oracle: thousands of random operations on a small tree, each pick compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "naive.h"
#include "queue/ready.h"

namespace subak {
namespace {

constexpr int kOperations = 24'000;

class World {
 public:
  World(OrderPolicy policy, std::uint64_t seed)
      : policy_(policy), random_(seed), tick_(kHourMs, 5 * kMinuteMs, true, now_) {
    for (std::uint32_t shape = 1; shape <= 6; ++shape) set_cost(ShapeId(shape));
    for (const char* path : {"a", "b", "c", "a.x", "a.y", "a.y.deep", "b.x", "b.y", "b.z"})
      edit(path);
    for (const char* path : {"a.x/u", "a.x/v", "a.x/w", "b.x/u", "b.x/v", "c/u", "c/v"}) edit(path);
    for (int i = 0; i < 40; ++i) wide_.push_back("b.z/n" + std::to_string(i));
    for (int i = 0; i < 40; ++i) wide_.push_back("c.n" + std::to_string(i));
    wide_part_ = seed % 2 == 0 ? 80 : 25;
  }

  void step() {
    const std::uint64_t what = pick(100);
    ++operations_;
    if (what < 45) {
      for (std::uint64_t i = jobs_.size() < 120 ? pick(12) + 1 : 0; i > 0; --i) add();
    } else if (what < 52) {
      remove();
    } else if (what < 60) {
      end_one();
    } else if (what < 66) {
      now_ += static_cast<TimeMs>(pick(40 * kMinuteMs));
    } else if (what < 72) {
      edit(random_path());
    } else if (what < 75) {
      compare_order();
    } else if (what < 78) {
      set_cost(ShapeId(static_cast<std::uint32_t>(pick(6) + 1)));
      queue_.costs_changed();
    } else {
      run_pass();
    }
    if (operations_ % 100 == 0) {
      queue_.check_invariants();
      compare_reads();
    }
  }
  int operations() const { return operations_; }
  int picks() const { return picks_; }

 private:
  struct Running {
    ReadyJob job;
    ShapeCost cost;
    TimeMs since;
  };
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void set_cost(ShapeId shape) {
    const MilliGpu sizes[] = {125, 1000, 1000, 2000, 8000};
    costs_[shape] = {sizes[pick(5)], ProductId(static_cast<std::uint16_t>(pick(3)))};
  }

  std::string random_path() {
    if (pick(100) < wide_part_) return wide_[pick(wide_.size())];
    const auto all = tree_.preorder();
    return tree_.node(all[1 + pick(all.size() - 1)]).spec.path;
  }

  void edit(const std::string& path) {
    AccountSpec spec;
    spec.path = path;
    spec.user = path.find('/') != std::string::npos;
    spec.shares = static_cast<std::int64_t>(pick(5));
    spec.held = pick(12) == 0;
    std::vector<std::pair<ProductId, MilliGpu>> quota;
    const std::uint64_t kind = pick(4);
    if (kind == 1) {
      quota = {{ProductId(), static_cast<MilliGpu>(pick(20) + 1) * 1000}};
    } else if (kind == 2) {
      quota = {{ProductId(1), static_cast<MilliGpu>(pick(10) + 1) * 1000},
               {ProductId(2), static_cast<MilliGpu>(pick(10) + 1) * 1000}};
    }
    if (kind == 1) spec.quota = {{kAnyProduct, quota[0].second}};
    if (kind == 2) spec.quota = {{"p1", quota[0].second}, {"p2", quota[1].second}};
    AccountId id = tree_.find(path);
    if (!id) id = tree_.next_id();
    tree_.set(id, spec, 1, now_, quota, {});
  }

  void add() {
    std::string path = random_path();
    if (!tree_.find(path)) edit(path);
    ReadyJob job{.id = JobId(++last_id_),
                 .leaf = tree_.find(path),
                 .shape = ShapeId(static_cast<std::uint32_t>(pick(6) + 1)),
                 .priority = static_cast<std::int32_t>(pick(3)),
                 .submit_ms = now_ - static_cast<TimeMs>(pick(5)) * kMinuteMs};
    jobs_.push_back(job);
    queue_.add(job, tree_);
  }

  ReadyJob take_out(JobId id) {
    const auto it =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const ReadyJob& j) { return j.id == id; });
    const ReadyJob job = *it;
    jobs_.erase(it);
    queue_.remove(id);
    return job;
  }
  void remove() {
    if (!jobs_.empty()) take_out(jobs_[pick(jobs_.size())].id);
  }

  static ProductId product_of(const ShapeCost& cost) {
    return cost.product ? cost.product : ProductId(1);
  }

  void end_one() {
    if (running_.empty()) return;
    const std::size_t i = pick(running_.size());
    tick_.advance(tree_, now_);
    const Running r = running_[i];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    tree_.release(r.job.leaf, product_of(r.cost), r.cost.milligpu, false, now_);
    tick_.job_end(r.job.leaf, r.cost.milligpu, r.since, now_);
  }

  void start(const ReadyJob& job) {
    const ShapeCost cost = costs_.at(job.shape);
    tree_.hold(job.leaf, product_of(cost), cost.milligpu, now_);
    tick_.job_start(job.leaf, cost.milligpu, now_);
    running_.push_back({job, cost, now_});
  }

  AccountId ancestor(AccountId id) {
    while (tree_.node(id).parent && pick(2) == 0) id = tree_.node(id).parent;
    return id;
  }

  void run_pass() {
    tick_.advance(tree_, now_);
    ReadyQueue::Pass pass(queue_, tree_, policy_, rule_, &tick_, now_);
    NaivePass naive(jobs_, costs_, tree_, policy_, rule_, &tick_, now_);
    const std::uint64_t most = pick(25);
    for (std::uint64_t i = 0; i < most; ++i) {
      const std::optional<JobId> id = pass.next();
      ++operations_;
      ++picks_;
      ASSERT_EQ(id, naive.next());
      ASSERT_EQ(id, pass.next());
      if (!id) break;
      const auto it =
          std::find_if(jobs_.begin(), jobs_.end(), [&](const ReadyJob& j) { return j.id == *id; });
      const std::uint64_t what = pick(11);
      if (what < 6) {
        const ReadyJob job = take_out(*id);
        start(job);
        pass.started(*id, job.leaf);
      } else if (what == 6) {
        pass.block_shape(it->shape);
        naive.block_shape(it->shape);
      } else if (what == 7) {
        const AccountId node = ancestor(it->leaf);
        pass.block_account(node, costs_.at(it->shape).milligpu);
        naive.block_account(node, costs_.at(it->shape).milligpu);
      } else if (what == 8) {
        pass.block_job(*id);
        naive.block_job(*id);
      } else if (what == 9) {
        pass.block_line(*id);
        naive.block_line(*it);
      } else {
        block_something(pass, naive);
      }
    }
  }

  // Not what next() just gave: some job, or some account.
  void block_something(ReadyQueue::Pass& pass, NaivePass& naive) {
    const ReadyJob job = jobs_[pick(jobs_.size())];
    if (pick(4) == 0) {
      pass.block_line(job.id);
      naive.block_line(job);
    } else if (pick(2) == 0) {
      pass.block_job(job.id);
      naive.block_job(job.id);
    } else {
      const AccountId node = ancestor(job.leaf);
      pass.block_account(node, 2000);
      naive.block_account(node, 2000);
    }
  }

  void compare_order() {
    tick_.advance(tree_, now_);
    const std::size_t most = pick(30);
    NaivePass naive(jobs_, costs_, tree_, policy_, rule_, &tick_, now_);
    std::vector<JobId> expected;
    while (expected.size() < most) {
      const std::optional<JobId> id = naive.next();
      if (!id) break;
      expected.push_back(*id);
      naive.take(*std::find_if(jobs_.begin(), jobs_.end(),
                               [&](const ReadyJob& j) { return j.id == *id; }));
    }
    ASSERT_EQ(queue_.order(tree_, policy_, rule_, &tick_, now_, most), expected);
    copied_tree_ = tree_;
    if (copy_ == nullptr) copy_ = queue_.copy();
    queue_.copy_to(*copy_);
    copy_->check_invariants();
    ASSERT_EQ(copy_->order(copied_tree_, policy_, rule_, &tick_, now_, most), expected);
    if (!expected.empty()) compare_rank(expected.front());
  }

  // Whoever is next is the first at each node on its way; the figures are those of order_keys().
  void compare_rank(JobId next) {
    ReadyQueue::Pass pass(queue_, tree_, policy_, rule_, &tick_, now_);
    const std::vector<ReadyQueue::Level> levels = pass.rank(next);
    ASSERT_EQ(levels.empty(), policy_ == OrderPolicy::kFifo);
    const auto it =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const ReadyJob& j) { return j.id == next; });
    for (const ReadyQueue::Level& level : levels) {
      ASSERT_FALSE(level.compared.empty());
      const AccountId first = level.compared.front().sibling.id;
      AccountId up = it->leaf;
      while (up != first && tree_.node(up).parent) up = tree_.node(up).parent;
      ASSERT_EQ(up, first);
      std::vector<Sibling> siblings;
      for (const ReadyQueue::Compared& c : level.compared) siblings.push_back(c.sibling);
      std::vector<OrderKey> keys(siblings.size());
      std::sort(siblings.begin(), siblings.end(),
                [](const Sibling& a, const Sibling& b) { return a.id < b.id; });
      order_keys(policy_, rule_, siblings, keys);
      ASSERT_EQ(std::min_element(keys.begin(), keys.end())->id, first);
    }
    ASSERT_EQ(pass.next(), next);
  }

  void compare_reads() {
    ASSERT_EQ(queue_.size(), jobs_.size());
    for (std::uint32_t shape = 1; shape <= 6; ++shape) {
      const ReadyJob* oldest = nullptr;
      for (const ReadyJob& j : jobs_) {
        if (j.shape != ShapeId(shape)) continue;
        if (oldest == nullptr ||
            std::tuple(j.submit_ms, j.id) < std::tuple(oldest->submit_ms, oldest->id)) {
          oldest = &j;
        }
      }
      ASSERT_EQ(queue_.oldest(ShapeId(shape)),
                oldest == nullptr ? std::nullopt : std::optional(oldest->id));
    }
    for (const AccountId id : tree_.preorder()) {
      MilliGpu milligpu = 0;
      std::size_t count = 0;
      for (const ReadyJob& j : jobs_) {
        for (AccountId up = j.leaf; up; up = tree_.node(up).parent) {
          if (up != id) continue;
          milligpu += costs_.at(j.shape).milligpu;
          ++count;
        }
      }
      ASSERT_EQ(queue_.queued_milligpu(id), milligpu);
      ASSERT_EQ(queue_.queued_jobs(id), count);
    }
  }

  OrderPolicy policy_;
  std::mt19937_64 random_;
  TimeMs now_ = 1'700'000'000'000;
  AccountTree tree_{kHourMs};
  UsageTick tick_;
  TargetShareRule rule_;
  Costs costs_;
  ReadyQueue queue_{[this](ShapeId shape) { return costs_.at(shape); }};
  std::unique_ptr<ReadyQueue> copy_;
  AccountTree copied_tree_{kHourMs};
  std::vector<ReadyJob> jobs_;
  std::vector<Running> running_;
  std::vector<std::string> wide_;
  std::uint64_t wide_part_ = 0;  // per cent of paths among many siblings
  std::uint64_t last_id_ = 0;
  int operations_ = 0, picks_ = 0;
};

class OracleTest : public ::testing::TestWithParam<OrderPolicy> {};

TEST_P(OracleTest, EveryPickIsTheNaiveOne) {
  int picks = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    World world(GetParam(), seed);
    while (world.operations() < kOperations / 4) {
      world.step();
      if (HasFatalFailure()) {
        FAIL() << "seed " << seed << " operation " << world.operations();
      }
    }
    picks += world.picks();
  }
  EXPECT_GT(picks, kOperations / 4);
}

INSTANTIATE_TEST_SUITE_P(AllPolicies, OracleTest,
                         ::testing::Values(OrderPolicy::kTargetShare, OrderPolicy::kExact,
                                           OrderPolicy::kUsageTick, OrderPolicy::kDrf,
                                           OrderPolicy::kFifo),
                         [](const auto& p) {
                           std::string name(enum_name(p.param));
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace subak
