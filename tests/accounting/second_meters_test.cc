// Second meters against a tree that had their half-life from the start.
#include "accounting/second_meters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "accounting/edit/account_move.h"
#include "accounting/tree.h"

namespace subak {
namespace {

constexpr ProductId kProduct(1);

// Makes the same random changes in two trees.
class Twins {
 public:
  Twins(DurationMs first, DurationMs second, std::uint64_t seed)
      : random_(seed), ours_(first), theirs_(second) {}

  void step() {
    now_ += below(20) * kMinuteMs + below(1000);
    switch (below(9)) {
      case 8:
        return move();
      case 0:
        return edit();
      case 1:
        return remove();
      case 2:
      case 3:
      case 4:
        return hold();
      default:
        return release();
    }
  }
  void begin() { ours_.second().emplace(theirs_.clock().half_life_ms(), now_, ours_.nodes()); }
  std::vector<MeterValues> values() const {
    std::vector<MeterValues> out;
    const DecayInstant at = theirs_.clock().at(now_);
    for (const AccountNode& node : theirs_.nodes()) {
      if (!node.id) continue;
      out.push_back({node.id, node.meters.usage(theirs_.clock(), at),
                     node.meters.surplus(theirs_.clock(), at),
                     node.meters.adjustment(theirs_.clock(), at)});
    }
    return out;
  }
  // Returns the largest difference between the second meters of the one tree and the meters of the
  // other, as a part of highest rate x H.
  double difference(const std::vector<MeterValues>& earlier) const {
    const auto meters = ours_.second()->finished(earlier, ours_.nodes());
    const DecayClock& clock = theirs_.clock();
    const DecayInstant at = clock.at(now_);
    double most = 0;
    for (const AccountNode& node : theirs_.nodes()) {
      if (!node.id) continue;
      AccountMeters made;
      made.restore(meters[node.id.value]);
      const double rate = static_cast<double>(kMostHeld * 1000);
      const double scale = clock.infinite() ? rate * static_cast<double>(now_ - kStart)
                                            : rate * clock.mean_life_ms();
      for (const auto& [a, b] :
           {std::pair(made.usage(clock, at), node.meters.usage(clock, at)),
            std::pair(made.surplus(clock, at), node.meters.surplus(clock, at)),
            std::pair(made.adjustment(clock, at), node.meters.adjustment(clock, at))}) {
        most = std::max(most, std::abs(a - b) / scale);
        amounts_ += b != 0 ? 1 : 0;
      }
      EXPECT_EQ(made.usage_undecayed(now_), node.meters.usage_undecayed(now_));
    }
    return most;
  }
  int amounts() const { return amounts_; }
  int moves() const { return moves_; }
  const AccountTree& ours() const { return ours_; }

 private:
  static constexpr TimeMs kStart = 1'700'000'000'000;
  static constexpr std::int64_t kMostHeld = 64;

  std::int64_t below(std::int64_t most) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most));
  }
  std::string some_path() {
    const std::string parents[] = {"a", "b", "a.x", "a.y", "c", "b.x", "x", "c.a.x"};
    std::string path = parents[below(8)];
    if (below(2) == 0) path += "/u" + std::to_string(below(9));
    return path;
  }
  void edit() {
    AccountSpec spec;
    spec.path = some_path();
    spec.user = spec.path.find('/') != std::string::npos;
    spec.shares = below(5);
    if (!spec.user && below(3) == 0) spec.quota = {{"gpu", below(8) * 1000}};
    for (AccountTree* const tree : {&ours_, &theirs_}) {
      if (!parent_of(*tree, spec.path)) return;
      const AccountId id = tree->id_for(spec.path);
      const bool is_new = !tree->exists(id);
      std::vector<std::pair<ProductId, MilliGpu>> quota;
      for (const auto& [name, amount] : spec.quota) quota.emplace_back(ProductId(), amount);
      tree->set(id, spec, next_revision(*tree, id), now_, quota, {});
      if (is_new) tree->begin_at_mean(id, now_);
    }
  }
  void remove() {
    if (below(3) != 0) return;
    const std::string path = some_path();
    const AccountId id = ours_.find(path);
    if (!id || ours_.node(id).alloc() != 0 || !ours_.node(id).children.empty()) return;
    ours_.remove(id, now_);
    theirs_.remove(id, now_);
  }
  // Accounts move below each other, to the top, and back.
  void move() {
    const std::string from = some_path(), parent = some_path();
    const AccountId id = ours_.find(from);
    if (!id || id == kRootAccount) return;
    const std::size_t cut = from.find_last_of("./");
    const std::string last = cut == std::string::npos ? from : from.substr(cut + 1);
    std::string to = parent + "." + last;
    if (ours_.node(id).spec.user) {
      to = from.substr(0, cut) + "/u" + std::to_string(below(9));
    } else if (below(3) == 0) {
      to = last;
    }
    if (check_move(ours_, id, to)) return;
    AccountMove::make(ours_, id, to, now_);
    AccountMove::make(theirs_, id, to, now_);
    moves_ += ours_.second() ? 1 : 0;
  }
  void hold() {
    const AccountId id = ours_.find(some_path());
    if (!id || std::ssize(held_) == kMostHeld / 4) return;
    const MilliGpu amount = (1 + below(16)) * 250;
    ours_.hold(id, kProduct, amount, now_);
    theirs_.hold(id, kProduct, amount, now_);
    held_.push_back({id, amount, now_});
  }
  // An end may be reported up to an hour late.
  void release() {
    if (held_.empty()) return;
    const auto at = static_cast<std::size_t>(below(std::ssize(held_)));
    const auto [id, amount, since] = held_[at];
    const TimeMs when = below(3) == 0 ? std::max(since, now_ - below(kHourMs)) : now_;
    ours_.release(id, kProduct, amount, false, when);
    theirs_.release(id, kProduct, amount, false, when);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  struct Held {
    AccountId id;
    MilliGpu amount;
    TimeMs since;
  };
  std::mt19937_64 random_;
  TimeMs now_ = kStart;
  AccountTree ours_, theirs_;
  std::vector<Held> held_;
  int moves_ = 0;
  mutable int amounts_ = 0;
};

TEST(SecondMeters, AreThoseOfATreeThatHadTheHalfLifeFromTheStart) {
  double most = 0;
  int amounts = 0, moves = 0;
  std::size_t accounts = 0;
  for (const DurationMs half_life : {DurationMs{0}, kHourMs, 30 * kDayMs}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Twins twins(7 * kDayMs, half_life, seed);
      for (int i = 0; i < 300; ++i) twins.step();
      const std::size_t before = twins.ours().nodes().size();
      twins.begin();
      const std::vector<MeterValues> earlier = twins.values();
      for (int i = 0; i < 1000; ++i) {
        twins.step();
        if (i % 50 == 0) most = std::max(most, twins.difference(earlier));
      }
      most = std::max(most, twins.difference(earlier));
      amounts += twins.amounts();
      moves += twins.moves();
      accounts += twins.ours().nodes().size() - before;
    }
  }
  EXPECT_LE(most, 1e-12);
  EXPECT_GT(amounts, 10'000);
  EXPECT_GT(moves, 500) << "accounts also move while second meters run";
  EXPECT_GT(accounts, 20U) << "accounts are also made while second meters run";
}

TEST(SecondMeters, EndWhenTheTreeStartsItsMetersAgain) {
  AccountTree tree(kHourMs);
  tree.second().emplace(kDayMs, 1000, tree.nodes());
  tree.restart_meters(kDayMs, 2000);
  EXPECT_FALSE(tree.second());
}

}  // namespace
}  // namespace subak
