// Reads from the database, on a separate connection. Each read sees one consistent snapshot (a
// repeatable read). Each fact and each row of a checkpoint has a chained checksum, which proves
// that no row before it is missing. Each row of the ledger and of the audit log has its own
// checksum. It proves only that this row is unchanged. Threads: one at a time for each reader.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/runtime/ports.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/rows.h"

namespace subak::postgres {

// One reader, with its connection, which it opens again after it broke.
class PostgresReader final : public StoreReader {
 public:
  // Connects at once. `fact_version`: the newest fact version that this program knows. It fails if
  // no server answers (says_away()), or if the store has no uuid.
  static Result<std::unique_ptr<StoreReader>> open(const Address& address,
                                                   std::uint32_t fact_version);
  PostgresReader(Address address, std::uint32_t fact_version)
      : address_(std::move(address)), fact_version_(fact_version) {}

  // Refuses a store that was finalized to a newer version (says_newer()). Before an error, the sink
  // may have got some facts.
  Result<Recovered> recover(FactSink& sink) override;
  Result<StoredCheckpoint> checkpoint_in_use() override;
  Result<std::vector<StoredCheckpoint>> past_checkpoints() override;
  std::optional<Error> read_past_checkpoint(std::uint64_t seq, FactSink& sink) override;
  Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) override;
  Result<std::uint64_t> last_seq() override;
  Result<std::uint64_t> last_seq_until(TimeMs t) override;
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) override;
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) override;
  Result<DaySums> day_sums(std::int64_t from_day, std::int64_t to_day) override;
  Result<std::vector<AuditEntry>> audit(const AuditQuery& query) override;

 private:
  // Begins a snapshot, calls read() and ends the snapshot. in_picture() makes a new connection if
  // the last connection broke.
  template <class T, class F>
  Result<T> in_picture(F&& read);
  // Begins the transaction of a snapshot. It connects again if the connection broke.
  std::optional<Error> begin();
  // Reads the uuid of the store, and computes the seed of the checksums from it.
  std::optional<Error> seed();
  // Decodes a fact, but refuses a fact of a newer version. `seq`: the number of the fact; 0: the
  // fact is in a checkpoint.
  Result<Fact> fact_of(std::uint64_t seq, TimeMs time_ms, std::uint32_t kind,
                       std::string_view body);
  // Passes the facts of the checkpoint in use to the sink. It sets `anchor` to the checksum of the
  // last fact that is part of the checkpoint's state.
  std::optional<Error> recover_checkpoint(FactSink& sink, Recovered& out, std::uint32_t& anchor);
  // Reads one part of a checkpoint. `sum`: the chained checksum of the facts of all parts so far.
  std::optional<Error> read_part(const PgResult& rows, std::uint64_t part, Recovered& out,
                                 std::uint32_t& sum, FactSink& sink);
  // Calls fn(fact) for at most `most` facts after the number `after`. `anchor`: the checksum of the
  // fact `after`, from which the next checksum continues.
  std::optional<Error> each_fact(std::uint64_t after, std::uint32_t anchor, std::uint64_t most,
                                 const std::function<void(Fact)>& fn);
  // Calls fn(entry) for the rows that the query selects, in order, until fn() returns false.
  std::optional<Error> each_entry(const LedgerQuery& query,
                                  const std::function<bool(LedgerEntry)>& fn);

  const Address address_;
  const std::uint32_t fact_version_;
  // The start of the checksums.
  std::uint32_t seed_ = 0;
  PgConnection db_;
};

}  // namespace subak::postgres
