#include "server/past/fact_times.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/past/past_limits.h"

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
  const Result<std::uint64_t> last = reader.last_seq_until(t - 1);
  if (!last.ok()) return last.error();
  return std::min(*last, last_seq);
}

Result<bool> read_facts(StoreReader& reader, std::uint64_t from, std::uint64_t to,
                        const std::function<Result<bool>(std::vector<Fact>&& part)>& take) {
  while (from < to) {
    const auto most = std::min<std::uint64_t>(to - from, limits::kPastFactsAtOnce);
    Result<std::vector<Fact>> part = reader.facts(from, static_cast<std::size_t>(most));
    if (!part.ok()) return part.error();
    if (part->empty() || part->front().seq != from + 1) {
      return Error{ErrorCode::kNotFound, "fact", std::to_string(from + 1),
                   "the store has no such fact"};
    }
    from = part->back().seq;
    const Result<bool> goes_on = take(std::move(*part));
    if (!goes_on.ok() || !*goes_on) return goes_on;
  }
  return true;
}

}  // namespace subak
