// The base class of store readers of tests that have only facts. Threads: as the reader's store.
#pragma once

#include <cstdint>
#include <vector>

#include "server/runtime/ports.h"

namespace subak {

// Reads an empty ledger and an empty audit log. It finds facts by their time one after the other.
class FactsReader : public StoreReader {
 public:
  Result<std::uint64_t> last_seq() override { return last_seq_until(INT64_MAX); }
  Result<std::uint64_t> last_seq_until(TimeMs t) override {
    for (std::uint64_t last = 0;;) {
      const Result<std::vector<Fact>> part = facts(last, 1000);
      if (!part.ok()) return part.error();
      for (const Fact& fact : *part) {
        if (fact.time_ms > t) return last;
        last = fact.seq;
      }
      if (part->empty()) return last;
    }
  }
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
