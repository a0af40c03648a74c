// Amounts by product, as the tree keeps quotas, limits and demands. Threads: none.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// What is said of no product in particular: of all of them together.
inline constexpr ProductId kOfAny{};

// What `amounts` has of the product itself; 0: nothing.
inline MilliGpu amount_of(std::span<const std::pair<ProductId, MilliGpu>> amounts,
                          ProductId product) {
  const auto it = std::find_if(amounts.begin(), amounts.end(),
                               [&](const auto& entry) { return entry.first == product; });
  return it == amounts.end() ? 0 : it->second;
}

}  // namespace subak
