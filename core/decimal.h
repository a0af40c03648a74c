// Reads and formats GPU amounts for people: thousandths of a GPU as decimals ("0.5"), and amounts
// by GPU product as lists ("H100=16,gpu=4"). The API, the CLI and the core use the same forms.
// Errors: kInvalid with the given `field`.
// Threads: any; pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// Reads "16", "0.5", "2.125" as milli-GPU. The text needs a digit before the point. The text has at
// most three decimals, no sign and no exponent. The amount is at most limits::kMaxMilliGpu.
Result<MilliGpu> parse_milligpu(std::string_view text, std::string_view field);

// Formats 16'000 as "16" and 500 as "0.5". A negative amount has a "-" in front.
std::string format_milligpu(MilliGpu amount);

// Reads "gpu=16", "NVIDIA-H100-80GB-HBM3=16,gpu=4", or "16", which means "gpu=16". The product
// "gpu" stands for any product. Products may come in any order. A text that names a product twice
// is an error. The result is sorted by product. The texts "none" and "" give an empty list.
Result<ProductAmounts> parse_amounts(std::string_view text, std::string_view field);

// Returns the form that parse_amounts() reads; "none" if the list is empty.
std::string format_amounts(const ProductAmounts& amounts);

}  // namespace subak
