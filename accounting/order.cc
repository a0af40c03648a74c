#include "accounting/order.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace subak {
namespace {

// What target-share needs to know of all siblings together. Those with shares 0 do not count.
struct Level {
  double shares = 0;
  double surplus = 0;
};

Level sum_of(std::span<const Sibling> siblings) {
  Level level;
  for (const Sibling& s : siblings) {
    if (s.shares <= 0) continue;
    level.shares += s.shares;
    level.surplus += s.surplus;
  }
  return level;
}

// s * clamp(1 + gain (1 - v / (s sum v)), lo, hi) with s multiplied out, so that nothing divides by
// s: s hi = 1 - lo (1 - s).
double target_of(const TargetShareRule& rule, const Level& level, const Sibling& sibling) {
  const double s = sibling.shares / level.shares;
  if (level.surplus <= 0) return s;
  const double wanted = (1 + rule.gain) * s - rule.gain * (sibling.surplus / level.surplus);
  return std::min(std::max(wanted, rule.lo * s), 1 - rule.lo * (1 - s));
}

OrderKey target_share_key(const TargetShareRule& rule, const Level& level, const Sibling& s) {
  const auto alloc = static_cast<double>(s.alloc);
  if (s.within_quota) {
    const double part = s.quota > 0 ? alloc / static_cast<double>(s.quota)
                                    : (s.alloc > 0 ? std::numeric_limits<double>::infinity() : 0);
    return {0, part, s.shares > 0 ? s.surplus / s.shares : s.surplus, s.id};
  }
  if (s.shares <= 0) return {2, alloc, s.surplus, s.id};
  return {1, alloc / target_of(rule, level, s), s.surplus / s.shares, s.id};
}

OrderKey per_share_key(double amount, const Sibling& s) {
  if (s.shares <= 0) return {2, amount, 0, s.id};
  return {1, amount / s.shares, 0, s.id};
}

}  // namespace

void order_keys(OrderPolicy policy, const TargetShareRule& rule, std::span<const Sibling> siblings,
                std::span<OrderKey> keys) {
  assert(keys.size() == siblings.size());
  const Level level = policy == OrderPolicy::kTargetShare ? sum_of(siblings) : Level{};
  for (std::size_t i = 0; i < siblings.size(); ++i) {
    const Sibling& s = siblings[i];
    switch (policy) {
      case OrderPolicy::kTargetShare:
        keys[i] = target_share_key(rule, level, s);
        break;
      case OrderPolicy::kExact:
      case OrderPolicy::kUsageTick:
        keys[i] = per_share_key(s.usage, s);
        break;
      case OrderPolicy::kDrf:
        keys[i] = per_share_key(static_cast<double>(s.alloc), s);
        break;
      case OrderPolicy::kFifo:
        keys[i] = {1, static_cast<double>(s.submit_ms), 0, s.id};
        break;
    }
  }
}

std::vector<double> targets(const TargetShareRule& rule, std::span<const Sibling> siblings) {
  const Level level = sum_of(siblings);
  std::vector<double> out;
  out.reserve(siblings.size());
  for (const Sibling& s : siblings) out.push_back(s.shares > 0 ? target_of(rule, level, s) : 0);
  return out;
}

}  // namespace subak
