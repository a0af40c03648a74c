// Reads and writes the sums of days (server/store/days), which are sums of the ledger's rows by UTC
// day, in the database. Private to the PostgreSQL store.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "server/store/days/day_sums.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// Reads the sums of the days [from_day, to_day), and checks their checksums. The caller begins the
// transaction, so that the mark and the sums are of one snapshot. If a row is altered or missing,
// the error says damage (says_damage()). Threads: those that may use the connection.
Result<DaySums> read_day_sums(PgConnection& db, std::uint32_t seed, std::int64_t from_day,
                              std::int64_t to_day);

// Writes the sums on a separate connection. A statement has an effect only while this process
// leads, and is refused otherwise. The address and the epoch (the number of this process's
// leadership) must outlive the object. Threads: one at a time.
class DaySumRows final : public DaySumsTable {
 public:
  DaySumRows(const Address& address, const std::atomic<std::int64_t>& epoch, std::uint32_t seed)
      : address_(address), epoch_(epoch), seed_(seed) {}
  std::optional<Error> write(const DayMark& mark, std::span<const StoredPart> parts) override;
  std::optional<Error> clear() override;

 private:
  // Runs the statement that consists of kIfLeading and `rest`.
  std::optional<Error> run(const char* rest, const Parameters& parameters);

  const Address& address_;
  const std::atomic<std::int64_t>& epoch_;
  const std::uint32_t seed_;
  PgConnection db_;
};

}  // namespace subak::postgres
