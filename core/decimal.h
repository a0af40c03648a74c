// GPU amounts as people write them: thousandths of a GPU in decimals, product amounts in lists.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// "16", "0.5", "2.125" -> milli-GPU. At most three decimals, no sign, no exponent, at most
// limits::kMaxMilliGpu.
Result<MilliGpu> parse_milligpu(std::string_view text, std::string_view field);

// 16'000 -> "16", 500 -> "0.5". Negative amounts keep their sign.
std::string format_milligpu(MilliGpu amount);

// "gpu=16", "NVIDIA-H100-80GB-HBM3=16,gpu=4", "16" (= gpu=16). Sorted by product, each at most
// once. "none" and "" give an empty list.
Result<ProductAmounts> parse_amounts(std::string_view text, std::string_view field);

// The form that parse_amounts reads back; "none" when empty.
std::string format_amounts(const ProductAmounts& amounts);

}  // namespace subak
