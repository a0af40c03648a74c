// The promise of the accounts, replayed: jobs of 1 ms to 30 days start, end and change size at
// random on a tree of five levels; after every event each node of the path is compared with a
// replay in long double (usage, surplus) and in integers (what never decays), and at the end the
// books with both.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "accounting/ledger.h"
#include "accounting/tree.h"
#include "random.h"

namespace subak {
namespace {

using test::Random;

constexpr TimeMs kStart = 1'772'323'200'000;  // 2026-03-01
constexpr long double kLn2 = 0.693147180559945309417232121458L;
constexpr ProductId kH100{1};

std::int64_t event_count() {
  const char* text = std::getenv("SUBAK_EXACT_EVENTS");
  return text != nullptr ? std::atoll(text) : 1'000'000;
}

// The decayed integral of one rate, stepped from event to event: decay what was there, add what the
// interval adds. Infinite half-life: the plain integral, exact in 128 bits.
class Replay {
 public:
  explicit Replay(DurationMs half_life_ms) : h_(static_cast<long double>(half_life_ms)) {}
  void change(MilliGpu rate, TimeMs t) {
    advance(t);
    rate_ = rate;
    peak_ = std::max(peak_, std::abs(rate));
  }
  long double at(TimeMs t) {
    advance(t);
    return h_ == 0 ? static_cast<long double>(whole_.raw()) : u_;
  }
  GpuTime undecayed(TimeMs t) {
    advance(t);
    return whole_;
  }
  // highest rate so far x H; an infinite half-life has no error at all to allow
  long double scale() const { return h_ == 0 ? 0 : static_cast<long double>(peak_) * h_ / kLn2; }

 private:
  void advance(TimeMs t) {
    if (t == t_) return;
    if (h_ != 0) {
      const long double x = -static_cast<long double>(t - t_) / h_ * kLn2;
      u_ = u_ * expl(x) - static_cast<long double>(rate_) * (h_ / kLn2) * expm1l(x);
    }
    whole_ += GpuTime::of(rate_, t - t_);
    t_ = t;
  }
  long double h_, u_ = 0;
  GpuTime whole_;
  MilliGpu rate_ = 0, peak_ = 0;
  TimeMs t_ = kStart;
};

class World {
 public:
  World(DurationMs half_life_ms, std::uint64_t seed)
      : random_(seed), tree_(half_life_ms), half_life_ms_(half_life_ms) {
    grow("", kRootAccount, 0);
  }

  void run(std::int64_t events) {
    for (std::int64_t i = 0; i < events && !::testing::Test::HasFailure(); ++i) step();
  }
  double worst() const { return static_cast<double>(worst_); }

  // Ends what runs, then compares the books with the meters: every GPU-millisecond once.
  void close_books() {
    while (!by_end_.empty()) end(by_end_.begin());
    std::map<AccountId, GpuTime> charged;
    for (const auto& [key, amount] : ledger_.sums()) {
      for (AccountId id = key.holder; id; id = tree_.node(id).parent) charged[id] += amount;
    }
    for (const AccountId id : tree_.preorder()) {
      EXPECT_EQ(tree_.usage_undecayed(id, now_), charged[id]) << tree_.node(id).spec.path;
      EXPECT_EQ(tree_.node(id).alloc(), 0);
    }
    EXPECT_EQ(ledger_.total(), charged[kRootAccount]);
    tree_.check_invariants();
  }

 private:
  struct Job {
    AccountId leaf;
    MilliGpu milligpu = 0;
    TimeMs from_ms = 0;  // of the interval that its next row covers
    std::uint64_t number = 0;
    std::uint32_t attempt = 0;
  };
  struct Node {
    Replay usage, surplus;
    MilliGpu alloc = 0;
  };
  using Ends = std::multimap<TimeMs, Job>;

  // 3 x 3 x 3 x 3 leaves below the root; every second department has a quota.
  void grow(const std::string& path, AccountId id, int level) {
    nodes_.resize(std::max<std::size_t>(nodes_.size(), id.value + 1),
                  Node{Replay(half_life_ms_), Replay(half_life_ms_)});
    if (level == 4) return leaves_.push_back(id);
    for (int i = 0; i < 3; ++i) {
      AccountSpec spec;
      spec.path = (path.empty() ? "" : path + (level == 3 ? "/" : ".")) + "n" + std::to_string(i);
      spec.user = level == 3;
      std::vector<std::pair<ProductId, MilliGpu>> quota;
      if (level < 3 && i != 0) {
        quota = {{ProductId(), 1000 * (1 + random_.below(200))}};
        spec.quota = {{kAnyProduct, quota[0].second}};
      }
      const AccountId child = tree_.next_id();
      tree_.set(child, spec, 1, kStart, quota, {});
      grow(spec.path, child, level + 1);
    }
  }

  // 1 ms to 30 days, each order of magnitude as likely as the next.
  DurationMs duration() {
    const double most = std::log2(30.0 * static_cast<double>(kDayMs));
    const double part = static_cast<double>(random_.below(1 << 30)) / (1 << 30);
    return std::max<DurationMs>(1, static_cast<DurationMs>(std::exp2(most * part)));
  }
  MilliGpu amount() {
    return random_.one_in(3) ? 125 * (1 + random_.below(8)) : 1000 * (1 + random_.below(64));
  }

