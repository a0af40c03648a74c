// Reads on a connection of their own.
#pragma once

#include <memory>
#include <string>

#include "server/runtime/ports.h"
#include "server/store/connection.h"

namespace subak {

class SqliteReader final : public StoreReader {
 public:
  // `fact_version`: the newest that this program knows.
  static Result<std::unique_ptr<StoreReader>> open(const std::string& path,
                                                   std::uint32_t fact_version);

  Result<Recovered> recover(FactSink& sink) override;
  Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) override;
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) override;
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) override;
  Result<std::vector<AuditEntry>> audit(const AuditQuery& query) override;

 private:
  Result<Fact> fact_of(const Statement& query);  // columns: seq, time_ms, kind, body
  std::optional<Error> recover_checkpoint(FactSink& sink, Recovered& out);
  std::optional<Error> recover_tail(FactSink& sink, Recovered& out);
  // The number of the last fact before the first one that was made after `t`; a row whose interval
  // ends after `t` cannot have been written before that.
  Result<std::uint64_t> last_seq_until(TimeMs t);

  Connection db_;
  std::uint32_t fact_version_ = kFactVersion;
};

}  // namespace subak
