// Reads from a SQLite store on its own connection, and checks the checksums. An altered or missing
// row ends the read with an error that names the row (says_damage()).
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "server/runtime/ports.h"
#include "server/store/file/connection.h"

namespace subak {

// Each call reads a new snapshot. The reader never writes, and no commit waits for it. Threads: one
// at a time.
class SqliteReader final : public StoreReader {
 public:
  // `fact_version`: the newest that this program knows. `indexes_sound`: becomes true once the
  // indexes are checked. Until then, and if it is nullptr, reads scan the tables.
  // Fails if the file cannot be opened, or if its uuid is missing or damaged. A fact of a newer
  // version is refused when it is read, with a hint to the newer program.
  static Result<std::unique_ptr<StoreReader>> open(
      const std::string& path, std::uint32_t fact_version,
      std::shared_ptr<const std::atomic<bool>> indexes_sound = nullptr);

  // Passes the checkpoint's facts first, if there is one, then later facts. The sink may have got
  // facts before an error.
  Result<Recovered> recover(FactSink& sink) override;
  Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) override;
  // Reads the ledger from the beginning of the period. Memory: the rows that match, at most
  // query.most. Only a query for one job uses an index.
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) override;
  // Memory: one sum for each day, payer, holder, state and product.
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) override;
  // Reads from the newest row back, until from_ms or until it has query.most entries.
  Result<std::vector<AuditEntry>> audit(const AuditQuery& query) override;

 private:
  Result<Fact> fact_of(const Statement& query);  // columns: seq, time_ms, kind, body
  std::optional<Error> recover_checkpoint(FactSink& sink, Recovered& out, std::uint32_t& anchor);
  std::optional<Error> recover_tail(FactSink& sink, Recovered& out, std::uint32_t anchor);
  Result<std::vector<LedgerEntry>> ledger_of_job(const LedgerQuery& query, std::uint64_t after);
  // Returns the number of the last fact that was made at or before `t`. A row whose interval ends
  // after `t` was written by a later fact.
  Result<std::uint64_t> last_seq_until(TimeMs t);

  Connection db_;
  std::uint32_t fact_version_ = kFactVersion;
  std::uint32_t seed_ = 0;
  std::shared_ptr<const std::atomic<bool>> indexes_sound_;
};

}  // namespace subak
