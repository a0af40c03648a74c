// Amounts of GPUs that a migration from Slurm or Kueue found, and their text in an account file.
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/migrate/migration.h"

namespace subak::cli {

// True if an account file can name this product: letters, digits and . _ -, at most
// limits::kMaxNameBytes.
bool is_product_name(std::string_view name);
// Sets the amount of this product in the list, in whole GPUs.
void set_amount(GpuAmounts& amounts, const std::string& product, std::int64_t gpus);
// Adds whole GPUs to the amount of this product in the list.
void add_amount(GpuAmounts& amounts, const std::string& product, std::int64_t gpus);
// Returns the amount of this product; nullptr: the list has none.
const std::int64_t* find_amount(const GpuAmounts& amounts, std::string_view product);
// Returns "H100=8,gpu=4".
std::string amounts_of(const GpuAmounts& amounts);

}  // namespace subak::cli
