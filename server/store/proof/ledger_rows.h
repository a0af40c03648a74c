// Writes the rows of the ledger to a SQLite store, and reads them. A row is an interval in which
// one pod held GPUs of one node. Threads: those that may use the connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/runtime/ports.h"
#include "server/store/file/connection.h"

namespace subak {

// Returns the checksum of a row. `seed`: the start of the store's checksums. `ord`: the number of
// the row in the ledger, from 1.
std::uint32_t ledger_sum(std::uint32_t seed, std::uint64_t ord, const LedgerEntry& entry);

// Writes ledger rows, in the transaction of its connection.
class LedgerWriter {
 public:
  // Prepares the statement. `seed`: the start of the checksums. `db` must outlive the writer.
  // False: the call failed, see db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // Writes a row. `ord`: the number of the row in the ledger, from 1. The table refuses a number
  // that exists already. False: the call failed, see Connection::error().
  bool insert(std::uint64_t ord, const LedgerEntry& entry);

 private:
  Statement insert_;
  std::uint32_t seed_ = 0;
};

// stored_state() and read_stored_state() convert the column `state`. The lowest byte of the column
// is the usage state. The higher bits have LedgerRow::clock, the clock that measured the end of the
// row. In rows of older versions they are 0. read_stored_state() sets `state` and `clock` of the
// row.
std::int64_t stored_state(const LedgerRow& row);
void read_stored_state(std::int64_t stored, LedgerRow& row);

// The columns that ledger_entry() and ledger_ord() read, in this order.
inline constexpr std::string_view kLedgerColumns =
    "seq, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, state, node, product, "
    "milligpu, corrects, ord, sum, cluster, ns, profile, booked_ms";
// Reads the present row of the query; nullopt: the checksum of the row is wrong. `query` must be at
// a row, and its first columns must be kLedgerColumns.
std::optional<LedgerEntry> ledger_entry(const Statement& query, std::uint32_t seed);
// Returns the column ord of the present row, without checking the row.
std::uint64_t ledger_ord(const Statement& query);

// Returns the number of the last fact that was made at or before `t`; 0: none was. `facts`: the
// number of facts in the store. Each ledger row whose interval ends after `t` was written by a
// later fact. The times of facts never fall, so the function uses a binary search. `made_at(seq)`
// must return the time of a fact; it is called O(log facts) times. If it returns an error, the
// function returns that error.
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

}  // namespace subak
