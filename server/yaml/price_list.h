// Reads a price list: the prices of a GPU-hour and of a kilowatt-hour, each with its first day.
// Only figures in reports and metrics use the prices; no decision and no charge depends on them.
// Threads: any; pure functions.
//
//   currency: EUR
//   gpus:
//   - {from: 2026-01-01, product: NVIDIA-H100-80GB-HBM3, perHour: 2.50}
//   - {from: 2026-01-01, product: NVIDIA-H100-80GB-HBM3, profile: 1g.10gb, perHour: 3.00}
//   - {from: 2026-01-01, product: gpu, perHour: 1.20}
//   energy:
//   - {from: 2026-01-01, perKwh: 0.21}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace subak {

// The prices of a price list.
struct PriceList {
  struct Gpu {
    // The first day, in days since 1970-01-01 (UTC).
    std::int64_t from_day = 0;
    // The product as the nodes name it; "gpu": each product without a price of its own.
    std::string product;
    // The price of one whole GPU for one hour. A MIG slice or a part of a GPU costs its part.
    double per_hour = 0;
    // The MIG profile of the slices that have this price. Empty: all usage without a price of its
    // profile.
    std::string profile;
  };
  struct Energy {
    std::int64_t from_day = 0;
    // The price of one kilowatt-hour.
    double per_kwh = 0;
  };
  // A name for people, such as "EUR".
  std::string currency;
  std::vector<Gpu> gpus;
  std::vector<Energy> energy;

  // Returns the price of a GPU-hour on this day; nullopt: there is no price. Prices are tried in
  // this order: that of the product and profile, of the profile with the product "gpu", of the
  // product, and of "gpu". Of several prices, the one with the latest `from` not after the day
  // counts. An empty `profile` means that the usage is not of MIG slices.
  std::optional<double> per_hour(std::string_view product, std::int64_t day,
                                 std::string_view profile = {}) const;
  std::optional<double> per_kwh(std::int64_t day) const;
};

// Reads the text of a price list. Each product and profile has at most one price from a day on. An
// error names the line, the key, the value and what is wanted. `name`: the name of the text in
// errors.
Result<PriceList> read_price_list(const std::string& text, const std::string& name);

}  // namespace subak
