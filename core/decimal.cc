#include "core/decimal.h"

#include <algorithm>
#include <charconv>

#include "core/limits.h"

namespace subak {
namespace {

Error amount_error(std::string_view field, std::string_view text) {
  return {ErrorCode::kInvalid, std::string(field), std::string(text),
          "want a number of GPUs >= 0 with at most three decimals, e.g. 16 or 0.5"};
}

Error too_much(std::string_view field, std::string_view text) {
  return {ErrorCode::kInvalid, std::string(field), std::string(text),
          "want at most " + format_milligpu(limits::kMaxMilliGpu) + " GPUs"};
}

}  // namespace

Result<MilliGpu> parse_milligpu(std::string_view text, std::string_view field) {
  const auto dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  std::string_view rest = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  const bool shape_ok =
      !whole.empty() && rest.size() <= 3 && (dot == std::string_view::npos || !rest.empty());
  std::int64_t units = 0;
  const auto [end, ec] = std::from_chars(whole.data(), whole.data() + whole.size(), units);
  const bool digits = end == whole.data() + whole.size() && ec != std::errc::invalid_argument;
  if (!shape_ok || !digits || whole[0] == '-') return amount_error(field, text);
  if (ec != std::errc()) return too_much(field, text);
  std::int64_t milli = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const char c = i < rest.size() ? rest[i] : '0';
    if (c < '0' || c > '9') return amount_error(field, text);
    milli = milli * 10 + (c - '0');
  }
  if (units > limits::kMaxMilliGpu / kMilliPerGpu) return too_much(field, text);
  const MilliGpu amount = units * kMilliPerGpu + milli;
  if (amount > limits::kMaxMilliGpu) return too_much(field, text);
  return amount;
}

std::string format_milligpu(MilliGpu amount) {
  std::string out = amount < 0 ? "-" : "";
  const auto bits = static_cast<std::uint64_t>(amount);
  const std::uint64_t a = amount < 0 ? 0 - bits : bits;  // exact even for the smallest int64
  out += std::to_string(a / kMilliPerGpu);
  if (a % kMilliPerGpu == 0) return out;
  std::string frac = std::to_string(kMilliPerGpu + a % kMilliPerGpu).substr(1);
  frac.erase(frac.find_last_not_of('0') + 1);
  return out + "." + frac;
}

Result<ProductAmounts> parse_amounts(std::string_view text, std::string_view field) {
  ProductAmounts out;
  if (text.empty() || text == "none") return out;
  while (true) {
    const auto comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const auto eq = item.find('=');
    const std::string product(eq == std::string_view::npos ? kAnyProduct : item.substr(0, eq));
    const auto amount =
        parse_milligpu(eq == std::string_view::npos ? item : item.substr(eq + 1), field);
    if (!amount.ok()) return amount.error();
    const bool twice = std::any_of(out.begin(), out.end(),
                                   [&](const ProductAmount& p) { return p.product == product; });
    if (product.empty() || twice) {
      return Error{ErrorCode::kInvalid, std::string(field), std::string(item),
                   "want PRODUCT=GPUS with each product once, e.g. gpu=16"};
    }
    out.push_back({product, *amount});
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.product < b.product; });
  return out;
}

std::string format_amounts(const ProductAmounts& amounts) {
  if (amounts.empty()) return "none";
  std::string out;
  for (const ProductAmount& a : amounts) {
    if (!out.empty()) out += ',';
    out += a.product + "=" + format_milligpu(a.milligpu);
  }
  return out;
}

}  // namespace subak
