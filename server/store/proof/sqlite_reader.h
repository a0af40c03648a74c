// Reads on a connection of their own, proved by checksums: an altered or missing row ends the read
// with an error that names it (says_damage()).
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "server/runtime/ports.h"
#include "server/store/file/connection.h"

namespace subak {

// Each call reads one snapshot of its own. Threads: one at a time. It never writes, and a commit
// does not wait for it.
class SqliteReader final : public StoreReader {
 public:
  // `fact_version`: the newest that this program knows. `indexes_sound`: true once the indexes were
  // checked; until then, and without it, reads scan the tables.
  // Errors: the file cannot be opened, or its uuid is missing or damaged. A fact that this version
  // does not know is refused when it is read, with a hint to the newer program.
  static Result<std::unique_ptr<StoreReader>> open(
      const std::string& path, std::uint32_t fact_version,
      std::shared_ptr<const std::atomic<bool>> indexes_sound = nullptr);

  // The checkpoint's facts first, if there is one, then later facts. The sink may have got facts
  // when an error comes.
  Result<Recovered> recover(FactSink& sink) override;
  Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) override;
  // Reads the ledger from the period's begin. Memory: the rows that match, at most query.most. Only
  // a query for one job uses an index.
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) override;
  // Memory: one sum per day, account, state and product.
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) override;
  // Newest first. Reads back until from_ms or query.most entries.
  Result<std::vector<AuditEntry>> audit(const AuditQuery& query) override;

 private:
  Result<Fact> fact_of(const Statement& query);  // columns: seq, time_ms, kind, body
  std::optional<Error> recover_checkpoint(FactSink& sink, Recovered& out, std::uint32_t& anchor);
  std::optional<Error> recover_tail(FactSink& sink, Recovered& out, std::uint32_t anchor);
  Result<std::vector<LedgerEntry>> ledger_of_job(const LedgerQuery& query, std::uint64_t after);
  // Returns the number of the last fact before the first one that was made after `t`. A row whose
  // interval ends after `t` was not written before that.
  Result<std::uint64_t> last_seq_until(TimeMs t);

  Connection db_;
  std::uint32_t fact_version_ = kFactVersion;
  std::uint32_t seed_ = 0;
  std::shared_ptr<const std::atomic<bool>> indexes_sound_;
};

}  // namespace subak
