#include "server/store/days/usage_groups.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace subak {

std::uint32_t UsageNames::number_of(std::string_view text) {
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(texts_.back(), number);
  return number;
}

std::size_t UsageGroups::Hash::operator()(const Key& key) const {
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  mix(static_cast<std::uint64_t>(key.day));
  mix(std::uint64_t{key.payer.value} << 32 | key.holder.value);
  mix(std::uint64_t{key.product} << 32 | key.profile);
  mix(std::uint64_t{key.cluster} << 32 | key.ns);
  mix(key.job.value ^ static_cast<std::uint64_t>(key.state) << 60);
  return hash;
}

void UsageGroups::add(Key key, std::int64_t day, GpuTime amount, std::int64_t rows) {
  key.day = columns_.period == UsagePeriod::kAll ? 0 : first_day_of(columns_.period, day);
  const std::uint32_t none = names_.number_of("");
  if (!columns_.product) key.product = none;
  if (!columns_.profile) key.profile = none;
  if (!columns_.cluster) key.cluster = none;
  if (!columns_.ns) key.ns = none;
  if (!columns_.job) key.job = JobId();
  Sum& sum = sums_[key];
  sum.first_day = std::min(sum.first_day, day);
  sum.amount += amount;
  sum.rows += rows;
}

void UsageGroups::add(const LedgerRow& row, TimeMs from_ms, TimeMs to_ms, int sign) {
  const Key key{0,
                row.payer,
                row.holder,
                row.state,
                names_.number_of(row.product),
                names_.number_of(row.profile),
                names_.number_of(row.cluster),
                names_.number_of(row.ns),
                row.allocation.job};
  if (row.booked_ms != 0) {
    if (row.counts_from() < from_ms || row.counts_to() > to_ms) return;
    return add(key, utc_day_of(row.counts_from()),
               GpuTime::of(sign * row.milligpu, row.to_ms - row.from_ms), sign);
  }
  TimeMs from = std::max(row.from_ms, from_ms);
  const TimeMs end = std::min(row.to_ms, to_ms);
  while (from < end) {
    const std::int64_t day = utc_day_of(from);
    const TimeMs to = std::min(end, (day + 1) * kDayMs);
    add(key, day, GpuTime::of(sign * row.milligpu, to - from), sign);
    from = to;
  }
}

std::vector<DailyUsage> UsageGroups::take() {
  std::vector<DailyUsage> out;
  out.reserve(sums_.size());
  for (const auto& [key, sum] : sums_) {
    if (sum.rows == 0) continue;
    const std::int64_t day = columns_.period == UsagePeriod::kAll ? sum.first_day : key.day;
    out.push_back({day, key.payer, key.holder, key.state, names_.text(key.product),
                   names_.text(key.profile), names_.text(key.cluster), names_.text(key.ns), key.job,
                   sum.amount, static_cast<std::uint64_t>(sum.rows)});
  }
  sums_.clear();
  const auto order = [](const DailyUsage& u) {
    return std::tie(u.day, u.payer, u.holder, u.state, u.product, u.profile, u.cluster, u.ns,
                    u.job);
  };
  std::sort(out.begin(), out.end(),
            [&](const DailyUsage& a, const DailyUsage& b) { return order(a) < order(b); });
  return out;
}

}  // namespace subak
