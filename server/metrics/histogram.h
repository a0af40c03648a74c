// A histogram with fixed bounds. Integers inside, so that observing is a few nanoseconds and exact.
// Threads: any; a snapshot may be one observation torn (count and sum are read one after the
// other).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace subak::metrics {

struct HistogramSnapshot {
  std::vector<double> bounds;          // upper, in the shown unit, without +Inf
  std::vector<std::uint64_t> buckets;  // each on its own; one more than bounds
  std::uint64_t count = 0;
  double sum = 0;
};

class Histogram {
 public:
  static constexpr std::size_t kMaxBounds = 20;
  // `bounds` ascending, in the unit that is observed; `per_unit` of these are one shown unit
  // (microseconds shown as seconds: 1'000'000).
  Histogram(std::initializer_list<std::int64_t> bounds, std::int64_t per_unit);
  void observe(std::int64_t value);
  HistogramSnapshot snapshot() const;

 private:
  std::vector<std::int64_t> bounds_;
  std::int64_t per_unit_;
  std::array<std::atomic<std::uint64_t>, kMaxBounds + 1> buckets_{};
  std::atomic<std::int64_t> sum_{0};
};

}  // namespace subak::metrics
