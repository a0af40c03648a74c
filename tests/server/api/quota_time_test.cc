// The quota x time of accounts, computed back from the audit log, compared with a clock that reads
// the quotas of the tree at each instant.
#include "server/api/usage/quota_time.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/codec/day_sums.h"
#include "server/store/proof/audit_rows.h"

namespace subak::api {
namespace {

constexpr TimeMs kBegin = 20362 * kDayMs;  // 2025-10-01

// An engine with an audit log, and the naive sums: each account's quota x time, by day.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    send(in::SetCluster{"main", {}, {}, "", false});
  }

  void step() {
    wait();
    switch (below(8)) {
      case 0:
        return remove();
      case 1:
      case 2:
        return move();
      case 3:
        return apply();
      default:
        return set(random_path());
    }
  }
  const Engine& engine() const { return engine_; }
  TimeMs now() const { return now_; }
  int moves() const { return moves_; }
  int removals() const { return removals_; }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::map<QuotaTime::Key, GpuTime> computed(TimeMs from, TimeMs to, UsagePeriod period) const {
    QuotaTime quotas(engine_.accounts(), now_, from, to, period);
    for (auto entry = log_.rbegin(); entry != log_.rend() && entry->time_ms >= from; ++entry)
      EXPECT_FALSE(quotas.revert(*entry));
    return quotas.finish();
  }
  std::map<QuotaTime::Key, GpuTime> steps(const std::string& account, TimeMs from, TimeMs to,
                                          DurationMs step) const {
    QuotaTime quotas(engine_.accounts(), now_, from, to, step, account);
    for (auto entry = log_.rbegin(); entry != log_.rend() && entry->time_ms >= from; ++entry)
      EXPECT_FALSE(quotas.revert(*entry));
    return quotas.finish();
  }
  std::map<QuotaTime::Key, GpuTime> naive(TimeMs from, TimeMs to, UsagePeriod period) const {
    std::map<QuotaTime::Key, GpuTime> sums;
    for (const Piece& piece : pieces_) {
      TimeMs at = std::max(piece.from, from);
      while (at < std::min(piece.to, to)) {
        const std::int64_t day = utc_day_of(at);
        const TimeMs end = std::min({piece.to, to, (day + 1) * kDayMs});
        const bool all = period == UsagePeriod::kAll;
        const std::string& path = engine_.accounts().node(piece.account).spec.path;
        sums[{path, all ? -1 : first_day_of(period, day)}] += GpuTime::of(piece.quota, end - at);
        at = end;
      }
    }
    return sums;
  }

 private:
  struct Piece {
    AccountId account;
    MilliGpu quota = 0;
    TimeMs from = 0, to = 0;
  };

  void send(in::Body body) {
    Input input;
    input.time_ms = now_;
    input.actor = "test";
    input.body = std::move(body);
    const ApplyOutcome done = engine_.apply(input);
    for (const Fact& fact : done.facts) note(fact);
  }
  void note(const Fact& fact) {
    auto row = audit_row(fact.body);
    if (!row) return;
    row->entry.seq = fact.seq;
    row->entry.time_ms = fact.time_ms;
    if (!row->thing.empty()) {
      row->entry.before = last_[row->thing];
      last_[row->thing] = row->entry.after;
    }
    log_.push_back(std::move(row->entry));
  }
  // Time passes: each account has its present quota.
  void wait() {
    const TimeMs next = now_ + static_cast<DurationMs>(below(40)) * kHourMs + 1;
    const AccountTree& tree = engine_.accounts();
    for (const AccountId id : tree.preorder()) {
      const MilliGpu quota = tree.node(id).quota_total;
      if (quota != 0) pieces_.push_back({id, quota, now_, next});
    }
    now_ = next;
  }
  std::string random_path() {
    static const char* const kNames[] = {"a", "b", "c"};
    std::string path = kNames[below(3)];
    for (std::uint64_t depth = below(3); depth > 0; --depth)
      path += std::string(".") + kNames[below(3)];
    if (below(6) == 0) path += below(2) == 0 ? "/ana" : "/ana.lee";  // a user may have dots
    return path;
  }
  AccountSpec random_spec(const std::string& path) {
    AccountSpec spec;
    spec.path = path;
    spec.user = path.find('/') != std::string::npos;
    if (below(3) > 0) {
      spec.quota = {{std::string(kAnyProduct), static_cast<MilliGpu>(below(3)) * 1000}};
      if (below(2) == 0) spec.quota.insert(spec.quota.begin(), {"H100", 500});
    }
    return spec;
  }
  void set(const std::string& path) {
    in::SetAccount edit;
    edit.spec = random_spec(path);
    edit.reason = "test";
    send(edit);
  }
  void apply() {
    in::ApplyAccounts edit;
    for (int i = 0; i < 4; ++i) {
      edit.changes.emplace_back().spec = random_spec(random_path());
      edit.changes.back().remove = below(4) == 0;
    }
    edit.reason = "test";
    send(edit);
  }
  void remove() {
    in::DeleteAccount edit;
    edit.path = random_path();
    edit.reason = "test";
    const std::uint64_t seq = engine_.seq();
    send(edit);
    removals_ += engine_.seq() > seq && !engine_.accounts().find(edit.path) ? 1 : 0;
  }
  void move() {
    in::MoveAccount edit;
    edit.path = random_path();
    edit.to = random_path();
    if (below(2) == 0) edit.to += std::to_string(below(5));
    edit.reason = "test";
    const AccountId id = engine_.accounts().find(edit.path);
    send(edit);
    moves_ += id && engine_.accounts().find(edit.to) == id ? 1 : 0;
  }

