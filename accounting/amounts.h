// Amounts by product, as the tree keeps quotas, limits and demands. Threads: none.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// The product id for amounts of no product in particular: all products together.
inline constexpr ProductId kOfAny{};

// Returns the amount of the product itself in `amounts`; 0 if it has none.
inline MilliGpu amount_of(std::span<const std::pair<ProductId, MilliGpu>> amounts,
                          ProductId product) {
  const auto it = std::find_if(amounts.begin(), amounts.end(),
                               [&](const auto& entry) { return entry.first == product; });
  return it == amounts.end() ? 0 : it->second;
}

}  // namespace subak
