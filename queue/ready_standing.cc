// Computes an account's next job again after one of its children changed, as after each start. The
// other children change only with time, in a known way, so the code reads only the changed child.
// The walk computes the account in full if other things have changed, or if the first child is not
// clearly the first.
#include "queue/ready_standing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/must.h"

namespace subak::ready {
namespace {

// Soon after a start a surplus is the small difference of two large numbers. If the difference is
// less than this part of the numbers, the walk computes the account in full. In all other cases the
// effect of rounding on a key is far below kClear.
constexpr double kLeastSurplus = 1e-4;
// Keys that differ by a smaller part count as equal here.
constexpr double kClear = 1e-8;

}  // namespace

void Standings::begin(const Index& index, const Figures& figures, Memos& memos,
                      std::size_t accounts) {
  index_ = &index;
  figures_ = &figures;
  memos_ = &memos;
  if (standings_.size() < accounts) standings_.resize(accounts);
}

void Standings::forget_next(Entrant& e) {
  e.next = e.least;
  e.until = kForever;
  e.slot = kNoSlot;
}

void Standings::read(Entrant& e) const {
  const NodeSummary& summary = index_->summary(e.id);
  const AccountTree& tree = *figures_->setup().tree;
  const AccountNode& account = tree.node(e.id);
  e.priority = summary.priority;
  e.leaf = index_->is_leaf(e.id);
  e.surplus = account.meters.sort_surplus_course(tree.clock(), figures_->instant().half_lives);
  e.rate = static_cast<double>(account.meters.surplus_rate());
  e.alloc = account.alloc();
  e.least = summary.least_next;
  e.seen = figures_->changes(e.id);
  forget_next(e);
}

// Prefetches the cache lines that say what has changed at the child.
void Standings::prefetch_changes(const Entrant& e) const {
  __builtin_prefetch(&index_->summary(e.id));
  subak::prefetch(*figures_->setup().tree, e.id);
}

// Prefetches at once all cache lines that the code needs to read the child, and those for a start
// at the child.
void Standings::prefetch(const Entrant& e) const {
  const AccountNode& account = figures_->setup().tree->node(e.id);
  __builtin_prefetch(&account);
  if (e.leaf) {
    __builtin_prefetch(&index_->node(e.id));
    account.meters.prefetch_usage();
  } else {
    memos_->prefetch(e.id);
    __builtin_prefetch(&standings_[e.id.value]);
  }
}

// Reads the child again if it has changed, and subtracts the child's changes from `unseen`. Returns
// false if no job of the child waits any more.
bool Standings::catch_up(Entrant& e, Changes& unseen) const {
  const Changes now = figures_->changes(e.id);
  if (now == e.seen) return true;
  unseen.jobs -= now.jobs - e.seen.jobs;
  unseen.alloc -= now.alloc - e.seen.alloc;
  if (index_->summary(e.id).jobs == 0) return false;
  read(e);
  return true;
}

// Returns false if the known children do not explain all changes of the account. Nearly always,
// only the child that had the last result has changed. The code reads the other children only if
// that child does not explain all changes.
bool Standings::catch_up(Standing& standing, AccountId id) const {
  must(standing.last < standing.entrants.size(), "the last winner is a child");
  Entrant& last = standing.entrants[standing.last];
  prefetch_changes(last);
  const Changes now = figures_->changes(id);
  if (now == standing.own) return true;
  Changes unseen{now.jobs - standing.own.jobs, now.alloc - standing.own.alloc};
  if (!catch_up(last, unseen)) return false;
  if (unseen != Changes()) {
    for (const Entrant& e : standing.entrants) prefetch_changes(e);
    for (Entrant& e : standing.entrants) {
      if (!catch_up(e, unseen)) return false;
    }
  }
  if (unseen != Changes()) return false;
  standing.own = now;
  return true;
}

// Fills in the contest by the rule of accounting/order.h for siblings without quota. Returns false
// if a surplus may stay at 0 for a while, or if rounding could change the order.
bool Standings::enter(Contest& c) const {
  Standing& standing = *c.standing_;
  const std::size_t n = standing.entrants.size();
  std::int32_t top = std::numeric_limits<std::int32_t>::min();
  for (const Entrant& e : standing.entrants) {
    if (e.by_class) top = std::max(top, e.priority);
  }
  const double decayed = 1 / figures_->instant().part;
  double shares = 0, lasting = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Entrant& e = standing.entrants[i];
    c.target_[i] = c.value_[i] = 0;
    c.key_[i] = std::numeric_limits<double>::infinity();
    if (e.by_class && e.priority != top) continue;
    if (e.until < figures_->setup().now) forget_next(e);
    c.value_[i] = std::max(0.0, e.surplus.decaying * decayed + e.surplus.lasting);
    if (c.value_[i] == 0 && e.rate != 0) return false;
    c.target_[i] = e.shares;
    c.first_ = i;
    shares += e.shares;
    c.surplus_ += c.value_[i];
    lasting += std::abs(e.surplus.lasting);
    c.rate_ += e.rate;
    ++count;
  }
  must(count > 0, "some child takes part");
  c.alone_ = count == 1;
  if (c.alone_) return true;
  if (c.surplus_ < kLeastSurplus * lasting) return false;
  const TargetShareRule& rule = *figures_->setup().rule;
  const double of_shares = 1 / shares, of_surplus = c.surplus_ > 0 ? rule.gain / c.surplus_ : 0;
  const double most = c.surplus_ > 0 ? 1 + rule.gain : 1;
  for (std::size_t i = 0; i < n; ++i) {
    if (c.target_[i] == 0) continue;
    const double s = c.target_[i] * of_shares;
    const double wanted = most * s - of_surplus * c.value_[i];
    c.target_[i] = std::min(std::max(wanted, rule.lo * s), 1 - rule.lo * (1 - s));
    set_key(c, i);
  }
  return true;
}

