// The base class of store readers of tests that have only facts. Threads: as the reader's store.
#pragma once

#include <vector>

#include "server/runtime/ports.h"

namespace subak {

// Reads an empty ledger and an empty audit log.
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
