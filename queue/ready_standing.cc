// Computes a node's next job again after one of its children changed, as after each start. The
// other children change only with time, in a known way, so only the changed child is read. If this
// does not hold, or the first child is not clearly the first, the node is computed in full.
#include <algorithm>
#include <array>
#include <cmath>

#include "queue/ready_walk.h"

namespace subak::ready {
namespace {

// Soon after a start a surplus is the small difference of two large numbers. If it is at most this
// part of them, the exact formula decides. The effect of rounding on a key is then far below
// kClear.
constexpr double kLeastSurplus = 1e-4;
// Keys that differ by a smaller part count as equal here.
constexpr double kClear = 1e-8;

}  // namespace

struct Walk::Contest {
  std::size_t first = 0;
  bool alone = false;  // no other child takes part
  double surplus = 0, rate = 0;
  // By index; target 0: it takes no part.
  std::array<double, kFewSiblings> value, target, cost, key;
};

void Walk::forget_next(Entrant& e) {
  e.next = e.least;
  e.until = kForever;
  e.slot = kNoSlot;
}

void Walk::read(Entrant& e) const {
  const NodeSummary& summary = index_->summary(e.id);
  const AccountNode& account = setup_.tree->node(e.id);
  e.priority = summary.priority;
  e.leaf = index_->is_leaf(e.id);
  e.surplus = setup_.tree->sort_surplus_course(e.id, instant_.half_lives);
  e.rate = static_cast<double>(account.surplus.rate());
  e.alloc = account.alloc();
  e.least = summary.least_next;
  e.seen = changes_of(e.id);
  forget_next(e);
}

// Prefetches the cache lines for reading what changed.
void Walk::prefetch_changes(const Entrant& e) const {
  const AccountNode& account = setup_.tree->node(e.id);
  __builtin_prefetch(&index_->summary(e.id));
  __builtin_prefetch(&account);
  __builtin_prefetch(&account.surplus);
}

// Prefetches the cache lines for reading the child, and for a start after it, all at once.
void Walk::prefetch(const Entrant& e) const {
  const AccountNode& account = setup_.tree->node(e.id);
  __builtin_prefetch(&account);
  if (e.leaf) {
    __builtin_prefetch(&index_->node(e.id));
    __builtin_prefetch(&account.usage);
  } else {
    __builtin_prefetch(&memos_[e.id.value]);
    __builtin_prefetch(&standings_[e.id.value]);
  }
}

// Returns false if no job waits below the child any more. Subtracts the changes there from
// `unseen`.
bool Walk::catch_up(Entrant& e, Changes& unseen) const {
  const Changes now = changes_of(e.id);
  if (now == e.seen) return true;
  unseen.jobs -= now.jobs - e.seen.jobs;
  unseen.alloc -= now.alloc - e.seen.alloc;
  if (index_->summary(e.id).jobs == 0) return false;
  read(e);
  return true;
}

// Returns false if there are changes beyond the known children. Nearly always only the child with
// the last result changed; else it reads all children.
bool Walk::catch_up(Standing& standing, AccountId id) const {
  Entrant& last = standing.entrants[standing.last];
  prefetch_changes(last);
  const Changes now = changes_of(id);
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

// Applies the rule of accounting/order.h for siblings without quota. Returns false if a surplus may
// stay at 0 for a while, or rounding counts.
bool Walk::enter(Standing& standing, Contest& c) const {
  const std::size_t n = standing.entrants.size();
  std::int32_t top = std::numeric_limits<std::int32_t>::min();
  for (const Entrant& e : standing.entrants) {
    if (e.by_class) top = std::max(top, e.priority);
  }
  const double decayed = 1 / instant_.part;
  double shares = 0, lasting = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Entrant& e = standing.entrants[i];
    c.target[i] = c.value[i] = 0;
    c.key[i] = std::numeric_limits<double>::infinity();
    if (e.by_class && e.priority != top) continue;
    if (e.until < setup_.now) forget_next(e);
    c.value[i] = std::max(0.0, e.surplus.decaying * decayed + e.surplus.lasting);
    if (c.value[i] == 0 && e.rate != 0) return false;
    c.target[i] = e.shares;
    c.first = i;
    shares += e.shares;
    c.surplus += c.value[i];
    lasting += std::abs(e.surplus.lasting);
    c.rate += e.rate;
    ++count;
  }
  c.alone = count == 1;
  if (c.alone) return true;
  if (c.surplus < kLeastSurplus * lasting) return false;
  const TargetShareRule& rule = *setup_.rule;
  const double of_shares = 1 / shares, of_surplus = c.surplus > 0 ? rule.gain / c.surplus : 0;
  const double most = c.surplus > 0 ? 1 + rule.gain : 1;
  for (std::size_t i = 0; i < n; ++i) {
    if (c.target[i] == 0) continue;
    const double s = c.target[i] * of_shares;
    const double wanted = most * s - of_surplus * c.value[i];
    c.target[i] = std::min(std::max(wanted, rule.lo * s), 1 - rule.lo * (1 - s));
    set_key(standing.entrants[i], c, i);
  }
  return true;
}

void Walk::set_key(const Entrant& e, Contest& c, std::size_t at) {
  c.cost[at] = static_cast<double>(e.alloc) + static_cast<double>(e.next) / 2;
  c.key[at] = c.cost[at] / c.target[at];
}

// Returns false if two are too close for sums with other rounding errors.
bool Walk::find_first(const Standing& standing, Contest& c) {
  if (c.alone) return true;
  double best = std::numeric_limits<double>::infinity(), second = best;
  for (std::size_t i = 0; i < standing.entrants.size(); ++i) {
    const double key = c.key[i];
    second = std::min(second, std::max(best, key));
    c.first = key < best ? i : c.first;
    best = std::min(best, key);
  }
  if (second - best > kClear * second) return true;
  return only_twins_are_near(standing.entrants.size(), c);
}

// True if only equal children without past usage are near: they stay equal, and the lower id, which
// was found, is first.
bool Walk::only_twins_are_near(std::size_t count, const Contest& c) {
  const std::size_t first = c.first;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == first || c.target[i] == 0) continue;
    const bool twin = c.key[i] == c.key[first] && c.value[i] == 0 && c.value[first] == 0 &&
                      c.cost[i] == c.cost[first] && c.target[i] == c.target[first];
    if (!twin && !(c.key[i] - c.key[first] > kClear * c.key[i])) return false;
  }
  return true;
}