void Standings::set_key(Contest& c, std::size_t at) {
  const Entrant& e = c.standing_->entrants[at];
  c.cost_[at] = static_cast<double>(e.alloc) + static_cast<double>(e.next) / 2;
  c.key_[at] = c.cost_[at] / c.target_[at];
}

// Returns false if the two best children are so close that rounding could change their order.
bool Standings::find_first(Contest& c) const {
  if (c.alone_) return true;
  double best = std::numeric_limits<double>::infinity(), second = best;
  for (std::size_t i = 0; i < c.standing_->entrants.size(); ++i) {
    const double key = c.key_[i];
    second = std::min(second, std::max(best, key));
    c.first_ = key < best ? i : c.first_;
    best = std::min(best, key);
  }
  must(c.first_ < c.standing_->entrants.size(), "the first is one of those that contend");
  if (second - best > kClear * second) return true;
  return only_twins_are_near(c);
}

// True if all children close to the first are equal to it, and neither they nor it have past usage.
// They then stay equal, and the first stays first, because it has the lowest id.
bool Standings::only_twins_are_near(const Contest& c) {
  const std::size_t first = c.first_;
  for (std::size_t i = 0; i < c.standing_->entrants.size(); ++i) {
    if (i == first || c.target_[i] == 0) continue;
    const bool twin = c.key_[i] == c.key_[first] && c.value_[i] == 0 && c.value_[first] == 0 &&
                      c.cost_[i] == c.cost_[first] && c.target_[i] == c.target_[first];
    if (!twin && !(c.key_[i] - c.key_[first] > kClear * c.key_[i])) return false;
  }
  return true;
}

