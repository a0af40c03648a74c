// Answers StoreReader::daily_usage() for both stores: from the stored sums of complete UTC days,
// and from rows of the ledger for the rest. Threads: those that may call the functions of
// UsageReads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "server/runtime/ports.h"

namespace subak {

// The functions by which read_usage() reads the store. All of them must read the same snapshot.
struct UsageReads {
  // The stored sums of the days [from_day, to_day).
  std::function<Result<DaySums>(std::int64_t from_day, std::int64_t to_day)> sums;
  // Calls fn(row) for each row of the facts after `after` up to `last`.
  std::function<std::optional<Error>(std::uint64_t after, std::uint64_t last,
                                     const std::function<void(const LedgerRow&)>& fn)>
      rows;
  // The number of the last fact that was made at or before `t`.
  std::function<Result<std::uint64_t>(TimeMs t)> last_until;
};

// Returns the result of StoreReader::daily_usage(). It reads the rows that the sums do not have,
// and the rows of days that are only partly in the period of the query. If a sum is damaged, or if
// the query groups by job, it reads all rows of the period.
Result<std::vector<DailyUsage>> read_usage(const LedgerQuery& query, const UsageReads& reads);

}  // namespace subak
