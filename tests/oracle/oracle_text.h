// Texts for the oracle's messages, and readers of amounts. Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/decimal.h"
#include "core/ids.h"
#include "core/limits.h"
#include "core/text.h"

namespace subak::sim {

// An end that never comes, in ms.
inline constexpr TimeMs kNeverEnds = limits::kMaxTimeMs;

// Return the name of a job, or of one of its pods, for a message.
inline std::string name(JobId id) { return text::job_id_text(id); }
inline std::string name(JobId id, std::uint32_t rank) {
  return name(id) + "/" + std::to_string(rank);
}

// Returns the amount of this product in the list; 0: the list has none.
inline MilliGpu amount(const ProductAmounts& list, const std::string& product) {
  for (const ProductAmount& a : list) {
    if (a.product == product) return a.milligpu;
  }
  return 0;
}

// Returns the bound that an account's text `borrow` or `lend` sets on this product, or on all
// products together (kAnyProduct). nullopt: no bound.
inline std::optional<MilliGpu> bound_in(const std::string& text, const std::string& product) {
  if (text == "none") return product == kAnyProduct ? std::optional<MilliGpu>(0) : std::nullopt;
  const ProductAmounts amounts = parse_amounts(text, "").value();
  for (const ProductAmount& amount : amounts) {
    if (amount.product == product) return amount.milligpu;
  }
  return std::nullopt;
}

}  // namespace subak::sim
