#include "cli/migrate/amounts.h"

#include <algorithm>

#include "core/limits.h"

namespace subak::cli {
namespace {

// Returns the entry of the product; the end of the list if it has none.
template <class Amounts>
auto entry_of(Amounts& amounts, std::string_view product) {
  return std::find_if(amounts.begin(), amounts.end(),
                      [&](const auto& entry) { return entry.first == product; });
}

std::int64_t& amount(GpuAmounts& amounts, const std::string& product) {
  const auto at = entry_of(amounts, product);
  if (at != amounts.end()) return at->second;
  return amounts.emplace_back(product, 0).second;
}

}  // namespace

bool is_product_name(std::string_view name) {
  return !name.empty() && name.size() <= limits::kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

void set_amount(GpuAmounts& amounts, const std::string& product, std::int64_t gpus) {
  amount(amounts, product) = gpus;
}

void add_amount(GpuAmounts& amounts, const std::string& product, std::int64_t gpus) {
  amount(amounts, product) += gpus;
}

const std::int64_t* find_amount(const GpuAmounts& amounts, std::string_view product) {
  const auto at = entry_of(amounts, product);
  return at == amounts.end() ? nullptr : &at->second;
}

std::string amounts_of(const GpuAmounts& amounts) {
  std::string text;
  for (const auto& [product, gpus] : amounts) {
    text += (text.empty() ? "" : ",") + product + "=" + std::to_string(gpus);
  }
  return text;
}

}  // namespace subak::cli
