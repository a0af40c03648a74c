// GPU amounts as people write them: thousandths of a GPU in decimals, product amounts in lists.
// Errors of reading are kInvalid and name the given `field`. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// "16", "0.5", "2.125" -> milli-GPU.
// At most three decimals, no sign, no exponent, at most limits::kMaxMilliGpu.
Result<MilliGpu> parse_milligpu(std::string_view text, std::string_view field);

// 16'000 -> "16", 500 -> "0.5". Negative amounts keep their sign.
std::string format_milligpu(MilliGpu amount);

// "gpu=16", "NVIDIA-H100-80GB-HBM3=16,gpu=4", "16" (= gpu=16). Any order; a product that comes
// twice is an error. The result is sorted by product. "none" and "" give an empty list.
Result<ProductAmounts> parse_amounts(std::string_view text, std::string_view field);

// The form that parse_amounts reads back; "none" when empty.
std::string format_amounts(const ProductAmounts& amounts);

}  // namespace subak