  void step() {
    const std::int64_t dice = random_.below(10);
    if (by_end_.size() < 20 || (dice < 4 && by_end_.size() < 400)) return start();
    if (dice < 6) return resize();
    end(by_end_.begin());
  }
  void start() {
    // Not beyond the next end: events come in order of time, as in the engine.
    const TimeMs until = by_end_.empty() ? now_ + kHourMs : by_end_.begin()->first;
    now_ += random_.below(std::min<DurationMs>(until - now_, 10 * kMinuteMs) + 1);
    Job job{leaves_[static_cast<std::size_t>(random_.below(81))], amount(), now_, ++jobs_};
    change(job.leaf, job.milligpu);
    by_end_.emplace(now_ + duration(), job);
  }
  void resize() {
    auto it = by_end_.begin();
    std::advance(
        it, random_.below(static_cast<std::int64_t>(std::min<std::size_t>(by_end_.size(), 8))));
    Job& job = it->second;
    const MilliGpu next = amount();
    charge(job);
    change(job.leaf, next - job.milligpu);
    job.milligpu = next;
  }
  void end(Ends::iterator it) {
    now_ = std::max(now_, it->first);
    charge(it->second);
    change(it->second.leaf, -it->second.milligpu);
    by_end_.erase(it);
  }

  void charge(Job& job) {
    if (now_ == job.from_ms) return;
    LedgerRow row;
    row.allocation = {JobId(ClusterId(1), job.number), 0, ++job.attempt};
    row.from_ms = job.from_ms;
    row.to_ms = now_;
    row.holder = row.payer = job.leaf;
    row.node = NodeId(1);
    row.product = "H100";
    row.milligpu = job.milligpu;
    ledger_.add(row);
    job.from_ms = now_;
  }

  void change(AccountId leaf, MilliGpu delta) {
    if (delta > 0) {
      tree_.hold(leaf, kH100, delta, now_);
    } else if (delta < 0) {
      tree_.release(leaf, kH100, -delta, false, now_);
    }
    for (AccountId id = leaf; id; id = tree_.node(id).parent) {
      Node& node = nodes_[id.value];
      node.alloc += delta;
      node.usage.change(node.alloc, now_);
      const MilliGpu quota = tree_.node(id).quota_total;
      node.surplus.change(std::max<MilliGpu>(0, node.alloc - quota), now_);
      compare(id, node);
    }
  }
  void compare(AccountId id, Node& node) {
    check(tree_.usage(id, now_), node.usage);
    check(surplus_of(tree_, id, now_), node.surplus);
    ASSERT_EQ(tree_.usage_undecayed(id, now_), node.usage.undecayed(now_)) << id.value;
    ASSERT_EQ(tree_.node(id).alloc(), node.alloc);
  }
  void check(double is, Replay& replay) {
    const long double want = replay.at(now_);
    if (replay.scale() == 0) {
      ASSERT_EQ(is, static_cast<double>(want));
      return;
    }
    const long double error = std::fabs(static_cast<long double>(is) - want) / replay.scale();
    worst_ = std::max(worst_, error);
    ASSERT_LE(error, 1e-12L) << "at " << now_;
  }

  Random random_;
  AccountTree tree_;
  Ledger ledger_;
  DurationMs half_life_ms_;
  std::vector<Node> nodes_;  // index = account id
  std::vector<AccountId> leaves_;
  Ends by_end_;
  TimeMs now_ = kStart;
  std::uint64_t jobs_ = 0;
  long double worst_ = 0;
};

class Exactness : public ::testing::TestWithParam<DurationMs> {};

TEST_P(Exactness, EveryMeterAtEveryEvent) {
  World world(GetParam(), 2026);
  world.run(event_count());
  world.close_books();
  RecordProperty("worst_error", std::to_string(world.worst() * 1e15) + "e-15");
  std::printf("half-life %lld ms: %lld events, worst error %.2e of highest rate x H\n",
              static_cast<long long>(GetParam()), static_cast<long long>(event_count()),
              world.worst());
}
INSTANTIATE_TEST_SUITE_P(HalfLives, Exactness,
                         ::testing::Values(kHourMs, kDayMs, 7 * kDayMs, DurationMs{0}));

// 100,000 GPUs for ten years are 3.2e19 milli-GPU x ms: more than an int64 holds.
TEST(ExactnessAtScale, TenYearsOfAHundredThousandGpusDoNotOverflow) {
  constexpr MilliGpu kFleet = 100'000'000;
  constexpr DurationMs kTenYears = 3652 * kDayMs;
  for (const DurationMs half_life : {DurationMs{0}, kHourMs, 7 * kDayMs}) {
    AccountTree tree(half_life);
    Ledger ledger;
    AccountSpec spec;
    spec.path = "all";
    const AccountId all = tree.next_id();
    tree.set(all, spec, 1, kStart, {}, {});
    tree.hold(all, kH100, kFleet, kStart);
    for (TimeMs t = kStart; t < kStart + kTenYears; t += kDayMs) {
      LedgerRow row;
      row.allocation = {JobId(ClusterId(1), 1), 0, 1};
      row.from_ms = t;
      row.to_ms = t + kDayMs;
      row.holder = row.payer = all;
      row.product = "H100";
      row.milligpu = kFleet;
      ledger.add(row);
    }
    tree.release(all, kH100, kFleet, false, kStart + kTenYears);
    const TimeMs end = kStart + kTenYears;
    const GpuTime want = GpuTime::from_parts(100'000LL * (kTenYears / 1000), 0);
    EXPECT_EQ(tree.usage_undecayed(all, end), want);
    EXPECT_EQ(tree.usage_undecayed(kRootAccount, end), want);
    EXPECT_EQ(ledger.total(), want);
    EXPECT_GT(want.raw(), GpuTime::Raw{INT64_MAX});
    if (half_life == 0) {
      EXPECT_EQ(tree.usage(all, end), static_cast<double>(want.raw()));
    } else {  // saturated: rate x H
      const double full = static_cast<double>(kFleet) * tree.clock().mean_life_ms();
      EXPECT_NEAR(tree.usage(all, end) / full, 1, 1e-12);
    }
  }
}

}  // namespace
}  // namespace subak
