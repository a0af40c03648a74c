#include "server/past/fact_times.h"

#include <string>
#include <vector>

namespace subak {

Result<Fact> fact_after(StoreReader& reader, std::uint64_t seq) {
  const Result<std::vector<Fact>> facts = reader.facts(seq, 1);
  if (!facts.ok()) return facts.error();
  if (facts->empty()) {
    return Error{ErrorCode::kNotFound, "fact", std::to_string(seq + 1),
                 "the store has no such fact"};
  }
  return facts->front();
}

Result<std::uint64_t> last_fact_before(StoreReader& reader, TimeMs t, std::uint64_t last_seq) {
  std::uint64_t low = 0, high = last_seq + 1;  // the fact `high` is not before `t`
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const Result<Fact> fact = fact_after(reader, middle - 1);
    if (!fact.ok()) return fact.error();
    (fact->time_ms < t ? low : high) = middle;
  }
  return low;
}

}  // namespace subak