// Computes for a contest what Contenders::stands_until() returns.
TimeMs Standings::first_stays_until(const Contest& c) const {
  const Standing& standing = *c.standing_;
  TimeMs until = kForever;
  for (const Entrant& e : standing.entrants) until = std::min(until, e.until);
  if (c.alone_) return until;
  must(c.first_ < standing.entrants.size(), "the first is one of those that contend");
  const double mine = c.cost_[c.first_];
  if (c.surplus_ == 0 || mine == 0) return until;
  const double part = 1 / c.surplus_, mean = c.rate_ * part;
  const auto drift = [&](std::size_t i) {
    return std::abs(standing.entrants[i].rate - c.value_[i] * mean) * part;
  };
  const double target = c.target_[c.first_], own_drift = drift(c.first_);
  const double gain = 1.05 * figures_->setup().rule->gain;
  double ms = static_cast<double>(kDayMs);
  for (std::size_t i = 0; i < standing.entrants.size(); ++i) {
    if (i == c.first_ || c.target_[i] == 0) continue;
    const double room = c.cost_[i] * target - mine * c.target_[i];
    const double speed = gain * (own_drift * c.cost_[i] + drift(i) * mine);
    if (room < ms * speed) ms = room / speed;
  }
  ms = std::min(ms, static_cast<double>(figures_->setup().tree->clock().half_life_ms()) / 8);
  return std::min(until, figures_->setup().now + static_cast<TimeMs>(0.99 * ms));
}

bool Standings::open(AccountId id, Contest& contest) {
  if (!memos_->usable()) return false;
  Standing& standing = standings_[id.value];
  const bool known = standing.epoch == memos_->epoch() && standing.from <= figures_->setup().now &&
                     standing.half_lives == figures_->instant().half_lives;
  if (!known || !catch_up(standing, id)) return false;
  contest.node_ = id;
  contest.standing_ = &standing;
  return enter(contest);
}

AccountId Standings::unknown_first(const Contest& c) const {
  const Entrant& first = c.standing_->entrants[c.first_];
  prefetch(first);
  return first.slot == kNoSlot ? first.id : AccountId();
}

bool Standings::answer(Contest& c, const NextJob& next) const {
  Entrant& first = c.standing_->entrants[c.first_];
  must(first.slot == kNoSlot && next.slot != kNoSlot, "who takes part has a next job");
  first.slot = next.slot;
  first.until = next.until;
  index_->jobs().prefetch(next.slot);
  const bool as_thought = first.next == next.cost;
  first.next = next.cost;
  if (c.alone_ || as_thought) return true;
  set_key(c, c.first_);
  return false;
}

NextJob Standings::close(const Contest& c) {
  must(memos_->usable(), "only a pass without blocks asks again");
  const Entrant& first = c.standing_->entrants[c.first_];
  must(first.slot != kNoSlot, "the first child has a next job");
  c.standing_->from = figures_->setup().now;
  c.standing_->last = static_cast<std::uint32_t>(c.first_);
  const NextJob next{first.slot, index_->summary(c.node_).own_quota, first.next,
                     first_stays_until(c)};
  memos_->keep(c.node_, next);
  return next;
}

void Standings::keep(AccountId id, const std::vector<Child>& children, AccountId winner) {
  const AccountTree& tree = *figures_->setup().tree;
  must(id.value < standings_.size(), "a result is of an account of the pass");
  Standing& standing = standings_[id.value];
  standing.epoch = 0;
  if (children.size() > kFewSiblings || tree.clock().infinite()) return;
  const bool simple = std::none_of(children.begin(), children.end(), [&](const Child& c) {
    const NodeSummary& summary = index_->summary(c.id);
    return c.id == id || summary.quota != 0 || summary.shares <= 0 || summary.held_below;
  });
  if (!simple) return;
  standing.entrants.resize(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Child& child = children[i];
    Entrant& e = standing.entrants[i];
    e.id = child.id;
    e.by_class = child.by_class;
    e.shares = index_->summary(child.id).shares;
    read(e);
    e.next = child.next;
    e.until = child.stands_until;
    if (child.id == winner) standing.last = static_cast<std::uint32_t>(i);
  }
  must(standing.last < children.size() && children[standing.last].id == winner,
       "the winner is a child");
  standing.epoch = memos_->epoch();
  standing.half_lives = figures_->instant().half_lives;
  standing.from = figures_->setup().now;
  standing.own = figures_->changes(id);
}

}  // namespace subak::ready
