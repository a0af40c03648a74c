// Reads from a SQLite store on a separate connection, and checks the checksums. If a row is altered
// or missing, the read ends with an error that names the row (says_damage()).
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "server/runtime/ports.h"
#include "server/store/file/connection.h"

namespace subak {

// Each call reads a new snapshot. The reader never writes, and commits never wait for the reader.
// Threads: one at a time.
class SqliteReader final : public StoreReader {
 public:
  // `fact_version`: the newest fact version that this program knows. `indexes_sound`: true once a
  // check of this store has found its indexes sound. While it is nullptr or false, reads scan the
  // tables and use no index. open() fails if the file cannot be opened, or if the uuid in the file
  // is missing or damaged. A later read refuses a fact of a newer version, and the error says that
  // a newer program is needed.
  static Result<std::unique_ptr<StoreReader>> open(
      const std::string& path, std::uint32_t fact_version,
      std::shared_ptr<const std::atomic<bool>> indexes_sound = nullptr);

  // Passes the facts of the checkpoint, if there is one, and then the later facts. Before an error,
  // the sink may have got some facts.
  Result<Recovered> recover(FactSink& sink) override;
  Result<StoredCheckpoint> checkpoint_in_use() override;
  // Reads the heads of the files of past checkpoints.
  Result<std::vector<StoredCheckpoint>> past_checkpoints() override;
  std::optional<Error> read_past_checkpoint(std::uint64_t seq, FactSink& sink) override;
  Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) override;
  Result<std::uint64_t> last_seq() override;
  Result<std::uint64_t> last_seq_until(TimeMs t) override;
  // Returns the ledger rows of facts that were made after query.from_ms and have a number above
  // query.after_seq. It stops at query.most entries, or after the fact query.last_seq. If the
  // indexes are sound, a query for one job or for at most limits::kMaxIndexedPayers payers uses an
  // index. Each other query scans the table.
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) override;
  // Needs memory for one sum of each group.
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) override;
  // As StoreReader::day_sums().
  Result<DaySums> day_sums(std::int64_t from_day, std::int64_t to_day) override;
  // Reads backwards from the last row before query.before_seq. It stops at the first row that is
  // older than query.from_ms, or when it has query.most entries.
  Result<std::vector<AuditEntry>> audit(const AuditQuery& query) override;

 private:
  Result<Fact> fact_of(const Statement& query);  // columns: seq, time_ms, kind, body
  // recover_checkpoint() passes the facts of the checkpoint, and recover_tail() the later facts.
  // `anchor`: the checksum of the checkpoint's last fact (CheckpointMark::anchor). The checksum of
  // the first later fact continues from it.
  std::optional<Error> recover_checkpoint(FactSink& sink, Recovered& out, std::uint32_t& anchor);
  std::optional<Error> recover_tail(FactSink& sink, Recovered& out, std::uint32_t anchor);
  Result<std::vector<LedgerEntry>> ledger_of_job(const LedgerQuery& query, std::uint64_t after);
  Result<std::vector<LedgerEntry>> ledger_of_payers(const LedgerQuery& query, std::uint64_t after);
  // Adds the rows after the fact `after` for which the column `key` has this value and the filter
  // wants, at most query.most.
  std::optional<Error> add_ledger_rows(const LedgerQuery& query, std::uint64_t after,
                                       const char* key, std::uint64_t value,
                                       std::vector<LedgerEntry>& out);

  Connection db_;
  std::uint32_t fact_version_ = kFactVersion;
  std::uint32_t seed_ = 0;
  std::shared_ptr<const std::atomic<bool>> indexes_sound_;
};

}  // namespace subak
