// Reads all rows of a database and proves them: each has its checksum, and none is missing. Rows
// committed meanwhile are left out. Private to server/store/postgres.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// Returns the first damage, or an error if `wanted` returns false on the way. It checks facts,
// ledger, audit log, and the fact that the checkpoint was made of. A start proves the checkpoint's
// own rows. `seed`: start of the checksums. `fact_version`: the newest that this program knows.
// `wanted` is called for each page of limits::kDatabasePageRows. `db` is the caller's, and no
// transaction is open: facts committed later are not read.
std::optional<Error> prove_rows(PgConnection& db, std::uint32_t seed, std::uint32_t fact_version,
                                const std::function<bool()>& wanted);

// Runs prove_rows() on a thread and a connection of its own, for a database that is too large to be
// proved before the start. The log has the result.
class Proof {
 public:
  // Ends the proof at the next page, and joins.
  ~Proof();
  // Does nothing if it has started. Returns at once. A database that is away is a warning, damage
  // an error in the log.
  void start(const Address& address, std::uint32_t seed, std::uint32_t fact_version);
  // Waits until it is done.
  void wait();

 private:
  // The next page ends the proof.
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace subak::postgres
