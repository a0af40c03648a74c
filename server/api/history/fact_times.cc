#include "server/api/history/fact_times.h"

namespace subak::api {

Result<std::uint64_t> last_fact_before(StoreReader& store, TimeMs t, std::uint64_t last_seq) {
  std::uint64_t low = 0, high = last_seq + 1;  // the fact `high` is not before `t`
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto one = store.facts(middle - 1, 1);
    if (!one.ok()) return one.error();
    const bool before = !one->empty() && one->front().time_ms < t;
    (before ? low : high) = middle;
  }
  return low;
}

}  // namespace subak::api
