// Holds, running GPUs, and their meters.
#include <algorithm>
#include <cassert>

#include "accounting/amounts.h"
#include "accounting/tree.h"
#include "core/must.h"

namespace subak {
namespace {

ProductLevel& level_of(AccountNode& node, ProductId product) {
  for (ProductLevel& level : node.levels) {
    if (level.product == product) return level;
  }
  const auto place = std::find_if(node.levels.begin(), node.levels.end(),
                                  [&](const ProductLevel& l) { return product < l.product; });
  return *node.levels.insert(place, ProductLevel{product, 0, 0});
}

// Returns the allocation that the node's quota does not cover: the rate of its surplus.
MilliGpu beyond_quota(const AccountNode& node) {
  if (node.quota.empty()) [[likely]]
    return node.alloc();
  return uncovered(node.quota, node.levels, {});
}

}  // namespace

void AccountTree::hold(AccountId leaf, ProductId product, MilliGpu amount, TimeMs now) {
  must(amount >= 0, "amounts are not negative");
  change_path(leaf, product, amount, 0, now);
}

void AccountTree::bind(AccountId leaf, ProductId product, MilliGpu amount, TimeMs now) {
  must(amount >= 0, "amounts are not negative");
  change_path(leaf, product, -amount, amount, now);
}

void AccountTree::release(AccountId leaf, ProductId product, MilliGpu amount, bool was_running,
                          TimeMs now) {
  must(amount >= 0, "amounts are not negative");
  change_path(leaf, product, was_running ? 0 : -amount, was_running ? -amount : 0, now);
}

void AccountTree::change_path(AccountId leaf, ProductId product, MilliGpu held, MilliGpu running,
                              TimeMs now) {
  const DecayInstant instant = clock_.at(now);
  const MilliGpu delta = held + running;
  MilliGpu below = 0;
  for (AccountId id = leaf; id;) {
    AccountNode& node = at(id);
    must(!node.removed, "a removed account holds nothing");
    if (delta != 0) {
      ++node.changes;
      node.usage.change_rate(clock_, delta, instant);
      if (now >= node.usage_as_of) {
        node.usage_total += GpuTime::of(node.alloc(), now - node.usage_as_of);
        node.usage_as_of = now;
      } else {
        node.usage_total += GpuTime::of(delta, node.usage_as_of - now);
      }
    }
    ProductLevel& level = level_of(node, product);
    level.held += held;
    level.running += running;
    node.held += held;
    node.running += running;
    must(level.held >= 0 && level.running >= 0, "nothing ends that did not begin");
    must(node.alloc() >= below, "an account has what those below it have");
    below = node.alloc();
    if (delta != 0) refresh_surplus(node, instant);
    must(node.usage.rate() == node.alloc(), "what is held is metered");
    id = node.parent;
  }
}

void AccountTree::refresh_surplus(AccountNode& node, const DecayInstant& now) {
  if (now.t > node.usage_as_of) {
    node.usage_total += GpuTime::of(node.alloc(), now.t - node.usage_as_of);
    node.usage_as_of = now.t;
  }
  const MilliGpu delta = beyond_quota(node) - node.surplus.rate();
  if (delta == 0) return;
  const bool late = now.t < node.usage_as_of;
  node.surplus.change_rate(clock_, delta, late ? clock_.at(node.usage_as_of) : now);
}

double AccountTree::usage(AccountId id, const DecayInstant& at) const {
  return node(id).usage.value(clock_, at);
}

double AccountTree::surplus(AccountId id, TimeMs t) const {
  return node(id).surplus.value(clock_, t);
}

double AccountTree::sort_surplus(AccountId id, const DecayInstant& at) const {
  const AccountNode& n = node(id);
  const double surplus = n.surplus.value(clock_, at);
  return std::max(0.0, n.adjustment.idle() ? surplus : surplus + n.adjustment.value(clock_, at));
}

DecayedMeter::Course AccountTree::sort_surplus_course(AccountId id, std::int64_t half_lives) const {
  const AccountNode& n = node(id);
  const DecayedMeter::Course surplus = n.surplus.course(clock_, half_lives);
  if (n.adjustment.idle()) return surplus;
  const DecayedMeter::Course adjusted = n.adjustment.course(clock_, half_lives);
  return {surplus.decaying + adjusted.decaying, surplus.lasting + adjusted.lasting};
}

GpuTime AccountTree::usage_undecayed(AccountId id, TimeMs t) const {
  const AccountNode& n = node(id);
  return n.usage_total + GpuTime::of(n.alloc(), t - n.usage_as_of);
}

void AccountTree::restore_meters(AccountId id, const DecayedMeter::State& usage,
                                 const DecayedMeter::State& surplus,
                                 const DecayedMeter::State& adjustment, GpuTime usage_total,
                                 TimeMs usage_as_of) {
  AccountNode& node = at(id);
  must(usage.rate == node.alloc(), "what is held is metered");
  ++node.changes;
  node.usage.restore(usage);
  node.surplus.restore(surplus);
  node.adjustment.restore(adjustment);
  node.usage_total = usage_total;
  node.usage_as_of = usage_as_of;
}

void AccountTree::restart_meters(DurationMs half_life_ms, TimeMs now) {
  clock_ = DecayClock(half_life_ms);
  const DecayInstant instant = clock_.at(now);
  for (AccountNode& node : nodes_) {
    node.usage = node.surplus = node.adjustment = DecayedMeter();
    if (!node.id || node.removed) continue;
    node.usage.change_rate(clock_, node.alloc(), instant);
    refresh_surplus(node, instant);
  }
  edited_.push_back(kRootAccount);
}

void AccountTree::check_invariants() const {
  std::size_t live = 0;
  for (const AccountNode& node : nodes_) {
    if (!node.id || node.removed) continue;
    ++live;
    check_node(node);
  }
  assert(live == live_ && by_path_.size() == live_);
}

void AccountTree::check_node(const AccountNode& n) const {
  assert(find(n.spec.path) == n.id);
  MilliGpu held = 0, running = 0, children = 0, quota = 0;
  for (const ProductLevel& level : n.levels) {
    assert(level.held >= 0 && level.running >= 0);
    held += level.held;
    running += level.running;
  }
  assert(held == n.held && running == n.running);
  for (const AccountId child : n.children) {
    assert(node(child).parent == n.id && !node(child).removed && node(child).depth == n.depth + 1);
    children += node(child).alloc();
  }
  assert(children <= n.alloc());
  assert(std::is_sorted(n.children.begin(), n.children.end()));
  for (const auto& [product, amount] : n.quota) quota += amount;
  assert(quota == n.quota_total);
  if (n.spec.quota.empty()) assert(n.quota == quota_of_children(n));
  assert(n.usage.rate() == n.alloc());
  assert(n.surplus.rate() == beyond_quota(n));
}

}  // namespace subak
