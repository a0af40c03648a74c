// Reads from the database, on its own connection. Each read sees one consistent snapshot (a
// repeatable read). Chained checksums prove that no fact and no row of a checkpoint is missing.
// Rows of the ledger and of the audit log have separate checksums. They do not prove that no such
// row is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/runtime/ports.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/rows.h"

namespace subak::postgres {

class PostgresReader final : public StoreReader {
 public:
  // Connects at once. `fact_version`: the newest that this program knows.
  // Fails if no server answers (says_away()), or if the store has no uuid.
  static Result<std::unique_ptr<StoreReader>> open(const Address& address,
                                                   std::uint32_t fact_version);
  PostgresReader(Address address, std::uint32_t fact_version)
      : address_(std::move(address)), fact_version_(fact_version) {}

  // Refuses a store that was finalized to a newer version (says_newer()). The sink may have got
  // facts before an error.
  Result<Recovered> recover(FactSink& sink) override;
  Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) override;
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) override;
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) override;
  Result<std::vector<AuditEntry>> audit(const AuditQuery& query) override;

 private:
  // Begins a snapshot, on a new connection if the last one broke.
  // Then it calls read() and ends the snapshot.
  template <class T, class F>
  Result<T> in_picture(F&& read);
  // Begins the transaction. Connects again if the connection broke.
  std::optional<Error> begin();
  // Reads the uuid, from which the checksums start.
  std::optional<Error> seed();
  // Decodes a fact, and refuses a fact of a newer version. `seq` 0: the fact is in a checkpoint.
  Result<Fact> fact_of(std::uint64_t seq, TimeMs time_ms, std::uint32_t kind,
                       std::string_view body);
  // Reads the checkpoint in use into the sink. `anchor`: the checksum of the last fact of the
  // checkpoint's state.
  std::optional<Error> recover_checkpoint(FactSink& sink, Recovered& out, std::uint32_t& anchor);
  // Reads one part. `sum`: the chained checksum over the facts of all parts so far.
  std::optional<Error> read_part(const PgResult& rows, std::uint64_t part, Recovered& out,
                                 std::uint32_t& sum, FactSink& sink);
  // Calls fn(fact) for the facts after number `after`, at most `most`. `anchor`: the checksum of
  // fact `after`, which their checksums continue.
  std::optional<Error> each_fact(std::uint64_t after, std::uint32_t anchor, std::uint64_t most,
                                 const std::function<void(Fact)>& fn);
  // Calls fn(entry) for the rows that the query selects, in order, until it returns false.
  std::optional<Error> each_entry(const LedgerQuery& query,
                                  const std::function<bool(LedgerEntry)>& fn);
  // Returns the last fact that was made at or before `t`. A row whose interval ends after `t` was
  // written by a later fact.
  Result<std::uint64_t> last_seq_until(TimeMs t);

  const Address address_;
  const std::uint32_t fact_version_;
  // The start of the checksums.
  std::uint32_t seed_ = 0;
  PgConnection db_;
};

}  // namespace subak::postgres
