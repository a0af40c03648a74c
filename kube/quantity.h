// Reads Kubernetes' resource quantities ("500m", "1.5Gi", "2e3", "8") exactly, as integers.
// Source: the grammar in k8s.io/apimachinery pkg/api/resource/quantity.go (package documentation).
// Threads: any; pure functions.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace subak {

// Reads a whole number of base 10 that fits `T`, and nothing else: no blanks and no "+". A sign is
// allowed if `T` has one.
template <class T>
std::optional<T> whole_number(std::string_view text) {
  T number{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

// An amount in billionths of its unit, at most 2^63-1 units. As in Kubernetes, a finer amount is
// rounded away from zero, and a larger amount becomes the largest amount.
struct KubeQuantity {
  __extension__ typedef __int128 Nano;
  // Billionths of the unit.
  Nano nano = 0;

  static constexpr std::int64_t kNanoPerUnit = 1'000'000'000;
  // Returns whole units, rounded up, as kube-scheduler counts.
  std::int64_t units() const;
  // Returns thousandths, rounded up, at most 2^63-1.
  std::int64_t milli() const;
  // True if the amount is a whole number of units.
  bool is_integer() const { return nano % kNanoPerUnit == 0; }
  friend bool operator==(KubeQuantity a, KubeQuantity b) { return a.nano == b.nano; }
};

// Reads a number with an optional suffix or exponent, without blanks. Returns nullopt if Kubernetes
// would refuse the text.
std::optional<KubeQuantity> parse_kube_quantity(std::string_view text);

}  // namespace subak
