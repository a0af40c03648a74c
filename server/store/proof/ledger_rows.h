// The ledger in SQL: writing rows, reading them back, and sums by day.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "server/runtime/ports.h"
#include "server/store/file/connection.h"

namespace subak {

// Returns the checksum of a row. `seed`: start of the store's checksums. `ord`: counts the rows
// from 1.
std::uint32_t ledger_sum(std::uint32_t seed, std::uint64_t ord, const LedgerEntry& entry);

// Writes into the transaction of its connection.
class LedgerWriter {
 public:
  // `seed`: start of the checksums.
  // `db` outlives the writer. False: ask db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // `ord`: counts the rows from 1.
  // False: ask the connection. A number that exists is refused by the table.
  bool insert(std::uint64_t ord, const LedgerEntry& entry);

 private:
  Statement insert_;
  std::uint32_t seed_ = 0;
};

// The column `state`: the lowest byte is the usage state; the higher bits say by which clock the
// row ends. Older rows, without these bits, read unchanged.
// read_stored_state() sets `state` and `clock` of the row.
std::int64_t stored_state(const LedgerRow& row);
void read_stored_state(std::int64_t stored, LedgerRow& row);

// The columns that ledger_entry() and ledger_ord() read, in order.
inline constexpr std::string_view kLedgerColumns =
    "seq, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, state, node, product, "
    "milligpu, corrects, ord, sum";
// Reads a row; nullopt: its checksum is wrong.
// `query`: at a row, with kLedgerColumns first.
std::optional<LedgerEntry> ledger_entry(const Statement& query, std::uint32_t seed);
// Of the present row, without a check.
std::uint64_t ledger_ord(const Statement& query);

// Filters rows by the parts of a query that SQL does not handle.
class LedgerFilter {
 public:
  // Copies what it needs. An empty list of accounts selects all.
  explicit LedgerFilter(const LedgerQuery& query);
  // True if the interval of the row touches [from_ms, to_ms) and all ids are selected.
  bool wants(const LedgerRow& row) const;

 private:
  TimeMs from_ms_, to_ms_;
  std::vector<AccountId> holders_, payers_;  // sorted
  std::optional<JobId> job_;
};

// Returns the last of `facts` facts that was made at or before `t` (0: none was); their times never
// fall. A row of the ledger whose interval ends after `t` comes later. Calls made_at(seq) for the
// time of a fact O(log facts) times.
// Binary search. An error of made_at() ends it.
template <class F>
Result<std::uint64_t> last_seq_until(std::uint64_t facts, TimeMs t, F&& made_at) {
  std::uint64_t low = 0;           // made at or before t, or none
  std::uint64_t high = facts + 1;  // after t, or none
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const Result<TimeMs> at = made_at(middle);
    if (!at.ok()) return at.error();
    (*at > t ? high : low) = middle;
  }
  return low;
}

// Sums rows by UTC day.
// By payer, holder, state and product. Amounts are exact; a row over midnight counts in both days.
class DailySums {
 public:
  // Parts of rows outside [from_ms, to_ms) do not count.
  DailySums(TimeMs from_ms, TimeMs to_ms) : from_ms_(from_ms), to_ms_(to_ms) {}
  void add(const LedgerRow& row);
  // Returns the sums by day and then by key, and empties this. `rows` counts a row once per day.
  std::vector<DailyUsage> take();

 private:
  using Key = std::tuple<std::int64_t, AccountId, AccountId, UsageState, std::string>;
  struct Sum {
    GpuTime amount;
    std::uint64_t rows = 0;
  };
  TimeMs from_ms_, to_ms_;
  std::map<Key, Sum> sums_;
};

}  // namespace subak
