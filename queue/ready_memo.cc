// Results that a pass leaves for the next: the next job of a node, and how long this is valid.
#include <algorithm>
#include <cmath>

#include "queue/ready_walk.h"

namespace subak::ready {

void Walk::begin_memos() {
  const TargetShareRule& rule = *setup_.rule;
  const bool same = memos_of_ == index_ && index_epoch_ == index_->epoch() &&
                    memo_policy_ == setup_.policy && memo_rule_.gain == rule.gain &&
                    memo_rule_.lo == rule.lo;
  if (same) return;
  memos_of_ = index_;
  index_epoch_ = index_->epoch();
  memo_policy_ = setup_.policy;
  memo_rule_ = rule;
  ++memo_epoch_;
  if (memos_.size() < marks_.size()) {
    memos_.resize(marks_.size());
    standings_.resize(marks_.size());
  }
}

// A pass with blocks, or one that simulates starts, must not leave its results.
bool Walk::may_remember() const {
  return setup_.policy == OrderPolicy::kTargetShare && !simulated_ && nothing_blocked();
}

const Walk::Memo* Walk::memo(AccountId id) const {
  if (!may_remember()) return nullptr;
  const Memo& memo = memos_[id.value];
  const bool stands = memo.epoch == memo_epoch_ && memo.from <= setup_.now &&
                      setup_.now <= memo.until &&
                      memo.jobs_changes == index_->summary(id).changes &&
                      memo.alloc_changes == setup_.tree->node(id).changes;
  return stands ? &memo : nullptr;
}

void Walk::recall(Child& child) const {
  if (index_->is_leaf(child.id)) return;
  if (const Memo* const known = memo(child.id)) {
    child.next = known->best_cost;
    child.stands_until = known->until;
  }
}

// `first` is the index of the child with the next job.
void Walk::remember(AccountId id, std::size_t first) {
  Node& node = marked_node(id);
  const bool cheap = node.heap.empty() || node.fresh;  // the first time, all were visited
  node.fresh = false;
  if (!cheap || !may_remember()) return;
  const TimeMs until = stands_until(id, first);
  if (until < setup_.now) return;
  memos_[id.value] = {memo_epoch_,
                      index_->summary(id).changes,
                      setup_.tree->node(id).changes,
                      node.best,
                      node.best_within,
                      node.best_cost,
                      setup_.now,
                      until};
  keep_standing(id, first);
}

// For a child that computed its next job just now.
TimeMs Walk::answer_stands_until(AccountId id, AccountId child) const {
  if (child == id || index_->is_leaf(child)) return kForever;  // the first job of its class
  const Memo* const known = memo(child);
  return known == nullptr ? setup_.now : known->until;
}

// Returns how long the first child stays the first, if only time passes. Between changes the
// surplus v_i grows at a rate r_i and halves every h. Let V and R be the sums, and d_i = |r_i V -
// v_i R| / V^2. The part v_i / V moves by at most 1.05 t d_i in a time t <= h / 8, since all decay
// alike, and the integral of the decay's inverse is then at most 1.05 t. A target moves by `gain`
// times as much, or is held by its bounds. The first child, of key a / T, stays before another, of
// key b / U, while 1.05 t gain (d_a b + d_b a) < b T - a U. A hundredth of that time is left
// unused.
TimeMs Walk::stands_until(AccountId id, std::size_t first) {
  Node& node = marked_node(id);
  TimeMs until = kForever;
  for (const Child& child : node.children) until = std::min(until, child.stands_until);
  if (node.siblings.size() == 1) return until;
  const OrderKey& key = node.keys[first];
  const auto cost = [&](std::size_t i) {
    const Sibling& s = node.siblings[i];
    return static_cast<double>(s.alloc) + static_cast<double>(s.next) / 2;
  };
  const auto rate = [&](std::size_t i) {
    const Sibling& s = node.siblings[i];
    return static_cast<double>(s.id == id ? s.alloc : setup_.tree->node(s.id).surplus.rate());
  };
  // Of two children without past usage neither moves.
  const auto rests = [&](std::size_t i) { return node.siblings[i].surplus == 0 && rate(i) == 0; };
  for (std::size_t i = 0; i < node.siblings.size(); ++i) {
    const OrderKey& other = node.keys[i];
    const bool tie = i != first && other.band == key.band && other.first == key.first;
    if (tie && !(rests(first) && rests(i))) return setup_.now - 1;
  }
  if (key.band != 1) return until;  // the key does not depend on time
  double surplus = 0, rates = 0;
  for (std::size_t i = 0; i < node.siblings.size(); ++i) {
    const Sibling& s = node.siblings[i];
    if (s.shares <= 0) continue;
    if (s.surplus == 0 && rate(i) != 0) return setup_.now;  // its surplus may stay at 0 for a while
    surplus += s.surplus;
    rates += rate(i);
  }
  const double mine = cost(first);
  if (surplus == 0 || mine == 0) return until;
  const auto drift = [&](std::size_t i) {
    return std::abs(rate(i) / surplus - node.siblings[i].surplus / surplus * (rates / surplus));
  };
  know_targets(node);
  const double target = node.targets[first], own_drift = drift(first);
  double ms = static_cast<double>(kDayMs);
  for (std::size_t i = 0; i < node.siblings.size(); ++i) {
    if (i == first || node.keys[i].band != 1) continue;
    const double theirs = cost(i);
    const double room = theirs * target - mine * node.targets[i];
    const double speed = 1.05 * setup_.rule->gain * (own_drift * theirs + drift(i) * mine);
    if (room < ms * speed) ms = room / speed;
  }
  const DurationMs half_life = setup_.tree->clock().half_life_ms();
  if (half_life != 0) ms = std::min(ms, static_cast<double>(half_life) / 8);
  return std::min(until, setup_.now + static_cast<TimeMs>(0.99 * ms));
}

}  // namespace subak::ready
