// exp2 and log2 without libm. Only + - * / on doubles, integer arithmetic and bit casts: with
// contraction off every build gives the same bits. Method: table-driven reduction as in P. T. P.
// Tang, "Table-driven implementation of the exponential function in IEEE floating-point
// arithmetic", ACM TOMS 15 (1989).
#include <bit>
#include <cassert>
#include <cstdint>

#include "accounting/decay.h"
#include "accounting/exp2_table.h"
#include "core/must.h"

namespace subak {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kTwoOverLn2 = 0x1.71547652b82fep+1;
constexpr double kTwoOverLn2Low = 0x1.777d0ffda0d24p-55;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
constexpr int kExponentBias = 1023;
constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << 52) - 1;

double power_of_two(std::int64_t k) {
  must(k > -kExponentBias && k <= kExponentBias, "a power of two is a normal number");
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + kExponentBias) << 52);
}

// e^y - 1 for |y| <= ln2/128: the Taylor terms up to y^6, the next is below 2^-62 of y.
double expm1_small(double y) {
  const double y2 = y * y;
  const double low = 0.5 + y * (1.0 / 6);
  const double middle = 1.0 / 24 + y * (1.0 / 120);
  return y + y2 * (low + y2 * (middle + y2 * (1.0 / 720)));
}

// log(m) * 2/2 as atanh series: log(m) = 2 (s + s^3/3 + ...), s = (m-1)/(m+1), |s| <= 0.172.
// Returns s^2/3 + s^4/5 + ... so that log(m) = 2 s (1 + result).
double atanh_tail(double s) {
  const double z = s * s;
  double sum = 0;
  for (int n = 25; n >= 3; n -= 2) sum = z * (sum + 1.0 / n);
  return sum;
}

}  // namespace

double exp2_exact(double x) {
  assert(x >= -1022 && x <= 1022);
  const double scaled = x * 64;  // exact
  const auto n = static_cast<std::int64_t>(scaled + (scaled < 0 ? -0.5 : 0.5));
  const double rest = (scaled - static_cast<double>(n)) * (1.0 / 64);  // exact
  const std::int64_t k = n >> 6;
  const SplitDouble entry = kExp2Table[static_cast<std::size_t>(n & 63)];
  const double result = entry.high + (entry.low + entry.high * expm1_small(rest * kLn2));
  // 2^k may be just outside the range of a double although the result is inside.
  return k < -1022 ? result * 0.5 * power_of_two(k + 1) : result * power_of_two(k);
}

double log2_exact(double x) {
  assert(x > 0 && x <= 1.7976931348623157e308);
  std::int64_t k = 0;
  if (x < 0x1p-1022) {  // subnormal
    x *= 0x1p54;
    k = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  k += static_cast<std::int64_t>(bits >> 52) - (kExponentBias - 1);
  double m = std::bit_cast<double>(
      (bits & kMantissaMask) | static_cast<std::uint64_t>(kExponentBias - 1) << 52);  // [0.5, 1)
  if (m < kSqrtHalf) {
    m *= 2;
    k -= 1;
  }
  const double s = (m - 1) / (m + 1);
  const double tail = s * atanh_tail(s);
  const double low = s * kTwoOverLn2Low + tail * kTwoOverLn2;
  return static_cast<double>(k) + (s * kTwoOverLn2 + low);
}

}  // namespace subak
