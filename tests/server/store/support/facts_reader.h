// Readers of stores that have facts and no rows. Threads: as the reader's store.
#pragma once

#include <vector>

#include "server/runtime/ports.h"

namespace subak {

// Of ledger and audit log there is nothing.
class FactsReader : public StoreReader {
 public:
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery&) override {
    return std::vector<LedgerEntry>();
  }
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery&) override {
    return std::vector<DailyUsage>();
  }
  Result<std::vector<AuditEntry>> audit(const AuditQuery&) override {
    return std::vector<AuditEntry>();
  }
};

}  // namespace subak
