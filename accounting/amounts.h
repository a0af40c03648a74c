// Lists of (GPU product, amount): the form of quotas, limits and demands in the account tree. A
// demand is the GPUs that a job asks for.
// Threads: any; pure functions and plain values.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// The product id that stands for no single product. A quota of kOfAny (`gpu=16`) covers GPUs of any
// product, after the quotas of single products. A limit of kOfAny bounds the GPUs of all products
// together. A demand of kOfAny is a demand whose product is not known yet.
inline constexpr ProductId kOfAny{};

// Returns the amount of exactly this product in `amounts`; 0 if there is none.
inline MilliGpu amount_of(std::span<const std::pair<ProductId, MilliGpu>> amounts,
                          ProductId product) {
  const auto it = std::find_if(amounts.begin(), amounts.end(),
                               [&](const auto& entry) { return entry.first == product; });
  return it == amounts.end() ? 0 : it->second;
}

// Adds the amount to the product's entry. Appends an entry if the list has none for the product.
inline void add_amount(std::vector<std::pair<ProductId, MilliGpu>>& amounts, ProductId product,
                       MilliGpu amount) {
  const auto it = std::find_if(amounts.begin(), amounts.end(),
                               [&](const auto& entry) { return entry.first == product; });
  if (it == amounts.end()) {
    amounts.emplace_back(product, amount);
  } else {
    it->second += amount;
  }
}

// Returns the sum of all amounts.
inline MilliGpu sum_of(std::span<const std::pair<ProductId, MilliGpu>> amounts) {
  MilliGpu sum = 0;
  for (const auto& [product, amount] : amounts) sum += amount;
  return sum;
}

// The allocation of one product at one account: the part on hold and the running part.
struct ProductLevel {
  ProductId product;
  // GPUs on hold for pods that are not bound yet.
  MilliGpu held = 0;
  // GPUs of pods that are bound to nodes.
  MilliGpu running = 0;
  MilliGpu total() const { return held + running; }
};

// Returns the milli-GPU of one product in `levels`, on hold and running together; 0 if there is
// none.
inline MilliGpu total_of(std::span<const ProductLevel> levels, ProductId product) {
  const auto it = std::find_if(levels.begin(), levels.end(),
                               [&](const ProductLevel& l) { return l.product == product; });
  return it == levels.end() ? 0 : it->total();
}

// A demand: an amount of one product, or of kOfAny. Quotas and limits are pairs of this type too.
using ProductDemand = std::pair<ProductId, MilliGpu>;

// Returns the milli-GPU of `levels` and `demand` together that `quota` does not cover. The quota of
// a product covers only that product. The quota of kOfAny covers what is left. Example: H100=4 and
// 2 of kOfAny leave 1 of 7 H100 uncovered. `demand` has each product once. The quota of kOfAny
// alone covers a demand of kOfAny.
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

// Returns the amount of one product that `quota` does not cover: the product's amounts in `levels`
// and `demand`, minus the product's quota. The result is at least 0. It is also at most
// uncovered(), because the quota of kOfAny may cover a part of the difference. `product` is not
// kOfAny.
inline MilliGpu uncovered_of(ProductId product, std::span<const ProductDemand> quota,
                             std::span<const ProductLevel> levels,
                             std::span<const ProductDemand> demand) {
  const MilliGpu all = total_of(levels, product) + amount_of(demand, product);
  return std::clamp<MilliGpu>(all - amount_of(quota, product), 0, uncovered(quota, levels, demand));
}

}  // namespace subak
