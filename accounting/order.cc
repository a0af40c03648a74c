#include "accounting/order.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "core/must.h"

namespace subak {
namespace {

// The sums over all siblings that target-share needs. Siblings with shares 0 do not count.
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

// Returns s * clamp(1 + gain (1 - v / (s sum v)), lo, hi). The code multiplies each part of the
// clamp by s, so that it never divides by s. The upper bound then is s hi = 1 - lo (1 - s).
double target_of(const TargetShareRule& rule, const Level& level, const Sibling& sibling) {
  const double s = sibling.shares / level.shares;
  if (level.surplus <= 0) return s;
  const double wanted = (1 + rule.gain) * s - rule.gain * (sibling.surplus / level.surplus);
  return std::min(std::max(wanted, rule.lo * s), 1 - rule.lo * (1 - s));
}

// Writes the key in place: a return by value costs more than the arithmetic.
void set_key(OrderKey& key, int band, double first, double second, AccountId id) {
  key.band = band;
  key.first = first;
  key.second = second;
  key.id = id;
}

void set_target_share_key(const TargetShareRule& rule, const Level& level, const Sibling& s,
                          OrderKey& key) {
  const auto alloc = static_cast<double>(s.alloc);
  const double second = s.shares > 0 ? s.surplus / s.shares : s.surplus;
  if (s.within_quota) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const double unset = s.alloc > 0 ? kNever : 0;
    set_key(key, 0, s.quota > 0 ? alloc / static_cast<double>(s.quota) : unset, second, s.id);
  } else if (s.shares > 0) {
    set_key(key, 1, per_target(s, target_of(rule, level, s)), second, s.id);
  } else {
    set_key(key, 2, alloc, second, s.id);
  }
}

void set_per_share_key(double amount, const Sibling& s, OrderKey& key) {
  if (s.shares > 0) {
    set_key(key, 1, amount / s.shares, 0, s.id);
  } else {
    set_key(key, 2, amount, 0, s.id);
  }
}

template <class SetKey>
void for_each_key(std::span<const Sibling> siblings, std::span<OrderKey> keys, SetKey set) {
  for (std::size_t i = 0; i < siblings.size(); ++i) set(siblings[i], keys[i]);
}

}  // namespace

void order_keys(OrderPolicy policy, const TargetShareRule& rule, std::span<const Sibling> siblings,
                std::span<OrderKey> keys) {
  assert(keys.size() == siblings.size());
  switch (policy) {
    case OrderPolicy::kTargetShare: {
      const Level level = sum_of(siblings);
      return for_each_key(siblings, keys, [&](const Sibling& s, OrderKey& key) {
        set_target_share_key(rule, level, s, key);
      });
    }
    case OrderPolicy::kExact:
    case OrderPolicy::kUsageTick:
      return for_each_key(siblings, keys, [](const Sibling& s, OrderKey& key) {
        set_per_share_key(s.usage, s, key);
      });
    case OrderPolicy::kDrf:
      return for_each_key(siblings, keys, [](const Sibling& s, OrderKey& key) {
        set_per_share_key(static_cast<double>(s.alloc), s, key);
      });
    case OrderPolicy::kFifo:
      return for_each_key(siblings, keys, [](const Sibling& s, OrderKey& key) {
        set_key(key, 1, static_cast<double>(s.submit_ms), 0, s.id);
      });
  }
}

double per_target(const Sibling& sibling, double target) {
  return (static_cast<double>(sibling.alloc) + static_cast<double>(sibling.next) / 2) / target;
}

std::vector<double> targets(const TargetShareRule& rule, std::span<const Sibling> siblings) {
  std::vector<double> out(siblings.size());
  fill_targets(rule, siblings, out);
  return out;
}

void fill_targets(const TargetShareRule& rule, std::span<const Sibling> siblings,
                  std::span<double> out) {
  assert(out.size() == siblings.size());
  const Level level = sum_of(siblings);
  for (std::size_t i = 0; i < siblings.size(); ++i) {
    out[i] = siblings[i].shares > 0 ? target_of(rule, level, siblings[i]) : 0;
  }
}

