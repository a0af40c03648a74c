// Reads all rows of a database and checks that each has its checksum and that none is missing. It
// leaves out rows that are committed meanwhile. Private to server/store/postgres.
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

// Returns the first damage, or an error if `wanted` returns false meanwhile. It checks facts,
// ledger, audit log, and the last fact of the checkpoint's state. A start checks the rows of the
// checkpoint itself. `seed`: start of the checksums. `fact_version`:
// the newest that this program knows.
// It calls `wanted` for each page of limits::kDatabasePageRows. `db` must have no open transaction.
// Facts committed later are not read.
std::optional<Error> prove_rows(PgConnection& db, std::uint32_t seed, std::uint32_t fact_version,
                                const std::function<bool()>& wanted);

// Runs prove_rows() on its own thread and connection, since a large database cannot be checked
// before the start. It logs the result.
class Proof {
 public:
  // Ends the proof at the next page, and joins the thread.
  ~Proof();
  // Starts the thread and returns at once. Does nothing if it has started already. In the log, an
  // unreachable database is a warning, and damage is an error.
  void start(const Address& address, std::uint32_t seed, std::uint32_t fact_version);
  // Waits until the proof is done.
  void wait();

 private:
  // True: the proof ends at the next page.
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace subak::postgres
