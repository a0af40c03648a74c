// Reads all rows of a database, and checks that each row has the right checksum and that no row is
// missing. Rows that are committed during the check are left out. Private to server/store/postgres.
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

// Checks the facts, the ledger, the audit log, and the last fact that is part of the checkpoint's
// state. It does not check the rows of the checkpoint: each start does that. Returns an error for
// the first damage. It calls `wanted` for each page of limits::kDatabasePageRows, and returns an
// error if `wanted` returns false. `db` must have no open transaction.
// `seed`: the start of the checksums. `fact_version`: the newest fact version that this program
// knows.
std::optional<Error> prove_rows(PgConnection& db, std::uint32_t seed, std::uint32_t fact_version,
                                const std::function<bool()>& wanted);

// Runs prove_rows() on a separate thread and connection, and logs the result. A start does not wait
// for this check, because the check of a large database takes long.
class Proof {
 public:
  // Ends the proof at the next page, and joins the thread.
  ~Proof();
  // Starts the thread and returns at once. Does nothing if the thread was started already. In the
  // log, an unreachable database is a warning, and damage is an error.
  void start(const Address& address, std::uint32_t seed, std::uint32_t fact_version);
  // Waits until the proof is done.
  void wait();

 private:
  // True: the proof ends at the next page.
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace subak::postgres