  std::mt19937_64 random_;
  Engine engine_;
  TimeMs now_ = kBegin;
  std::vector<AuditEntry> log_;
  std::map<std::string, std::string> last_;
  std::vector<Piece> pieces_;
  int moves_ = 0, removals_ = 0;
};

// Returns the first difference; empty: there is none.
std::string difference(const std::map<QuotaTime::Key, GpuTime>& computed,
                       std::map<QuotaTime::Key, GpuTime> naive) {
  for (const auto& [key, amount] : computed) naive[key] -= amount;
  for (const auto& [key, rest] : naive) {
    if (!rest.is_zero())
      return key.first + " on " + std::to_string(key.second) + ": " +
             std::to_string(rest.gpu_hours()) + " h are missing";
  }
  return "";
}

TEST(QuotaTime, IsTheQuotaOfEachInstant) {
  int moves = 0, removals = 0, sums = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    World world(seed);
    for (int i = 0; i < 120; ++i) world.step();
    for (const UsagePeriod period :
         {UsagePeriod::kAll, UsagePeriod::kDay, UsagePeriod::kWeek, UsagePeriod::kMonth}) {
      const TimeMs from = kBegin + static_cast<DurationMs>(world.below(60)) * kDayMs + 12345;
      const TimeMs to = from + static_cast<DurationMs>(world.below(90)) * kDayMs + 777;
      const auto difference_in = [&](TimeMs begin, TimeMs end) {
        return difference(world.computed(begin, end, period), world.naive(begin, end, period));
      };
      EXPECT_EQ(difference_in(from, to), "") << seed;
      EXPECT_EQ(difference_in(0, INT64_MAX), "") << seed;
      sums += static_cast<int>(world.naive(from, to, period).size());
    }
    moves += world.moves();
    removals += world.removals();
  }
  EXPECT_GT(moves, 80);
  EXPECT_GT(removals, 50);
  EXPECT_GT(sums, 1000);
}

TEST(QuotaTime, StepsOfOneAccountAddUpToItsQuota) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    for (int i = 0; i < 120; ++i) world.step();
    const TimeMs from = kBegin + static_cast<DurationMs>(world.below(60)) * kDayMs + 12345;
    const DurationMs step = static_cast<DurationMs>(1 + world.below(900)) * kMinuteMs;
    const TimeMs to = from + 60 * step + 77;
    const auto steps = world.steps("a", from, to, step);
    for (std::int64_t i = 0; i <= 60; ++i) {
      const TimeMs begin = from + i * step;
      const auto naive = world.naive(begin, std::min(begin + step, to), UsagePeriod::kAll);
      const auto expected = naive.find({"a", -1});
      const auto computed = steps.find({"a", i});
      ASSERT_EQ(computed == steps.end() ? GpuTime() : computed->second,
                expected == naive.end() ? GpuTime() : expected->second)
          << seed << " " << i;
      compared += computed == steps.end() ? 0 : 1;
    }
    for (const auto& [key, amount] : steps) EXPECT_EQ(key.first, "a");
  }
  EXPECT_GT(compared, 200);
}

TEST(QuotaTime, AnEntryThatCannotBeReadIsAnError) {
  QuotaTime quotas(AccountTree(), kDayMs, 0, kDayMs, UsagePeriod::kAll);
  AuditEntry entry;
  entry.what = "account_set";
  entry.subject = "ml";
  entry.after = "quota=[{";
  EXPECT_TRUE(quotas.revert(entry));
  entry.error = "refused";
  EXPECT_FALSE(quotas.revert(entry)) << "a refusal is no edit";
}

}  // namespace
}  // namespace subak::api