// --- usage-tick ----------------------------------------------------------------------------------
// Decayed usage as Slurm's priority/multifactor computes it. Source: SchedMD, "Multifactor Priority
// Plugin", and the plugin's source (GPL; read, not copied).

UsageTick::UsageTick(DurationMs half_life_ms, DurationMs period_ms, bool charge_at_end,
                     TimeMs start)
    : period_ms_(period_ms), charge_at_end_(charge_at_end), last_(start), next_(start + period_ms) {
  assert(period_ms > 0 && (half_life_ms == 0 || half_life_ms >= kSecondMs));
  // Slurm's first-order stand-in for 2^(-1/h), per second.
  if (half_life_ms != 0)
    log2_decay_ = log2_exact(1 - 693.0 / static_cast<double>(half_life_ms)) / 1000;
  decay_of_period_ = decay(period_ms);
  must(decay_of_period_ > 0 && decay_of_period_ <= 1, "usage never grows by decay");
}

double UsageTick::decay(DurationMs ms) const {
  must(ms >= 0, "usage decays forward in time");
  if (ms == period_ms_ && decay_of_period_ != 0) return decay_of_period_;
  return exp2_exact(std::max(-1022.0, log2_decay_ * static_cast<double>(ms)));
}

double UsageTick::charge(const Job& job, TimeMs t) const {
  const DurationMs x = t - std::max(last_, job.start);
  return x <= 0 ? 0 : static_cast<double>(x) * decay(x) * static_cast<double>(job.rate);
}

void UsageTick::job_start(AccountId leaf, MilliGpu rate, TimeMs t) {
  must(leaf && rate >= 0, "a job has an account and a rate");
  if (leaf.value >= running_.size()) running_.resize(leaf.value + std::size_t{1});
  running_[leaf.value].push_back({rate, t});
}

void UsageTick::job_end(AccountId leaf, MilliGpu rate, TimeMs started, TimeMs t) {
  auto& jobs = running_.at(leaf.value);
  const auto it = std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) {
    return job.rate == rate && job.start == started;
  });
  assert(it != jobs.end());
  if (charge_at_end_) ended_.emplace_back(leaf, charge(*it, t));
  *it = jobs.back();
  jobs.pop_back();
}

void UsageTick::advance(const AccountTree& tree, TimeMs t) {
  if (usage_.size() < tree.next_id().value) usage_.resize(tree.next_id().value);
  for (const auto& [leaf, amount] : ended_) add_to_path(tree, leaf, amount);
  ended_.clear();
  while (next_ <= t) {
    const double factor = decay(next_ - last_);
    for (double& usage : usage_) usage *= factor;
    for (std::uint32_t leaf = 0; leaf < running_.size(); ++leaf) {
      double sum = 0;
      for (const Job& job : running_[leaf]) sum += charge(job, next_);
      if (sum != 0) add_to_path(tree, AccountId(leaf), sum);
    }
    last_ = next_;
    next_ += period_ms_;
  }
  must(next_ > t && last_ == next_ - period_ms_, "every tick that is due has run");
}

void UsageTick::add_to_path(const AccountTree& tree, AccountId leaf, double amount) {
  must(leaf.value < usage_.size(), "every account has its usage");
  must(amount >= 0, "a job is charged no less than nothing");
  for (AccountId id = leaf; id; id = tree.node(id).parent) usage_[id.value] += amount;
}

void UsageTick::moved(const AccountTree& tree, AccountId account, AccountId from) {
  if (usage_.size() < tree.next_id().value) usage_.resize(tree.next_id().value);
  const double amount = usage_[account.value];
  for (AccountId id = from; id; id = tree.node(id).parent) {
    usage_[id.value] = std::max(0.0, usage_[id.value] - amount);
  }
  add_to_path(tree, tree.node(account).parent, amount);
}

double UsageTick::usage(AccountId id) const {
  return id.value < usage_.size() ? usage_[id.value] : 0;
}

}  // namespace subak
