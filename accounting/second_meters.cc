#include "accounting/second_meters.h"

#include "core/must.h"

namespace subak {

SecondMeters::SecondMeters(DurationMs half_life_ms, TimeMs now, std::span<const AccountNode> nodes)
    : clock_(half_life_ms), begun_ms_(now) {
  const DecayInstant instant = clock_.at(now);
  meters_.reserve(nodes.size());
  for (const AccountNode& node : nodes) meters_.push_back(node.meters.begun(clock_, instant));
  must(meters_.size() == nodes.size(), "each account has second meters");
}

AccountMeters& SecondMeters::meters(AccountId id) {
  if (id.value >= meters_.size()) meters_.resize(id.value + std::size_t{1});
  return meters_[id.value];
}

void SecondMeters::change(AccountId id, MilliGpu delta, MilliGpu surplus_rate, TimeMs now) {
  const DecayInstant at = clock_.at(now);
  meters(id).change_usage(clock_, delta, at);
  meters(id).set_surplus_rate(clock_, surplus_rate, at);
}

void SecondMeters::set_surplus_rate(AccountId id, MilliGpu rate, TimeMs now) {
  meters(id).set_surplus_rate(clock_, rate, clock_.at(now));
}

void SecondMeters::adjust(AccountId id, double factor, TimeMs now) {
  AccountMeters& own = meters(id);
  const DecayInstant at = clock_.at(now);
  own.adjust(clock_, factor * (own.surplus(clock_, at) + own.adjustment(clock_, at)), now);
  adjustments_.push_back({id, factor, {id}, AccountId(), {}});
}

void SecondMeters::begin_at_mean(std::span<const AccountNode> nodes, AccountId id, double factor,
                                 bool own_jobs, TimeMs now) {
  const DecayInstant at = clock_.at(now);
  Adjustment made{id, factor, {}, AccountId(), {}};
  const AccountNode& parent = nodes[nodes[id.value].parent.value];
  double sum = 0;
  if (own_jobs) {
    made.parent = parent.id;
    sum = meters(parent.id).usage(clock_, at);
  }
  for (const AccountId sibling : parent.children) {
    if (sibling == id) continue;
    const AccountMeters& other = meters(sibling);
    if (own_jobs) {
      made.without.push_back(sibling);
      sum -= other.usage(clock_, at);
    }
    if (nodes[sibling.value].spec.shares == 0) continue;
    made.of.push_back(sibling);
    sum += other.surplus(clock_, at) + other.adjustment(clock_, at);
  }
  meters(id).adjust(clock_, factor * sum, now);
  adjustments_.push_back(std::move(made));
}

std::vector<AccountMeters::State> SecondMeters::finished(std::span<const MeterValues> earlier,
                                                         std::span<const AccountNode> nodes) const {
  std::vector<MeterValues> before(nodes.size());
  for (const MeterValues& values : earlier) {
    must(values.account.value < before.size(), "earlier values are of accounts that exist");
    before[values.account.value] = values;
  }
  // All earlier values decay alike, so the time of an adjustment does not matter to them.
  for (const Adjustment& made : adjustments_) {
    double sum = made.parent ? before[made.parent.value].usage : 0;
    for (const AccountId id : made.without) sum -= before[id.value].usage;
    for (const AccountId id : made.of) {
      sum += before[id.value].surplus + before[id.value].adjustment;
    }
    before[made.id.value].adjustment += made.factor * sum;
  }
  std::vector<AccountMeters::State> out;
  out.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    AccountMeters meters = i < meters_.size() ? meters_[i] : AccountMeters();
    meters.add(clock_, before[i].usage, before[i].surplus, before[i].adjustment, begun_ms_);
    out.push_back(meters.state());
    must(!nodes[i].id || out.back().usage.rate == nodes[i].meters.usage_rate(),
         "second meters have the rates of the first ones");
  }
  return out;
}

}  // namespace subak
