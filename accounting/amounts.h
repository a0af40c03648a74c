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

// Returns the sum of all amounts.
inline MilliGpu sum_of(std::span<const std::pair<ProductId, MilliGpu>> amounts) {
  MilliGpu sum = 0;
  for (const auto& [product, amount] : amounts) sum += amount;
  return sum;
}

// Allocation of one product at one node, split by what it is.
struct ProductLevel {
  ProductId product;
  // Reserved and not yet bound.
  MilliGpu held = 0;
  // Bound to nodes.
  MilliGpu running = 0;
  MilliGpu total() const { return held + running; }
};

// Returns what `levels` have of the product, held and running; 0 if they have none of it.
inline MilliGpu held_of(std::span<const ProductLevel> levels, ProductId product) {
  const auto it = std::find_if(levels.begin(), levels.end(),
                               [&](const ProductLevel& l) { return l.product == product; });
  return it == levels.end() ? 0 : it->total();
}

// An amount of one product, or of kOfAny: a demand whose product is not known yet.
using ProductDemand = std::pair<ProductId, MilliGpu>;

// Returns the part of `levels` and `demand` together that `quota` does not cover. The quota of a
// product covers GPUs of that product, and the quota of any product covers what is left. `demand`
// has each product once. This is the one formula of what is within a quota.
inline MilliGpu uncovered(std::span<const ProductDemand> quota,
                          std::span<const ProductLevel> levels,
                          std::span<const ProductDemand> demand) {
  MilliGpu rest = 0;
  const auto count = [&](ProductId product, MilliGpu amount) {
    const MilliGpu own = product == kOfAny ? 0 : amount_of(quota, product);
    rest += std::max<MilliGpu>(0, amount - own);
  };
  for (const ProductLevel& level : levels) {
    count(level.product, level.total() + amount_of(demand, level.product));
  }
  for (const auto& [wanted, amount] : demand) {
    const bool counted =
        std::any_of(levels.begin(), levels.end(),
                    [product = wanted](const ProductLevel& l) { return l.product == product; });
    if (!counted) count(wanted, amount);
  }
  return std::max<MilliGpu>(0, rest - amount_of(quota, kOfAny));
}

}  // namespace subak
