#include "kube/quantity.h"

#include <charconv>
#include <limits>

namespace subak {
namespace {

using Nano = KubeQuantity::Nano;
constexpr std::int64_t kMaxUnits = std::numeric_limits<std::int64_t>::max();
constexpr Nano kMaxNano = Nano{kMaxUnits} * KubeQuantity::kNanoPerUnit;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The factor of a suffix: 2^shift x 10^power.
struct Scale {
  int shift = 0;
  int power = 0;
};

std::optional<Scale> exponent_scale(std::string_view digits) {
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  int power = 0;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), power);
  if (ec != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (power < -100 || power > 100) power = power < 0 ? -100 : 100;
  return Scale{0, power};
}

std::optional<Scale> suffix_scale(std::string_view suffix) {
  if (suffix.empty()) return Scale{};
  if (suffix.size() == 2 && suffix[1] == 'i') {
    const auto i = std::string_view("KMGTPE").find(suffix[0]);
    if (i == std::string_view::npos) return std::nullopt;
    return Scale{10 * (static_cast<int>(i) + 1), 0};
  }
  if (suffix.size() == 1) {
    switch (suffix[0]) {
      case 'n':
        return Scale{0, -9};
      case 'u':
        return Scale{0, -6};
      case 'm':
        return Scale{0, -3};
      case 'k':
        return Scale{0, 3};
      case 'M':
        return Scale{0, 6};
      case 'G':
        return Scale{0, 9};
      case 'T':
        return Scale{0, 12};
      case 'P':
        return Scale{0, 15};
      case 'E':
        return Scale{0, 18};
      default:
        return std::nullopt;
    }
  }
  if (suffix[0] == 'e' || suffix[0] == 'E') return exponent_scale(suffix.substr(1));
  return std::nullopt;
}

// Returns value x 10^power, rounded up. If a multiplication would exceed kMaxNano, the result is
// kMaxNano.
Nano scale_decimal(Nano value, int power) {
  for (; power > 0; --power) {
    if (value > kMaxNano / 10) return value == 0 ? 0 : kMaxNano;
    value *= 10;
  }
  bool rest = false;
  for (; power < 0 && value != 0; ++power) {
    rest = rest || value % 10 != 0;
    value /= 10;
  }
  return rest ? value + 1 : value;
}

std::int64_t divide_up(Nano value, std::int64_t by) {
  const Nano q = value / by;
  const Nano up = q + (value % by > 0 ? 1 : 0);
  if (up > kMaxUnits) return kMaxUnits;
  return up < -Nano{kMaxUnits} ? -kMaxUnits : static_cast<std::int64_t>(up);
}

}  // namespace

std::int64_t KubeQuantity::units() const { return divide_up(nano, kNanoPerUnit); }
std::int64_t KubeQuantity::milli() const { return divide_up(nano, kNanoPerUnit / 1000); }

std::optional<KubeQuantity> parse_kube_quantity(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  // The loop stores the first 19 digits in the mantissa: 2^63-1 has 19 digits, and 10^19 x 2^60
  // still fits. Further digits before the point only raise the power, and further digits after the
  // point are dropped.
  constexpr Nano kMost = 1'000'000'000'000'000'000;
  Nano mantissa = 0;
  int power = 0;
  bool any = false, point = false, lost = false;
  std::size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    any = true;
    if (mantissa < kMost) {
      mantissa = mantissa * 10 + (text[i] - '0');
      if (point && power > -1000) --power;
    } else {
      lost = lost || text[i] != '0';
      if (!point && power < 1000) ++power;
    }
  }
  const auto scale = suffix_scale(text.substr(i));
  if (!any || !scale) return std::nullopt;
  // The binary factor comes first, because it loses no digit. The decimal factor then gives
  // billionths.
  const Nano shifted = (mantissa + (lost ? 1 : 0)) << scale->shift;
  const Nano nano = scale_decimal(shifted, power + scale->power + 9);
  const Nano capped = nano > kMaxNano ? kMaxNano : nano;
  return KubeQuantity{negative ? -capped : capped};
}

}  // namespace subak
