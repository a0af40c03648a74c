// Selects rows of the ledger by the parts of a LedgerQuery that the SQL of the stores does not
// handle. Threads: any, if no thread changes the object.
#pragma once

#include <cstddef>
#include <vector>

#include "server/runtime/ports.h"

namespace subak {

namespace limits {
// A query of the ledger for at most this many payers uses an index: it may look up the rows of each
// payer. With more payers, a scan of the table costs less.
inline constexpr std::size_t kMaxIndexedPayers = 200;
}  // namespace limits

// The filter of one query.
class LedgerFilter {
 public:
  // Copies the parts of `query` that the filter needs. An empty list of accounts selects all
  // accounts.
  explicit LedgerFilter(const LedgerQuery& query);
  // True if the interval in which the row counts overlaps [from_ms, to_ms), and if the query
  // selects the row's accounts and job.
  bool wants(const LedgerRow& row) const;
  // True if the query selects the accounts of a row.
  bool wants(AccountId payer, AccountId holder) const;

 private:
  TimeMs from_ms_, to_ms_;
  std::vector<AccountId> holders_, payers_;  // sorted
  bool with_platform_;
  std::optional<JobId> job_;
};

}  // namespace subak
