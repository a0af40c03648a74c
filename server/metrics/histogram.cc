#include "server/metrics/histogram.h"

#include <algorithm>
#include <cassert>

namespace subak::metrics {

Histogram::Histogram(std::initializer_list<std::int64_t> bounds, std::int64_t per_unit)
    : bounds_(bounds), per_unit_(per_unit) {
  assert(bounds_.size() <= kMaxBounds && std::is_sorted(bounds_.begin(), bounds_.end()));
}

void Histogram::observe(std::int64_t value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  buckets_[static_cast<std::size_t>(at)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

HistogramSnapshot Histogram::snapshot() const {
  HistogramSnapshot out;
  const auto per_unit = static_cast<double>(per_unit_);
  for (const std::int64_t bound : bounds_) {
    out.bounds.push_back(static_cast<double>(bound) / per_unit);
  }
  for (std::size_t i = 0; i <= bounds_.size(); ++i) {
    out.buckets.push_back(buckets_[i].load(std::memory_order_relaxed));
    out.count += out.buckets.back();
  }
  out.sum = static_cast<double>(sum_.load(std::memory_order_relaxed)) / per_unit;
  return out;
}

}  // namespace subak::metrics
