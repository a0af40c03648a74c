#include "server/store/days/ledger_filter.h"

#include <algorithm>

namespace subak {

LedgerFilter::LedgerFilter(const LedgerQuery& query)
    : from_ms_(query.from_ms),
      to_ms_(query.to_ms),
      holders_(query.holders),
      payers_(query.payers),
      with_platform_(query.with_platform),
      job_(query.job) {
  std::sort(holders_.begin(), holders_.end());
  std::sort(payers_.begin(), payers_.end());
}

bool LedgerFilter::wants(const LedgerRow& row) const {
  return row.counts_to() > from_ms_ && row.counts_from() < to_ms_ && wants(row.payer, row.holder) &&
         (!job_ || row.allocation.job == *job_);
}

bool LedgerFilter::wants(AccountId payer, AccountId holder) const {
  const auto has = [](const std::vector<AccountId>& ids, AccountId id) {
    return ids.empty() || std::binary_search(ids.begin(), ids.end(), id);
  };
  const bool by_platform = with_platform_ && payer == kPlatform && has(payers_, holder);
  return has(holders_, holder) && (has(payers_, payer) || by_platform);
}

}  // namespace subak