// As stands_until().
TimeMs Walk::first_stays_until(const Standing& standing, const Contest& c) const {
  TimeMs until = kForever;
  for (const Entrant& e : standing.entrants) until = std::min(until, e.until);
  if (c.alone) return until;
  const double mine = c.cost[c.first];
  if (c.surplus == 0 || mine == 0) return until;
  const double part = 1 / c.surplus, mean = c.rate * part;
  const auto drift = [&](std::size_t i) {
    return std::abs(standing.entrants[i].rate - c.value[i] * mean) * part;
  };
  const double target = c.target[c.first], own_drift = drift(c.first);
  const double gain = 1.05 * setup_.rule->gain;
  double ms = static_cast<double>(kDayMs);
  for (std::size_t i = 0; i < standing.entrants.size(); ++i) {
    if (i == c.first || c.target[i] == 0) continue;
    const double room = c.cost[i] * target - mine * c.target[i];
    const double speed = gain * (own_drift * c.cost[i] + drift(i) * mine);
    if (room < ms * speed) ms = room / speed;
  }
  ms = std::min(ms, static_cast<double>(setup_.tree->clock().half_life_ms()) / 8);
  return std::min(until, setup_.now + static_cast<TimeMs>(0.99 * ms));
}

std::uint32_t Walk::ask_again(AccountId id, Scope scope) {
  if (!may_remember()) return kNoSlot;
  Standing& standing = standings_[id.value];
  const bool known = standing.epoch == memo_epoch_ && standing.from <= setup_.now &&
                     standing.half_lives == instant_.half_lives;
  if (!known || !catch_up(standing, id)) return kNoSlot;
  Contest contest;
  if (!enter(standing, contest)) return kNoSlot;
  for (;;) {
    if (!find_first(standing, contest)) return kNoSlot;
    Entrant& first = standing.entrants[contest.first];
    prefetch(first);
    if (first.slot == kNoSlot) {
      first.slot = next_of(id, first.id, scope);
      first.until = answer_stands_until(id, first.id);
      if (first.slot != kNoSlot) index_->jobs().prefetch(first.slot);
      const MilliGpu least = first.next;
      first.next = first.leaf ? first.least : known_cost(first.id);
      if (!contest.alone && first.next != least) {
        set_key(first, contest, contest.first);
        continue;
      }
    }
    standing.from = setup_.now;
    standing.last = static_cast<std::uint32_t>(contest.first);
    memos_[id.value] = {memo_epoch_,
                        standing.own.jobs,
                        standing.own.alloc,
                        first.slot,
                        index_->summary(id).own_quota,
                        first.next,
                        setup_.now,
                        first_stays_until(standing, contest)};
    return first.slot;
  }
}

// `first` is the index, among the children that take part, of the one with the next job.
void Walk::keep_standing(AccountId id, std::size_t first) {
  const Node& node = marked_node(id);
  Standing& standing = standings_[id.value];
  standing.epoch = 0;
  if (node.children.size() > kFewSiblings || setup_.tree->clock().infinite()) return;
  const bool simple = std::none_of(node.children.begin(), node.children.end(), [&](const Child& c) {
    const NodeSummary& summary = index_->summary(c.id);
    return c.id == id || summary.quota != 0 || summary.shares <= 0 || summary.held_below;
  });
  if (!simple) return;
  standing.entrants.resize(node.children.size());
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const Child& child = node.children[i];
    Entrant& e = standing.entrants[i];
    e.id = child.id;
    e.by_class = child.by_class;
    e.shares = index_->summary(child.id).shares;
    read(e);
    e.next = child.next;
    e.until = child.stands_until;
    if (child.id == node.siblings[first].id) standing.last = static_cast<std::uint32_t>(i);
  }
  standing.epoch = memo_epoch_;
  standing.half_lives = instant_.half_lives;
  standing.from = setup_.now;
  standing.own = changes_of(id);
}

}  // namespace subak::ready
