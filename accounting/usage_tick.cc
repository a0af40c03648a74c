// The baseline of OrderPolicy::kUsageTick: decayed usage as Slurm's priority/multifactor keeps it.
// Source: SchedMD, "Multifactor Priority Plugin", and the plugin's source (GPL; read, not copied).
#include <algorithm>
#include <cassert>

#include "accounting/order.h"
#include "core/must.h"

namespace subak {

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

double UsageTick::usage(AccountId id) const {
  return id.value < usage_.size() ? usage_[id.value] : 0;
}

}  // namespace subak
