// Integer quantities. Every count, promise and charge is an integer. Only decayed usage
// (accounting/decay.h), and the order of jobs that follows from it, use floating point.
// Threads: any; plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace subak {

// A point in time: milliseconds since 1970-01-01 UTC, without leap seconds.
using TimeMs = std::int64_t;
// A length of time in milliseconds.
using DurationMs = std::int64_t;
// An amount of GPUs in thousandths: 1000 is one whole GPU. The amount of a MIG slice is its part of
// the GPU's memory units (model/mig.h).
using MilliGpu = std::int64_t;

constexpr MilliGpu kMilliPerGpu = 1000;
constexpr DurationMs kSecondMs = 1000;
constexpr DurationMs kMinuteMs = 60 * kSecondMs;
constexpr DurationMs kHourMs = 60 * kMinuteMs;
constexpr DurationMs kDayMs = 24 * kHourMs;

// An exact amount of GPU time in milli-GPU x ms. The amount has 128 bits, because 64 bits would
// overflow within three years at 100,000 GPUs. 128 bits do not overflow even for 10^9 GPUs over
// 10^9 years. The amount is stored and shown as (GPU-seconds, rest), with 0 <= rest <
// kRawPerGpuSecond. Negative amounts are corrections.
class GpuTime {
 public:
  // milli-GPU x ms.
  __extension__ typedef __int128 Raw;
  // 1000 milli-GPU x 1000 ms.
  static constexpr std::int64_t kRawPerGpuSecond = 1'000'000;

  constexpr GpuTime() = default;
  // Returns the GPU time of `rate` milli-GPU for `duration`. Both may be negative.
  constexpr static GpuTime of(MilliGpu rate, DurationMs duration) {
    return GpuTime(static_cast<Raw>(rate) * duration);
  }
  // Makes the amount from gpu_seconds() and rest(). `rest` may have any sign and size.
  constexpr static GpuTime from_parts(std::int64_t gpu_seconds, std::int64_t rest) {
    return GpuTime(static_cast<Raw>(gpu_seconds) * kRawPerGpuSecond + rest);
  }
  // Returns the whole GPU-seconds, rounded towards minus infinity, and the rest in milli-GPU x ms.
  constexpr std::int64_t gpu_seconds() const {
    return static_cast<std::int64_t>((raw_ - rest()) / kRawPerGpuSecond);
  }
  constexpr std::int64_t rest() const {
    const auto r = static_cast<std::int64_t>(raw_ % kRawPerGpuSecond);
    return r < 0 ? r + kRawPerGpuSecond : r;
  }
  // Returns the GPU-hours, rounded. Use the result for display, never for sums.
  constexpr double gpu_hours() const { return static_cast<double>(raw_) / 3.6e9; }
  // Returns the exact amount, for ratios. No fact stores the amount in this form, because it needs
  // 128 bits.
  constexpr Raw raw() const { return raw_; }  // milli-GPU x ms
  constexpr bool is_zero() const { return raw_ == 0; }

  constexpr GpuTime& operator+=(GpuTime o) {
    raw_ += o.raw_;
    return *this;
  }
  constexpr GpuTime& operator-=(GpuTime o) {
    raw_ -= o.raw_;
    return *this;
  }
  friend constexpr GpuTime operator+(GpuTime a, GpuTime b) { return a += b; }
  friend constexpr GpuTime operator-(GpuTime a, GpuTime b) { return a -= b; }
  friend constexpr bool operator==(GpuTime a, GpuTime b) { return a.raw_ == b.raw_; }
  friend constexpr auto operator<=>(GpuTime a, GpuTime b) { return a.raw_ <=> b.raw_; }

 private:
  constexpr explicit GpuTime(Raw raw) : raw_(raw) {}
  Raw raw_ = 0;
};

// An amount of GPUs of one product, as it is in facts and in the texts of people. The product "gpu"
// means any product.
struct ProductAmount {
  // The name of the product as in NodeSpec::product, or kAnyProduct.
  std::string product;
  // The amount in thousandths of a GPU; never negative in a quota or limit.
  MilliGpu milligpu = 0;

  template <class V>
  void fields(V& v) {
    v(1, "product", product);
    v(2, "milligpu", milligpu);
  }
  friend bool operator==(const ProductAmount&, const ProductAmount&) = default;
};

// Amounts of several products, sorted by product, with each product once. An empty list means "not
// set". An amount of 0 means 0 GPUs.
using ProductAmounts = std::vector<ProductAmount>;

// The product name that means any product. No real product has it.
inline constexpr char kAnyProduct[] = "gpu";

}  // namespace subak
