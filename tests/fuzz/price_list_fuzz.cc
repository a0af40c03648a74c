// A price list. What is taken has finite prices from 0 on; a refusal names the line.
#include <cmath>

#include "core/edge_limits.h"
#include "server/yaml/price_list.h"
#include "tests/fuzz/common/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  const auto list = read_price_list(std::string(fuzz::text_of(data, size)), "prices");
  if (!list.ok()) {
    fuzz::check_error(list.error());
    assert(list.error().field.starts_with("prices:"));
    return 0;
  }
  assert(!list->currency.empty() && list->gpus.size() <= limits::kMaxPrices);
  for (const PriceList::Gpu& one : list->gpus) {
    assert(std::isfinite(one.per_hour) && one.per_hour >= 0 && one.from_day >= 0);
    assert(list->per_hour(one.product, one.from_day, one.profile) == one.per_hour);
  }
  for (const PriceList::Energy& one : list->energy) {
    assert(list->per_kwh(one.from_day) == one.per_kwh);
  }
  return 0;
}
